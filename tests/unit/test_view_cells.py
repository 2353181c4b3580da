"""The picture of a page without scripts is of the view that was open: its numbers are those of the view's table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.features import declared
from attn_widget.figures.catalog.choices import VIEWS
from attn_widget.page.run_cells import run_cells
from attn_widget.page.view_cells import OF_VIEWS, view_cells

pytest.importorskip("pandas")
TEXT = "The trophy does not fit into the suitcase because it is large. He sold it to [MASK]."


@pytest.fixture(scope="module")
def a() -> Any:
    return aw.analyze(TEXT, tagger=None, progress=False)


def shown(a: Any, view: str, **traits: Any) -> tuple[Any, Any]:
    widget = aw.show(a, view=view, **traits)
    found = view_cells(a, widget.selection), widget.to_dataframe(view)
    widget.close()
    return found


def test_heads_have_the_figure_that_shades_the_grid(a: Any) -> None:
    cells, table = shown(a, "heads", metric="sparsity")
    values = table["sparsity"].to_numpy().reshape(a.trace.n_layers, a.trace.n_heads)
    span = np.ptp(values)
    np.testing.assert_allclose(cells.shades, (values - values.min()) / span, atol=1e-6)
    assert (cells.rows[1], cells.columns[3]) == ("L1", "H3") and "Sparsity" in cells.caption


def test_sentences_have_their_sums(a: Any) -> None:
    cells, table = shown(a, "sentences")
    np.testing.assert_allclose(cells.shades.ravel(), table["value"], atol=1e-6)
    assert list(cells.rows) == list(a.sentences.texts)


def test_predictions_have_the_likeliest_words_and_no_special_tokens(a: Any) -> None:
    cells, table = shown(a, "predictions")
    first = table[(table["rank"] == 1) & ~table["token"].isin(["[CLS]", "[SEP]"])]
    np.testing.assert_allclose(cells.shades[:, 0], first["probability"], atol=1e-6)
    for row, (token, guess) in zip(
        cells.rows, first[["token", "prediction"]].to_numpy(), strict=True
    ):
        assert row.startswith(f"{token}: {guess}")
    assert cells.rows[-2].startswith("[MASK]: ")


def test_inside_has_the_changes_that_its_map_shows(a: Any) -> None:
    cells, _ = shown(a, "inside")
    words = [not token.special for token in a.tokens]
    for k, part in enumerate((a.model.residuals.attention, a.model.residuals.ffn)):
        top = max(
            a.model.residuals.attention[:, words].max(), a.model.residuals.ffn[:, words].max()
        )
        np.testing.assert_allclose(cells.shades[k::2], np.clip(part / top, 0, 1), atol=1e-6)
    assert (cells.rows[3], cells.columns[2]) == ("L1 FFN", "trophy")


def test_the_matrix_is_that_of_the_view_attention(a: Any) -> None:
    widget = aw.show(a, view="attention")
    assert view_cells(a, widget.selection).caption == run_cells(a, widget.selection).caption
    widget.close()


def test_every_view_has_a_picture_of_its_own(a: Any) -> None:
    """Core and features: a view without one falls back to the matrix, and says why."""
    assert {*OF_VIEWS, *dict(declared("cells")), "attention"} == {*VIEWS}


def test_the_output_of_a_cell_waits_for_no_masked_pass_and_says_so(a: Any) -> None:
    widget = aw.show(a, view="predictions")
    caption = view_cells(a, widget.selection, quick=True).caption
    assert "attention weights" in caption and "Predictions has no picture here: It takes" in caption
    widget.close()


def test_what_a_text_does_not_have_is_the_matrix() -> None:
    alone = aw.from_attentions(np.full((1, 1, 2, 2), 0.5, np.float32), ["a", "b"])
    for view in ("predictions", "sentences"):
        widget = aw.show(alone)
        widget.view = "attention"
        selection = widget.selection
        object.__setattr__(selection, "view", view)
        caption = view_cells(alone, selection).caption
        assert "attention weights" in caption and "has no picture here: " in caption
        widget.close()


def test_a_saved_page_has_the_picture_of_its_view_and_escapes_it(tmp_path: Path) -> None:
    widget = aw.show(
        "<b>one</b> & two. Three <script>.", view="predictions", tagger=None, progress=False
    )
    page = widget.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    widget.close()
    [figure] = re.findall(r'<div class="aw-static">(.*?)</figure>', page, flags=re.S)
    assert "the likeliest tokens at each position" in figure
    assert "<b>" not in figure and "<script" not in figure and "&lt;: " in figure


def test_a_page_without_that_view_has_the_picture_of_the_one_it_opens_on(
    a: Any, tmp_path: Path
) -> None:
    widget = aw.show(a, view="heads")
    page = widget.to_html(tmp_path / "page.html", views=["sentences"])
    widget.close()
    assert "attention between sentences" in page.read_text(encoding="utf-8")
