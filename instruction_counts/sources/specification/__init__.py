"""Specifications: benchmarks, builds, limits and reporters in a YAML or JSON file."""
