"""build/site in Chromium, from the folder and from a server, with the network cut. `make site` builds it first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

import attn_widget as aw
from benchmarks.site_pages import served
from scripts.site.front import SOCIAL
from scripts.site.links import check, pages_of
from scripts.site.places import OUT

pytestmark = pytest.mark.skipif(
    not (OUT / "index.html").exists(), reason="`make site` builds the site"
)
PAGES = (
    "index.html", "README.html", "guide.html", "docs/influence.html", "docs/tasks.html", "reference/index.html",
    "reference/class-analysis.html", "notebooks/README.html", "notebooks/quickstart.html", "gallery.html",
)  # fmt: skip
READY = 'html[data-aw-engine="ready"]'
LENGTH = "[data-aw-part=ribbon] [data-token]"
FIELD = '[data-aw-part="run-text"]'


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of a static host."""
    with served(OUT) as address:
        yield address


class Visit:
    """A page of the site; what it asks of other machines is noted and not answered."""

    def __init__(self, browser: Browser, home: str, width: int, theme: str = "light") -> None:
        self.asked: list[str] = []
        self.errors: list[str] = []
        self.home = home
        self.page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme=theme,  # type: ignore[arg-type]
        )
        self.page.route("**/*", self._answer)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("requestfailed", lambda request: self.errors.append(request.url))

    def _answer(self, route: Route) -> None:
        address = route.request.url
        if address.startswith(self.home) or urlsplit(address).scheme in ("data", "blob"):
            route.continue_()
        else:
            self.asked.append(address)
            route.abort()

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.home}/{path}")
        return self.page


@pytest.fixture(params=["folder", "server"])
def home(request: pytest.FixtureRequest, server: str) -> str:
    return OUT.as_uri() if request.param == "folder" else server


def test_every_link_leads_somewhere() -> None:
    assert check(OUT) == []


@pytest.mark.parametrize("width", [1200, 390])
def test_pages_ask_nothing_of_other_machines_and_fit_the_window(
    browser: Browser, width: int
) -> None:
    visit = Visit(browser, OUT.as_uri(), width)
    for path in PAGES:
        page = visit.open(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
        assert page.locator("h1").count() == 1, path
    assert visit.asked == []
    assert visit.errors == []
    visit.page.close()


SAID = "#example-said"
# Bytes that the front page asks for before anything is typed or chosen, uncompressed.
FRONT_BYTES = 1_500_000


def test_the_front_page_is_light_until_a_key_is_pressed(browser: Browser, server: str) -> None:
    visit = Visit(browser, server, 1200)
    sizes: dict[str, int] = {}
    visit.page.on("response", lambda got: sizes.update({got.url: len(got.body())}))
    page = visit.open("index.html")
    expect(page.locator(LENGTH)).to_have_count(17)
    page.wait_for_load_state("networkidle")
    assert sum(sizes.values()) <= FRONT_BYTES, sorted(sizes.items(), key=lambda item: -item[1])[:9]
    page.close()


def test_a_sentence_is_typed_into_the_playground(browser: Browser, home: str) -> None:
    visit = Visit(browser, home, 1200)
    page = visit.open("index.html")
    expect(page.locator(LENGTH)).to_have_count(17)
    assert page.locator('script[src*="engine.js"]').count() == 0
    page.locator(FIELD).fill("a dog slept")
    page.wait_for_selector(READY, timeout=120_000)
    expect(page.locator(LENGTH)).to_have_count(5)
    expect(page.locator(SAID)).to_contain_text("the examples have it recorded")
    expect(page.locator(".playground > picture").first).to_be_hidden()
    assert "text=a+dog+slept" in page.url
    assert visit.asked == []
    assert visit.errors == []
    page.close()


def test_a_click_opens_an_example_and_the_address_keeps_it(browser: Browser, home: str) -> None:
    visit = Visit(browser, home, 1200)
    page = visit.open("index.html")
    for name, view in (
        ("mask", "predictions"), ("agreement", "why"), ("negation", "similarity"), ("chat", "attention"), ("pronoun", "attention"),
    ):  # fmt: skip
        button = page.locator(f'[data-example="{name}"]')
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(page.locator(SAID)).to_have_text(button.get_attribute("data-said") or "")
        expect(page.locator(f'.aw-view-{view}[data-view="{view}"]')).to_be_visible()
        expect(page.locator(".attn-widget")).to_have_count(1)
        assert f"example={name}" in page.url
    assert visit.asked == []
    assert visit.errors == []
    page.close()


def test_an_address_opens_its_text_at_its_head_and_view(browser: Browser) -> None:
    visit = Visit(browser, OUT.as_uri(), 1200)
    page = visit.open("index.html#text=a+dog+slept&view=tree&layer=2&head=3&token=2")
    expect(page.locator('[data-aw-part="tabs"] [data-view="tree"]')).to_have_attribute(
        "aria-selected", "true", timeout=120_000
    )
    expect(page.locator(LENGTH)).to_have_count(5)
    head = page.locator('[data-aw-part="heads"] [data-layer="2"][data-head="3"]')
    expect(head).to_have_attribute("aria-pressed", "true")
    assert "view=tree" in page.url and "text=a+dog+slept" in page.url
    assert visit.errors == []
    page.close()


@pytest.mark.parametrize(
    ("address", "tokens", "sentence"),
    [
        ("#view=nonsense", 17, 'This run has no view "nonsense".'),
        ("#view=%3Cb%3Ex", 17, 'This run has no view "<b>x".'),
        ("#view=a%E2%80%AEb%0Ac", 17, 'This run has no view "a b c".'),
        ("#layer=99&head=-1", 17, 'This run has no layer "99". This run has no head "-1".'),
        ("#token=1e9&view=tree", 17, 'This run has no token "1e9".'),
        ("#example=%3Cimg+src%3Dx%3E", 17, "This page has no example"),
        ("#text=" + "a" * 100_000, 17, "a text of 100,000 characters"),
    ],
)
def test_a_hostile_address_gives_a_picture_and_a_sentence(
    browser: Browser, address: str, tokens: int, sentence: str
) -> None:
    visit = Visit(browser, OUT.as_uri(), 1200)
    page = visit.open("index.html" + address)
    expect(page.locator(SAID)).to_contain_text(sentence, timeout=120_000)
    expect(page.locator(LENGTH)).to_have_count(tokens)
    assert page.locator(f"{SAID} > *").count() == 0
    assert visit.errors == []
    page.close()


def test_a_text_in_the_address_that_the_model_cannot_take_leaves_the_picture(
    browser: Browser,
) -> None:
    visit = Visit(browser, OUT.as_uri(), 1200)
    page = visit.open("index.html#text=" + "a+" * 999)
    expect(page.locator('[data-aw-part="error"]')).to_contain_text("512", timeout=120_000)
    expect(page.locator(LENGTH)).to_have_count(17)
    assert visit.errors == []
    page.close()


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)> \0",
        "</script><script>window.hit = 1</script> \"' onload='window.hit = 1",
        "a \u202eright\u202c to \u2067left\u2069 dog",
    ],
)
def test_markup_in_the_address_is_text(browser: Browser, text: str) -> None:
    visit = Visit(browser, OUT.as_uri(), 1200)
    page = visit.open(f"index.html#text={quote(text)}&pair={quote(text)}")
    expect(page.locator(SAID)).to_contain_text("Computed in this browser", timeout=120_000)
    assert page.locator('[data-aw-part="ribbon"] :is(img, script)').count() == 0
    expect(page.locator(FIELD)).to_have_value(text)
    assert page.evaluate("window.hit") is None
    assert visit.errors == []
    page.close()


def test_a_browser_without_webassembly_says_so_and_keeps_the_picture(browser: Browser) -> None:
    context = browser.new_context()
    context.add_init_script("delete globalThis.WebAssembly; delete globalThis.Worker;")
    page = context.new_page()
    page.goto(f"{OUT.as_uri()}/index.html")
    page.locator(FIELD).fill("a dog slept")
    expect(page.locator('[data-aw-part="error"]')).to_contain_text(
        "no WebAssembly", timeout=120_000
    )
    expect(page.locator(LENGTH)).to_have_count(17)
    context.close()


def test_the_playground_shows_a_picture_and_a_sentence_where_no_script_runs(
    browser: Browser,
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((OUT / "index.html").as_uri())
    shown = page.locator(".playground > picture > img")
    assert sum(image.is_visible() for image in shown.all()) == 1
    expect(page.locator(SAID)).to_contain_text("needs JavaScript")
    expect(page.locator(".examples")).to_be_hidden()
    context.close()


@pytest.mark.parametrize("path", ["gallery.html", "notebooks/a-model-that-writes.html"])
def test_pages_whose_scripts_do_not_run_keep_each_picture_and_say_so(
    browser: Browser, path: str
) -> None:
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto(f"{OUT.as_uri()}/{path}")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")  # as the pictures are
    for place in page.locator(".aw-place").all():
        expect(place.locator("figure img, figure svg").first).to_be_visible()
        sentence = place.locator("p").last  # Playwright reads no text of a <noscript> from outside
        expect(sentence).to_be_visible()
        assert "needs scripts" in (sentence.text_content() or "")
    context.close()


def test_a_page_beside_the_order_of_the_sidebar_has_no_neighbors(browser: Browser) -> None:
    visit = Visit(browser, OUT.as_uri(), 390)
    assert visit.open("gallery.html").locator(".prev-next-footer").count() == 0
    assert visit.open("docs/lens.html").locator(".prev-next-footer a").count() == 2
    visit.page.close()


def test_the_front_page_leads_to_source_license_version_and_citation() -> None:
    text = (OUT / "index.html").read_text(encoding="utf-8")
    assert aw.__version__ in text
    assert all(f"about.html#{place}" in text for place in ("license", "cite"))
    assert 'property="og:image"' in text and (OUT / "_static" / SOCIAL).stat().st_size < 300_000
    assert (OUT / "404.html").exists()
    assert f"version = {{{aw.__version__}}}" in (OUT / "about.html").read_text(encoding="utf-8")


def test_the_gallery_is_alive_on_a_phone(browser: Browser, home: str) -> None:
    visit = Visit(browser, home, 390)
    page = visit.open("gallery.html")
    places = page.locator(".aw-place")
    for place in places.all():
        place.scroll_into_view_if_needed()
        expect(place).to_have_attribute("data-aw-open", "", timeout=60_000)
        expect(place.locator("[role=alert]:visible")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert visit.asked == []
    assert visit.errors == []
    page.close()


def test_a_tutorials_widget_is_alive_and_can_be_typed_into(browser: Browser, home: str) -> None:
    visit = Visit(browser, home, 1200)
    page = visit.open("notebooks/quickstart.html")
    place = page.locator(".aw-place").first
    place.scroll_into_view_if_needed()
    expect(place.locator("[data-aw-part=ribbon]")).to_be_visible()
    place.locator(FIELD).fill("a dog slept")
    page.wait_for_selector(READY, timeout=120_000)
    expect(place.locator(LENGTH)).to_have_count(5)
    assert visit.asked == []
    assert visit.errors == []
    page.close()


def test_other_models_and_profiles_stay_as_they_were_saved(browser: Browser) -> None:
    visit = Visit(browser, OUT.as_uri(), 1200)
    page = visit.open("notebooks/what-heads-do.html")
    places = page.locator(".aw-place")
    typed = []
    for place in places.all():
        place.scroll_into_view_if_needed()
        expect(place).to_have_attribute("data-aw-open", "")
        typed.append(place.locator(FIELD).is_visible())
    assert typed == [True, False, False]  # the text, tensors without a model, a profile
    assert visit.errors == []
    page.close()


def test_widgets_follow_the_sites_theme(browser: Browser) -> None:
    visit = Visit(browser, OUT.as_uri(), 1200, "dark")
    page = visit.open("index.html")
    expect(page.locator(".attn-widget")).to_have_attribute("data-theme", "dark")
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    expect(page.locator(".attn-widget")).to_have_attribute("data-theme", "light")
    page.close()


def test_the_search_puts_a_document_before_the_reference(browser: Browser) -> None:
    visit = Visit(browser, OUT.as_uri(), 1200)
    page = visit.open("search.html?q=similarity")
    first = page.locator("#search-results a").first
    expect(first).to_have_attribute("href", re.compile(r"^(docs/|README|guide)"))
    page.close()


def test_the_search_finds_a_name(browser: Browser, home: str) -> None:
    visit = Visit(browser, home, 1200)
    page = visit.open("search.html?q=faithfulness")
    expect(page.locator("#search-results a").first).to_be_visible()
    assert visit.asked == []
    page.close()


def test_every_page_has_a_title_of_its_own() -> None:
    paths = pages_of(OUT)
    titles = [path.read_text(encoding="utf-8").split("<title>")[1].split("<")[0] for path in paths]
    assert all(titles)
    # Target and target, Profile and profile, Similarity and similarity, Index and index
    assert len({title.casefold() for title in titles}) >= len(titles) - 4
    assert Path(OUT / "objects.inv").exists()
