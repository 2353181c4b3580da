"""Random orders of a text's words, and the test of a method's order against them."""
