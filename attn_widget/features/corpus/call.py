"""``aw.corpus``: what else is asked of many texts than `attn_widget.profile`."""

from __future__ import annotations

from attn_widget.features.corpus.head_means import head_means
from attn_widget.features.corpus.trust import agreement, faithfulness
from attn_widget.features.corpus.words.build import index


class Corpus:
    """Means of heads, an index of words, and tests of methods, over many texts."""

    agreement = staticmethod(agreement)
    faithfulness = staticmethod(faithfulness)
    head_means = staticmethod(head_means)
    index = staticmethod(index)


corpus = Corpus()
