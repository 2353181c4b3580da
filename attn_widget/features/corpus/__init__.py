"""Corpus: the figures of all heads over many texts."""
