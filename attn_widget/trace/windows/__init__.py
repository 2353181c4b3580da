"""Long texts for models that read few tokens: overlapping windows, laid on one axis."""
