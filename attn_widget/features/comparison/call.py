"""``aw.compare(a, b)`` for two runs, ``aw.compare.many(pairs)`` for many pairs of texts."""

from __future__ import annotations

from functools import update_wrapper

from attn_widget.features.comparison.inputs import compare as compare_two
from attn_widget.features.comparison.many import compare_many


class Compare:
    """`attn_widget.compare`, and next to it the same of many pairs."""

    __call__ = staticmethod(compare_two)
    many = staticmethod(compare_many)


compare = update_wrapper(Compare(), compare_two)
