"""Texts that are read together have the figures of texts that are read alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attn_widget import profile
from attn_widget.features.corpus.identity import text_digest
from attn_widget.features.corpus.reading import chunks
from attn_widget.features.corpus.reading.batched_metrics import batched_metrics
from attn_widget.features.corpus.reading.blocks import CELLS, KEYS, TOKENS, blocks_of, read_alone
from attn_widget.features.corpus.reading.chunks import _together
from attn_widget.figures.metrics import KEYS as METRICS
from attn_widget.figures.metrics import layer_metrics
from attn_widget.model.loading import load
from tests.close import assert_close
from tests.unit import tiny_models

WORDS = [
    "the",
    "dog",
    "saw",
    "a",
    "cat",
    "in",
    "Paris",
    ",",
    "and",
    "Mary",
    "ran",
    "home",
    "for",
    "two",
    "days",
    ".",
]


def _texts(n: int, longest: int = 40) -> list[str]:
    rng = np.random.default_rng(3)
    return [" ".join(rng.choice(WORDS, size)) for size in rng.integers(1, longest, n)]


@pytest.mark.parametrize("n", [1, 2, 5, 33, 128, 190])
@pytest.mark.parametrize("sharp", [0.1, 3, 60])
def test_metrics_of_many_matrices_are_those_of_each(n: int, sharp: float) -> None:
    scores = np.random.default_rng(n).normal(size=(7, n, n)) * sharp
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    alone = layer_metrics(weights)
    for key, values in zip(METRICS, batched_metrics(weights), strict=True):
        assert_close(values, alone[key], terms=n, steps=2, size=np.fmax(alone[key], 1))


def test_a_matrix_that_holds_nan_has_no_metrics_and_spoils_no_other() -> None:
    weights = np.full((3, 4, 4), 0.25, np.float32)
    weights[1, 2, 2] = np.nan
    found = batched_metrics(weights)
    assert np.isnan(found[:, 1]).all() and not np.isnan(found[:, [0, 2]]).any()


@pytest.mark.parametrize("tagger", [None, lambda text: [(0, len(text), "NOUN")]])
def test_texts_read_together_have_the_figures_of_single_runs(tagger: Any) -> None:
    texts, encoder = _texts(60), load(progress=False)
    found = profile(texts, tagger=tagger, progress=False)
    for k in range(0, 60, 7):
        alone = read_alone(encoder, texts[k], tagger, False)[0][0]
        for place in range(len(KEYS)):
            size = np.fmax(alone[place], 1)
            assert_close(found.figures[k, place], alone[place], terms=384, steps=6, size=size)


@pytest.mark.parametrize("family", sorted(tiny_models.FAMILIES))
def test_every_family_has_the_figures_of_single_runs(family: str) -> None:
    model = tiny_models.build(family)
    encoder = load(model, progress=False)
    texts = [f"the cat sat on mat {k}" for k in range(5)]
    (together,) = _together(encoder, [[encoder.encode(texts[0])] * 2], None, 1)
    windowed = family == "modernbert"  # its local layers forbid links of a text this long
    assert (together is not None) == (family in tiny_models.DISPATCHED and not windowed)
    found = profile(texts, model=encoder, tagger=None, progress=False)
    for k, text in enumerate(texts):
        alone = read_alone(encoder, text, None, False)[0][0]
        for figures, expected in zip(found.figures[k], alone, strict=True):
            assert_close(figures, expected, **tiny_models.RUN, size=np.fmax(expected, 1))


def test_blocks_hold_texts_of_one_length_and_do_not_depend_on_their_order() -> None:
    texts = _texts(500, 12)
    lengths, digests = [len(text) for text in texts], [text_digest(text) for text in texts]
    blocks = blocks_of(lengths, digests)
    assert sorted(k for block in blocks for k in block) == list(range(500))
    for block in blocks:
        n = lengths[block[0]]
        assert {lengths[k] for k in block} == {n}
        assert len(block) == 1 or (len(block) * n <= TOKENS and len(block) * n**2 <= CELLS)
    turned = blocks_of(lengths[::-1], digests[::-1])
    assert [[texts[::-1][k] for k in block] for block in turned] == [
        [texts[k] for k in block] for block in blocks
    ]


def test_no_order_of_the_texts_changes_a_bit_of_the_figures() -> None:
    texts = _texts(80)
    order = np.random.default_rng(0).permutation(len(texts))
    found = profile(texts, tagger=None, progress=False)
    turned = profile([texts[k] for k in order], tagger=None, progress=False)
    assert np.array_equal(turned.figures, found.figures[order], equal_nan=True)


def test_a_block_with_a_text_that_fails_is_read_one_by_one() -> None:
    def nervous(text: str) -> list[tuple[int, int, str]]:
        if text == "Why?":
            raise ValueError("no questions")
        return [(0, len(text), "X")]

    encoder = load(progress=False)
    who, why, how = (encoder.encode(text) for text in ("Who?", "Why?", "How?"))
    failed, whole = _together(encoder, [[who, why], [who, how]], nervous, 2)
    assert failed is None and whole is not None


def test_no_number_of_threads_changes_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of some shapes are rounded otherwise with two threads: so each block has one."""
    texts, model = _texts(150), tiny_models.build("bert")
    found: list[Any] = []
    before = torch.get_num_threads()
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        monkeypatch.setattr(chunks, "usable_cores", lambda threads=threads: threads)
        found.append(profile(texts, model=model, tagger=None, progress=False).figures)
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    assert all(np.array_equal(one, found[0], equal_nan=True) for one in found)
