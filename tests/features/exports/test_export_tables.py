"""Tables from Python: the contract's columns, the analysis's values, the widget's own selection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis.merge import Groups, merge_weights
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features import declared
from attn_widget.features.exports.tables import TABLES
from attn_widget.figures.arrays import Float32
from attn_widget.protocol.matrix import shown_matrix
from attn_widget.protocol.selection import Selection
from tests.close import assert_close
from tests.golden.make import analysis as masked_analysis

TEXT = "The unbelievably fast train left. It was late, -5 minutes."
COLUMNS = {
    "attention": "query,key,query_token,key_token,weight,score",
    "sentences": "a,b,a_text,b_text,value",
    "predictions": (
        "position,token,rank,prediction,probability,logit,original_rank,original_probability"
    ),
    "inside": "tensor,layer,head,position,token,dimension,value",
}


@pytest.fixture(scope="module")
def shared() -> Iterator[aw.AttentionWidget]:
    widget = aw.show(TEXT, layer=2, head=3, progress=False)
    yield widget
    widget.close()


@pytest.fixture
def widget(shared: aw.AttentionWidget) -> aw.AttentionWidget:
    fresh = {"layer": 2, "head": 3, "token": None, "words": False, "special": True}
    for name, value in {**fresh, "quantity": "weights"}.items():
        setattr(shared, name, value)
    return shared


def matrix(widget: aw.AttentionWidget, column: str = "weight") -> Float32:
    """The matrix of the table of the Attention view."""
    cells = widget.to_dataframe("attention").pivot(index="query", columns="key", values=column)
    return cells.to_numpy().astype(np.float32)


@pytest.mark.parametrize(("view", "columns"), COLUMNS.items())
def test_a_view_has_the_columns_of_the_contract(
    widget: aw.AttentionWidget, view: str, columns: str
) -> None:
    assert ",".join(widget.to_dataframe(view).columns) == columns


def test_heads_have_every_metric_and_specialization(widget: aw.AttentionWidget) -> None:
    frame = widget.to_dataframe("heads")
    run = widget.analysis
    assert list(frame.columns) == [
        "layer",
        "head",
        *run.metrics.keys,
        *run.heads.specialization.raw,
    ]
    row = frame[(frame["layer"] == 4) & (frame["head"] == 7)].iloc[0]
    assert row["sparsity"] == run.metrics.sparsity[4, 7]
    assert np.isnan(row["entities"]) == np.isnan(run.heads.specialization.raw["entities"][4, 7])


def test_the_attention_table_holds_the_weights_and_scores_of_the_selection(
    widget: aw.AttentionWidget,
) -> None:
    widget.layer, widget.head = 4, 7
    frame = widget.to_dataframe("attention")
    n = widget.analysis.trace.n_tokens
    weights = frame["weight"].to_numpy().reshape(n, n).astype(np.float32)
    np.testing.assert_array_equal(weights, widget.analysis.attention(4, 7))
    scores = frame["score"].to_numpy().reshape(n, n).astype(np.float32)
    np.testing.assert_array_equal(scores, widget.analysis.scores(4, 7))


def test_words_are_means_of_rows_and_sums_of_columns_as_in_the_analysis(
    widget: aw.AttentionWidget,
) -> None:
    widget.words = True
    merged = widget.analysis.view(words=True)
    assert merged.trace.n_tokens < widget.analysis.trace.n_tokens
    assert_close(matrix(widget), merged.attention(2, 3), terms=merged.trace.n_tokens)
    names = widget.to_dataframe("attention")["query_token"].unique()
    assert "unbelievably" in names
    assert "score" not in widget.to_dataframe("attention")


def test_hidden_special_tokens_leave_every_table(widget: aw.AttentionWidget) -> None:
    widget.special = False
    plain = widget.analysis.attention(2, 3)[1:-1, 1:-1]
    np.testing.assert_array_equal(matrix(widget), plain)
    frame = widget.to_dataframe("attention")
    assert not {"[CLS]", "[SEP]"} & {*frame["query_token"], *frame["key_token"]}
    assert set(widget.to_dataframe("predictions")["position"]) == set(
        range(1, widget.analysis.trace.n_tokens - 1)
    )


def test_scores_and_rollout_follow_the_quantity(widget: aw.AttentionWidget) -> None:
    widget.quantity = "rollout"
    np.testing.assert_array_equal(matrix(widget), widget.analysis.rollout(2))
    assert "score" not in widget.to_dataframe("attention")
    widget.quantity = "scores"
    np.testing.assert_array_equal(matrix(widget, "score"), widget.analysis.scores(2, 3))
    widget.head = "mean"
    assert "score" not in widget.to_dataframe("attention")


def test_what_attention_carries_follows_the_quantity(widget: aw.AttentionWidget) -> None:
    analysis = widget.analysis
    widget.quantity = "norms"
    np.testing.assert_array_equal(matrix(widget), analysis.mixing.matrix("norms", 2, 3))
    assert "score" not in widget.to_dataframe("attention")
    widget.head = "mean"
    np.testing.assert_array_equal(matrix(widget), analysis.mixing.matrix("norms", 2))
    for kind in ("mixing", "alti", "value_zeroing"):
        widget.quantity = kind
        np.testing.assert_array_equal(matrix(widget), analysis.mixing.matrix(kind, 2))
    widget.quantity = "alti_rollout"
    np.testing.assert_array_equal(matrix(widget), analysis.mixing.rollout("alti", 2))


def test_what_the_mask_forbids_is_absent_and_not_zero() -> None:
    widget = aw.AttentionWidget(masked_analysis(), layer=1, head=0)
    frame = widget.to_dataframe("attention")
    future = frame["key"] > frame["query"]
    assert frame["weight"][future].isna().all() and frame["weight"][~future].notna().all()
    assert frame["score"][future].isna().all()
    assert np.isnan(matrix(widget)[0, 1])
    widget.close()


def test_tensors_from_outside_have_no_predictions_inside_or_classes() -> None:
    widget = aw.AttentionWidget(masked_analysis())
    for view in ("predictions", "inside", "task"):
        with pytest.raises(NotAvailableError):
            widget.to_dataframe(view)
    widget.close()


def test_an_unknown_view_is_refused_with_the_nearest_name(widget: aw.AttentionWidget) -> None:
    with pytest.raises(InputError, match=r"view is 'headz', .*Did you mean 'heads'\?"):
        widget.to_dataframe("headz")
    with pytest.raises(InputError, match=r"Did you mean 'heads'\?"):
        widget.save_png("a.png", "head")


def test_sizes_themes_and_paths_are_checked_before_a_browser_starts(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="width is 3"):
        widget.save_png(tmp_path / "a.png", width=3)
    with pytest.raises(InputError, match="scale is 0"):
        widget.save_png(tmp_path / "a.png", scale=0)
    with pytest.raises(InputError, match=r"Did you mean 'dark'\?"):
        widget.save_png(tmp_path / "a.png", theme="drak")
    with pytest.raises(InputError, match=r"expected '\.svg'"):
        widget.save_svg(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_widget_says_so() -> None:
    widget = aw.show("the cat sat", progress=False)
    widget.close()
    with pytest.raises(InputError, match="closed"):
        widget.to_dataframe()


def test_the_projection_adds_up_for_words_of_many_pieces() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(6), size=6).astype(np.float32)
    groups = Groups(np.array([0, 1, 5]), np.array([1, 4, 1]), np.ones(3, dtype=bool))
    seen = merge_weights(weights, groups, renormalize=False)
    assert_close(seen[1, 1], weights[1:5, 1:5].sum(dtype=float) / 4, terms=16)
    assert_close(seen.sum(axis=1), 1, terms=16)


def test_units_are_called_by_the_text_between_their_pieces() -> None:
    run = aw.analyze("don't re-enter", tagger=None, progress=False)
    shown = shown_matrix(run, Selection(words=True, special=False), words_have_scores=False)
    names = [unit.text for unit in shown.units]
    assert "".join(names).replace(" ", "") == "don'tre-enter"


def test_tables_of_a_text_of_special_tokens_alone_say_why() -> None:
    run = masked_analysis()
    selection = Selection(layer=0, head=0, special=False)
    assert len(shown_matrix(run, selection, words_have_scores=True).units) == 3
    assert {*TABLES, *dict(declared("tables"))} == set(aw.AttentionWidget.view.values)  # type: ignore[attr-defined]
