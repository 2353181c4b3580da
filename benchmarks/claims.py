"""The sentences of README.md and docs/influence.md about one example, computed from the model that ships.

Run: ``python -m benchmarks.claims``. It writes the paragraph of the README and the table of the guide;
``tests/unit/test_claims.py`` compares both files with what the model gives.
"""

from __future__ import annotations

import math
import textwrap

import numpy as np

import attn_widget as aw
from attn_widget.features.why.faithfulness import Faithfulness
from attn_widget.features.why.methods import METHODS
from benchmarks.documents import fill

WIDTH = 150  # characters of a line of the README
# A text in which methods pass the masking test.
TEXT = "The capital of Italy is Rome."
HIDDEN, WORD, OTHER = 2, "capital", "centre"
TARGET = aw.target(position=HIDDEN, token=WORD, against=OTHER, masked=True)
NAMES = {
    "alti": "ALTI",
    "attention_gradient": "attention × gradient",
    "weights": "attention rollout",
}


def name(method: str) -> str:
    return NAMES.get(method, method.replace("_x_", " × ").replace("_", " "))


def whole(percentile: float) -> str:
    """A percentile in whole per cent; never rounded up to all."""
    return f"{math.floor(percentile)}%"


def moved(logits: float) -> str:
    """Effect of a word on the difference, in words: what it adds or takes away."""
    return f"adds {logits:.2f}" if logits >= 0 else f"takes {-logits:.2f} away"


def best(tested: Faithfulness) -> str:
    return max(tested.curves, key=lambda method: tested.curves[method].comprehensiveness)


def verdict(tested: Faithfulness) -> str:
    """Result of the masking test of the example, in two sentences."""
    first = best(tested)
    test, rollout = tested.tests[first], tested.tests["weights"]
    passed = [method for method, better in tested.better_than_random.items() if better]
    orders = f"all {tested.random.orders:,} orders of the other words"
    lower = (
        f"Masking words in the order of {name(first)}, the best of ten methods here, lowers the probability of *{WORD}* more "
        f"than {whole(test.percentile)} of {orders} do; the order of {name('weights')}, more than "
        f"{whole(rollout.percentile)}."
    )
    if not passed:
        return f"{lower} For the best of ten that is not enough: their order is no better than random here."
    several = "one of them is" if len(passed) == 1 else f"{len(passed)} of them are"
    return f"{lower} After correction for ten methods, {several} better than random here."


def paragraph(a: aw.Analysis) -> str:
    """The paragraph of the README."""
    parts = a.why.contributions(TARGET)
    effects = a.why.head_effects(TARGET).effects
    layer, head = (int(k) for k in np.unravel_index(np.abs(effects).argmax(), effects.shape))
    effect, row = float(effects[layer, head]), a.mask([HIDDEN]).attention(layer, head)[HIDDEN]
    most = "does most of it" if effect > parts.value / 2 else "matters most"
    left = parts.value - effect
    words = [i for i, token in enumerate(a.tokens) if not token.special and i != HIDDEN]
    first, second = sorted(words, key=lambda i: -float(parts.values[i]))[:2]
    key = max(words, key=lambda i: float(row[i]))
    bias = float(parts.bias or 0.0)
    named = [a.tokens[i].surface for i in range(len(a.tokens))]
    return (
        f"With *{WORD}* hidden, the embedded model prefers *{WORD}* to *{OTHER}* by {parts.value:.2f} logits: *{named[first]}* "
        f"{moved(float(parts.values[first]))}, *{named[second]}* {moved(float(parts.values[second]))}, and the biases, which no word changes, "
        f"favor *{WORD if bias > 0 else OTHER}* by {abs(bias):.2f}. One head {most}: in L{layer} H{head} the hidden word gives {row[key]:.0%} of its "
        f"weight to *{named[key]}*, and without that head the model prefers *{WORD if left > 0 else OTHER}* by {abs(left):.2f}. "
        f"{verdict(a.why.faithfulness(TARGET))}"
    )


def table(tested: Faithfulness) -> str:
    """The table of docs/influence.md: every method on the example."""
    rows = [
        "| method | comprehensiveness | sufficiency | lower than | better than random |",
        "|---|--:|--:|--:|---|",
    ]
    for method in sorted(METHODS, key=lambda m: -tested.curves[m].comprehensiveness):
        curve, test = tested.curves[method], tested.tests[method]
        rows.append(
            f"| `{method}` | {curve.comprehensiveness:.2f} | {curve.sufficiency:.2f} | "
            f"{test.percentile:.0f}% | {'yes' if test.better else 'no'} |"
        )
    mean, low, high = tested.band()
    chance = f"| all {tested.random.orders:,} orders | {mean:.2f} (95%: {low:.2f} to {high:.2f}) | {mean:.2f} | 50% | |"
    return "\n".join([*rows, chance])


def main() -> None:
    a = aw.analyze(TEXT, tagger=None)
    fill("README.md", "claims", textwrap.fill(paragraph(a), WIDTH, break_on_hyphens=False))
    fill("docs/influence.md", "claims", table(a.why.faithfulness(TARGET)))


if __name__ == "__main__":
    main()
