"""The plugin of pytest: what tests run is counted, and compared with a baseline."""
