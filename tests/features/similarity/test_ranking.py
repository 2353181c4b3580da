"""Rankings: the model's own order, differences that close, and passages that cannot be read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.checks.rounding import rounding
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, NotFiniteError
from attn_widget.features.similarity import ranking as ranking_module
from tests.close import assert_close
from tests.features.similarity.embedders import MEAN, PAIR_SUMS, TEXT_SUMS, folder_of, size_of_score
from tests.features.similarity.test_embedding_heads import states
from tests.features.similarity.test_similarity import cosine
from tests.unit import tiny_models

QUERY = "the cat sat on the mat"
PASSAGES = [
    "It didn't rain.",
    "She sells sea shells on the sea shore, and he buys them for a dollar each.",
    "A quick brown fox jumps over the lazy dog while the children sleep.",
    "The cat sat on the mat.",
    "the dog",
]


def rank(passages: Any, model: Any, query: str = QUERY, **options: Any) -> Any:
    return aw.similarity(query, passages, model=model, progress=False, **options)


def size_of_scores(r: Any) -> float:
    """The largest `size_of_score` of a passage."""
    return max(size_of_score(r.explain(i)) for i in r.order)


@pytest.fixture(scope="module")
def bert() -> Any:
    return tiny_models.build("bert", "Model")


@pytest.fixture(scope="module")
def reranker() -> Any:
    return tiny_models.build("bert", "ForSequenceClassification", num_labels=1)


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert", "mpnet"])
def test_padded_batches_give_the_models_own_cosines_in_order(family: str) -> None:
    model, tokenizer = tiny_models.build(family, "Model")
    r = rank(PASSAGES, (model, tokenizer), pooling="mean")
    e = states(model, tokenizer, QUERY).mean(axis=0)
    wanted = [cosine(e, states(model, tokenizer, text).mean(axis=0)) for text in PASSAGES]
    assert_close(r.scores, wanted, **PAIR_SUMS, size=size_of_scores(r))
    assert r.order == np.argsort(-np.array(wanted)).tolist() and r.complete
    best = r.order[0]
    assert r.top(2)[0] == (best, r.scores[best], PASSAGES[best])
    ranks = {row["index"]: row["rank"] for row in r.to_dataframe().to_dict("records")}
    assert ranks[r.order[0]] == 1 and len(r) == 5


@pytest.mark.parametrize("pooling", ["max", "last", "weighted", "tokens"])
def test_every_score_is_that_of_the_pair(bert: Any, pooling: str) -> None:
    r = rank(PASSAGES, bert, pooling=pooling)
    for i, score in enumerate(r.scores):
        s = r.explain(i)
        assert_close(s.score, score, **PAIR_SUMS, size=size_of_score(s))
    assert r.kind == r.explain(0).kind


def test_a_reranker_ranks_by_its_logit(reranker: Any) -> None:
    model, tokenizer = reranker
    r = rank(PASSAGES, reranker)
    with torch.no_grad():
        wanted = [
            float(model(**tokenizer(QUERY, text, return_tensors="pt")).logits) for text in PASSAGES
        ]
    s = r.explain(1)
    assert_close(r.scores, wanted, **TEXT_SUMS, size=size_of_score(s))
    assert_close(s.score, wanted[1], **TEXT_SUMS, size=size_of_score(s))


@pytest.mark.parametrize("kind", ["mean", "tokens", "reranker"])
def test_the_difference_of_two_passages_closes_over_the_query(
    bert: Any, reranker: Any, kind: str
) -> None:
    r = rank(PASSAGES, reranker) if kind == "reranker" else rank(PASSAGES, bert, pooling=kind)
    d = r.difference(1, 3)
    assert_close(d.value, r.scores[1] - r.scores[3], **PAIR_SUMS, size=2 * size_of_scores(r))
    sizes = [np.abs(part.values).sum() + abs(part.bias) for part in d.passages]
    assert_close(d.values.sum() + d.bias, d.value, **PAIR_SUMS, size=sum(sizes))
    records = d.to_records()
    total = sum(record["value"] for record in records)
    assert_close(total, d.value, **PAIR_SUMS, size=sum(sizes))
    assert [record["word"] for record in records][1:3] == ["the", "cat"]
    for part, index, size in zip(d.passages, (1, 3), sizes, strict=True):
        assert_close(part.total, r.scores[index], **PAIR_SUMS, size=size)
    assert f"{d.value:+.4f}" in repr(d)


@pytest.mark.parametrize("longer", [0, 1])
def test_a_query_that_is_cut_with_one_passage_is_compared_as_far_as_both_have_it(
    reranker: Any, longer: int
) -> None:
    passages = [QUERY, "the dog"]
    r = rank(passages, reranker, query=" ".join([QUERY] * 20), truncation=True)
    d = r.difference(longer, 1 - longer)
    parts = [r.explain(i).contributions() for i in (longer, 1 - longer)]
    lengths = [
        sum(not token.special and token.segment == 0 for token in r.explain(i).a.trace.tokens)
        for i in (longer, 1 - longer)
    ]
    assert lengths[0] != lengths[1]
    common = slice(1, 1 + min(lengths))  # after [CLS]
    wanted = parts[0].values[common] - parts[1].values[common]
    np.testing.assert_allclose(d.values[common], wanted, atol=1e-7)
    alone = slice(1 + min(lengths), 1 + lengths[0])
    np.testing.assert_array_equal(d.values[alone], parts[0].values[alone])
    assert d.values.sum() + d.bias == pytest.approx(d.value, abs=1e-5)


def test_an_embedders_difference_is_that_of_its_directions(bert: Any) -> None:
    """``<u_k, e_i/|e_i| - e_j/|e_j|> / |e_a|``, from the matrices of the two pairs."""
    r = rank(PASSAGES, bert, pooling="mean")
    rows, sizes = [], []
    for index in (2, 4):
        s = r.explain(index)
        n, matrix = s.a.trace.n_tokens, s.matrix()
        rows.append(matrix.sum(axis=1) + s.biases[:n])
        sizes.append(np.abs(matrix).sum(axis=1) + np.abs(s.biases[:n]))
    size = sizes[0] + sizes[1]
    assert_close(r.difference(2, 4).values, rows[0] - rows[1], **PAIR_SUMS, size=size)


def test_blocks_and_batches_change_nothing(bert: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rank(PASSAGES, bert, pooling="mean")
    monkeypatch.setattr(ranking_module, "PASSAGES_AT_ONCE", 2)
    monkeypatch.setattr(ranking_module, "TOKENS_AT_ONCE", 1)
    parts = rank(PASSAGES, bert, pooling="mean").scores
    assert_close(parts, whole.scores, **PAIR_SUMS, size=size_of_scores(whole))


# Passages that cannot be read, and many of them


def test_a_passage_that_cannot_be_read_is_named_and_the_others_are_ranked(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN, max_length=16)
    passages = ["the cat", "", PASSAGES[1] * 2, 7, "the dog"]
    r = rank(passages, folder)
    assert sorted(r.failed) == [1, 2, 3] and sorted(r.order) == [0, 4] and r.complete
    assert "empty" in r.failed[1] and "reads at most 16" in r.failed[2] and "int" in r.failed[3]
    assert np.isnan(r.scores[[1, 2, 3]]).all()
    with pytest.raises(NotAvailableError, match=r"Passage 2 has no score: .* reads at most 16"):
        r.explain(2)
    cut = rank(passages, folder, truncation=True)
    assert sorted(cut.failed) == [1, 3] and cut.truncated[2][0] == 16 < cut.truncated[2][1]
    s = cut.explain(2)
    assert_close(s.score, cut.scores[2], **PAIR_SUMS, size=size_of_score(s))


def test_a_passage_without_a_direction_has_no_cosine(tmp_path: Path) -> None:
    from tests.features.similarity.test_similarity import planted

    folder = planted(tmp_path, "cat")
    r = rank(["the dog", "a cat"], folder, "the cat")
    assert r.order == [1] and "length 0" in r.failed[0]
    with pytest.raises(NotFiniteError, match="length 0"):
        rank(["a cat"], folder, "the dog")


def test_no_passages_and_one_passage_twice_are_refused(bert: Any) -> None:
    with pytest.raises(InputError, match="There are no passages"):
        rank([], bert, pooling="mean")
    r = rank(PASSAGES, bert, pooling="mean")
    with pytest.raises(InputError, match="both 2, so there is no difference"):
        r.difference(2, 2)
    with pytest.raises(InputError, match="index"):
        r.explain(5)


def test_a_ranking_explains_with_the_tagger_that_it_was_given(bert: Any) -> None:
    r = rank(PASSAGES, bert, pooling="mean", tagger=lambda text: [(0, len(text), "X")])
    assert [word.text for word in r.explain(0).a.words] == [QUERY]
    with pytest.raises(InputTypeError, match="not a tagger"):
        rank(PASSAGES, bert, pooling="mean", tagger=3)


def test_a_model_with_nan_stops_a_ranking(bert: Any) -> None:
    model, tokenizer = tiny_models.build("bert", "ForSequenceClassification", seed=5, num_labels=1)
    with torch.no_grad():
        model.classifier.bias[:] = float("nan")
    with pytest.raises(NotFiniteError, match="nan"):
        rank(PASSAGES, (model, tokenizer))


def test_ten_thousand_passages_are_read_as_they_come(bert: Any) -> None:
    """From a generator, of which no more is taken than a block ahead of the scores."""
    taken, ahead = 0, []
    scored: list[int] = []

    def passages() -> Iterator[str]:
        nonlocal taken
        for i in range(10_000):
            taken += 1
            ahead.append(taken - len(scored))
            yield f"{tiny_models.TEXTS[i % 4][:12]} {i % 7}"

    original = ranking_module.rank_block

    def counted(ranking: Any, block: Any, *rest: Any) -> None:
        original(ranking, block, *rest)
        scored.extend(block)

    ranking_module.rank_block = counted
    try:
        r = rank(passages(), bert, pooling="mean")
    finally:
        ranking_module.rank_block = original
    assert len(r) == 10_000 and r.complete and np.isfinite(r.scores).all()
    assert max(ahead) <= ranking_module.PASSAGES_AT_ONCE
    same = list(range(0, 10_000, 28))  # the same text: 4 beginnings, 7 numbers
    assert np.ptp(r.scores[same]) <= rounding(size_of_score(r.explain(0)), **PAIR_SUMS)


def test_an_interruption_leaves_what_is_done(bert: Any) -> None:
    def passages() -> Iterator[str]:
        for i in itertools.count():
            if i == 600:
                raise KeyboardInterrupt
            yield PASSAGES[i % 5]

    r = rank(passages(), bert, pooling="mean")
    assert not r.complete and len(r) == 512 and np.isfinite(r.scores).all()
    assert "interrupted" in repr(r) and r.top(1)[0][2] in PASSAGES
    whole = rank(PASSAGES, bert, pooling="mean")
    assert_close(r.scores[:5], whole.scores, **PAIR_SUMS, size=size_of_scores(whole))


class Interrupting(str):
    """A text at which the reader presses Ctrl-C."""

    def strip(self, *_: Any) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise KeyboardInterrupt


def test_an_interruption_while_passages_are_read_lists_what_failed(bert: Any) -> None:
    r = rank([" ", "the dog", Interrupting("the mat")], bert, pooling="mean")
    assert not r.complete and r.order == []
    assert len(r) == len(r.scores) == len(r.to_records()) == 3
    assert [*r.failed] == [0] and r.to_records()[0]["failed"] == r.failed[0]
