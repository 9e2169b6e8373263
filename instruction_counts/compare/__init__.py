"""Two builds side by side: what changed, whether it can be trusted, and why."""
