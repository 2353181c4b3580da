"""Influence: mixing, targets, contributions, effects (docs/influence.md)."""
