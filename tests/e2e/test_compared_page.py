"""A page of two runs in Chromium: A, B and their difference, with one selection."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from tests.e2e.compared import A, B, open_panel
from tests.e2e.test_accessibility import AXE
from tests.e2e.views import part

PANELS = ("heads", "tree", "sentences", "predictions", "inside", "why", "patching")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 1000})
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def its_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of A and B with the grids that are recorded when none was asked for before."""
    c = aw.compare(A, B, progress=False)
    return aw.to_html(c, tmp_path_factory.mktemp("compared") / "page.html")


def show(page: Page, comparison: aw.Comparison, folder: Path) -> list[str]:
    """Open the comparison's page; errors of its script come into the list."""
    return open_file(page, aw.to_html(comparison, folder / "page.html"))


def open_file(page: Page, path: Path) -> list[str]:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    expect(part(page, "compare")).to_be_visible()
    return errors


def test_the_difference_says_which_word_changed_and_which_head_differs_most(
    page: Page, keys_and_key: aw.Comparison, its_page: Path
) -> None:
    c = keys_and_key
    errors = open_file(page, its_page)
    distances = c.distances().distances
    layer, head = divmod(int(distances.argmax()), distances.shape[1])
    panel = part(page, "difference")
    expect(panel).to_contain_text("Changed: “keys” → “key”.")
    expect(panel).to_contain_text(
        f"L{layer} · H{head} differs most: distance {distances.max():#.3g}"
    )
    lines = part(page, "alignment").locator("line[data-a]")
    drawn = lines.evaluate_all("all => all.map(one => [+one.dataset.a, +one.dataset.b])")
    assert [tuple(pair) for pair in drawn] == list(c.alignment.tokens)
    expect(part(page, "alignment").locator(".aw-alone[data-token]")).to_have_count(2)
    change = c.difference(layer, head).difference
    value = part(page, "reading").get_attribute("data-aw-value")
    strongest = change.flat[np.abs(change).argmax()]
    assert float(str(value)) == pytest.approx(strongest, abs=1e-3)
    assert errors == []


def test_a_key_and_buttons_switch_and_the_selection_is_one(
    page: Page, keys_and_key: aw.Comparison, tmp_path: Path
) -> None:
    c = aw.compare(keys_and_key.a, "The old key to the cabinet is here.", progress=False)
    errors = show(page, c, tmp_path)
    part(page, "distances").locator('[data-layer="2"][data-head="3"]').click()
    word = [one.text for one in c.a.tokens].index("cabinet")
    part(page, "alignment").locator(f'[data-token="{word}"]').first.click()
    open_panel(page, "predictions")
    expect(part(page, "guesses")).to_contain_text("→")
    expect(part(page, "guess")).to_contain_text("cabinet")
    page.keyboard.press("c")
    first, second = page.locator(".aw-page-run").all()
    expect(first.locator('[data-layer="2"][data-head="3"]').first).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("c")
    expect(first).to_be_hidden()
    expect(second.locator('[data-layer="2"][data-head="3"]').first).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(second).to_contain_text("cabinet attends to")
    part(page, "compare").get_by_role("button", name="B − A").click()
    expect(part(page, "difference")).to_be_visible()
    assert errors == []


@pytest.mark.parametrize(
    ("other", "said"), [(A, "The two texts are identical."), ("it rained", "no word in common")]
)
def test_texts_that_hardly_compare_are_told_in_words(
    page: Page, keys_and_key: aw.Comparison, tmp_path: Path, other: str, said: str
) -> None:
    errors = show(page, aw.compare(keys_and_key.a, other, progress=False), tmp_path)
    expect(part(page, "compare")).to_contain_text(said)
    expect(part(page, "distances").locator("button")).to_have_count(72)
    for name in PANELS:
        if page.locator(f'.aw-difference [data-view="{name}"]').count() > 0:
            open_panel(page, name)
    assert errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_difference(browser: Browser, its_page: Path, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme, bypass_csp=True)  # pyright: ignore[reportArgumentType]
    open_file(page, its_page)
    expect(part(page, "changes").locator("canvas").first).to_be_visible()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run('[data-aw-part=difference]')).violations")
    page.close()
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_every_view_has_a_difference_with_the_numbers_of_python(
    page: Page, keys_and_key: aw.Comparison, its_page: Path
) -> None:
    c = keys_and_key
    errors = open_file(page, its_page)
    layer, head = divmod(int(c.distances().distances.argmax()), 12)
    open_panel(page, "heads")
    metrics = c.metrics()["focus_entropy"]
    row = page.locator('[data-metric="focus_entropy"] td')
    shown = [float(str(one.get_attribute("data-aw-value"))) for one in row.all()]
    both = [float(metrics.a[layer, head]), float(metrics.b[layer, head])]
    assert shown == pytest.approx([*both, both[1] - both[0]], abs=1e-4)
    open_panel(page, "inside")
    cosine = float(str(part(page, "states-reading").get_attribute("data-aw-value")))
    assert cosine == pytest.approx(float(c.states().min()), abs=1e-4)
    open_panel(page, "tree")
    expect(page.locator('[data-panel="tree"] .aw-tree')).to_have_count(2)
    open_panel(page, "patching")
    expect(page.locator('[data-panel="patching"]')).to_contain_text("needs a kernel")
    most = float(str(part(page, "recovery").get_attribute("data-aw-value")))
    assert most == pytest.approx(float(c.recovery(c.proposals()[0]).values.max()), abs=1e-3)
    page.locator('[data-of="states"]').click()
    expect(part(page, "recovery")).to_contain_text("at are")
    page.locator('[data-of="mlp"]').click()
    expect(page.locator('[data-panel="patching"]')).to_contain_text("was not recorded")
    expect(page.locator(".aw-compare-save")).to_be_hidden()
    assert errors == []


def test_tokens_matched_by_hand_have_lines_of_their_own_and_files_their_numbers(
    page: Page, keys_and_key: aw.Comparison, tmp_path: Path
) -> None:
    c = keys_and_key.align([(2, 2)])
    errors = show(page, c, tmp_path)
    hand = part(page, "alignment").locator("line.aw-by-hand[data-a]")
    expect(hand).to_have_count(1)
    assert hand.get_attribute("data-a") == "2"
    dashes = [
        one.evaluate("line => getComputedStyle(line).strokeDasharray")
        for one in (hand, part(page, "alignment").locator("line[data-a='3']"))
    ]
    assert dashes[0] != "none" and dashes[1] == "none"
    expect(part(page, "alignment").locator(".aw-compare-scroll .aw-compare-knot")).to_have_count(1)
    expect(part(page, "alignment-legend")).to_have_text("matched by the wordsmatched by hand")
    expect(part(page, "difference")).to_contain_text("Changed: “keys” → “key”.")
    expect(part(page, "reading")).to_have_attribute("data-aw-value", re.compile(r"\d"))
    saved = part(page, "difference").locator("[data-aw-save]")
    with page.expect_download() as csv:
        saved.nth(1).click()
    layer, head = divmod(int(c.distances().distances.argmax()), 12)
    change = c.difference(layer, head).difference.ravel()
    rows = [line.split(",") for line in csv.value.path().read_text("utf-8").splitlines()]
    assert rows[0] == [
        "query",
        "query_a",
        "query_b",
        "key",
        "key_a",
        "key_b",
        "a",
        "b",
        "difference",
    ]
    np.testing.assert_allclose([float(row[-1]) for row in rows[1:]], change, atol=2e-3)
    with page.expect_download() as picture:
        saved.first.click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    open_panel(page, "tree")
    saved.nth(1).click()
    expect(part(page, "difference-saved")).to_contain_text("has no table")
    for name in ("heads", "predictions", "inside", "patching"):
        open_panel(page, name)
        with page.expect_download() as table:
            saved.nth(2).click()
        found = json.loads(table.value.path().read_text("utf-8"))
        assert found["a"]["text"] == A and found["b"]["text"] == B and found["rows"]
    np.testing.assert_allclose(
        [row[-1] for row in found["rows"]],
        c.recoveries[0].values.ravel(),
        atol=1e-4,
    )
    assert errors == []


def test_hostile_text_stays_text(page: Page, keys_and_key: aw.Comparison, tmp_path: Path) -> None:
    attack = "<img src=x onerror=window.hit=1></script><script>window.hit=1</script>"
    show(page, aw.compare(keys_and_key.a, attack, progress=False), tmp_path)
    page.keyboard.press("c")
    page.keyboard.press("c")
    assert page.evaluate("window.hit") is None


def test_a_report_opens_each_comparison_from_its_list(
    page: Page, keys_and_key: aw.Comparison, tmp_path: Path
) -> None:
    first = keys_and_key
    second = aw.compare("he sat on it", "she sat on it", progress=False)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    path = aw.report(["it rained", first, second], tmp_path / "report.html", progress=False)
    page.goto(path.as_uri())
    links = page.locator("nav a")
    expect(links).to_have_count(3)
    expect(page.locator("nav [role=status]")).to_have_text("3 of 3 texts")
    expect(page.locator(".aw-page-run .attn-widget").first).to_contain_text("rained")
    for place, c, changed in ((1, first, "“keys” → “key”"), (2, second, "“he” → “she”")):
        links.nth(place).click()
        expect(links.nth(place)).to_have_attribute("aria-current", "page")
        expect(part(page, "difference")).to_contain_text(f"Changed: {changed}.")
        distances = c.distances().distances
        layer, head = divmod(int(distances.argmax()), 12)
        expect(part(page, "reading")).to_have_attribute("data-aw-value", re.compile(r"\d"))
        value = part(page, "reading").get_attribute("data-aw-value")
        change = c.difference(layer, head).difference
        assert float(str(value)) == pytest.approx(change.flat[np.abs(change).argmax()], abs=1e-3)
        expect(part(page, "compare")).to_have_count(1)
    page.keyboard.press("c")
    expect(part(page, "difference")).to_be_hidden()
    expect(part(page, "ribbon").first).to_be_visible()
    links.first.click()
    expect(part(page, "compare")).to_have_count(0)
    expect(page.locator(".aw-page-run .attn-widget").first).to_contain_text("rained")
    page.locator("nav input").fill("she")
    expect(page.locator("nav li:visible")).to_have_count(1)
    assert errors == []


def test_the_sums_of_a_pinned_pair_are_in_the_page(page: Page, tmp_path: Path) -> None:
    c = aw.compare(A, "The key to the old cabinet are here.", progress=False)
    widget = aw.show(c)
    widget.layer, widget.head, widget.pair = 1, 3, [6, 5]
    errors = open_file(page, aw.to_html(widget, tmp_path / "page.html"))
    widget.close()
    part(page, "why-here").locator("visible=true").click()
    expect(part(page, "qk-change")).to_contain_text("In B the contrast is")
    layer, head = c.distances().partner[1, 3].tolist()
    at = dict(c.alignment.tokens)
    change = c.b.qk_attribution(layer, head, at[6], at[5]).contrast
    change -= c.a.qk_attribution(1, 3, 6, 5).contrast
    shown = part(page, "qk-change").locator("[data-aw-value]").first
    assert float(str(shown.get_attribute("data-aw-value"))) == pytest.approx(change, rel=1e-3)
    assert errors == []
