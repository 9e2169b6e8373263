"""Stand-ins for CUDA's libraries: what code for a GPU costs the CPU is counted without a GPU."""
