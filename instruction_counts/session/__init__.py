"""The use cases: they take values, and yield events and values."""
