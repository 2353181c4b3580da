"""Tree of what a token attends to most, what those attend to most, and so on: the view Tree (docs/definitions.md, section 5)."""
