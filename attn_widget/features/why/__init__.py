"""What matters for a number that the model gives, and how sure that is."""
