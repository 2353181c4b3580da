"""Means that rest on one text are noted: intervals of few texts hold the means of heavy tails too seldom."""

from __future__ import annotations

import numpy as np

from attn_widget.features.corpus.statistics.intervals import bootstrap, one_text

TEXTS = 10


def test_a_mean_that_one_text_makes_half_of_is_noted() -> None:
    even = np.ones((TEXTS, 3))
    assert one_text(even) is None
    heavy = even.copy()
    heavy[4, 1] = 9.0  # as much as the nine others together
    assert "half or more of 1 of 3 means" in str(one_text(heavy))
    heavy[4, 1] = 8.9
    assert one_text(heavy) is None
    heavy[4, 1] = -9.0
    assert "pairs makes half or more of 1 of 3" in str(one_text(heavy, "pairs"))
    heavy[:3, 1] = np.nan  # seven texts have no interval, so there is nothing to note
    assert one_text(heavy) is None
    assert one_text(np.zeros((TEXTS, 2))) is None


def test_intervals_of_ten_texts_hold_a_heavy_tails_mean_too_seldom() -> None:
    rng = np.random.default_rng(0)
    held = {}
    for sigma in (0.2, 1.5):
        texts = rng.lognormal(0, sigma, (TEXTS, 1000)).astype(np.float32)
        low, high = bootstrap(texts, seed=0)
        mean = np.exp(sigma**2 / 2)
        held[sigma] = float(((low <= mean) & (mean <= high)).mean())
        noted = np.mean([one_text(texts[:, [k]]) is not None for k in range(200)])
        assert (noted > 0.1) == (sigma > 1)
    assert held[0.2] > 0.92 and held[1.5] < 0.88
