"""Two sides, case by case: what differs, and the verdict on it."""
