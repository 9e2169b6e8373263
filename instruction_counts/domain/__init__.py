"""Values: what is measured, how it ended, and what went wrong."""
