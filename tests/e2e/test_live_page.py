"""A page from a file, with the network cut, that runs what is typed: its figures are the kernel's."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from tests.close import assert_close
from tests.e2e.saved import offline, select_head
from tests.unit.tiny_models import EMBEDDED

READY = 'html[data-aw-engine="ready"]'
FIELD = '[data-aw-part="run-text"]'
LENGTH = "[data-aw-part=ribbon] [data-token]"


@pytest.fixture(scope="module")
def live_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    widget = aw.show("the cat sat on the mat", progress=False)
    return aw.to_html(widget, tmp_path_factory.mktemp("live") / "live.html", engine=True)


@pytest.mark.quick
def test_a_sentence_is_typed_and_every_figure_is_the_kernels(
    browser: Browser, live_page: Path
) -> None:
    text = "a small dog runs by the old river"
    expected = aw.analyze(text, progress=False)
    with offline(browser, live_page) as opened:
        page = opened.page
        expect(page.locator(LENGTH)).to_have_count(8)  # the saved run, before the engine is there
        page.wait_for_selector(READY, timeout=60_000)
        page.locator(FIELD).fill("")
        page.locator(FIELD).press_sequentially(text)
        expect(page.locator(LENGTH)).to_have_count(expected.trace.n_tokens)
        assert page.locator(FIELD).input_value() == text
        select_head(page, 2, 3)
        assert page.locator('[data-aw-part="heads"] [data-layer]').count() >= 72
        # There is no tab for what needs gradients: the last line says so.
        expect(page.locator('[role="tab"][data-view="why"]')).to_have_count(0)
        expect(page.locator('[data-aw-part="saved"]')).to_contain_text("Why needs gradients")
        page.locator('[data-view="predictions"]').first.click()
        best = expected.predictions(top_k=1).tokens[3][0]
        expect(page.locator('.aw-view [data-view="predictions"]')).to_contain_text(best)
        assert opened.errors == []
        assert opened.asked == []


# What is sent to the engine waits while `held` is a list: a run is under way for as long as a test wants.
HOLD = """(() => {
    const post = Worker.prototype.postMessage;
    window.held = [];
    Worker.prototype.postMessage = function (...message) {
        if (window.held === null) post.apply(this, message);
        else window.held.push(() => post.apply(this, message));
    };
    window.release = () => {
        const all = window.held;
        window.held = null;
        for (const send of all) send();
    };
})()"""
TEXTS = (
    "the cat sat on the mat",  # saved
    "a small dog runs by the old riv",
    "a small dog runs by the old river",
    "the dog ran home",
)


@dataclass(frozen=True)
class Run:
    """A text, the number of its tokens, and the head that it opens on by itself."""

    text: str
    length: int
    head: tuple[int, int]

    def show_in(self, page: Page, head: tuple[int, int]) -> None:
        """Wait until this is the run that a page shows, and expect it on ``head``."""
        expect(page.locator(LENGTH)).to_have_count(self.length)
        layer, number = head
        pressed = page.locator('[data-aw-part="heads"] [aria-pressed="true"]')
        expect(pressed).to_have_attribute("data-layer", str(layer))
        expect(pressed).to_have_attribute("data-head", str(number))


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """The runs of `TEXTS`: each has another length than the one before, and opens on another head."""
    found: list[Run] = []
    for text in TEXTS:
        widget = aw.show(text, progress=False)
        assert isinstance(widget.head, int)
        found.append(Run(text, widget.analysis.trace.n_tokens, (widget.layer, widget.head)))
    for one, other in pairwise(found):
        assert one.length != other.length and one.head != other.head
    return found


@pytest.mark.parametrize("before", range(len(TEXTS)))
@pytest.mark.parametrize("choice", ["the shown head", "another head"])
def test_a_head_that_is_chosen_while_a_text_is_run_stands_for_all_further_keys(
    browser: Browser, live_page: Path, runs: list[Run], choice: str, before: int
) -> None:
    with offline(browser, live_page) as opened:
        page = opened.page
        page.add_init_script(HOLD)
        page.reload()
        chosen: tuple[int, int] | None = None
        for i, run in enumerate(runs):
            if i > 0:
                page.locator(FIELD).fill(run.text)
            page.wait_for_function("held.length > 0")
            if i == before:
                shown = runs[max(i - 1, 0)].head
                chosen = shown if choice == "the shown head" else (3, (shown[1] + 1) % 12)
                select_head(page, *chosen)
            page.evaluate("release()")
            page.wait_for_selector(READY)
            run.show_in(page, chosen or run.head)
            page.evaluate("window.held = []")
        assert opened.errors == []


STILL = 30  # frames
WATCH = """() => {
    const parts = ["ribbon", "heads", "tabs", "heatmap", "bar"];
    window.places = new Set();
    window.still = 0;
    const place = ({ target, boundingClientRect: box }) => [
        target.dataset.awPart, Math.round(box.top), Math.round(box.height), target.querySelector("canvas") !== null];
    // Boxes as each frame is painted: an intersection observer takes them after observers of sizes have drawn.
    const watch = () => {
        requestAnimationFrame(watch);
        const eye = new IntersectionObserver((entries) => {
            eye.disconnect();
            // On a busy machine it is called after later frames, which took what has gone from the page for empty.
            const painted = entries.filter(({ time }) => time === entries[0].time);
            const before = window.places.size;
            window.places.add(JSON.stringify(painted.map(place)));
            window.still = window.places.size === before ? window.still + 1 : 0;
        });
        for (const name of parts) eye.observe(document.querySelector(`[data-aw-part="${name}"]`));
    };
    watch();
}"""


# The grid of heads, which stays, but for the card of a hovered head, which the lazy code makes for each run; and what fades: at
# every key nothing should.
HEADS = """() => {
    window.grid = [...document.querySelectorAll('[data-aw-part=heads] :is(button, canvas, select):not(.aw-grid-lens *)')];
    window.fading = [];
    document.addEventListener("transitionrun", ({ target, propertyName }) => {
        window.fading.push(`${target.className} ${propertyName}`);
    });
}"""


def test_nothing_moves_or_goes_blank_while_texts_of_one_length_are_typed(
    browser: Browser, live_page: Path
) -> None:
    with offline(browser, live_page) as opened:
        page = opened.page
        page.wait_for_selector(READY, timeout=60_000)
        field = page.locator(FIELD)
        shown = page.locator('[data-aw-part=ribbon] [data-token="2"]')
        field.fill("the dog sat on the mat")
        expect(shown).to_contain_text("dog")
        page.evaluate(WATCH)
        page.wait_for_function(f"() => window.still > {STILL}")  # the dog's own frames are painted
        page.evaluate("window.places.clear()")
        page.evaluate(HEADS)
        for word in ("man", "cow", "boy", "cat"):
            field.fill(f"the {word} sat on the mat")
            expect(shown).to_contain_text(word)
        places = page.evaluate("[...window.places]")
        assert len(places) == 1, places
        assert page.evaluate("window.grid.every(one => one.isConnected)")
        assert page.evaluate("window.fading") == []
        assert opened.errors == []


def test_what_cannot_run_is_said_and_the_last_picture_stays(
    browser: Browser, live_page: Path
) -> None:
    with offline(browser, live_page) as opened:
        page = opened.page
        page.wait_for_selector(READY, timeout=60_000)
        page.locator(FIELD).fill("a b c")
        expect(page.locator(LENGTH)).to_have_count(5)
        page.locator(FIELD).fill("a " * 511)
        expect(page.locator('[data-aw-part="error"]')).to_contain_text("more than 512 tokens")
        expect(page.locator(LENGTH)).to_have_count(5)
        page.locator(FIELD).fill("a b c d")
        expect(page.locator(LENGTH)).to_have_count(6)
        expect(page.locator('[data-aw-part="error"]')).to_be_hidden()
        assert opened.errors == []


def test_a_page_whose_model_is_cut_off_says_so_and_keeps_its_run(
    browser: Browser, live_page: Path, tmp_path: Path
) -> None:
    before, after = live_page.read_text().split('class="aw-weights"', 1)
    weights, rest = after.split("</script>", 1)
    damaged = tmp_path / "damaged.html"
    damaged.write_text(f'{before}class="aw-weights"{weights[:4000]}</script>{rest}')
    with offline(browser, damaged) as opened:
        error = opened.page.locator('[data-aw-part="error"]')
        expect(error).to_contain_text("cut off or damaged")
        expect(opened.page.locator(LENGTH)).to_have_count(8)


@pytest.mark.quick
def test_the_matrix_of_what_was_typed_is_the_kernels(browser: Browser, live_page: Path) -> None:
    text = "the doctor said no"
    expected = aw.analyze(text, progress=False).attention(2, 3)
    with offline(browser, live_page) as opened:
        page = opened.page
        page.wait_for_selector(READY, timeout=60_000)
        page.locator(FIELD).fill(text)
        expect(page.locator(LENGTH)).to_have_count(len(expected))
        select_head(page, 2, 3)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save").first.click()
            page.get_by_text("CSV", exact=False).first.click()
        rows = Path(saved.value.path()).read_text().splitlines()
        column = rows[0].split(",").index("weight")
        found = [float(row.split(",")[column]) for row in rows[1:]]
        assert_close(found, expected.ravel(), **EMBEDDED)


def test_masks_and_heads_that_are_off_are_run_again_and_stay_while_one_types(
    browser: Browser, live_page: Path
) -> None:
    text = "the cat sat on the mat"
    with offline(browser, live_page) as opened:
        page = opened.page
        page.wait_for_selector(READY, timeout=60_000)
        page.locator('.aw-tab[data-view="predictions"]').click()
        page.locator('[data-aw-part="mask"]').click()
        page.locator('[data-aw-part=ribbon] [data-token="2"]').click()
        expect(page.locator("[data-aw-part=ribbon] [data-aw-masked]")).to_have_count(1)
        masked = aw.analyze(text, progress=False).mask([2])
        expect(row_of(page, 2)).to_contain_text(masked.predictions(top_k=1).tokens[2][0])
        page.locator(FIELD).focus()
        page.keyboard.press("End")
        page.keyboard.type(" today")
        expect(page.locator(LENGTH)).to_have_count(9)
        expect(page.locator('[data-aw-part=ribbon] [data-token="2"]')).to_have_attribute(
            "data-aw-masked", ""
        )
        masked = aw.analyze(f"{text} today", progress=False).mask([2])
        expect(row_of(page, 2)).to_contain_text(masked.predictions(top_k=1).tokens[2][0])
        assert opened.errors == []


def row_of(page: Page, token: int) -> Locator:
    """The row of a token in the list of predictions."""
    box = page.locator(f'[data-aw-part="mask-token"][data-token="{token}"]')
    return page.locator('.aw-view-predictions [role="row"]').filter(has=box)


def test_every_view_of_what_was_typed_is_drawn(browser: Browser, live_page: Path) -> None:
    with offline(browser, live_page) as opened:
        page = opened.page
        page.wait_for_selector(READY, timeout=60_000)
        page.locator(FIELD).fill("The old doctor was tired. She went home early.")
        expect(page.locator(LENGTH)).to_have_count(13)
        page.locator('.aw-tab[data-view="sentences"]').click()
        expect(page.locator(".aw-view-sentences")).to_contain_text("She went home early.")
        page.locator('.aw-tab[data-view="tree"]').click()
        expect(page.locator(".aw-view-tree")).to_contain_text("attends to")
        expect(page.locator('[data-aw-part="error"]')).to_be_hidden()
        assert opened.errors == []
