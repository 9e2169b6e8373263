"""Profiles in Callgrind's text format: read, as values, and written."""
