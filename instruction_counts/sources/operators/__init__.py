"""What an installed torch offers to measure."""
