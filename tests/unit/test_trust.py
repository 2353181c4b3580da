"""Agreement and faithfulness, against scipy and against masks written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.influence.agreement import spearman, word_scores
from attn_widget.influence.contributions import pieces_of_words
from attn_widget.influence.faithfulness import Deletion
from attn_widget.influence.methods import METHODS

TEXT = "The keys to the cabinet are here."
TARGET = aw.target(position=6, token="are", against="is", masked=True)
CHEAP = ["decomposition", "gradient_x_input", "occlusion", "weights", "alti"]


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return aw.analyze(TEXT, tagger=None, progress=False)


def test_rho_is_that_of_scipy(analysis: Analysis) -> None:
    found = analysis.agreement(TARGET, CHEAP)
    assert found.methods == tuple(CHEAP)
    assert found.words == 8  # seven words and the full stop
    scores = {m: word_scores(analysis.contributions(TARGET, m)) for m in CHEAP}  # pyright: ignore[reportArgumentType]
    for i, one in enumerate(CHEAP):
        for j, other in enumerate(CHEAP):
            a, b = scores[one], scores[other]
            if {"weights", "alti"} & {one, other}:
                a, b = np.abs(a), np.abs(b)
            assert found.rho[i, j] == pytest.approx(spearmanr(a, b).statistic, abs=1e-6)


def test_all_methods_are_compared_by_default(analysis: Analysis) -> None:
    found = analysis.agreement(TARGET)
    assert found.methods == METHODS
    np.testing.assert_allclose(np.diag(found.rho), 1)
    assert found.to_dataframe().loc["occlusion", "alti"] == found.rho[3, METHODS.index("alti")]


@pytest.mark.parametrize(
    ("a", "b"), [([1.0, 1, 2, 5, 5], [3.0, 1, 4, 1, 5]), ([1.0, 2, 3], [3.0, 2, 1])]
)
def test_ties_share_their_mean_rank(a: list[float], b: list[float]) -> None:
    assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_two_words_or_equal_scores_have_no_rho() -> None:
    assert np.isnan(spearman([1, 2], [2, 1]))
    assert np.isnan(spearman([1, 1, 1], [1, 2, 3]))


def test_curves_are_probabilities_of_texts_masked_by_hand(analysis: Analysis) -> None:
    found = analysis.faithfulness(TARGET, ["occlusion"], n_random=2)
    assert analysis.run is not None
    encoder = analysis.run.encoder
    ids = encoder.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    ids[0, 6] = encoder.tokenizer.mask_token_id
    plus, minus = encoder.tokenizer.convert_tokens_to_ids(["are", "is"])

    def probability(masked: list[int]) -> float:
        changed = ids.clone()
        changed[0, masked] = encoder.tokenizer.mask_token_id
        with torch.no_grad():
            logits = encoder.network(input_ids=changed).prediction_logits[0, 6].double()
        return float(logits[[plus, minus]].softmax(0)[0])

    own = analysis.contributions(TARGET, "occlusion")
    words = list(pieces_of_words(own.tokens).values())
    order = np.argsort(-word_scores(own), kind="stable")
    for k in range(len(words) + 1):
        first = [piece for word in order[:k] for piece in words[word]]
        rest = [piece for word in order[k:] for piece in words[word]]
        curve = found.curves["occlusion"]
        assert curve.deleted[k] == pytest.approx(probability(first), abs=1e-5)
        assert curve.kept[k] == pytest.approx(probability(rest), abs=1e-5)
    assert found.probability == pytest.approx(probability([]), abs=1e-5)


def test_areas_are_trapezoids() -> None:
    curve = Deletion(
        shares=np.array([0.0, 0.5, 1.0]),
        deleted=np.array([1.0, 0.5, 0.0]),
        kept=np.array([0.0, 0.5, 1.0]),
    )
    assert curve.comprehensiveness == 0.5
    assert curve.sufficiency == 0.5
    sharp = Deletion(
        shares=np.array([0.0, 0.5, 1.0]),
        deleted=np.array([1.0, 0.0, 0.0]),
        kept=np.array([0.0, 1.0, 1.0]),
    )
    assert sharp.comprehensiveness == 0.75
    assert sharp.sufficiency == 0.25


def test_methods_above_the_random_band_are_better_than_random(analysis: Analysis) -> None:
    methods = [*CHEAP, "attention_gradient"]
    found = analysis.faithfulness(TARGET, methods)
    mean, low, high = found.band()
    assert low <= mean <= high
    areas = {method: curve.comprehensiveness for method, curve in found.curves.items()}
    assert found.better_than_random == {method: areas[method] > high for method in methods}
    assert found.better_than_random["attention_gradient"]
    assert not found.better_than_random["weights"]
    assert areas["decomposition"] > mean
    table = found.to_dataframe()
    assert table.method.tolist() == [*methods, "random"]
    assert len(found.random) == 20


def test_the_same_seed_gives_the_same_band(analysis: Analysis) -> None:
    first, again, other = (
        analysis.faithfulness(TARGET, ["weights"], n_random=5, seed=seed).band()
        for seed in (3, 3, 4)
    )
    assert first == again != other


def test_progress_is_told_and_can_cancel(analysis: Analysis) -> None:
    seen: list[tuple[int, int]] = []
    analysis.faithfulness(TARGET, ["weights"], n_random=2, progress=lambda *at: seen.append(at))
    assert seen
    assert seen[-1][0] == seen[-1][1]

    def cancel(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        analysis.faithfulness(TARGET, ["weights"], n_random=2, progress=cancel)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["weights"], "methods holds 1, and agreement is between two"),
        (["weights", "wieghts"], "wieghts"),
        ([], "methods holds 0"),
    ],
)
def test_methods_that_do_not_do(analysis: Analysis, methods: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        analysis.agreement(TARGET, methods)


def test_attention_alone_has_no_target() -> None:
    weights = np.full((1, 1, 2, 2), 0.5, dtype=np.float32)
    outside = aw.from_attentions(weights, tokens=["a", "b"])
    for ask in (outside.agreement, outside.faithfulness):
        with pytest.raises(NotAvailableError, match="no model to ask"):
            ask(TARGET)
