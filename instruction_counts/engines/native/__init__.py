"""C sources that are compiled for, and preloaded into, the process that is counted."""
