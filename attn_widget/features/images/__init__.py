"""Images: a picture as what a model reads, whose tokens are its patches."""
