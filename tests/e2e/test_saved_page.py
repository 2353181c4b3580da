"""A saved page in Chromium: offline, safe, complete, and true to its own digits."""

from __future__ import annotations

import html
import itertools
import json
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.page.output import outputs
from attn_widget.page.page import TITLE, page_parts, write_page
from attn_widget.page.saved_run import SavedRun, saved_run
from attn_widget.page.snapshot import snapshot
from attn_widget.page.spec import PageSpec
from scripts.page import DRAWN
from scripts.probe import sentiment
from tests.e2e.reference import MODEL
from tests.e2e.runs import shown
from tests.e2e.saved import SCHEMES
from tests.e2e.sources import SOURCES, Opened, opened, watch
from tests.e2e.test_accessibility import AXE
from tests.e2e.views import READY, choose, part, setting, unfold
from tests.unit.tiny_models import build

TEXT = "The cat sat on the mat. It was tired, and the bank was closed! Nobody came to the river."
VIEWS = ("attention", "heads", "tree", "sentences", "predictions", "inside")
ATTACKS = (
    "</script><script>window.hit=1</script>",
    "<!--<script>window.hit=1",
    "<img src=x onerror=window.hit=1>",
    "]]>\"'`&lt;script&gt;",
    "nul \x00 line\u2028paragraph\u2029 javascript:window.hit=1",
    "<iframe src=https://example.org></iframe><style>@import 'https://example.org'</style>",
)


def test_no_error_strip_on_a_walk_through_every_view_and_switch(
    browser: Browser, tmp_path: Path
) -> None:
    """Every button, switch and choice that stands in a view is used once."""
    widget = aw.show(TEXT, "It rained.", layer=2, head=3, token=2, progress=False)
    with opened(browser, widget, "saved", tmp_path) as one:
        expect(part(one.page, "saved")).to_contain_text(
            "Saved page, works offline. Numbers are rounded to reliable digits"
        )
        expect(part(one.page, "run")).to_have_count(1)
        expect(part(one.page, "run")).to_be_hidden()
        for quantity in ("weights", "scores", "rollout"):
            choose(one.page, "attention").get_by_role("button", name=quantity, exact=True).click()
            one.page.wait_for_function(READY)
            expect(part(one.page, "error")).to_be_hidden()
        for view in VIEWS:
            panel = choose(one.page, view)
            buttons = panel.locator("button:visible:not([disabled])")
            for i in range(min(buttons.count(), 40)):
                # Clicked by script, at once: a part that comes late may move the places in the list.
                buttons.evaluate_all("(all, i) => all[i]?.click()", i)
                if panel.is_visible():
                    one.page.wait_for_function(READY)
                said = part(one.page, "error")
                assert not said.is_visible(), (view, i, said.inner_text())
            for switch in ("mean", "words", "special"):
                toggle = setting(one.page, switch)
                if toggle.is_enabled():  # rollout has no mean head
                    toggle.click()
                one.page.wait_for_function(READY)
                expect(part(one.page, "error")).to_be_hidden()
            one.page.keyboard.press("Escape")  # Display may lie over the tabs
    widget.close()


@pytest.mark.quick
@pytest.mark.parametrize("source", SOURCES)
def test_a_pinned_pair_shows_how_its_weight_comes_about(
    browser: Browser, tmp_path: Path, source: str
) -> None:
    widget = shown(TEXT, layer=2, head=3, token=2, pair=[2, 5])
    with opened(browser, widget, source, tmp_path) as one:
        strip = part(one.page, "pair")
        expect(strip).to_contain_text("sum of the row")
        read = (
            "all => all.map(one => [one.querySelector('dt').textContent,"
            " one.querySelector('dd').dataset.awValue])"
        )
        figures = dict(strip.locator(".aw-figure").evaluate_all(read))
        score = widget.analysis.scores(2, 3)[2]
        expected = {
            "scaled score": score[5],
            "row max": score.max(),
            "exp(score − max)": np.exp(score[5] - score.max()),
            "sum of the row": np.exp(score - score.max()).sum(),
            "weight": widget.analysis.attention(2, 3)[2, 5],
            "q · k": widget.analysis.model.queries(2, 3)[2] @ widget.analysis.model.keys(2, 3)[5],
        }
        for name, value in expected.items():
            found = figures[name]
            assert abs(float(found) - value) <= max(1e-5, one.unit(found)), name
    widget.close()


def test_no_printed_digit_of_a_page_of_bytes_is_beyond_its_error(
    browser: Browser, tmp_path: Path
) -> None:
    """The coarsest code: every cell of the table twin is right to one unit of its last digit."""
    widget = shown(TEXT, layer=1, head=1)
    light = snapshot(
        widget.analysis, {"layer": 1, "head": 1}, PageSpec(views=VIEWS, light=True), code="weights"
    )
    run = SavedRun("bytes", widget.analysis.trace.n_tokens, light)
    path = write_page(tmp_path / "bytes.html", [run], "bytes", "stack")
    context = browser.new_context(offline=True)
    page = context.new_page()
    one = Opened(page, widget, "saved")
    page.goto(path.as_uri())
    page.wait_for_function(DRAWN)
    part(page, "table").locator("summary").click()
    cells = part(page, "table").locator("tbody td")
    weights = widget.analysis.attention(1, 1).ravel()
    one.agree(cells, weights)
    for text, weight in zip(cells.all_inner_texts(), weights, strict=True):
        if text.startswith("<"):
            power = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
            assert weight < float(text[1:].replace("×10", "e").translate(power))
    assert any(text.startswith("<") for text in cells.all_inner_texts())
    context.close()
    widget.close()


def test_a_page_of_grouped_heads_under_a_mask_has_their_scores_and_weights(
    browser: Browser, tmp_path: Path
) -> None:
    """Two heads share the keys of a group; queries of few cells are not in the page."""
    model = build("llama")
    widget = aw.show(TEXT, model=model, layer=1, head=3, tagger=None, progress=False)
    a = widget.analysis
    assert a.trace.n_tokens > 2 * a.trace.head_dim
    possible = np.tri(a.trace.n_tokens, dtype=bool)
    with opened(browser, widget, "saved", tmp_path) as one:
        part(one.page, "table").locator("summary").click()
        cells = part(one.page, "table").locator("tbody td[data-aw-value]")
        one.agree(cells, a.attention(1, 3)[possible], head=True)
        choose(one.page, "attention").get_by_role("button", name="scores", exact=True).click()
        one.agree(cells, a.scores(1, 3)[possible], head=True)
        part(one.page, "heads").locator('[data-layer="2"][data-head="1"]').click()
        one.agree(cells, a.scores(2, 1)[possible], head=True)
    widget.close()


def test_heads_that_were_left_out_are_passed_over(browser: Browser, tmp_path: Path) -> None:
    widget = shown(TEXT, layer=1, head=2)
    path = aw.to_html(widget, tmp_path / "few.html", layers=[1, 4], heads=[2, 9])
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_function(DRAWN)
    name = part(page, "head-name")
    absent = part(page, "heads").locator('[data-layer="0"][data-head="0"]')
    expect(absent).to_have_attribute("aria-disabled", "true")
    part(page, "heads").locator('[data-layer="4"][data-head="2"]').click()
    expect(name).to_have_text("L4 · H2")
    part(page, "heads").locator('[data-layer="4"][data-head="9"]').click()
    expect(name).to_have_text("L4 · H9")
    setting(page, "mean").click()
    expect(name).to_contain_text("mean")
    part(page, "table").locator("summary").click()
    first = part(page, "table").locator("tbody td").first
    Opened(page, widget, "saved").agree(first, widget.analysis.attention(4, "mean")[0, 0])
    expect(part(page, "error")).to_be_hidden()
    context.close()
    widget.close()


def test_a_narrow_page_names_its_heads_whole_and_says_in_words_what_it_lacks(
    browser: Browser, tmp_path: Path
) -> None:
    text = " ".join([TEXT] * 7)  # too long for its tensors to come along
    widget = aw.show(text, model=sentiment(), layer=3, head=5, token=2, progress=False)
    with opened(browser, widget, "saved", tmp_path) as one:
        one.page.set_viewport_size({"width": 700, "height": 1000})
        gradients = choose(one.page, "task").locator('[data-aw-part="gradient"]')
        expect(gradients).to_contain_text(
            "The effect of one head on a class is not in this saved page"
        )
        setting(one.page, "mean").press("Enter")
        one.page.keyboard.press("Escape")
        one.page.wait_for_function(READY)
        expect(gradients.locator('[data-aw-part="gradient-rows"]')).to_be_visible()
        named = one.page.locator(".aw-grid-number:visible")
        shown = named.evaluate_all(
            """all => all.filter(one => getComputedStyle(one).visibility === 'visible').map(one => {
                const range = document.createRange();
                range.selectNodeContents(one);
                const box = range.getBoundingClientRect();
                return [one.textContent, box.left, box.right, range.getClientRects().length];
            })"""
        )
        assert [name for name, *_ in shown] in (
            [str(head) for head in range(12)],
            [str(head) for head in range(0, 12, 2)],
        )
        for (name, _, right, lines), (_, left, *_) in itertools.pairwise(shown):
            assert lines == 1, name
            assert right <= left, f"{name} runs into the next label"
        inside = choose(one.page, "inside")
        inside.locator('[data-aw-part="stage"][data-stage="ffn_activation"]').click()
        # The rows of the focus token are there, those of others are not.
        one.page.locator('[data-aw-part="ribbon"] [data-token="5"]').click()
        expect(part(one.page, "stage-panel")).to_contain_text("This saved page has")
    widget.close()


@pytest.mark.parametrize("text", ATTACKS)
def test_hostile_texts_and_titles_do_nothing(browser: Browser, tmp_path: Path, text: str) -> None:
    widget = shown(text, text[::-1])
    path = aw.to_html(widget, tmp_path / "hostile.html", title=text)
    context = browser.new_context()
    one = Opened(context.new_page(), widget, "saved")
    watch(one, path.as_uri())
    one.page.goto(path.as_uri())
    one.page.wait_for_function(DRAWN)
    for view in VIEWS:
        choose(one.page, view)
    assert one.page.evaluate("() => window.hit") is None
    # One unpacks the page, one hides the picture for readers without scripts.
    assert one.page.locator("script:not(.aw-data, #aw-index, #aw-code, #aw-lazy)").count() == 2
    assert one.page.locator("iframe, img[src^=http], link").count() == 0
    assert (one.requests, one.problems) == ([], [])
    context.close()
    widget.close()


def test_hostile_labels_and_model_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(MODEL, num_labels=len(ATTACKS))
    model.config.id2label = dict(enumerate(ATTACKS))
    model.config.label2id = {label: i for i, label in enumerate(ATTACKS)}
    model.config._name_or_path = ATTACKS[0]
    widget = aw.show(TEXT, model=(model, AutoTokenizer.from_pretrained(MODEL)), progress=False)
    with opened(browser, widget, "saved", tmp_path) as one:
        choose(one.page, "task")
        assert ATTACKS[2] in one.page.locator("body").inner_text()
        assert one.page.evaluate("() => window.hit") is None
    widget.close()


def test_a_profile_lives_without_a_kernel(browser: Browser, tmp_path: Path) -> None:
    """Its title and texts are hostile, too."""
    profile = aw.profile([TEXT, ATTACKS[0], "Nobody came to the river."], progress=False)
    widget = aw.show(profile, layer=2, head=3)
    path = widget.to_html(tmp_path / "profile.html", title=ATTACKS[2])
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 1000})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.goto(path.as_uri())
    expect(part(page, "saved")).to_have_text(
        "Saved page, works offline. Figures with all their digits."
    )
    expect(page.get_by_role("heading", name="Layer 2, head 3")).to_be_visible()
    part(page, "heads").locator('[data-layer="4"][data-head="7"]').click()
    expect(page.get_by_role("heading", name="Layer 4, head 7")).to_be_visible()
    unfold(page, "roles")
    roles = part(page, "roles")
    roles.scroll_into_view_if_needed()
    expect(page.locator("body")).not_to_contain_text("needs a kernel")
    assert page.evaluate("() => window.hit") is None
    assert problems == []
    context.close()
    widget.close()


@pytest.mark.quick
def test_it_works_in_a_sandboxed_frame(browser: Browser) -> None:
    widget = aw.show("the cat sat", layer=0, head=0, progress=False)
    parts = page_parts([saved_run(widget._shown_source, widget.selection)], TITLE, "stack")
    source = html.escape(b"".join(parts).decode("utf-8"), quote=True)
    context = browser.new_context(offline=True)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content(
        f'<iframe sandbox="allow-scripts" width="1100" height="900" srcdoc="{source}"></iframe>'
    )
    frame = page.frame_locator("iframe")
    expect(frame.locator('[data-aw-part="head-name"]')).to_have_text("L0 · H0")
    frame.locator('[role="tab"][data-view="tree"]').click()
    expect(frame.locator('[data-aw-part="tree-node"]').first).to_be_visible()
    assert problems == []
    context.close()
    widget.close()


@pytest.mark.parametrize("text", ATTACKS)
def test_hostile_texts_do_nothing_in_frames_and_outputs(browser: Browser, text: str) -> None:
    widget = shown(text, text[::-1])
    context = browser.new_context(viewport={"width": 1200, "height": 1000})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    output = outputs(widget._shown, widget.saved, code=True)["text/html"]
    page.set_content(f"<!doctype html><body>{widget.as_html()}{output}</body>")
    frames = page.locator("iframe")
    expect(frames).to_have_count(2)
    for i in range(2):
        frame = frames.nth(i).content_frame
        frame.locator('[role="tab"][data-view="tree"]').click()
        expect(frame.locator('[data-aw-part="tree-node"]').first).to_be_visible()
    assert [frame.evaluate("() => window.hit ?? null") for frame in page.frames] == [None] * 3
    assert [url for url in asked if urlsplit(url).scheme not in SCHEMES] == []
    context.close()
    widget.close()


def test_the_output_of_a_profile_lives_in_a_document_without_a_kernel(browser: Browser) -> None:
    widget = aw.show(aw.profile([TEXT, ATTACKS[0]], progress=False), layer=2, head=3)
    context = browser.new_context(viewport={"width": 1200, "height": 1000})
    page = context.new_page()
    page.set_content(
        f"<!doctype html><body>{outputs(widget._shown, code=True)['text/html']}</body>"
    )
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Layer 2, head 3")).to_be_visible()
    expect(page.locator(".attn-widget-output > figure")).to_have_count(0)
    context.close()
    widget.close()


def test_pictures_and_tables_are_saved_from_it(browser: Browser, tmp_path: Path) -> None:
    widget = shown(TEXT, layer=2, head=3)
    with opened(browser, widget, "saved", tmp_path) as one:
        files: dict[str, bytes] = {}
        for kind in ("png", "svg", "csv", "json"):
            part(one.page, "save").click()
            with one.page.expect_download() as saving:
                one.page.locator(f'[data-aw-save="{kind}"]').click()
            files[kind] = Path(saving.value.path()).read_bytes()
    assert files["png"].startswith(b"\x89PNG")
    assert b"<svg" in files["svg"][:200]
    table = json.loads(files["json"])
    n = widget.analysis.trace.n_tokens
    assert len(files["csv"].decode().splitlines()) >= n * n
    columns = table["columns"]
    weights = np.array([row[columns.index("weight")] for row in table["rows"]], dtype=float)
    off = np.abs(weights - widget.analysis.attention(2, 3).ravel())
    units = [10.0 ** -len(str(w).partition(".")[2]) if "e" not in str(w) else 1e-5 for w in weights]
    assert (off <= np.maximum(units, 1e-6)).all()
    widget.close()


@pytest.fixture(scope="module")
def report_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    texts = [
        ("the cat sat", "on a mat"),
        "Alice lives in Paris.",
        "שלום עולם",
        "今日は良い天気です。",
    ]
    return aw.report([*texts, *ATTACKS], folder / "report.html", progress=False)


def open_report(browser: Browser, path: Path, width: int = 1200, theme: str = "light") -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, offline=True, color_scheme=theme
    )
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_function(DRAWN)
    return page


def test_a_report_lists_filters_and_opens_its_texts(browser: Browser, report_page: Path) -> None:
    page = open_report(browser, report_page)
    texts = page.get_by_role("navigation").get_by_role("link")
    expect(texts).to_have_count(4 + len(ATTACKS))
    expect(texts.first).to_have_attribute("aria-current", "page")
    page.get_by_role("searchbox").fill("paris")
    expect(page.get_by_role("status").first).to_have_text(f"1 of {4 + len(ATTACKS)} texts")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(part(page, "ribbon")).to_contain_text("Paris")
    assert page.url.endswith("#run=1")
    page.go_back()
    expect(part(page, "ribbon")).to_contain_text("mat")
    page.get_by_role("searchbox").fill("no such text")
    expect(page.get_by_role("status").first).to_contain_text("0 of")
    page.get_by_role("searchbox").fill("")
    for i in range(4, 4 + len(ATTACKS)):
        texts.nth(i).click()
        expect(texts.nth(i)).to_have_attribute("aria-current", "page")
        expect(part(page, "ribbon")).to_be_visible()
    assert page.evaluate("() => window.hit") is None
    page.context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [700, 1200])
def test_a_report_is_accessible(
    browser: Browser, report_page: Path, theme: str, width: int
) -> None:
    page = open_report(browser, report_page, width, theme)
    page.evaluate(AXE.read_text())
    found = page.evaluate(
        "() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})"
    )
    assert [(v["id"], v["nodes"][0]["html"][:120]) for v in found["violations"]] == []
    page.context.close()


def test_a_report_opened_at_a_text_shows_it(browser: Browser, report_page: Path) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(f"{report_page.as_uri()}#run=2")
    page.wait_for_function(DRAWN)
    expect(part(page, "ribbon")).to_contain_text("שלום")
    context.close()
