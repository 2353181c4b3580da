"""Engines: who reads the chunks of a corpus, and where finished ones are kept."""
