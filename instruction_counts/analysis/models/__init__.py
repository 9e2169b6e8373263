"""Models as sums of their layers."""
