"""C++ cases: their source, what compiles it, and where the shared objects are kept."""
