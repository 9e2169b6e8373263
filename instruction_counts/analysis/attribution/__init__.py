"""Where instructions go: functions and layers, and what changed in them."""
