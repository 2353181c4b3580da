"""The model's own tensors, from embeddings to hidden states: the view Inside."""
