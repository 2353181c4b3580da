"""Surprisal of every word of many texts."""
