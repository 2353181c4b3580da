"""Attention between sentences, or between the sections of a text: the view Sentences (docs/definitions.md, section 4)."""
