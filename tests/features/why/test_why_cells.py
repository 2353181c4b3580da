"""The picture of Why in a document that runs no page: the contributions of its table, in words that a reader can check."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.features.why import recorded
from attn_widget.page.spec import PageSpec
from attn_widget.page.view_cells import view_cells
from tests.unit import tiny_models

pytest.importorskip("pandas")
TEXT = "The keys to the cabinet are here."


def shown(a: Any, *, quick: bool = False, **traits: Any) -> tuple[Any, Any]:
    widget = aw.show(a, view="why", **traits)
    found = view_cells(a, widget.selection, quick=quick), widget.to_dataframe("why")
    widget.close()
    return found


@pytest.fixture(scope="module")
def a() -> Any:
    return aw.analyze(TEXT, tagger=None, progress=False)


@pytest.mark.parametrize("method", ["decomposition", "alti", "occlusion"])
def test_rows_are_the_contributions_of_the_table(a: Any, method: str) -> None:
    target = aw.target(position=6, token="are", against="is", masked=True)
    cells, table = shown(a, target=target, method=method)
    table = table[table["contribution"].notna()]
    values = table["contribution"].to_numpy()
    np.testing.assert_allclose(cells.shades[:, 0], values / abs(values).max(), rtol=1e-6)
    for row, token, value in zip(cells.rows, table["token"], values, strict=True):
        assert row.casefold() == f"{token} {value:+.3g}".casefold().replace("-", "−")
    assert "“are” over “is” with “are” hidden" in cells.caption
    assert cells.signed == (method != "alti")


def test_without_a_target_it_is_what_the_text_proposes(a: Any) -> None:
    cells, table = shown(a)
    assert len(cells.rows) == len(table) and "contribution of each token to “" in cells.caption


def test_a_mask_is_explained_in_the_output_of_a_cell_and_a_search_for_a_word_is_not(a: Any) -> None:
    masked = aw.analyze("The keys to the cabinet [MASK] here.", tagger=None, progress=False)
    assert "at “[MASK]”" in shown(masked, quick=True)[0].caption
    assert "Why has no picture here: It takes a pass" in shown(a, quick=True)[0].caption


def test_of_many_tokens_the_largest_stand_in_their_order() -> None:
    text = " ".join([TEXT] * 5)
    a = aw.analyze(text, tagger=None, progress=False)
    cells, table = shown(a, target=aw.target(position=6, token="are"))
    values = table["contribution"].to_numpy()
    kept = np.sort(np.argsort(-abs(values))[:24])
    np.testing.assert_allclose(cells.shades[:, 0], values[kept] / abs(values).max(), rtol=1e-6)
    assert f"Shown are the 24 largest of {len(values)}." in cells.caption


def test_the_text_of_a_source_stands_before_what_was_written() -> None:
    a = aw.analyze("the cat", output="the dog", model=tiny_models.build("t5"), tagger=None, progress=False)  # fmt: skip
    cells, table = shown(a)
    assert [row.startswith("source ") for row in cells.rows] == list(table["text"] == "source")


def test_a_page_escapes_the_words_of_the_text(tmp_path: Path) -> None:
    widget = aw.show("<b>x</b> & <script> [MASK].", view="why", tagger=None, progress=False)
    page = widget.to_html(tmp_path / "page.html")
    widget.close()
    [figure] = re.findall(
        r'<div class="aw-static">(.*?)</figure>', page.read_text(encoding="utf-8"), flags=re.S
    )
    assert "contribution of each token" in figure and "&lt; " in figure
    assert "<b>" not in figure and "<script" not in figure


@pytest.mark.parametrize(("few", "expected"), [(144, True), (71, False)])
def test_a_page_measures_the_effects_of_few_heads_and_runs_their_layers_per_token_unasked(
    few: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded model has 72."""
    a = aw.analyze(f"{TEXT} {TEXT}", tagger=None, progress=False)  # too long to be tested in full
    monkeypatch.setattr(recorded, "FEW_HEADS", few)
    answers = recorded.answers_of(a, {}, PageSpec())
    assert ("head_effects" in {request["kind"] for request, _, _ in answers}) == expected
    methods = {request.get("method") for request, _, _ in answers}
    assert ("value_zeroing" in methods) == expected and "occlusion" in methods
