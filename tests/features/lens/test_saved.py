"""What a saved page has of the lens, and its table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.features.lens.recorded import STEP, answers_of
from attn_widget.features.lens.table import lens_table
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.selection import Selection
from tests.unit import tiny_models


def analysis_of(n_words: int, family: str = "bert") -> aw.Analysis:
    return aw.analyze(
        "cat " * n_words, model=tiny_models.build(family), tagger=None, progress=False
    )


def recorded(a: aw.Analysis, **options: Any) -> list[Any]:
    return answers_of(a, {}, PageSpec(**options))


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_a_page_has_every_position_in_steps(family: str) -> None:
    a = analysis_of(2 * STEP, family)
    found = a.lens()
    answers = recorded(a)
    rows = [request["rows"] for request, _, _ in answers]
    assert rows[0] == [0, STEP] and rows[-1][1] == a.trace.n_tokens
    assert [first for first, _ in rows[1:]] == [stop for _, stop in rows[:-1]]
    for request, _, arrays in answers:
        assert request["mode"] == a.model.default_mode
        ids = arrays["ids"]
        np.testing.assert_array_equal(ids, found.ids[:, slice(*request["rows"])])


def test_a_light_page_and_a_long_text_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    a = analysis_of(3)
    assert recorded(a, light=True) == []
    monkeypatch.setattr("attn_widget.features.lens.recorded.TOKENS", a.trace.n_tokens)
    assert len(recorded(a)) == 1
    monkeypatch.setattr("attn_widget.features.lens.recorded.TOKENS", a.trace.n_tokens - 1)
    assert recorded(a) == []


def test_the_table_has_the_positions_that_are_shown() -> None:
    a = analysis_of(3)
    for special in (True, False):
        columns, rows = lens_table(a, Selection(layer=0, head=0, special=special))
        positions = {row[columns.index("position")] for row in rows}
        assert positions == {i for i, t in enumerate(a.tokens) if special or not t.special}
        assert len(rows) == (a.trace.n_layers + 1) * len(positions) * 5
