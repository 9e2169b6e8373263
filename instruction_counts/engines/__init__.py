"""Engines that count instructions, and readers of what they write."""
