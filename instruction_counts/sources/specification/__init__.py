"""Benchmarks that a YAML or JSON file states."""
