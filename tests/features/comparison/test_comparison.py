"""Comparisons: distances against scipy, matching against brute force, differences against numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, TooLongError
from attn_widget.features.comparison import distances as js
from attn_widget.features.comparison import outputs
from tests.close import assert_close
from tests.unit import tiny_models

A, B = "The cat sat on the mat.", "The old dog sat on the mat, and ran."


@pytest.fixture(scope="module")
def tiny() -> Any:
    return aw.load(tiny_models.build("bert"))


@pytest.fixture(scope="module")
def c(tiny: Any) -> Any:
    return aw.compare(A, B, model=tiny, tagger=None, progress=False)


def by_scipy(a: Any, b: Any, pairs: Any, layers: Any, heads: Any) -> float:
    """Mean of scipy's distances over matched rows."""
    of_a, of_b = [i for i, _ in pairs], [j for _, j in pairs]
    first = a.attention(layers[0], heads[0])[np.ix_(of_a, of_a)].astype(np.float64)
    second = b.attention(layers[1], heads[1])[np.ix_(of_b, of_b)].astype(np.float64)
    return float(np.mean([jensenshannon(p, q) for p, q in zip(first, second, strict=True)]))


def test_distances_are_those_of_scipy(c: Any) -> None:
    found = c.distances()
    pairs = c.alignment.tokens
    assert found.n_queries == len(pairs) >= 6
    for layer, head in np.ndindex(*found.distances.shape):
        expected = by_scipy(c.a, c.b, pairs, (layer, layer), (head, head))
        assert_close(found.distances[layer, head], expected, terms=len(pairs), size=1)
        of_b = [j for _, j in pairs]
        dropped = 1 - c.b.attention(layer, head)[np.ix_(of_b, of_b)].sum(axis=1)
        assert_close(found.dropped_b[layer, head], dropped.mean(), terms=len(pairs), size=1)
    assert found.partner[1, 2].tolist() == [1, 2]
    assert repr(found).startswith("<HeadDistances")


def test_the_line_about_heads_names_those_that_differ_most(c: Any) -> None:
    distances = c.distances().distances
    layer, head = c.heads()[0]
    assert distances[layer, head] == distances.max()
    assert [distances[place] for place in c.heads()] == sorted(distances.ravel(), reverse=True)
    line = c.summary(1)
    assert line.startswith(f"heads that differ most: L{layer} H{head} {distances.max():.3f};")
    assert f"{np.median(distances):.3f}" in line
    with pytest.raises(InputError):
        c.summary(0)


def test_proposals_are_the_targets_that_move_most(c: Any) -> None:
    target = c.proposals()[0]
    gaps = []
    for record in c.predictions(5, "masked"):
        gaps.append((abs(record["log_odds"]), record["position_b"]))
    assert target.masked and target.position in {position for _, position in gaps}
    found = c.recovery(target, "states")
    assert found.source > found.value  # A's word against B's
    assert c.recoveries == (found,) and c.recovery(target, "states") is found


def test_masked_predictions_are_those_of_a_masked_run(c: Any) -> None:
    record = c.predictions(1, "masked")[2]
    run = c.b.mask([record["position_b"]])
    entry = c.b.run.encoder.tokenizer.convert_tokens_to_ids(record["token"])
    logits = run.trace.logits[record["position_b"]].astype(np.float64)
    p = np.exp(logits - logits.max())
    p /= p.sum()
    assert_close(record["after"], p[entry], **tiny_models.RUN, size=logits * p[entry])
    with pytest.raises(InputError, match="mode"):
        c.predictions(1, "wrong")


def test_identical_texts_have_no_distance_and_say_so(tiny: Any) -> None:
    c = aw.compare(A, A, model=tiny, tagger=None, progress=False)
    np.testing.assert_array_equal(c.distances().distances, 0)
    assert_close(c.states(), 1, terms=32)
    assert "identical" in c.notes[0] and "every difference is 0" in c.notes[1]
    assert all(record["log_odds"] == 0 for record in c.predictions())


def test_differences_are_those_of_numpy(c: Any) -> None:
    of_a, of_b = (list(places) for places in zip(*c.alignment.tokens, strict=True))
    for quantity in ("weights", "scores", "norms"):
        found = c.difference(1, 2, quantity)
        matrices = [
            run.attention(1, 2)
            if quantity == "weights"
            else run.scores(1, 2)
            if quantity == "scores"
            else run.mixing.matrix("norms", 1, 2)
            for run in (c.a, c.b)
        ]
        expected = matrices[1][np.ix_(of_b, of_b)] - matrices[0][np.ix_(of_a, of_a)]
        assert_close(found.difference, expected, terms=1, size=matrices[1])
        assert (list(found.positions_a), list(found.positions_b)) == (of_a, of_b)
    assert c.difference(0, 0, "alti").a.shape == (len(of_a), len(of_a))
    change = c.metrics()["focus_entropy"]
    assert_close(
        change.difference,
        c.b.metrics.focus_entropy - c.a.metrics.focus_entropy,
        terms=1,
        size=c.b.metrics.focus_entropy,
    )


def test_states_are_cosines(c: Any) -> None:
    found = c.states()
    for k, (i, j) in enumerate(c.alignment.tokens):
        x, y = c.a.model.hidden_states[:, i], c.b.model.hidden_states[:, j]
        expected = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
        assert_close(found[:, k], expected, terms=32)


def test_matching_is_the_least_of_all_permutations(c: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        costs = rng.random((4, 4))
        found = js.match_heads(costs, (2, 2), (1, 4))
        least = min(
            sum(costs[i, j] for i, j in enumerate(order))
            for order in itertools.permutations(range(4))
        )
        assert found.distances.sum() == pytest.approx(least, abs=1e-12)
        assert sorted(map(tuple, found.partner.reshape(4, 2).tolist())) == [
            (0, k) for k in range(4)
        ]
    a, b = (next(iter(rows))[0] for rows in (c._rows(0), c._rows(1)))
    costs = js.every_distance([a], [b])  # 4 x 4 heads of the first layer
    for i, j in itertools.product(range(4), repeat=2):
        expected = by_scipy(c.a, c.b, c.alignment.tokens, (0, 0), (i, j))
        assert_close(costs[i, j], expected, terms=len(c.alignment.tokens), size=1)


def test_models_of_other_shape(tiny: Any) -> None:
    small = tiny_models.build("distilbert")
    c = aw.compare(A, models=[tiny, small], tagger=None, progress=False)
    assert not c.same_shape and "least distance" in c.notes[-1]
    matching, found = c.matching(), c.distances()
    there = matching.partner[..., 0] >= 0
    assert there.sum() == 8 and np.isnan(found.distances[~there]).all()
    assert matching.unmatched_b == ()
    layer, head = np.argwhere(there)[0]
    other = matching.partner[layer, head]
    expected = by_scipy(c.a, c.b, c.alignment.tokens, (layer, other[0]), (head, other[1]))
    assert_close(found.distances[layer, head], expected, terms=len(c.alignment.tokens), size=1)
    assert c.difference(int(layer), int(head)).b.shape[0] == len(c.alignment.tokens)
    assert c.metrics()["focus_entropy"].b.shape == (3, 4)
    assert len(c.to_dataframe()) == 12
    with pytest.raises(NotAvailableError, match="layers"):
        c.states()
    with pytest.raises(NotAvailableError, match="differ in shape"):
        c.patch([])
    wide = tiny_models.build("bert", hidden_size=64)
    with pytest.raises(NotAvailableError, match="wide"):
        aw.compare(A, models=[tiny, wide], tagger=None, progress=False).states()


def test_equally_likely_predictions_stand_in_the_order_of_the_vocabulary() -> None:
    chances = np.random.default_rng(0).integers(0, 6, (50, 40)) / 8
    for top_k in (1, 5, 40):
        best = outputs._best(chances, top_k)  # pyright: ignore[reportPrivateUsage]
        assert (best == np.argsort(-chances, kind="stable")[:, :top_k]).all()


def test_predictions_are_the_same_in_blocks_of_tokens(
    c: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = outputs.predictions(c.a, c.b, c.alignment.tokens, 3)
    monkeypatch.setattr(outputs, "PAIRS_AT_ONCE", 2)
    blocks = outputs.predictions(c.a, c.b, c.alignment.tokens, 3)
    assert len(whole) > 6
    for one, other in zip(whole, blocks, strict=True):
        assert one.keys() == other.keys()
        for name, value in other.items():
            if isinstance(value, float):
                assert_close(one[name], value, terms=32, steps=2, size=max(1, abs(value)))
            else:
                assert one[name] == value


def test_predictions_before_and_after(c: Any) -> None:
    records = c.predictions(2)
    assert records
    for record in records[:20]:
        entry = c.a.run.encoder.tokenizer.convert_tokens_to_ids(record["token"])
        for run, position, name in (
            (c.a, record["position_a"], "before"),
            (c.b, record["position_b"], "after"),
        ):
            logits = run.trace.logits[position].astype(np.float64)
            p = np.exp(logits - logits.max())
            p /= p.sum()
            assert_close(record[name], p[entry], **tiny_models.RUN, size=logits * p[entry])
        p, q = record["before"], record["after"]
        assert_close(record["log_odds"], np.log(q / (1 - q) / (p / (1 - p))), terms=1)
    with pytest.raises(NotAvailableError, match="classifier"):
        c.classes()


def test_classes_before_and_after() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification")
    c = aw.compare(A, B, model=model, tagger=None, progress=False)
    found = c.classes()
    expected = c.a.model.classification
    assert expected is not None
    before = [record["before"] for record in found]
    assert before == pytest.approx(expected.probabilities.tolist())
    other = tiny_models.build("bert", "ForSequenceClassification", id2label={0: "no", 1: "yes"})
    with pytest.raises(NotAvailableError, match="classes cannot be compared"):
        aw.compare(A, models=[model, other], tagger=None, progress=False).classes()


def test_alignment_by_hand(c: Any) -> None:
    before = dict(c.alignment.tokens)
    by_hand = c.align([(2, 3)])
    assert by_hand.alignment.hand == ((2, 3),) and c.alignment.hand == ()
    assert by_hand.align([(1, 2)]).alignment.hand == ((1, 2), (2, 3))
    assert by_hand.align([(2, 4)]).alignment.hand == ((2, 4),)
    assert dict(by_hand.alignment.tokens) == {**before, 2: 3} and by_hand.alignment.by_hand
    moved = c.align([(1, 2)]).alignment  # "The" has another partner now
    assert (1, 2) in moved.tokens and 1 in moved.unmatched_b
    for bad, error in (
        ([(1, 2), (1, 3)], InputError),
        ([(1, 2), (3, 2)], InputError),
        ([(99, 0)], InputError),
        ([(0, -1)], InputError),
        ([(1, "a")], InputError),
        ([1, 2], InputTypeError),
        ("no", InputTypeError),
    ):
        with pytest.raises(error):
            c.align(bad)


def test_bad_input(tiny: Any) -> None:
    wrong: list[Any] = [(1, "a"), ("a", 1), ("a", ("b", 2)), (("a", "b", "c"), "a")]
    for given in wrong:
        with pytest.raises(InputTypeError):
            aw.compare(*given, model=tiny)
    with pytest.raises(InputError, match="b is missing"):
        aw.compare(A)
    with pytest.raises(InputError, match="empty"):
        aw.compare(A, "", model=tiny, progress=False)
    with pytest.raises(InputError, match="expected 2"):
        aw.compare(A, models=[tiny])
    with pytest.raises(InputError, match="Both"):
        aw.compare(A, B, models=[tiny, tiny], model=tiny)
    nothing = aw.compare("cats purr", "dogs bark", model=tiny, tagger=None, progress=False)
    assert "no word in common" in nothing.notes[0] and len(nothing.alignment.tokens) == 2
    outside = [
        aw.from_attentions(np.full((1, 1, 2, 2), 0.5), tokens, tagger=None)
        for tokens in (["a", "b"], ["c", "d"])
    ]
    c = aw.compare(*outside)
    for call in (c.distances, c.matching, lambda: c.difference(0, 0)):
        with pytest.raises(NotAvailableError, match="no token in common"):
            call()
    assert c.align([(0, 1)]).distances().distances.tolist() == [[0]]
    with pytest.raises(NotAvailableError):
        c.patch([("head", 0, 0)])


def test_a_long_text_compares_with_a_short_one(tiny: Any) -> None:
    c = aw.compare("The mat sat. " * 10, "The cat sat.", model=tiny, tagger=None, progress=False)
    assert (c.b.trace.n_tokens, len(c.alignment.tokens)) == (6, 5)
    assert len({b for _, b in c.alignment.tokens}) == 5
    distances = c.distances()
    assert np.isfinite(distances.distances).all() and (distances.dropped_a > 0).all()


def test_512_tokens_compare_with_5() -> None:
    c = aw.compare("cat " * 510, "the cat sat", tagger=None, progress=False)
    assert (c.a.trace.n_tokens, c.b.trace.n_tokens) == (512, 5)
    assert [(c.a.tokens[i].text, c.b.tokens[j].text) for i, j in c.alignment.tokens] == [
        ("[CLS]", "[CLS]"),
        ("cat", "cat"),
        ("[SEP]", "[SEP]"),
    ]
    assert c.difference(0, 0).difference.shape == (3, 3) and c.states().shape == (7, 3)
    found = c.distances()
    assert np.isfinite(found.distances).all() and found.dropped_a.max() > 0.5
    assert len(c.alignment.unmatched_a) == 509


def test_a_truncated_text_says_so() -> None:
    c = aw.compare("cat " * 600, "cat", tagger=None, truncation=True, progress=False)
    assert "A was cut to 512 of 602 tokens." in c.notes
    with pytest.raises(TooLongError, match="602 tokens"):
        aw.compare("cat", "cat " * 600, tagger=None, progress=False)


def test_models_of_two_languages_compare_what_both_can_read(tiny: Any) -> None:
    """Words in both scripts are matched; entries that one vocabulary has not are left out."""
    other = aw.load(tiny_models.build("roberta"))
    c = aw.compare(
        "The cat sat on 東京.",
        "Le chat sat on 東京.",
        models=[tiny, other],
        tagger=None,
        progress=False,
    )
    words = [
        (c.alignment.words_a[i].text, c.alignment.words_b[j].text) for i, j in c.alignment.words
    ]
    assert words == [(word, word) for word in ("sat", "on", "東", "京", ".")]
    vocabularies = [run.run.encoder.reader.backend_tokenizer.get_vocab() for run in (c.a, c.b)]
    for record in c.predictions(3):
        assert all(record["token"] in vocabulary for vocabulary in vocabularies)
    assert np.isfinite(c.distances().distances).all()
    with pytest.raises(NotAvailableError, match="do not fit"):
        c.patch([("head", 0, 0)])


def test_a_text_in_windows_compares_without_targets(tiny: Any) -> None:
    text = "The cat sat on the mat and the dog ran. " * 60
    runs = [
        aw.analyze(one, model=tiny, windows=(64, 16), tagger=None, progress=False)
        for one in (text, text.replace("mat", "tree", 2))
    ]
    c = aw.compare(*runs)
    n = len(c.alignment.tokens)
    assert n == min(run.trace.n_tokens for run in runs) - 2 > 512  # heads are taken one by one
    of_a, of_b = (list(places) for places in zip(*c.alignment.tokens, strict=True))
    rows = [run.attention(1, 2)[np.ix_(at, at)] for run, at in zip(runs, (of_a, of_b), strict=True)]
    there = [row.sum(axis=1) > 0 for row in rows]
    each = jensenshannon(*(row.astype(np.float64) for row in rows), axis=1)
    expected = each[there[0] & there[1]].mean()
    assert_close(c.distances().distances[1, 2], expected, terms=n, size=1)
    assert c.proposals() == []
    with pytest.raises(NotAvailableError, match="windows"):
        c.patch([("head", 0, 0)])


def test_one_text_that_is_empty_leaves_the_other_alone(tiny: Any) -> None:
    for given in (("", A), (A, " "), (A, ("a", ""))):
        with pytest.raises(InputError):
            aw.compare(*given, model=tiny, progress=False)  # pyright: ignore[reportArgumentType]


QUANTITIES = ("weights", "scores", "norms", "mixing", "alti", "value_zeroing")


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_quantity_differs_as_numpy_says(c: Any, quantity: Any) -> None:
    of_a, of_b = (list(places) for places in zip(*c.alignment.tokens, strict=True))
    whole = [
        run.attention(2, 1)
        if quantity == "weights"
        else run.scores(2, 1)
        if quantity == "scores"
        else run.mixing.matrix(quantity, 2, *([1] if quantity == "norms" else []))
        for run in (c.a, c.b)
    ]
    expected = whole[1][np.ix_(of_b, of_b)] - whole[0][np.ix_(of_a, of_a)]
    found = c.difference(2, 1, quantity)
    assert_close(found.difference, expected, terms=1, size=whole[1])
    assert np.abs(expected).max() > 1e-4
