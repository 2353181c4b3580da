"""Predictions open on masked ones, however long they take; saved pages and tables of short texts have them."""

from __future__ import annotations

from typing import Any

import pytest

import attn_widget as aw
from attn_widget.page.saved_run import saved_run
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource

TEXT = "Paris is the capital of France."
LONG = "a bird and a cat " * 30


def opens(widget: aw.AttentionWidget) -> str:
    return unpack(widget.first_paint)[0]["predictions"]["opens"]


def recorded(analysis: aw.Analysis, **options: Any) -> list[str]:
    snapshot = saved_run(RunSource(analysis), spec=PageSpec(**options)).snapshot
    asked = [one["request"] for one in unpack(snapshot.chunks["paint"])[0]["recorded"]]
    return [one["mode"] for one in asked if one["kind"] == "predictions"]


@pytest.mark.parametrize("text", [TEXT, LONG])
def test_the_view_opens_on_masked_predictions(text: str) -> None:
    assert opens(aw.show(text, progress=False)) == "masked"


@pytest.mark.parametrize(("text", "mode"), [(TEXT, "masked"), (LONG, "as_is")])
def test_a_table_is_masked_as_well_unless_it_takes_too_long(text: str, mode: Any) -> None:
    widget = aw.show(text, progress=False)
    rows = widget.to_dataframe(view="predictions")
    expected = widget.analysis.predictions(mode=mode).probabilities[1]
    assert rows[rows["position"] == 1]["probability"].tolist() == pytest.approx(expected.tolist())


def test_a_run_with_masks_opens_as_it_is() -> None:
    assert opens(aw.show(TEXT, masked=[1], progress=False)) == "as_is"


def test_saved_pages_of_short_texts_keep_masked_predictions() -> None:
    short, long = TEXT, "a bird and a cat " * 15
    assert sorted(recorded(aw.analyze(short, progress=False))) == ["as_is", "masked"]
    assert recorded(aw.analyze(long, progress=False)) == ["as_is"]
    assert recorded(aw.analyze(short, progress=False), masked=False) == ["as_is"]


def test_a_page_without_the_view_runs_nothing_for_it() -> None:
    analysis = aw.analyze(TEXT, progress=False)
    assert recorded(analysis, views=["attention"]) == ["as_is"]
    assert analysis.run is not None
    assert not analysis.run.masked_known
