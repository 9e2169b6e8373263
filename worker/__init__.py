"""The worker, one self-contained file."""
