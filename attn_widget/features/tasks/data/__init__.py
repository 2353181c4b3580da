"""Data: sentences with ratings, tables of texts and labels, and how they are split."""
