"""Why does this head look there? A score as an exact sum over tokens, or over parts of the network (docs/qk.md)."""
