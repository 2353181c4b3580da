"""Figures: pure functions of arrays, one idea a file (``docs/definitions.md``)."""
