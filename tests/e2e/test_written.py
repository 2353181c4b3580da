"""A saved page of a decoder that has written on: what the ribbon greys and rules off, and its player, with motion and without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from tests.e2e.saved import offline
from tests.e2e.test_accessibility import violations
from tests.e2e.views import choose, part
from tests.unit.tiny_models import build

# Collects the focus tokens that the ribbon marks, in the order in which they come, and pauses at one.
WATCH = """line => {
    window.focused = [];
    window.pauseAt = null;
    new MutationObserver(() => {
        const at = line.querySelector('[aria-pressed=true]')?.dataset.token;
        if (at === undefined || Number(at) === focused.at(-1)) return;
        focused.push(Number(at));
        if (pauseAt === Number(at)) document.querySelector('[data-aw-part=player] [aria-pressed]').click();
    }).observe(line, {subtree: true, attributeFilter: ['aria-pressed']});
}"""
TWO_STEPS_MS = 1_000


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """A page whose focus token is 3, its count of tokens, and the first one that the model wrote."""
    widget = aw.show(
        "hello world", model=build("llama"), generate=4, tagger=None, token=3, progress=False
    )
    a = widget.analysis
    n, first = a.trace.n_tokens, a.trace.n_tokens - len(a.model.generated)
    assert 3 < first < n
    file = tmp_path_factory.mktemp("written") / "written.html"
    widget.to_html(file)
    widget.close()
    return file, n, first


def forbidden(page: Page) -> list[int]:
    return [
        int(token.get_attribute("data-token") or "-1")
        for token in part(page, "ribbon").locator(".aw-forbidden").all()
    ]


def test_the_ribbon_and_the_player_of_a_text_that_a_decoder_wrote(
    browser: Browser, written: tuple[Path, int, int]
) -> None:
    file, n, first = written
    with offline(browser, file) as opened:
        page = opened.page
        # The mask hides what follows the focus token; a rule stands before what the model wrote.
        rule = part(page, "ribbon").locator(".aw-written")
        expect(rule).to_have_count(1)
        assert rule.get_attribute("data-token") == str(first)
        expect(rule).to_have_css("border-left", re.compile("^2px solid"))
        grey = part(page, "ribbon").locator(f'[data-token="{n - 1}"]')
        expect(grey).to_have_css("opacity", "0.6")
        assert forbidden(page) == list(range(4, n))
        # With reduced motion nothing moves by itself.
        expect(part(page, "player").get_by_role("button")).to_have_text(["◀", "▶"])
        back, on = part(page, "player").get_by_role("button").all()
        on.click()
        assert page.evaluate("document.getAnimations().length") == 0
        expect(part(page, "ribbon").locator(".aw-forbidden")).to_have_count(n - 5)
        assert forbidden(page) == list(range(5, n))
        back.click()
        back.click()
        expect(part(page, "ribbon").locator(".aw-forbidden")).to_have_count(n - 3)
        inside = choose(page, "inside")
        expect(inside.locator('[data-aw-part="empty"]')).to_have_count(0)
        why = choose(page, "why")
        expect(why).to_contain_text("there is no masked text to start from")
        expect(part(page, "why-components-said")).to_contain_text("all parts together make the")
        expect(part(page, "saved")).to_contain_text("New text needs a kernel")
        found = {}
        for view in page.locator('[role="tab"]').evaluate_all(
            "all => all.map(e => e.dataset.view)"
        ):
            choose(page, view)
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                found[view, theme] = violations(page)
        assert ("predictions", "dark") in found and found == {name: [] for name in found}
        assert opened.errors == [] and opened.asked == []


def test_the_player_goes_over_what_was_written_to_the_end_and_pauses(
    browser: Browser, written: tuple[Path, int, int]
) -> None:
    file, n, first = written
    with offline(browser, file, motion=True) as opened:
        page = opened.page
        line = part(page, "ribbon").locator(".aw-ribbon-line")
        play = part(page, "player").get_by_role("button", name="play")
        expect(play).to_have_attribute("aria-pressed", "false")
        line.evaluate(WATCH)
        play.click()
        expect(line.locator(f'[data-token="{n - 1}"]')).to_have_attribute("aria-pressed", "true")
        expect(play).to_have_attribute("aria-pressed", "false")
        assert page.evaluate("focused") == [*range(4, n)]
        assert forbidden(page) == []
        # From the end it begins anew, where the first written token follows.
        page.evaluate("at => { pauseAt = at }", first)
        play.click()
        expect(line.locator(f'[data-token="{first}"]')).to_have_attribute("aria-pressed", "true")
        expect(play).to_have_attribute("aria-pressed", "false")
        page.wait_for_timeout(TWO_STEPS_MS)
        assert page.evaluate("focused") == [*range(4, n), first - 1, first]
        assert opened.errors == [] and opened.asked == []


@pytest.mark.parametrize("family", ["llama", "bart"])
def test_a_model_that_ends_the_text_at_once_says_so(
    browser: Browser, tmp_path: Path, family: str
) -> None:
    pair = model, _ = build(family)
    first = aw.analyze(
        "hello world", model=pair, generate=1, tagger=None, progress=False
    ).model.generated[0]
    model.generation_config.eos_token_id = first.id
    with pytest.warns(UserWarning, match="generate is 20, and .* ended the text at once"):
        widget = aw.show("hello world", model=pair, generate=20, tagger=None, progress=False)
    widget.to_html(tmp_path / "ended.html")
    widget.close()
    with offline(browser, tmp_path / "ended.html") as opened:
        expect(part(opened.page, "truncated")).to_have_text(
            "The model ended the text at once: it wrote nothing."
        )
        assert opened.errors == [] and opened.asked == []
