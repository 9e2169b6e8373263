"""The application: builds, engines, execution, results and reports."""

__version__ = "0.1.0"
