"""Which interpreter is measured, in which environment, and what it is made of."""
