"""Reading: texts from their source, in chunks and blocks, through the model."""
