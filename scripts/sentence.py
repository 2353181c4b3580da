"""The sentence of README, site and `make demo`: all show what `attn_widget.show` opens on, and set no head by hand."""

SENTENCE = "The trophy does not fit into the brown suitcase because it is too large."
