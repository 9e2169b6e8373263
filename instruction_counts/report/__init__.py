"""What people read: the results table and the summary."""
