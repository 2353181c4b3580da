"""Means and intervals over texts."""
