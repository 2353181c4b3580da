"""The view Similarity in Chromium: saved pages offline, a live widget, and a cell of JupyterLab."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.language.function_words import FUNCTION_WORDS
from scripts.lab import Lab, OpenNotebook
from scripts.page import mount
from tests.e2e.random_models import bert
from tests.e2e.saving import save
from tests.e2e.test_accessibility import violations
from tests.e2e.views import part, settle
from tests.unit.needs import needs_minilm

A, B = (
    "The cat looked at the river from the window.",
    "A small dog slept in the garden, and it was cold.",
)
PASSAGES = ["The dog slept.", "It was cold and very windy.", "The cat sat on the mat."]
TYPED = (
    "How do I reset my password?",
    "Steps to recover access to your account when the login fails.",
)
IN_PAGE = 1e-4  # docs/similarity.md, "In a page": matrices in float16
EXACT = 1e-5  # float32, in sums of some hundred pairs


def compare(a: str, b: Any) -> Any:
    return aw.similarity(a, b, model=bert(), pooling="mean", tagger=None, progress=False)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 1000})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    yield opened
    context.close()
    assert problems == []


def value(page: Page, name: str) -> float:
    return float(part(page, name).get_attribute("data-aw-value") or "nan")


def pair_in_words(pair: Any) -> str:
    """As the headline has it: marks and function words in quotes."""
    a, b = (
        f"“{word}”" if word.lower() in FUNCTION_WORDS or not any(map(str.isalnum, word)) else word
        for word in (pair.a, pair.b)
    )
    return f"{a} in both texts alone" if a.lower() == b.lower() else f"{a} and {b} alone"


def word(page: Page, side: str, name: str) -> Any:
    return page.locator(f'[data-side="{side}"][data-unit]').filter(has_text=name).first


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_saved_page_explains_the_score_offline(page: Page, tmp_path: Path, theme: str) -> None:
    s = compare(A, B)
    widget = s.show(theme=theme)
    page.goto(widget.to_html(tmp_path / "page.html").as_uri())
    settle(page)
    assert value(page, "score") == pytest.approx(s.score, abs=EXACT)
    assert value(page, "similarity-total") == pytest.approx(s.score, abs=EXACT)
    best = s.pairs(1)[0]
    expect(part(page, "headline")).to_contain_text(pair_in_words(best))
    # Each word has its own number, and the matrix answers for the pair that is pointed at.
    rows = dict(
        zip([t.surface for t in s.a.trace.tokens], s.contributions("a").values, strict=True)
    )
    window = word(page, "a", "window")
    assert float(window.get_attribute("data-aw-value")) == pytest.approx(rows["window"], abs=EXACT)
    window.focus()
    partner = max((p for p in s.pairs(1000) if p.a == "window"), key=lambda p: abs(p.value))
    expect(part(page, "reading")).to_contain_text(f"window {signed(rows['window'])}: {partner.b}")
    page.keyboard.press("ArrowDown")
    expect(page.locator(":focus")).to_contain_text(partner.b)
    grid = part(page, "similarity-matrix")
    grid.focus()
    grid.press("Home")
    expect(part(page, "pair")).to_contain_text("[CLS] · [CLS]")
    page.locator('[data-kind="output"]').click()
    settle(page)
    assert value(page, "similarity-total") == pytest.approx(s.score, abs=EXACT)
    check_drawing(page, s, tmp_path)
    part(page, "words").click()
    expect(part(page, "masking")).to_contain_text("of the first text, those that add most first")
    assert violations(page) == []
    widget.close()


def check_drawing(page: Page, s: Any, folder: Path) -> None:
    """The SVG has every word, its line by its sign, and the threads, and stands alone."""
    drawing = ElementTree.parse(save(page, "svg", folder)).getroot()
    name = "{http://www.w3.org/2000/svg}"
    texts = ["".join(text.itertext()) for text in drawing.iter(f"{name}text")]
    for analysis in (s.a, s.b):
        for token in analysis.trace.tokens:
            assert token.special or token.surface in texts
    assert any("the texts and their threads" in text for text in texts)
    paths = list(drawing.iter(f"{name}path"))
    threads = [path for path in paths if path.get("data-aw-value") is not None]
    assert len(threads) == page.locator(".aw-sim-threads path").count() > 0
    lines = [path for path in paths if path.get("data-aw-value") is None]
    dashed = page.locator(".aw-sim-word.is-less").count()
    assert sum(path.get("stroke-dasharray") is not None for path in lines) == dashed
    assert not any("var(" in value for path in drawing.iter() for value in path.attrib.values())


def signed(number: float) -> str:
    return f"{'+' if number > 0 else '−'}{abs(number):.3f}"


def test_a_saved_ranking_says_why_one_passage_is_above_another(page: Page, tmp_path: Path) -> None:
    r = compare(A, PASSAGES)
    page.goto(r.to_html(tmp_path / "page.html").as_uri())
    settle(page)
    first, second, last = r.order
    bars = page.locator("[data-passage]")
    expect(bars).to_have_count(3)
    assert [int(one.get_attribute("data-passage") or -1) for one in bars.all()] == r.order
    page.locator(f'[data-against="{last}"]').click()
    difference = r.difference(first, last)
    assert value(page, "difference-total") == pytest.approx(difference.value, abs=EXACT)
    cells = part(page, "difference").locator(".aw-change")
    shown = [float(cell.get_attribute("data-aw-value") or "nan") for cell in cells.all()]
    assert math.fsum(shown) == pytest.approx(difference.value, abs=EXACT)
    assert shown[-1] == pytest.approx(difference.bias, abs=EXACT)
    page.locator(f'[data-passage="{second}"]').click()
    settle(page)
    assert value(page, "score") == pytest.approx(float(r.scores[second]), abs=EXACT)
    assert violations(page) == []


@pytest.mark.parametrize("width", [390, 1000])
def test_passages_are_readable_below_their_query_and_no_number_is_over_them(
    page: Page, tmp_path: Path, width: int
) -> None:
    long = "When the river had risen over its banks, nobody in the old town could sleep that night."
    r = compare(A, [*PASSAGES, long])
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(r.to_html(tmp_path / "page.html").as_uri())
    settle(page)
    query = part(page, "query")
    expect(query).to_have_text(f"Query {A}")
    list_box, query_box = page.locator("[data-passage]").first.bounding_box(), query.bounding_box()
    assert list_box is not None and query_box is not None
    assert query_box["y"] + query_box["height"] <= list_box["y"] + 0.5
    for row in page.locator("[data-passage]").all():
        # The longest number that there is.
        row.locator("[data-aw-value]").evaluate("number => { number.textContent = '−5.12×10⁻⁴'; }")
        text = row.locator(".aw-sim-text")
        assert text.evaluate(
            "e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight"
        )
        (x, y, right, low), (left, top, end, bottom) = (
            one.evaluate(
                """e => {
                    const range = document.createRange();
                    range.selectNodeContents(e);
                    const box = range.getBoundingClientRect();
                    return [box.left, box.top, box.right, box.bottom];
                }"""
            )
            for one in (row.locator("[data-aw-value]"), text)
        )
        assert right <= left or end <= x or low <= top + 0.5 or bottom <= y


@needs_minilm
def test_two_sentences_are_typed_into_a_page_with_the_model_and_the_threads_follow(
    page: Page, tmp_path: Path
) -> None:
    s = aw.similarity(*TYPED, tagger=None, progress=False)
    saved = aw.similarity(A, B, tagger=None, progress=False)
    page.goto(saved.to_html(tmp_path / "live.html", engine=True).as_uri())
    page.wait_for_selector('html[data-aw-engine="ready"]', timeout=60_000)
    settle(page)
    assert value(page, "score") == pytest.approx(saved.score, abs=EXACT)
    part(page, "edit-a").click()
    field = part(page, "text-a")
    field.fill("")
    expect(part(page, "refused")).to_contain_text("Text a is empty")
    field.press_sequentially(TYPED[0])
    part(page, "edit-b").click()
    part(page, "text-b").fill("a " * 300)
    expect(part(page, "refused")).to_contain_text("reads at most 256")
    expect(word(page, "b", "slept")).to_be_visible()  # the last picture stays
    part(page, "text-b").fill(TYPED[1])
    expect(word(page, "b", "recover")).to_be_visible()
    expect(part(page, "matrix-note")).to_contain_text("Input:")
    best = s.pairs(1)[0]
    expect(part(page, "headline")).to_contain_text(pair_in_words(best))
    threads = page.locator(".aw-sim-threads path")
    expect(threads).to_have_count(5)
    assert float(threads.first.get_attribute("data-aw-value") or "nan") == pytest.approx(
        best.value, abs=IN_PAGE
    )
    part(page, "words").click()
    for side in ("a", "b"):
        shown = page.locator(f'[data-side="{side}"][data-unit]').all()
        values = [float(one.get_attribute("data-aw-value") or "nan") for one in shown]
        assert values == pytest.approx(s.contributions(side).values[1:-1], abs=IN_PAGE)
    for kind in ("input", "output"):
        page.locator(f'[data-kind="{kind}"]').click()
        expect(part(page, "matrix-note")).to_contain_text(f"{kind.capitalize()}:")
        assert value(page, "score") == pytest.approx(s.score, abs=IN_PAGE)
        assert value(page, "similarity-total") == pytest.approx(value(page, "score"), abs=EXACT)
        wanted = [record["value"] for record in s.to_records(kind)]
        assert saved_values(page) == pytest.approx(wanted, abs=IN_PAGE)
    assert violations(page) == []


def saved_values(page: Page) -> list[float]:
    """The column of values of the view's CSV."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").first.click()
        page.locator('[data-aw-save="csv"]').click()
    lines = Path(download.value.path()).read_text().splitlines()
    return [float(row["value"]) for row in csv.DictReader(lines)]


def test_texts_are_edited_in_place_and_a_bad_one_keeps_the_picture(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    widget = compare(A, B).show()
    mount(page, widget, width=1200)
    settle(page)
    before = value(page, "score")
    part(page, "edit-b").click()
    field = part(page, "text-b")
    expect(field).to_have_value(B)
    field.fill("   ")
    field.press("Enter")
    expect(part(page, "refused")).to_contain_text("only white space")
    assert value(page, "score") == before
    expect(field).to_have_value("   ")
    field.fill(PASSAGES[0])
    field.press("Enter")
    expect(word(page, "b", "slept")).to_be_visible()
    settle(page)
    assert value(page, "score") == pytest.approx(widget.result.score, abs=EXACT) != before
    expect(part(page, "refused")).to_have_count(0)
    part(page, "open-heads").click()
    heads = part(page, "similarity-heads")
    expect(heads).to_be_visible()
    settle(page)
    heads.focus()
    heads.press("Home")
    heads.press("Enter")
    expect(part(page, "switched")).to_contain_text("with all heads")
    assert widget.result.a.model.heads_off == ((0, 0),)
    assert value(page, "score") == pytest.approx(widget.result.score, abs=EXACT)
    part(page, "all-on").click()
    expect(part(page, "switched")).to_have_count(0)
    assert violations(page) == []
    widget.close()
    page.close()


@pytest.mark.timeout(600)
def test_a_cell_displays_it_in_jupyterlab(lab: Lab, open_notebook: OpenNotebook) -> None:
    name = lab.write(
        "similar.ipynb",
        [
            "import attn_widget as aw\n"
            f"s = aw.similarity({A!r}, {B!r}, 'attn_widget/mini', tagger=None, progress=False)\ns",
        ],
    )
    notebook = open_notebook(name)
    notebook.run_all()
    widget = notebook.widget(0)
    expect(widget.part("score")).to_be_visible(timeout=60_000)
    expect(notebook.page.locator(".attn-widget")).to_have_count(1)
    score = float(widget.part("score").get_attribute("data-aw-value") or "nan")
    s = aw.similarity(A, B, "attn_widget/mini", tagger=None, progress=False)
    assert score == pytest.approx(s.score, abs=EXACT)
    expect(widget.part("similarity-total")).to_be_visible()
    widget.part("edit-a").click()
    widget.part("text-a").fill(B)
    widget.part("text-a").press("Enter")
    expect(widget.part("score")).to_contain_text("1.00", timeout=60_000)
