"""A module for each revision of the store's tables."""
