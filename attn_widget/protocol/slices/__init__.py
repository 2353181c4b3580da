"""Slices by what they are of; each function declares the kind that it answers."""
