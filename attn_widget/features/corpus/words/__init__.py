"""Words in context: the hidden states of a corpus, to be searched."""

from __future__ import annotations

from attn_widget.features.corpus.words.build import index
from attn_widget.features.corpus.words.word_index import WordIndex

__all__ = ["WordIndex", "index"]
