"""Late interaction and rerankers: scores that are the plain model's, and sums that close where there are any."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attn_widget.errors import (
    InputError,
    InputTypeError,
    NotAvailableError,
    TooLongError,
)
from tests.close import assert_close
from tests.features.similarity.embedders import (
    PAIR_SUMS,
    TEXT_SUMS,
    folder_of,
    size_of_score,
)
from tests.features.similarity.test_embedding_heads import states
from tests.features.similarity.test_similarity import (
    GAP,
    A,
    B,
    assert_closed,
    column_sums,
    compare,
    row_sums,
    size_of_row,
    tiny,
)
from tests.unit import tiny_models


def late(**options: Any) -> Any:
    return tiny("bert", pooling="tokens", **options)


def test_maxsim_is_each_tokens_best_answer() -> None:
    s = late()
    model, tokenizer = tiny_models.build("bert", "Model")
    h, g = (states(model, tokenizer, text) for text in (A, B))
    h, g = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (h, g))
    best = (h @ g.T).max(axis=1)
    size = size_of_score(s)
    assert_close(s.cosines, h @ g.T, **PAIR_SUMS, size=size / len(best))
    assert s.kind == "maxsim"
    assert_close(s.score, float(best.sum()), **PAIR_SUMS, size=size)
    matrix = s.matrix("maxsim")
    assert_close(matrix.sum(), s.score, terms=len(best), size=len(best))
    assert ((matrix != 0).sum(axis=1) == 1).all()
    assert_close(matrix.max(axis=1), best, **PAIR_SUMS, size=size / len(best))


def test_both_texts_of_a_late_interaction_are_explained() -> None:
    s = late()
    for side in ("a", "b"):
        c = s.contributions(side)
        assert_close(c.value, s.score, **PAIR_SUMS, size=size_of_score(s))
        assert c.gap <= GAP
    with pytest.raises(NotAvailableError, match="does not add up to this score"):
        s.matrix("output")
    with pytest.raises(NotAvailableError, match="does not add up"):
        tiny("bert").matrix("maxsim")


@pytest.mark.parametrize("texts", [(A, "A dog."), ("A dog.", A)])
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_input_adds_up_to_maxsim(family: str, texts: tuple[str, str]) -> None:
    """Its rows and columns are the decompositions of the target, which propagate nothing forward."""
    s = tiny(family, *texts, pooling="tokens")
    assert s.kinds == ("maxsim", "input")
    assert_closed(s)
    size = size_of_row(s)
    assert_close(s.contributions("a").values, row_sums(s), **PAIR_SUMS, size=size)
    assert_close(s.contributions("b").values, column_sums(s), **PAIR_SUMS, size=size)


@pytest.mark.parametrize("attended", [False, True])
def test_queries_are_padded_with_mask_tokens_that_count(tmp_path: Path, attended: bool) -> None:
    settings = {
        "do_query_expansion": True,
        "query_length": 9,
        "attend_to_expansion_tokens": attended,
    }
    folder = folder_of(tmp_path, settings=settings)
    s = compare("the mat", B, folder)
    model, tokenizer = tiny_models.build("bert", "Model")
    ids = tokenizer("the mat")["input_ids"]
    missing = 9 - len(ids)
    mask = [1] * len(ids) + [int(attended)] * missing
    padded = torch.tensor([ids + [tokenizer.mask_token_id] * missing])
    with torch.no_grad():
        h = model(input_ids=padded, attention_mask=torch.tensor([mask])).last_hidden_state[0]
    h, g = h.double().numpy(), states(model, tokenizer, B)
    h, g = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (h, g))
    assert s.a.trace.n_tokens == 9 and "pads queries to 9 tokens" in s.notes[0]
    assert_close(s.score, float((h @ g.T).max(axis=1).sum()), **PAIR_SUMS, size=9)
    assert_closed(s)
    assert s.matrix()[len(ids) :].any(axis=1).all()
    assert_close(s.contributions("a").values, row_sums(s), **PAIR_SUMS, size=size_of_row(s))
    assert_close(s.contributions("b").values, column_sums(s), **PAIR_SUMS, size=size_of_row(s))
    ranked = compare("the mat", [B, "a dog"], folder)
    assert_close(ranked.scores[0], s.score, **PAIR_SUMS, size=9)
    assert compare("the mat", "the mat", folder).b.trace.n_tokens == len(
        ids
    )  # a passage is not padded
    with pytest.raises(TooLongError, match="Text a is too long"):
        compare(A, B, folder)


def test_prefixes_and_the_skiplist_of_a_late_interaction_are_read(tmp_path: Path) -> None:
    settings = {
        "query_prefix": "dog ",
        "document_prefix": "cat ",
        "skiplist_words": [","],
    }
    folder = folder_of(
        tmp_path, dense=16, activation="torch.nn.Identity", normalize=True, settings=settings
    )
    s = compare("the mat", B, folder)
    assert (s.a.text, s.b.text) == ("dog the mat", "cat " + B)
    comma = [token.text for token in s.b.trace.tokens].index(",")
    assert not s.matrix()[:, comma].any() and s.cosines[:, comma].any()
    scores = np.delete(s.cosines, comma, axis=1).max(axis=1)
    assert_close(s.score, float(scores.sum()), terms=len(scores), size=len(scores))
    for side in ("a", "b"):
        assert_close(s.contributions(side).value, s.score, **PAIR_SUMS, size=size_of_score(s))


@pytest.fixture(scope="module")
def reranker() -> Any:
    return tiny_models.build("bert", "ForSequenceClassification", num_labels=1)


def test_a_reranker_is_explained_by_the_tokens_of_both_texts(reranker: Any) -> None:
    s = compare(A, B, reranker)
    model, tokenizer = reranker
    with torch.no_grad():
        logit = float(model(**tokenizer(A, B, return_tensors="pt")).logits[0, 0])
    size = size_of_score(s)
    assert s.kind == "relevance"
    assert_close(s.score, logit, **TEXT_SUMS, size=size)
    assert_close(s.probability, 1 / (1 + math.exp(-logit)), **TEXT_SUMS, size=size / 4)
    c = s.contributions()
    assert c.gap <= GAP and len(c.values) == s.a.trace.n_tokens and s.a is s.b
    with pytest.raises(NotAvailableError, match="no sum over pairs of words"):
        s.matrix()
    f = s.a.why.faithfulness(s.target(), ["decomposition"])
    # Of one class: its sigmoid, whose slope is at most 1/4.
    assert_close(f.probability, s.probability, **TEXT_SUMS, size=size / 4)
    effects = s.a.why.head_effects(s.target())
    assert np.isfinite(effects.divergence).all() and effects.divergence.max() > 0


def test_a_classifier_of_several_classes_is_no_reranker() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification", num_labels=3)
    with pytest.raises(InputError, match="into 3 classes; a reranker has one output"):
        compare(A, B, model)
    assert compare(A, B, model, pooling="mean").kind == "cosine"


def test_identical_texts_by_a_reranker_with_a_pooling_are_compared_by_it(reranker: Any) -> None:
    assert compare(A, A, reranker, pooling="mean").kind == "cosine"
    assert compare(A, A, reranker, pooling="tokens").kind == "maxsim"
    assert compare(A, A, reranker).kind == "relevance"


def test_lists_and_numbers_are_refused(reranker: Any) -> None:
    with pytest.raises(InputTypeError, match=r"a is \['x'\], expected one text.*two lists"):
        compare(["x"], ["y"], reranker)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputTypeError, match="b is 3, expected a text or several"):
        compare("x", 3, reranker)
    with pytest.raises(InputError, match="is a reranker, which has none"):
        compare("x", "y", reranker, similarity="dot")
