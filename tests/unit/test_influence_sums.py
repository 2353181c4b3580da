"""What adds up, adds up on a hundred texts."""

from __future__ import annotations

import numpy as np

import attn_widget as aw
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
        position = int(rng.integers(1, a.n_tokens - 1))
        c = a.contributions(aw.target(position=position, token="the"))
        assert abs(c.total - c.value) <= 1e-3 * max(abs(c.value), 0.1)
        layer = int(rng.integers(a.n_layers))
        parts = a.decompose_output(layer, position)
        y = a.inside(layer).attention_norm[position]
        total = parts.vectors.sum(axis=0) + parts.bias + parts.shift
        assert np.linalg.norm(total - y) <= 1e-4 * np.linalg.norm(y)
