"""Predictions open on masked ones where they are quick; saved pages of short texts keep them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import attn_widget as aw
from attn_widget.model.loading import load
from attn_widget.model.speed import Speed
from attn_widget.page.saved_run import saved_run
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource

TEXT = "Paris is the capital of France."
QUICK, SLOW = 1e-6, 1.0  # seconds a token


@pytest.fixture(params=[QUICK, SLOW])
def rate(request: pytest.FixtureRequest) -> Iterator[float]:
    """A model whose passes have been so fast; the passes that follow cannot make it faster."""
    encoder = load(progress=False)
    before = encoder.speed
    encoder.speed = Fixed(request.param)
    yield request.param
    encoder.speed = before


class Fixed(Speed):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self._seconds_a_token = rate

    def measured(self, tokens: int, seconds: float) -> None:
        pass


def opens(widget: aw.AttentionWidget) -> str:
    return unpack(widget.first_paint)[0]["predictions"]["opens"]


def recorded(analysis: aw.Analysis, **options: Any) -> list[str]:
    snapshot = saved_run(RunSource(analysis), **options).snapshot
    asked = [one["request"] for one in unpack(snapshot.chunks["paint"])[0]["recorded"]]
    return [one["mode"] for one in asked if one["kind"] == "predictions"]


def test_the_view_opens_on_masked_where_that_is_quick(rate: float) -> None:
    widget = aw.show(TEXT, progress=False)
    assert opens(widget) == ("masked" if rate == QUICK else "as_is")


def test_its_table_and_caption_are_of_the_mode_that_it_opens_on(rate: float) -> None:
    widget = aw.show(TEXT, progress=False)
    mode = opens(widget)
    rows = widget.to_dataframe(view="predictions")
    expected = widget.analysis.predictions(mode=mode).probabilities[1]  # type: ignore[arg-type]
    assert rows[rows["position"] == 1]["probability"].tolist() == pytest.approx(expected.tolist())
    assert f'"mode": "{mode}"' in (widget.to_json(view="predictions") or "")


def test_a_run_with_masks_opens_as_it_is(rate: float) -> None:
    assert opens(aw.show(TEXT, masked=[1], progress=False)) == "as_is"


def test_what_was_computed_before_costs_nothing() -> None:
    analysis = aw.analyze("a bird and a cat " * 30, progress=False)
    analysis.predictions(mode="masked")
    assert opens(aw.AttentionWidget(analysis)) == "masked"


def test_speed_is_the_best_of_the_passes() -> None:
    speed = Speed()
    speed.measured(tokens=10, seconds=8.4)
    speed.measured(tokens=968, seconds=1.0)
    speed.measured(tokens=10, seconds=4.2)
    assert speed.masked_seconds(20) == pytest.approx(0.4)


def test_a_pass_is_measured_by_itself() -> None:
    encoder = load(progress=False)
    before, encoder.speed = encoder.speed, Speed()
    try:
        aw.analyze(TEXT, progress=False)
        assert (encoder.speed.masked_seconds(9) or 0) > 0
    finally:
        encoder.speed = before


def test_saved_pages_of_short_texts_keep_masked_predictions() -> None:
    short, long = TEXT, "a bird and a cat " * 15
    assert sorted(recorded(aw.analyze(short, progress=False))) == ["as_is", "masked"]
    assert recorded(aw.analyze(long, progress=False)) == ["as_is"]
    assert recorded(aw.analyze(short, progress=False), masked=False) == ["as_is"]


def test_a_page_without_the_view_runs_nothing_for_it() -> None:
    from attn_widget.page.saved_run import ExportOptions

    analysis = aw.analyze(TEXT, progress=False)
    assert recorded(analysis, kept=ExportOptions(views=["attention"])) == ["as_is"]
    assert analysis.run is not None
    assert not analysis.run.masked_known
