"""Training of the embedded model: prepare, train, evaluate, export."""
