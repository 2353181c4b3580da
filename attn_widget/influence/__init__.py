"""What attention carries and what matters: mixing, targets, contributions, effects (docs/influence.md)."""
