"""Targets, contributions to them, and tests of these."""
