"""A page of two runs in Chromium: A, B and their difference, with one selection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from tests.e2e.test_accessibility import AXE
from tests.e2e.views import part

A, B = "The keys to the cabinet are here.", "The key to the cabinet are here."


@pytest.fixture
def page(browser: Browser) -> Page:
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 1000})
    return context.new_page()


def show(page: Page, comparison: aw.Comparison, folder: Path) -> list[str]:
    """Open the comparison's page; errors of its script come into the list."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(aw.to_html(comparison, folder / "page.html").as_uri())
    expect(part(page, "compare")).to_be_visible()
    return errors


def test_the_difference_says_which_word_changed_and_which_head_differs_most(
    page: Page, tmp_path: Path
) -> None:
    c = aw.compare(A, B, progress=False)
    errors = show(page, c, tmp_path)
    distances = c.distances().distances
    layer, head = divmod(int(distances.argmax()), distances.shape[1])
    panel = part(page, "difference")
    expect(panel).to_contain_text("Changed: “keys” → “key”.")
    expect(panel).to_contain_text(f"layer {layer}, head {head} (distance {distances.max():.3f}")
    lines = part(page, "alignment").locator("line")
    drawn = lines.evaluate_all("all => all.map(one => [+one.dataset.a, +one.dataset.b])")
    assert [tuple(pair) for pair in drawn] == list(c.alignment.tokens)
    expect(part(page, "alignment").locator(".aw-alone")).to_have_count(2)
    change = c.difference(layer, head).difference
    value = part(page, "reading").get_attribute("data-aw-value")
    strongest = change.flat[np.abs(change).argmax()]
    assert float(str(value)) == pytest.approx(strongest, abs=1e-3)
    assert errors == []


def test_a_key_and_buttons_switch_and_the_selection_is_one(page: Page, tmp_path: Path) -> None:
    c = aw.compare(A, "The old key to the cabinet is here.", progress=False)
    errors = show(page, c, tmp_path)
    part(page, "distances").locator('[data-layer="2"][data-head="3"]').click()
    word = [one.text for one in c.a.tokens].index("cabinet")
    part(page, "alignment").locator(f'[data-token="{word}"]').first.click()
    expect(part(page, "guesses")).to_contain_text("→")
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
    page: Page, tmp_path: Path, other: str, said: str
) -> None:
    errors = show(page, aw.compare(A, other, progress=False), tmp_path)
    expect(part(page, "compare")).to_contain_text(said)
    expect(part(page, "distances").locator("button")).to_have_count(72)
    assert errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_difference(browser: Browser, tmp_path: Path, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme, bypass_csp=True)  # pyright: ignore[reportArgumentType]
    show(page, aw.compare(A, B, progress=False), tmp_path)
    expect(part(page, "changes").locator("canvas")).to_be_visible()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run('[data-aw-part=difference]')).violations")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_hostile_text_stays_text(page: Page, tmp_path: Path) -> None:
    attack = "<img src=x onerror=window.hit=1></script><script>window.hit=1</script>"
    show(page, aw.compare(A, attack, progress=False), tmp_path)
    page.keyboard.press("c")
    page.keyboard.press("c")
    assert page.evaluate("window.hit") is None
