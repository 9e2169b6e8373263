"""Verdicts and causes, from values."""
