"""A case over many builds: its counts in order of time, the steps in them, and who made them."""
