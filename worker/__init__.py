"""What runs in a build: the worker, and what answers questions about the build."""
