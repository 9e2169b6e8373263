"""Runs, kept: the database and result files."""
