"""The heads view on the built page: where heads look, their roles, and a profile in its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget.features.corpus.widget import ProfileWidget
from attn_widget.figures import metrics, patterns, specialization
from scripts.page import mount
from scripts.widget_parts import agree
from tests.e2e.views import FLOAT32, unfold

TEXT = "The cat sat on the mat, and the dog saw it in Paris; it ran away, but nobody knew why."
TEXTS = [
    TEXT,
    "Why do they run?",
    "It rains in Paris; nobody goes out.",
    "Angela Merkel left Berlin on Monday.",
    "No.",
    "The old man, who had lost his house, walked along the river until the morning came.",
]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1100, "height": 900}, reduced_motion="reduce")
    failed: list[str] = []
    opened.on("pageerror", lambda error: failed.append(str(error)))
    yield opened
    opened.close()
    assert failed == []


@pytest.fixture
def widget() -> Iterator[aw.AttentionWidget]:
    shown = aw.show(TEXT, layer=0, head=0, progress=False)
    yield shown
    shown.close()


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> aw.Profile:
    path: Path = tmp_path_factory.mktemp("profile") / "heads.parquet"
    aw.profile(TEXTS, progress=False).save(path)
    return aw.Profile.load(path)


def part(page: Page, name: str) -> Locator:
    return page.locator(f'[data-aw-part="{name}"]')


def chosen(page: Page, layer: int, head: int) -> None:
    """Wait until the page has written this head to the traits."""
    page.wait_for_function(
        "([layer, head]) => window.aw.values.layer === layer && window.aw.values.head === head",
        arg=[layer, head],
    )


def head_of_largest(figures: np.ndarray) -> tuple[int, int]:
    layer, head = np.unravel_index(np.nanargmax(figures), figures.shape)
    return int(layer), int(head)


@pytest.mark.parametrize("key", ["previous", "punctuation"])
def test_which_head_is_answered_in_two_actions(
    page: Page, widget: aw.AttentionWidget, key: str
) -> None:
    mount(page, widget)
    part(page, "metric").select_option(key)
    part(page, "grid-most").click()
    a = widget.analysis
    figures = a.heads.patterns.previous if key == "previous" else a.heads.specialization.punctuation
    chosen(page, *head_of_largest(figures))
    agree(part(page, "heads").locator(".aw-grid-head"), figures, rtol=FLOAT32)


def test_numbers_beside_the_radar_are_those_of_python(
    page: Page, widget: aw.AttentionWidget
) -> None:
    widget.layer, widget.head, widget.view = 3, 5, "heads"
    mount(page, widget)
    unfold(page, "numbers")
    found = widget.analysis.heads.specialization
    forms = {"raw": found.raw, "scaled": found.scaled(), "z": found.zscores()}
    table = part(page, "specialization")
    for key in specialization.KEYS:
        row = table.locator(f'tr[data-key="{key}"]')
        for column, figures in forms.items():
            shown = row.locator(f'[data-column="{column}"]').first
            agree(shown, figures[key][3, 5], rtol=FLOAT32)
        agree(row.locator('[data-column="chance"]'), found.chance[key], rtol=FLOAT32)


def test_roles_are_shown_on_the_map_and_on_the_grid(page: Page, widget: aw.AttentionWidget) -> None:
    widget.view = "heads"
    mount(page, widget)
    unfold(page, "roles")
    part(page, "roles").scroll_into_view_if_needed()
    dots = part(page, "roles-map").get_by_role("button")
    expect(dots).to_have_count(72, timeout=60_000)
    roles = widget.analysis.heads.roles()
    seen = roles.labels.ravel().tolist()
    for dot, role in zip(dots.all(), seen, strict=True):
        expect(dot).to_have_attribute("data-role", str(role))
    dots.nth(40).focus()
    page.keyboard.press("Enter")
    chosen(page, 3, 4)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "() => { const {layer, head} = document.activeElement.dataset;"
        " return layer !== undefined && `${layer} ${head}` !== '3 4'; }"
    )
    part(page, "metric").select_option("role")
    on_grid = part(page, "heads").locator(".aw-grid-head[data-aw-role]")
    expect(on_grid).to_have_count(72)
    for button, role in zip(on_grid.all(), seen, strict=True):
        expect(button).to_have_attribute("data-aw-role", str(role))


def test_a_click_on_an_outline_selects_its_head(page: Page, widget: aw.AttentionWidget) -> None:
    # The corner of a head that is furthest from all other outlines of the layer.
    raw = {k: v[2] for k, v in widget.analysis.heads.specialization.scaled().items()}
    gaps = {
        (key, head): float(np.min(np.abs(np.delete(values, head) - values[head])))
        for key, values in raw.items()
        if np.isfinite(values).all()
        for head in range(len(values))
    }
    axis, head = max(gaps, key=lambda corner: gaps[corner])
    widget.layer, widget.head, widget.view = 2, (head + 1) % 12, "heads"
    mount(page, widget)
    outline = page.locator(f".aw-radar-head[data-head='{head}'] path")
    outline.wait_for(state="attached")
    part(page, "radar").scroll_into_view_if_needed()
    share = float(raw[axis][head])
    at = page.evaluate(
        """([axis, share]) => {
            const lines = [...document.querySelectorAll('.aw-radar-axis')];
            const line = lines[axis];
            const point = new DOMPoint(
                line.x2.baseVal.value * share, line.y2.baseVal.value * share
            ).matrixTransform(line.getScreenCTM());
            return [point.x, point.y];
        }""",
        [list(specialization.KEYS).index(axis), share],
    )
    page.mouse.click(*at)
    chosen(page, 2, head)
    radio = part(page, "radar-heads").get_by_role("radio", checked=True)
    expect(radio).to_have_text(f"H{head}")


@pytest.mark.parametrize(("width", "most"), [(1200, 700), (390, 1200)])
def test_what_stands_out_and_the_radar_fit_one_screen(
    page: Page, widget: aw.AttentionWidget, width: int, most: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    widget.layer, widget.head, widget.view = 3, 5, "heads"
    mount(page, widget, width=width)
    part(page, "radar").wait_for()
    assert 2 <= page.locator(".aw-cards-first .aw-card").count() <= 3
    view = part(page, "view").bounding_box()
    assert view is not None and view["height"] <= most
    # All views are in sight on a phone, and the left column is no longer than the view by much.
    assert part(page, "tabs").evaluate("tabs => tabs.scrollWidth <= tabs.clientWidth")
    side = page.locator(".aw-side").bounding_box()
    assert side is not None and side["height"] <= view["height"] + 100


def test_a_refusal_is_told_once(page: Page) -> None:
    text = "Die Katze sitzt auf der Matte, weil sie müde ist."
    widget = aw.show(text, view="heads", layer=2, head=9, progress=False)
    page.set_viewport_size({"width": 1200, "height": 900})
    mount(page, widget, width=1200)
    refusal = part(page, "view").locator("p, li, td", has_text="does not look English")
    expect(refusal).to_have_count(1)
    radar = part(page, "radar").bounding_box()
    assert radar is not None and radar["width"] > 300
    unfold(page, "numbers")
    expect(refusal).to_have_count(1)
    expect(part(page, "specialization")).to_contain_text("Syntax, Semantics, Entities")
    widget.close()


def test_a_profile_is_shown_with_its_own_numbers(page: Page, profile: aw.Profile) -> None:
    shown = aw.show(profile, layer=3, head=5)
    assert isinstance(shown, ProfileWidget)
    mount(page, shown)
    expect(part(page, "profile")).to_contain_text("Profile of 6 texts")
    expect(page.get_by_role("tab")).to_have_count(0)  # one view leaves nothing to choose
    unfold(page)
    for key in ("confidence_avg", "focus_entropy", "uniformity"):
        card = page.locator(f'.aw-card[data-metric="{key}"]')
        agree(card.locator(".aw-card-value").first, profile.mean[key][3, 5], rtol=FLOAT32)
    part(page, "specialization").wait_for()
    page.locator('[data-group="All"]').click()
    table = page.locator(".aw-heads-all tbody")
    cards = ("confidence_max", "confidence_avg", "focus_entropy", "sparsity",
             "distribution_median", "uniformity")  # fmt: skip
    assert set(cards) < set(metrics.KEYS)
    for key in (*cards, *specialization.KEYS, *patterns.OFFSETS):
        cell = table.locator(f'tr[data-index="41"] [data-metric="{key}"]').first
        agree(cell, profile.mean[key][3, 5], rtol=FLOAT32)
    part(page, "roles").scroll_into_view_if_needed()
    dots = part(page, "roles-map").get_by_role("button")
    expect(dots).to_have_count(72, timeout=60_000)
    for dot, role in zip(dots.all(), profile.roles().labels.ravel().tolist(), strict=True):
        expect(dot).to_have_attribute("data-role", str(role))
    part(page, "metric").select_option("self")
    agree(part(page, "heads").locator(".aw-grid-head"), profile.mean["self"], rtol=FLOAT32)
    shown.close()
