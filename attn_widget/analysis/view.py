"""Words and sentences of a view that merges tokens or leaves some out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from attn_widget.analysis.merge import Groups, merge_tokens

if TYPE_CHECKING:
    from attn_widget.language import Language


def merge_language(language: Language, groups: Groups, *, words: bool) -> Language:
    """The same words and sentences, over the positions of the view.

    Parameters
    ----------
    language : Language
        Of all n tokens.
    groups : Groups
        With m kept; words and sentences have no token in those that are not.
    words : bool
        Whether positions are words, and called as the text has them.

    Returns
    -------
    Language
        With m tokens.
    """
    numbers = np.cumsum(groups.kept) - 1
    position = np.repeat(numbers, groups.sizes)

    def span(tokens: tuple[int, int]) -> tuple[int, int]:
        return int(position[tokens[0]]), int(position[tokens[1] - 1]) + 1

    if words:
        tokens = merge_tokens(language.tokens, groups, [word.text for word in language.words])
    else:
        tokens = tuple(language.tokens[i] for i in groups.first)
    return replace(
        language,
        tokens=tokens,
        words=tuple(replace(word, tokens=span(word.tokens)) for word in language.words),
        sentences=tuple(replace(part, tokens=span(part.tokens)) for part in language.sentences),
    )
