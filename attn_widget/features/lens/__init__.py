"""Logit lens of every layer at every position."""
