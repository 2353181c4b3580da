"""How the embedded model is made: prepare, train, evaluate, export."""
