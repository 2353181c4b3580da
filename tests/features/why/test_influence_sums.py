"""What adds up, adds up on a hundred texts."""

from __future__ import annotations

import numpy as np

import attn_widget as aw
from tests.close import assert_adds_up, assert_close
from tests.unit import tiny_models


def test_sums_close_on_a_hundred_texts_of_5_to_120_tokens() -> None:
    rng = np.random.default_rng(0)
    words = " ".join(tiny_models.TEXTS).split()
    encoder = aw.load(progress=False)
    for count in np.linspace(3, 95, 100).astype(int):
        text = " ".join(rng.choice(words, count))
        while len(encoder.encode(text).tokens) > 120:
            text = text.rpartition(" ")[0]
        a = aw.analyze(text, model=encoder, tagger=None, progress=False)
        position = int(rng.integers(1, a.trace.n_tokens - 1))
        c = a.why.contributions(aw.target(position=position, token="the"))
        assert_adds_up(c, **tiny_models.EMBEDDED_BOTH_WAYS)
        layer = int(rng.integers(a.trace.n_layers))
        parts = a.mixing.decompose_output(layer, position)
        y = a.model.layer(layer).attention_norm[position]
        total = parts.vectors.sum(axis=0) + parts.bias + parts.shift
        size = np.abs(parts.vectors).sum(axis=0) + np.abs(parts.bias) + np.abs(parts.shift)
        assert_close(total, y, terms=384, steps=4, size=size)
