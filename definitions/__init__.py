"""Benchmark definitions: data, written with `core.api`."""
