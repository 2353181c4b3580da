"""What some tests need and a small installation lacks."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

needs_spacy = pytest.mark.skipif(
    find_spec("spacy") is None, reason="the extra `linguistics` is not installed"
)
needs_lancedb = pytest.mark.skipif(
    find_spec("lancedb") is None, reason="the extra `index` is not installed"
)
