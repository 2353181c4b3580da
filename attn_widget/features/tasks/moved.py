"""Which heads fine-tuning moved: their distance from those of the encoder that it began from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attn_widget.checks.rounding import largest_first
from attn_widget.errors import AttnWidgetError
from attn_widget.features.comparison.inputs import compare
from attn_widget.figures.arrays import Float32
from attn_widget.model.encoder import Encoder

TEXTS = 4  # passes of both models: a fraction of one batch of the training
NAMED = 3  # heads in the line


def heads_moved(
    base: Encoder, fitted: Encoder, texts: Sequence[str], truncation: bool
) -> Float32 | None:
    """Mean Jensen-Shannon distance of every head, float32 [L, H], over up to `TEXTS` of ``texts``.

    None where the two cannot be compared.
    """
    places = np.unique(np.linspace(0, len(texts) - 1, min(TEXTS, len(texts))).astype(int))
    try:
        comparisons = [
            compare(
                str(texts[i]),
                models=[base, fitted],
                tagger=None,
                truncation=truncation,
                progress=False,
            ).distances()
            for i in places
        ]
    except AttnWidgetError:
        return None
    return np.mean([comparison.distances for comparison in comparisons], axis=0).astype(np.float32)


def line_of(moved: Float32) -> str:
    """One line: the heads that moved most, the median of all, and the call that shows them.

    >>> line_of(np.array([[0.1, 0.3], [0.2, 0.0]], dtype=np.float32))[:73]
    'heads that moved most: L0 H1 0.300, L1 H0 0.200, L0 H0 0.100; median of 4'
    """
    places = [divmod(k, moved.shape[1]) for k in largest_first(moved)[:NAMED]]
    named = ", ".join(f"L{layer} H{head} {moved[layer, head]:.3f}" for layer, head in places)
    return (
        f"heads that moved most: {named}; median of {moved.size} heads {np.median(moved):.3f} "
        "(Jensen-Shannon, at most 0.833); on a text: aw.compare(text, models=[base, fitted])"
    )
