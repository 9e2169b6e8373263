"""What was measured, as records: JSON, CSV, Markdown, and objects of torch itself."""
