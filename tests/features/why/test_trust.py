"""Agreement and faithfulness, against scipy and against masks written out by hand."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, spearmanr

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, NotAvailableError, NotFiniteError
from attn_widget.features.why.agreement import spearman, word_scores
from attn_widget.features.why.contributions import maskable_words
from attn_widget.features.why.faithfulness import Deletion, ranked
from attn_widget.features.why.methods import METHODS
from attn_widget.features.why.orders.order_test import LEVEL
from attn_widget.protocol.answer import answer
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The keys to the cabinet are here."
TARGET = aw.target(position=6, token="are", against="is", masked=True)
CHEAP = ["decomposition", "gradient_x_input", "occlusion", "weights", "alti"]


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return aw.analyze(TEXT, tagger=None, progress=False)


def words_of(analysis: Analysis) -> list[list[int]]:
    """Positions of the words, without the masked one."""
    return [[i] for i in range(1, analysis.trace.n_tokens - 1) if i != TARGET.position]


def scores_of(analysis: Analysis, method: Any) -> np.ndarray:
    return word_scores(analysis.why.contributions(TARGET, method), words_of(analysis))


def test_rho_is_that_of_scipy(analysis: Analysis) -> None:
    found = analysis.why.agreement(TARGET, CHEAP)
    assert found.methods == tuple(CHEAP)
    assert found.words == 7  # six words and the full stop; the masked verb takes no part
    scores = {m: scores_of(analysis, m) for m in CHEAP}
    for i, one in enumerate(CHEAP):
        for j, other in enumerate(CHEAP):
            a, b = scores[one], scores[other]
            if {"weights", "alti"} & {one, other}:
                a, b = np.abs(a), np.abs(b)
            assert_close(found.rho[i, j], spearmanr(a, b)[0], terms=1, size=1)


def test_all_methods_are_compared_by_default(analysis: Analysis) -> None:
    found = analysis.why.agreement(TARGET)
    assert found.methods == METHODS
    np.testing.assert_allclose(np.diag(found.rho), 1)
    assert found.to_dataframe().loc["occlusion", "alti"] == found.rho[3, METHODS.index("alti")]


@pytest.mark.parametrize(
    ("a", "b"), [([1.0, 1, 2, 5, 5], [3.0, 1, 4, 1, 5]), ([1.0, 2, 3], [3.0, 2, 1])]
)
def test_ties_share_their_mean_rank(a: list[float], b: list[float]) -> None:
    assert spearman(a, b) == pytest.approx(spearmanr(a, b)[0])


def test_two_words_or_equal_scores_have_no_rho() -> None:
    assert np.isnan(spearman([1, 2], [2, 1]))
    assert np.isnan(spearman([1, 1, 1], [1, 2, 3]))


def test_curves_are_probabilities_of_texts_masked_by_hand(analysis: Analysis) -> None:
    found = analysis.why.faithfulness(TARGET, ["occlusion"])
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

    words = words_of(analysis)
    order = np.argsort(-scores_of(analysis, "occlusion"), kind="stable")
    for k in range(len(words) + 1):
        first = [piece for word in order[:k] for piece in words[word]]
        rest = [piece for word in order[k:] for piece in words[word]]
        curve = found.curves["occlusion"]
        assert_close(curve.deleted[k], probability(first), terms=384, steps=6, size=1)
        assert_close(curve.kept[k], probability(rest), terms=384, steps=6, size=1)
    assert_close(found.probability, probability([]), terms=384, steps=6, size=1)


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


def test_all_orders_of_the_words_are_read_without_the_masked_one(analysis: Analysis) -> None:
    found = analysis.why.faithfulness(TARGET, CHEAP)
    assert (found.random.words, found.random.orders, found.random.drawn) == (7, 5040, False)
    mean, low, high = found.band()
    assert low < mean < high
    for method, curve in found.curves.items():
        test = found.tests[method]
        below = np.mean(found.random.areas < curve.comprehensiveness - 1e-9)
        assert test.percentile == test.low == test.high == pytest.approx(100 * below)
        assert test.p == pytest.approx(1 - below)
        assert found.better_than_random[method] == (test.adjusted <= LEVEL)
    table = found.to_dataframe()
    assert table.method.tolist() == [*CHEAP, "random"]
    assert table.percentile[:-1].tolist() == [found.tests[m].percentile for m in CHEAP]
    assert "of 5 methods better than 5,040 random orders" in repr(found)


def test_one_verdict_for_200_seeds(analysis: Analysis) -> None:
    tests = analysis.why.faithfulness(TARGET).tests
    for seed in range(1, 200):
        assert analysis.why.faithfulness(TARGET, seed=seed).tests == tests


def test_random_methods_are_called_better_in_5_percent_of_cases_on_a_real_sentence(
    analysis: Analysis,
) -> None:
    random = analysis.why.faithfulness(TARGET, ["weights"]).random
    rng = np.random.default_rng(0)
    found = sum(
        any(
            test.better
            for test in random.tests(
                dict(zip("abcdefghij", rng.choice(random.areas, 10), strict=True))
            ).values()
        )
        for _ in range(2000)
    )
    assert binomtest(found, 2000, LEVEL).pvalue > 0.001


FORTY = (
    "The old men who live near the river say that the bridge between the two small towns was built by the "
    "people of both sides long before the war , and that the water was once as clear as glass ."
)


def test_orders_of_forty_words_are_drawn_from_the_text(analysis: Analysis) -> None:
    a = aw.analyze(FORTY, tagger=None, progress=False)
    target = aw.target(position=16, token="was", against="were", masked=True)
    first, again = (
        a.why.faithfulness(target, ["weights", "decomposition"], n_random=100, seed=seed)
        for seed in (0, 5)
    )
    assert first.random.drawn and first.random.words == a.trace.n_tokens - 3 >= 40
    assert first.tests == again.tests and len(first.curves["weights"].shares) <= 12
    for test in first.tests.values():
        assert 0 <= test.low <= test.percentile <= test.high <= 100
        assert test.high - test.low > 3  # a hundred orders say no more
    few = a.why.faithfulness(target, ["weights", "decomposition"], n_random=20)
    assert few.untestable == "20 random orders are drawn, and a test of 2 methods needs 40"


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("cats sleep", 2, "1 word has 1 order"),
        ("the old cat sleeps", 4, "3 words have 6 orders"),
        ("the cat sat on the mat", 6, "5 words have 120 orders"),
    ],
)
def test_few_words_cannot_be_tested(text: str, position: int, said: str) -> None:
    a = aw.analyze(text, tagger=None, progress=False)
    found = a.why.faithfulness(aw.target(position=position, token="sleep", masked=True))
    assert found.untestable is not None and found.untestable.startswith(said)
    assert "a test of 10 methods needs 200" in found.untestable
    assert set(found.better_than_random.values()) == {None}
    assert found.to_dataframe().percentile.isna().all()
    assert f"cannot be tested: {said}" in repr(found)


def test_a_short_text_is_sent_without_a_verdict() -> None:
    a = aw.analyze("the cat sat", tagger=None, progress=False)
    target = {"position": 3, "token": 2938, "masked": True}
    reply, _ = answer(a, {"kind": "trust", "target": target, "methods": ["decomposition"]})
    assert reply["data"]["untestable"].startswith("2 words have 2 orders")
    assert reply["data"]["tests"] == [None]


def test_words_too_few_for_a_rank_correlation_are_said() -> None:
    target = aw.target(position=1, token="cat", masked=True)
    a = aw.analyze("cats sleep", tagger=None, progress=False)
    agreed = a.why.agreement(target, ["decomposition", "weights"])
    assert repr(agreed) == "Agreement(2 methods, 1 word: a rank correlation takes 3)"
    methods = ["decomposition", "weights"]
    many = aw.corpus.agreement(
        ["cats sleep"], target=target, methods=methods, tagger=None, progress=False
    )
    assert "no text has a rank correlation" in repr(many)


def test_probabilities_that_are_no_numbers_are_named_and_give_no_curve() -> None:
    model, tokenizer = tiny_models.build("bert")
    model = copy.deepcopy(model)
    mask = tokenizer.mask_token_id
    model.bert.embeddings.register_forward_hook(
        lambda _module, _args, given, output: (
            output * torch.nan if (given["input_ids"] == mask).sum() > 3 else output
        ),
        with_kwargs=True,
    )
    options: dict[str, Any] = {"model": (model, tokenizer), "tagger": None, "progress": False}
    target = aw.target(position=3, token=17)
    a = aw.analyze(TEXT, **options)
    with pytest.raises(NotFiniteError, match="gives nan for this target"):
        a.why.faithfulness(target, ["decomposition"])
    with pytest.raises(InputError, match="gives nan for this target"):
        aw.corpus.faithfulness([TEXT], target=target, methods=["decomposition"], **options)


@pytest.mark.parametrize("text", ["[MASK]", "[MASK] [MASK]", "cat"])
def test_a_text_of_masks_has_no_word_to_mask(text: str) -> None:
    a = aw.analyze(text, tagger=None, progress=False)
    target = aw.target(position=1, token="cat", masked=True)
    with pytest.raises(NotAvailableError, match="no word that can be masked"):
        a.why.faithfulness(target, ["decomposition"])
    with pytest.raises(NotAvailableError, match="no path from a masked text"):
        a.why.contributions(target, "integrated_gradients")
    assert a.why.agreement(target, ["decomposition", "weights"]).words == 0


def test_masks_of_the_text_itself_count_neither_as_words_nor_in_rho() -> None:
    a = aw.analyze("The [MASK] to the [MASK] are here.", tagger=None, progress=False)
    target = aw.target(position=6, token="are", against="is", masked=True)
    found = a.why.faithfulness(target, ["decomposition", "weights"])
    assert found.random.words == 5
    agreed = a.why.agreement(target, ["decomposition", "weights"])
    assert agreed.words == 5
    alive = [[1], [3], [4], [7], [8]]
    one, other = (word_scores(a.why.contributions(target, m), alive) for m in ("decomposition", "weights"))  # fmt: skip
    assert_close(agreed.rho[0, 1], spearmanr(np.abs(one), other)[0], terms=1, size=1)
    tokens = a.why.contributions(target).tokens
    assert maskable_words(tokens, 103) == alive


def test_words_of_equal_scores_stand_in_no_order_of_their_places() -> None:
    scores = np.array([1.0, 0, 0, 0, 0, 0, 0, 2])
    orders = [ranked(scores, seed) for seed in range(50)]
    assert all(order[:2] == [7, 0] for order in orders)
    assert len({tuple(order) for order in orders}) > 40
    assert orders[3] == ranked(scores, 3)


def test_progress_is_told_and_can_cancel() -> None:
    analysis = aw.analyze(TEXT, tagger=None, progress=False)
    seen: list[tuple[int, int]] = []
    analysis.why.faithfulness(TARGET, ["weights"], progress=lambda *at: seen.append(at))
    assert seen
    assert seen[-1][0] == seen[-1][1]

    def cancel(*_: int) -> None:
        raise KeyboardInterrupt

    fresh = aw.analyze(TEXT, tagger=None, progress=False)
    with pytest.raises(KeyboardInterrupt):
        fresh.why.faithfulness(TARGET, ["weights"], progress=cancel)


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
        analysis.why.agreement(TARGET, methods)


def test_no_method_is_no_test(analysis: Analysis) -> None:
    with pytest.raises(InputError, match="methods is empty"):
        analysis.why.faithfulness(TARGET, [])


def test_attention_alone_has_no_target() -> None:
    weights = np.full((1, 1, 2, 2), 0.5, dtype=np.float32)
    outside = aw.from_attentions(weights, tokens=["a", "b"])
    for ask in (outside.why.agreement, outside.why.faithfulness):
        with pytest.raises(NotAvailableError, match="no model to ask"):
            ask(TARGET)
