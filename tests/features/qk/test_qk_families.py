"""The sum closes in every family, every layer, and its row is the model's own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.features.qk.ways import ways
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, and the dog."
CLOSES = 3e-5
NEITHER = {"mobilebert": "parts", "gpt_oss": "tokens", "mixtral": "tokens"}
FAMILIES = [*tiny_models.FAMILIES, *tiny_models.DECODERS]
ALIBI = ("bloom", "mpt")
# Two texts, closed by tokens: the prototype's families and those like them.
TWO_TEXTS = ("t5", "mt5", "bart", "mbart", "marian", "pegasus", "umt5", "m2m_100", "blenderbot")


@cache
def analysis(family: str) -> Any:
    model = tiny_models.build(family)
    return aw.analyze(TEXT, model=model, tagger=None, progress=False)


def eager_attentions(a: Any) -> Any:
    network = a.run.encoder.network
    network.set_attn_implementation("eager")
    with torch.no_grad():
        return network(**a.run.encoding.inputs, output_attentions=True).attentions


def cells(a: Any, layer: int) -> list[tuple[int, int, int]]:
    """Three cells (head, query, key) of a layer that the mask allows, of different heads."""
    rng = np.random.default_rng(layer)
    mask = a.trace.allowed(layer)
    found: list[tuple[int, int, int]] = []
    for head in range(3):
        head = head % a.trace.n_heads
        query = int(rng.integers(2, a.trace.n_tokens))
        keys = np.arange(a.trace.n_keys) if mask is None else np.flatnonzero(mask[query])
        found.append((head, query, int(rng.choice(keys))))
    return found


def check_closes(a: Any, by: str) -> None:
    for layer in range(a.trace.n_layers):
        for head, query, key in cells(a, layer):
            found = a.qk_attribution(layer, head, query, key, against="all", by=by)
            scores = a.trace.layer_scores(layer)[head, query].astype(np.float64)
            others = np.isfinite(scores)
            others[key] = False
            contrast = scores[key] - scores[others].mean()
            assert found.contrast == pytest.approx(contrast, abs=1e-6)
            total = found.matrix.sum(dtype=np.float64)
            allowed = CLOSES * max(1, float(abs(contrast)))
            assert abs(total - contrast) <= allowed
            assert abs(found.gap) <= allowed
            assert found.query_sums.sum() == pytest.approx(total, abs=allowed)
            assert found.key_sums.sum() == pytest.approx(total, abs=allowed)
            assert found.matrix.shape == (len(found.query_parts), len(found.key_parts))


@pytest.mark.parametrize("by", ["tokens", "parts"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_sum_closes(family: str, by: str) -> None:
    a = analysis(family)
    if NEITHER.get(family) == by:
        assert ways(a.run) == (("tokens", "parts")[by == "tokens"],)
        with pytest.raises(NotAvailableError, match="by='"):
            a.qk_attribution(1, 0, 3, 1, by=by)
        return
    check_closes(a, by)


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("family", TWO_TEXTS)
def test_the_sum_closes_in_each_part_of_an_encoder_decoder(family: str, part: str) -> None:
    a = two_texts(family).of(part)
    check_closes(a, "tokens")
    found = a.qk_attribution(1, 0, 2, 1)
    texts = {each.text for each in found.key_parts if each.kind == "token"}
    assert texts == ({0, 1} if part == "decoder" else {0})
    with pytest.raises(NotAvailableError, match="encoder-decoder"):
        a.qk_attribution(1, 0, 2, 1, by="parts")


@cache
def two_texts(family: str) -> Any:
    model = tiny_models.build(family)
    return aw.analyze(
        "The cat sat on the mat.", output="a dog sleeps", model=model, tagger=None, progress=False
    )


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "gemma2", "gpt_oss", "deberta"])
def test_the_weight_is_that_of_the_plain_model(family: str) -> None:
    a = analysis(family)
    weights = eager_attentions(a)
    for layer in range(a.trace.n_layers):
        for head, query, key in cells(a, layer):
            found = a.qk_attribution(layer, head, query, key, against="all", by=ways(a.run)[0])
            expected = float(weights[layer][0, head, query, key])
            assert found.weight == pytest.approx(expected, abs=3e-6)


def test_the_distance_of_alibi_is_a_slope_times_the_distance() -> None:
    for family in ALIBI:
        a = analysis(family)
        corners = []
        for key in (1, 2, 4):
            found = a.qk_attribution(1, 1, 6, key, against=0, by="tokens")
            assert found.query_parts[-1].kind == found.key_parts[-1].kind == "distance"
            assert not found.matrix[-1, :-1].any() and not found.matrix[:-1, -1].any()
            assert found.matrix[-1, -1] == pytest.approx(found.distance, abs=1e-6)
            corners.append(found.distance / key)
        assert np.ptp(corners) <= 1e-4 * abs(corners[0]) + 1e-5 and abs(corners[0]) > 1e-3


def test_debertas_distances_are_a_row_and_a_column() -> None:
    for family in ("deberta", "deberta-v2"):
        for by in ("tokens", "parts"):
            found = analysis(family).qk_attribution(1, 1, 6, 2, by=by)
            assert found.key_parts[-1].kind == "distance" and found.matrix[-1, -1] == 0
            assert abs(found.matrix[-1]).max() > 1e-3 and abs(found.matrix[:, -1]).max() > 1e-3
        model = tiny_models.build(family, pos_att_type=[])
        plain = aw.analyze(TEXT, model=model, tagger=None, progress=False)
        found = plain.qk_attribution(1, 1, 6, 2)
        assert found.distance == 0
        assert {part.kind for part in found.key_parts} == {"token"} or not found.matrix[-1].any()


def test_a_cap_is_held() -> None:
    a = analysis("gemma2")
    capped = [
        a.qk_attribution(1, head, 7, key, against="all").capped
        for head in range(4)
        for key in range(7)
    ]
    given = [value for value in capped if value is not None]
    assert given and max(given) < 0.9


def test_against_a_learned_sink() -> None:
    a = analysis("gpt_oss")
    for layer in range(a.trace.n_layers):
        found = a.qk_attribution(layer, 1, 6, 2, against="sink")
        row = a.trace.weights(layer, 1)[6].astype(np.float64)
        odds = np.log(row[2] / (1 - row.sum()))
        assert found.contrast + found.constant == pytest.approx(odds, abs=2e-5)
