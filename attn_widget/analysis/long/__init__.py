"""Long texts: figures that come layer by layer, levels of detail of a matrix, and its links."""
