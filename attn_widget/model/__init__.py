"""Model: checkpoints and the encoders made of them, tokenizing, predictions, classes."""
