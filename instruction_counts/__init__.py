"""The application: builds, engines, execution, results and reports."""

__version__ = "1.0.0"
