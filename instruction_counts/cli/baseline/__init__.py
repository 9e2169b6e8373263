"""The commands of ``baseline``, one in each module."""
