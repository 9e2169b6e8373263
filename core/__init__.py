"""The benchmark DSL and its expansion: pure values, no I/O, no torch."""
