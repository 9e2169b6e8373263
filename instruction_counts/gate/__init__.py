"""What a change may cost: limits, what a comparison exceeds of them, and committed baselines."""
