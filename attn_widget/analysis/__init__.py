"""Analysis: the figures of one run, each a pure function of arrays."""
