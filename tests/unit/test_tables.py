"""A row of a table names what it numbers: each is looked up anew, by its names, in another place."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import attn_widget as aw
from attn_widget.analysis import Analysis
from tests.unit import tiny_models

TEXT = "The tall cat sat on the tall mat. A dog saw it."


@cache
def own() -> Analysis:
    return aw.analyze(TEXT, progress=False)


@cache
def tiny(name: str) -> Analysis:
    two = {"output": "A quick brown fox."} if name in tiny_models.ENCODER_DECODERS else {}
    return aw.analyze(TEXT, model=tiny_models.build(name), tagger=None, progress=False, **two)


def rows(table: Any) -> list[dict[str, Any]]:
    found = table.to_dict("records")
    assert found
    return found


def softmax(logits: Any) -> Any:
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum()


def test_a_row_of_a_head_has_the_figures_of_its_matrix() -> None:
    a, n = own(), own().trace.n_tokens
    for row in rows(a.to_dataframe()):
        weights = a.attention(row["layer"], row["head"]).astype(np.float64)
        assert row["confidence_max"] == pytest.approx(weights.max(), rel=1e-6)
        assert row["self"] == pytest.approx(np.trace(weights) / n, rel=1e-4)
    assert rows(a.metrics.to_dataframe())[-1].keys() <= rows(a.to_dataframe())[-1].keys()
    for row in rows(a.heads.patterns.to_dataframe()):
        weights = a.attention(row["layer"], row["head"])
        assert row["previous"] == pytest.approx(np.diagonal(weights, -1).mean(), rel=1e-4)
    for row in rows(a.heads.specialization.to_dataframe()):
        weights = a.attention(row["layer"], row["head"])
        assert row["cls"] == pytest.approx(weights[:, 0].mean(), rel=1e-4)
    roles = a.heads.roles()
    for row in rows(roles.to_dataframe()):
        at = row["layer"], row["head"]
        assert row["name"] == roles.names[row["role"]] and row["role"] == roles.labels[at]
        assert (row["x"], row["y"]) == tuple(roles.layout[at].tolist())


def test_a_row_of_sentences_and_of_a_tree_has_the_weights_between_its_texts() -> None:
    a = own()
    at = {s: [i for i, t in enumerate(a.tokens) if t.sentence == s] for s in range(2)}
    mean = a.attention(2, 1)
    for row in rows(a.sentences.to_dataframe(layer=2, head=1)):
        first, second = at[row["from"]], at[row["to"]]
        assert row["mass"] == pytest.approx(mean[np.ix_(first, second)].sum(1).mean(), rel=1e-4)
        for side, places in (("from_text", first), ("to_text", second)):
            start, end = (a.tokens[k] for k in (places[0], places[-1]))
            assert a.text[start.start : end.end] == row[side]
    for row in rows(a.heads.tree(3, layer=2, head=1).to_dataframe()):
        assert row["weight"] == pytest.approx(mean[row["parent"], row["token"]], rel=1e-6)


@pytest.mark.parametrize("at", [slice(None), slice(3, 6), slice(1, None, 3)])
@pytest.mark.parametrize("name", ["bert", "gpt2", "bart"])
def test_a_row_of_predictions_has_its_position_its_token_and_their_numbers(
    name: str, at: slice
) -> None:
    a = tiny(name)
    next_one = a.model.default_mode == "next"
    table = rows(a.predictions(top_k=3, rows=at).to_dataframe())
    assert sorted({row["position"] for row in table}) == list(range(a.trace.n_tokens))[at]
    for row in table:
        position = row["position"]
        assert a.tokens[position].text == row["token"]
        shares = softmax(a.trace.logits[position])
        assert row["probability"] == pytest.approx(shares[row["id"]], rel=1e-4)
        assert row["logit"] == pytest.approx(a.trace.logits[position, row["id"]], abs=1e-5)
        assert row["rank"] == 1 + (shares > shares[row["id"]]).sum()
        prefix = "token" if next_one else "original"
        found = row[f"{prefix}_probability"]
        if next_one and position == 0:
            assert np.isnan(found)
            continue
        shares = softmax(a.trace.logits[position - next_one])
        expected = shares[a.tokens[position].id]
        assert found == pytest.approx(expected, rel=1e-4)
        assert row[f"{prefix}_rank"] == 1 + (shares > expected).sum()


@pytest.mark.parametrize("name", ["bert", "gpt2", "bart"])
def test_a_row_of_why_has_what_its_token_head_or_layer_does(name: str) -> None:
    a = tiny(name)
    target = aw.target(position=3, token=20, against=30)

    def value(of: Analysis) -> float:
        return float(of.trace.logits[3, 20]) - float(of.trace.logits[3, 30])

    c = a.why.contributions(target)
    for row in rows(c.to_dataframe()):
        source = row.get("text") == "source"
        tokens, values = (a.of("encoder").tokens, c.source) if source else (a.tokens, c.values)
        assert values is not None and row["token"] == tokens[row["position"]].text
        assert (
            row["contribution"] == pytest.approx(values[row["position"]])
            and row["method"] == c.method
        )
    part = {"part": "decoder"} if name == "bart" else {}
    whole = value(a)
    for row in rows(a.why.head_effects(target).to_dataframe())[::3]:
        address = (row["layer"], row["head"])
        off = a.ablate([(part["part"], *address)] if part else [address])
        assert row["effect"] == pytest.approx(whole - value(off), abs=1e-5)
        assert row.get("part") == part.get("part")
    if name == "bart":  # its head reads no layer
        return
    lens = rows(a.why.logit_lens(target).to_dataframe())
    assert [row["layer"] for row in lens] == list(range(a.trace.n_layers + 1))
    assert lens[-1]["value"] == pytest.approx(whole, abs=1e-5)
    shares = softmax(a.trace.logits[3])
    assert lens[-1]["probability"] == pytest.approx(shares[20], rel=1e-4)
    assert lens[-1]["rank"] == 1 + (shares > shares[20]).sum()


def test_a_row_of_components_is_what_its_part_adds() -> None:
    a = tiny("gpt2")
    table = rows(a.why.components(aw.target(position=3, token=20)).to_dataframe())
    assert sum(row["contribution"] for row in table) == pytest.approx(
        float(a.trace.logits[3, 20]), abs=1e-4
    )
    c = a.why.components(aw.target(position=3, token=20))
    for row in table:
        one = {
            "head": lambda row=row: c.heads[int(row["layer"]), int(row["head"])],
            "mlp": lambda row=row: c.mlps[int(row["layer"])],
            "embedding": lambda: c.embedding,
            "bias": lambda: c.bias,
        }[row["part"]]()
        assert row["contribution"] == pytest.approx(one)


def test_a_row_of_what_is_written_has_the_token_at_its_position() -> None:
    a = tiny("bart")
    table = rows(a.why.written_shares.to_dataframe())
    for row in table[:-1]:
        token = a.tokens[row["position"]]
        assert row["token"] == token.text
        assert row["logit"] == pytest.approx(
            a.trace.logits[row["position"] - 1, token.id], abs=1e-5
        )
    assert table[-1]["position"] == a.trace.n_tokens
    assert table[-1]["logit"] == pytest.approx(a.trace.logits[-1].max(), abs=1e-5)


def test_a_row_of_trust_is_of_its_method() -> None:
    a = own()
    target = aw.target(position=3, token=a.tokens[3].id, masked=True)
    methods = ("gradient_x_input", "alti", "occlusion")
    words = [
        i for i, token in enumerate(a.tokens) if not token.special and i != 3
    ]  # one token each
    scores = {method: a.why.contributions(target, method).values[words] for method in methods}
    table = a.why.agreement(target, methods=methods).to_dataframe()
    for first in methods:
        for second in methods:
            signed = "alti" not in (first, second)
            pair = [one if signed else np.abs(one) for one in (scores[first], scores[second])]
            assert table.loc[first, second] == pytest.approx(spearmanr(*pair).statistic, abs=1e-6)
    f = a.why.faithfulness(target, methods=methods)
    for row in rows(f.to_dataframe())[:-1]:
        curve = f.curves[row["method"]]
        assert row["comprehensiveness"] == curve.comprehensiveness
        assert row["sufficiency"] == curve.sufficiency
        assert row["p"] == f.tests[row["method"]].p or np.isnan(row["p"])


def test_a_row_of_many_texts_is_the_mean_of_its_figure() -> None:
    texts = ["The cat sat on the mat.", "A dog saw the old bird.", "He has no hat."]
    every = [aw.analyze(text, progress=False) for text in texts]
    p = aw.profile(texts, progress=False)
    for row in rows(p.to_dataframe())[::7]:
        figures = [one.metrics.as_dict() | one.heads.specialization.raw for one in every]
        values = [
            each[row["key"]][row["layer"], row["head"]] for each in figures if row["key"] in each
        ]
        if values and not np.isnan(values).any():
            assert row["mean"] == pytest.approx(np.mean(values, dtype=np.float64), rel=1e-4)
            assert row["count"] == len(texts)


def test_a_row_of_a_comparison_has_each_runs_figures_of_its_head() -> None:
    a, b = (aw.analyze(text, progress=False) for text in ("he has a hat", "she has a hat"))
    c = aw.compare(a, b)
    for row in rows(c.to_dataframe()):
        at, there = (row["layer"], row["head"]), (row["layer_b"], row["head_b"])
        assert row["confidence_max_a"] == pytest.approx(float(a.attention(*at).max()), rel=1e-6)
        assert row["confidence_max_b"] == pytest.approx(float(b.attention(*there).max()), rel=1e-6)


def test_a_row_of_a_similarity_and_of_a_ranking_is_of_its_words_and_passage() -> None:
    pair = {"model": "attn_widget/mini", "progress": False}
    s: Any = aw.similarity("the cat sat", "a tall dog sat", **pair)
    for row in rows(s.to_dataframe()):
        i, j = row["position_a"], row["position_b"]
        if not (np.isnan(i) or np.isnan(j)):
            assert (s.a.tokens[int(i)].text, s.b.tokens[int(j)].text) == (
                row["token_a"],
                row["token_b"],
            )
            assert row["value"] == pytest.approx(s.matrix()[int(i), int(j)])
    assert s.to_dataframe()["value"].sum() == pytest.approx(s.score, abs=1e-4)
    passages = ["a dog ran", "the cat sat down", "rain fell"]
    ranking: Any = aw.similarity("the cat sat", passages, **pair)
    table = rows(ranking.to_dataframe())
    for row in table:
        assert passages[row["index"]] == row["passage"]
        alone: Any = aw.similarity("the cat sat", row["passage"], **pair)
        assert row["score"] == pytest.approx(alone.score, abs=1e-5)
    ordered = sorted(table, key=lambda row: row["rank"])
    assert [row["score"] for row in ordered] == sorted(
        (row["score"] for row in table), reverse=True
    )
