"""Write ``openings.json``: words of many texts, and the links that seeded weights open on, for the page's own rule.

Run ``python -m tests.golden.make_openings`` after a change of the rule, and look at the difference.
``js/tests/features/engine/opening-rule.test.ts`` asks the page the same.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import attn_widget as aw
from attn_widget.analysis.opening import opening, sinks
from attn_widget.analysis.opening_words import Kind, Role, words_of
from attn_widget.protocol.initial_payload import token_columns
from tests.hard_texts import HARD_TEXTS

PATH = Path(__file__).with_name("openings.json")
KINDS = PATH.parents[2] / "benchmarks" / "kinds.txt"
LAYERS, HEADS, LONGEST = 2, 4, 100  # tokens
SHARPNESS = 6  # squarings of a number in [0, 1): a row has a few large weights


def weights_of(n: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Weights of a linear congruential generator, float32 [L, H, n, n]."""
    state, values = n, []
    for _ in range(LAYERS * HEADS * n * n):
        state = (1664525 * state + 1013904223) % 2**32
        values.append(state / 2**32)
    sharp = np.array(values).reshape(LAYERS, HEADS, n, n)
    for _ in range(SHARPNESS):
        sharp *= sharp
    return (sharp / sharp.sum(axis=3, keepdims=True)).astype(np.float32)


def golden() -> list[dict[str, Any]]:
    encoder = aw.load(progress=False)
    lines = [*KINDS.read_text(encoding="utf-8").splitlines(), *(t for t in HARD_TEXTS if t.strip())]
    made: list[dict[str, Any]] = []
    for line in lines:
        texts = line.split(" ||| ")[:2]
        run = aw.analyze(*texts, model=encoder, tagger=None, truncation=True, progress=False)
        if run.trace.n_tokens > LONGEST:
            continue
        words = words_of(run.tokens, sinks(run.tokens, None))
        drawn = aw.from_attentions(
            weights_of(run.trace.n_tokens),
            run.tokens,
            text=run.text,
            text_pair=run.text_pair,
            tagger=None,
        )
        made.append(
            {
                "tokens": token_columns(run.tokens, run.text, run.text_pair),
                "kinds": [Kind(kind).name.lower() for kind in words.kinds],
                "roles": [Role(role).name.lower() for role in words.roles],
                "opening": asdict(opening(drawn)),
            }
        )
    return made


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), ensure_ascii=False) + "\n", encoding="utf-8")
