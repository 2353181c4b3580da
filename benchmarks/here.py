"""The sentences of README.md about why the head of its first picture looks where it does, computed from the model that ships.

Run: ``python -m benchmarks.here``. ``tests/unit/test_claims.py`` compares the README with what the model gives; `scripts.hero` draws the picture.
"""

from __future__ import annotations

import textwrap

import numpy as np

import attn_widget as aw
from attn_widget.analysis.opening import opening
from benchmarks.claims import WIDTH
from benchmarks.documents import fill
from scripts.sentence import SENTENCE


def paragraph(a: aw.Analysis) -> str:
    """The opened head's link, the two words that add most by the key, and the weight without a third."""
    found = opening(a)
    layer, head, query, key = found.layer, found.head, found.token, found.key
    assert isinstance(head, int) and query is not None and key is not None
    words = [token.surface for token in a.tokens]
    why = a.qk_attribution(layer, head, query, key)
    first, second = (int(i) for i in np.argsort(-why.key_sums)[:2])
    others = [i for i, token in enumerate(a.tokens) if not token.special and i not in (query, key)]
    asked = max(others, key=lambda i: float(why.query_sums[i]))
    (effect,) = why.total_effects(side="query", parts=[asked]).effects
    return (
        f"In L{layer} H{head}, *{words[query]}* gives {why.weight:.0%} of its weight to *{words[key]}*, where an even share is "
        f"{1 / len(words):.1%}. Its score is {why.contrast:.2f} above those of the other words: by the key, *{words[first]}* adds "
        f"{why.key_sums[first]:.2f} and *{words[second]}* {why.key_sums[second]:.2f}. Run without *{words[asked]}*, the weight is "
        f"{effect.weight:.0%}."
    )


if __name__ == "__main__":
    fill(
        "README.md",
        "here",
        textwrap.fill(paragraph(aw.analyze(SENTENCE, tagger=None)), WIDTH, break_on_hyphens=False),
    )
