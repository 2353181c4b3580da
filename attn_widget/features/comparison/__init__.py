"""Compare: two runs side by side, and pieces of one carried into the other."""
