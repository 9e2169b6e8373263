"""The formats of reports: a module each, listed in `instruction_counts.report.registry`."""
