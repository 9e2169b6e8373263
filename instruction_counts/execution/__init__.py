"""Running work orders: cores, lanes, retries, events."""
