"""The picture of a page or an output for readers without scripts: the right cells, every label, nothing that runs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.features.comparison.page import picture_of_compared, selections
from attn_widget.page.labeled import RAMP, SIGNED, STEPS, svg
from attn_widget.page.output import outputs
from attn_widget.page.picture import Picture, figure, picture_of
from attn_widget.page.pooling import pooled
from attn_widget.protocol.source import Cells
from tests.unit.tiny_models import build

TEXT = "the cat sat on the mat"
HOSTILE = "</svg><script>alert(1)</script> \"q\" 'a' & <!-- {{ 1 }} \u202eabc\u0007"
MINI = "attn_widget/mini"
PATH = re.compile(r"M(\d+) (\d+)h(\d+)")


def labels(picture: Picture) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture.svg).iter() if element.tag.endswith("text")]  # fmt: skip


def tones(picture: Picture, shape: tuple[int, int], ramp: str = RAMP) -> np.ndarray:
    """Tone of each cell, read from the paths as a browser draws them; the ground is the first."""
    cells = next(g for g in ET.fromstring(picture.svg) if g.get("fill") == "none")
    colors = [f"#{color}" for color in ramp.split()]
    ground, *others = [path for path in cells if path.get("class") != "aw-tg"]
    found = np.full(shape, colors.index(ground.get("stroke") or ""))
    for path in others:
        color = path.get("stroke") or ""
        for x, y, width in PATH.findall(path.get("d") or ""):
            tone = colors.index(color) if color in colors else -1
            found[int(y), int(x) : int(x) + int(width)] = tone
    return found


def shown(result: Any, **traits: Any) -> Picture:
    widget = aw.show(result, **traits)
    picture = picture_of(widget._shown_source, widget.selection)
    widget.close()
    return picture


def test_a_run_has_its_matrix_with_the_tokens_of_rows_and_columns() -> None:
    a = aw.analyze(TEXT, tagger=None, progress=False)
    weights = a.attention(3, 5)
    picture = shown(a, layer=3, head=5, scale="head")
    tokens = ["[CLS]", *TEXT.split(), "[SEP]"]
    assert labels(picture) == [*tokens, *tokens, "0", f"{weights.max():.3g}"]
    expected = np.rint(weights / weights.max() * STEPS).astype(int)
    np.testing.assert_array_equal(tones(picture, weights.shape), expected)
    assert "L3 · H5, 8 tokens" in picture.caption and len(picture.svg) < 5_000


def test_the_scale_is_that_of_the_words_as_on_the_page() -> None:
    a = aw.analyze(TEXT, tagger=None, progress=False)
    words = a.attention(3, 5)[1:-1, 1:-1]
    picture = shown(a, layer=3, head=5)
    found = tones(picture, (8, 8))[1:-1, 1:-1]
    np.testing.assert_array_equal(found, np.rint(words / words.max() * STEPS))
    assert labels(picture)[-1] == f"{words.max():.3g} or more"


def test_it_is_of_the_view_that_was_shown() -> None:
    a = aw.analyze("unbelievable cats", tagger=None, progress=False)
    picture = shown(a, layer=2, head="mean", words=True, special=False, quantity="rollout")
    assert labels(picture)[:4] == ["unbelievable", "cats"] * 2
    assert "rollout of L2 · mean of the heads" in picture.caption


def test_what_a_mask_forbids_is_gray_and_no_weight() -> None:
    a = aw.analyze("a cat sat on the mat", model=build("gpt2"), tagger=None, progress=False)
    picture = shown(a, layer=1, head=0)
    found = tones(picture, (a.trace.n_tokens, a.trace.n_tokens))
    np.testing.assert_array_equal(found == -1, np.triu(np.ones_like(found, dtype=bool), 1))


@pytest.mark.parametrize(("words", "most"), [(18, 6_000), (58, 20_000), (400, 16_000)])
def test_it_is_small_however_long_the_text_is(words: int, most: int) -> None:
    text = " ".join(["the quick brown fox jumps over the lazy dog"] * 50).split()[:words]
    picture = shown(aw.analyze(" ".join(text), tagger=None, progress=False))
    assert len(picture.svg) < most
    assert "0 [CLS]" in labels(picture) if words > 64 else labels(picture)[:2] == ["[CLS]", "the"]


def test_pooling_shows_the_cell_that_is_largest_in_size() -> None:
    values = np.random.default_rng(0).standard_normal((150, 300)).astype(np.float32)
    values[:30] = np.nan
    found = pooled(values, 64)
    starts = [np.arange(65) * n // 64 for n in values.shape]
    for i, j in np.ndindex(64, 64):
        block = values[starts[0][i] : starts[0][i + 1], starts[1][j] : starts[1][j + 1]]
        if np.isnan(block).all():
            assert np.isnan(found[i, j])
        else:
            assert abs(found[i, j]) == np.nanmax(np.abs(block)) and found[i, j] in block


def test_a_comparison_has_the_difference_of_the_head_that_it_opens_on() -> None:
    c = aw.compare(TEXT, "the dogs sat on the mat", tagger=None, progress=False)
    opened, _ = selections(c)
    change = c.difference(*opened.place).difference  # pyright: ignore[reportArgumentType]
    picture = picture_of_compared(c)
    most = np.abs(change).max()
    expected = np.rint((change / most + 1) / 2 * STEPS)
    np.testing.assert_array_equal(tones(picture, change.shape, SIGNED), expected)
    assert labels(picture)[-2:] == [f"−{most:.3g}", f"+{most:.3g}"]
    assert f"L{opened.layer} · H{opened.head}" in picture.caption


def test_a_similarity_has_its_pairs_a_ranking_its_scores_a_profile_its_heads() -> None:
    s = aw.similarity(TEXT, "a dog lay", model=MINI, progress=False)
    assert labels(shown(s))[:13] == ["[CLS]", *TEXT.split(), "[SEP]", "[CLS]", "a", "dog", "lay", "[SEP]"]  # fmt: skip
    r = aw.similarity(TEXT, ["rain fell", TEXT, "cats sleep"], model=MINI, progress=False)
    assert labels(shown(r)) == [*(f"{r.scores[i]:.3f} {r.passages[i]}" for i in r.order), "score"]
    p = aw.profile([TEXT, "it slept"], tagger=None, progress=False)
    heads = [*(f"L{k}" for k in range(p.n_layers)), *(f"H{k}" for k in range(p.n_heads))]
    assert labels(shown(p))[:-2] == heads


def test_tokens_cannot_be_markup_and_take_one_line() -> None:
    cells = Cells(
        np.ones((2, 1), np.float32), HOSTILE, "", [HOSTILE, "a\nb" + "c" * 99], ["\u200bx"]
    )
    found = ET.fromstring(svg(cells))  # as XML, too
    assert {element.tag.split("}")[1] for element in found.iter()} == {"svg", "g", "text", "path"}
    assert found.get("aria-label") == HOSTILE.replace("\u0007", "\ufffd").replace("\u202e", "")
    texts = [element.text or "" for element in found.iter() if element.tag.endswith("text")]
    assert texts == ["</svg><script>alert(1)</script> \"q\" 'a' & <…", f"a b{'c' * 40}…", "x"]


@pytest.mark.parametrize("saved", ["page", "full", "picture"])
def test_every_page_and_output_has_it_and_one_sentence(saved: Any, tmp_path: Path) -> None:
    widget = aw.show(TEXT, layer=3, head=5, saved=saved, progress=False)
    picture = picture_of(widget._shown_source, widget.selection)
    output = outputs(widget._shown, saved, code=False)["text/html"]
    page = widget.to_html(tmp_path / "a.html").read_text("utf-8")
    assert page.count(figure(picture)) == 1
    assert (
        output.count(figure(picture, inline=False)) == 1
    )  # an image, which JupyterLab keeps of what it does not trust
    assert page.count("needs scripts") == 1 and output.count("needs scripts") == (
        saved != "picture"
    )
    widget.close()


def test_a_report_has_that_of_the_first_text_and_a_page_of_several_that_of_each(
    tmp_path: Path,
) -> None:
    report = aw.report([TEXT, "it slept"], tmp_path / "a.html", progress=False).read_text("utf-8")
    assert report.count("<figure>") == 1 and f"{TEXT}: attention" in report
    s = aw.similarity(TEXT, "a dog lay", model=MINI, progress=False)
    c = aw.compare(TEXT, "it slept", tagger=None, progress=False)
    several = aw.to_html([c.a, s, c], tmp_path / "b.html").read_text("utf-8")
    assert several.count("<figure>") == 3
    assert '"layout": "stack"' in several and several.count('"second": true') == 1


def test_signs_of_direction_turn_no_caption_around() -> None:
    a = aw.analyze("keys \u202eabc", tagger=None, progress=False)
    assert "keys abc: attention weights" in figure(shown(a))
