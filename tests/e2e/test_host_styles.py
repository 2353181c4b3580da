"""A host's style sheets do not reach into the widget: it looks as in a page of its own.

Every element of a widget in JupyterLab, in Notebook 7 and among the styles of nbconvert's lab template is compared
with the same element of the same widget on a bare page of the same width, property by property.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget.features.corpus.widget import ProfileWidget
from scripts.lab import ROOT, Lab
from scripts.page import mount
from tests.e2e.runs import SENTIMENT, shown
from tests.e2e.views import READY, unfold

TEXT = "The cat sat on the mat. It was tired."
TEXTS = [TEXT, "Paris is the capital of France.", "She gave him the book because he asked."]
PATIENCE = 16
VIEWS = ("attention", "heads", "tree", "sentences", "predictions", "inside")
# What follows from where a widget lies on its page, not from a rule.
PLACED = ("perspective-origin", "transform-origin")
# One element of each kind, by its own name and its parent's: a digest of its style, or of what is named the style.
STYLES = """(root, {placed, named}) => {
    const kindOf = element => `${element.localName}.${element.getAttribute('class') ?? ''}`;
    const names = [...getComputedStyle(root)].filter(name => !name.startsWith('--') && !placed.includes(name));
    const digest = text => {
        let [a, b] = [0x9e3779b9, 0x85ebca6b];
        for (let i = 0; i < text.length; i++) {
            a = Math.imul(a ^ text.charCodeAt(i), 0x5bd1e995);
            b = Math.imul(b ^ text.charCodeAt(i), 0x27d4eb2f);
            a ^= a >>> 15;
            b ^= b >>> 13;
        }
        return `${a} ${b}`;
    };
    const found = {};
    for (const element of [root, ...root.querySelectorAll('*')]) {
        if (!element.checkVisibility()) continue;  // a bar that waits may have begun in one page alone
        const kind = `${kindOf(element.parentElement)} > ${kindOf(element)}`;
        if (kind in found || !(named?.includes(kind) ?? true)) continue;
        const style = getComputedStyle(element);
        const values = names.map(name => style.getPropertyValue(name));
        found[kind] = named === null ? digest(values.join('\\n'))
            : Object.fromEntries(names.map((name, i) => [name, values[i]]));
    }
    return found;
}"""
# The widget takes fonts and two colors from JupyterLab on purpose: the bare page has the same.
VARIABLES = """() => Object.fromEntries(
    ['--jp-ui-font-family', '--jp-code-font-family', '--jp-layout-color0', '--jp-content-font-color0']
        .map(name => [name, getComputedStyle(document.body).getPropertyValue(name)]))"""
OUTPUT = """() => {
    document.body.dataset.jpThemeLight = 'true';
    const output = document.createElement('div');
    output.className = 'jp-Cell jp-OutputArea jp-OutputArea-output jp-RenderedHTMLCommon jp-RenderedHTML';
    const holder = document.querySelector('.attn-widget').parentElement;
    holder.before(output);
    output.append(holder);
}"""
HOST = """variables => {
    document.body.dataset.jpThemeLight = 'true';
    for (const [name, value] of Object.entries(variables)) document.body.style.setProperty(name, value);
}"""


def attention(root: Locator) -> None:
    """The hover card, a pinned pair with its arithmetic, the list of keys, the menu."""
    page = root.page
    pane = root.locator(".aw-map-pane")
    pane.scroll_into_view_if_needed()
    box = pane.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.3)
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.6)
    expect(root.locator('[data-aw-part="link"]').first).to_contain_text("q · k")
    root.locator('[data-aw-part="table"] summary').click()
    root.locator('[data-aw-part="display"]').click()
    root.locator('[data-aw-part="keys-button"]').click()


def inside(root: Locator) -> None:
    """Every stage of the map, one after the other, ends at the last; its legend of parameters."""
    root.locator("[data-aw-part=stage]").last.click()


def heads(root: Locator) -> None:
    """All that is folded, and the map of roles, which is asked for when it is looked at."""
    unfold(root)
    root.locator('[data-aw-part="roles"]').scroll_into_view_if_needed()
    expect(root.locator('[data-aw-part="roles-map"] [data-role]').first).to_be_visible()
    root.page.mouse.move(0, 0)


def predictions(root: Locator) -> None:
    """As is: a view opens on masked ones where the machine is fast enough."""
    root.locator('[data-mode="as_is"]').click()


def why(root: Locator) -> None:
    """Wait for the last answer: the methods come one after the other."""
    expect(root.locator('[data-aw-part="why-heads"]')).to_be_visible()
    expect(root.locator('[data-aw-part="why-said"]')).to_contain_text("random")


STEPS: dict[str, Callable[[Locator], None]] = {
    "attention": attention,
    "heads": heads,
    "inside": inside,
    "predictions": predictions,
    "why": why,
}


def settle(*pages: Page) -> None:
    for page in pages:
        page.wait_for_function(READY)
    # Motion is under 250 ms; a place held longer is compared again. It goes on in all pages at once.
    pages[-1].wait_for_timeout(350)


def styles(root: Locator, named: list[str] | None = None) -> dict[str, Any]:
    """Of each kind a digest, or of the kinds that are named all properties: a megabyte a page."""
    found: dict[str, Any] = root.evaluate(STYLES, {"placed": PLACED, "named": named})
    return found


def differences(host: Locator, bare: Locator) -> list[str]:
    """Properties that differ, by kind of element."""
    there, here = styles(host), styles(bare)
    common = [kind for kind in there if kind in here][1:]  # the root's parent is the host's
    assert len(common) > 0.9 * max(len(here), len(there)), set(here) ^ set(there)
    differ = [kind for kind in common if there[kind] != here[kind]]
    if not differ:
        return []
    there, here = styles(host, differ), styles(bare, differ)
    return [
        f"{kind} {key}: {value!r}, alone {here[kind].get(key)!r}"
        for kind in differ
        if kind in there and kind in here
        for key, value in there[kind].items()
        if value != here[kind].get(key)
    ]


def compare(host_page: Page, host: Locator, bare_page: Page, view: str) -> list[str]:
    bare = bare_page.locator(".attn-widget")
    for root in (host, bare):
        tab = root.locator(f'[role="tab"][data-view="{view}"]')
        if tab.is_visible():  # one view alone has no tabs
            tab.click()
    settle(host_page, bare_page)
    for root in (host, bare):
        STEPS.get(view, lambda _: None)(root)
    settle(host_page, bare_page)
    # A busy machine draws late: what differs must go on differing.
    for _ in range(PATIENCE):
        found = differences(host, bare)
        if not found:
            break
        settle(host_page)
    return found


def bare_like(browser: Browser, host: Locator, widget: aw.AttentionWidget | ProfileWidget) -> Page:
    """The widget on a page of its own, as wide as it is in its host."""
    box = host.bounding_box()
    assert box is not None
    size = host.page.viewport_size
    assert size is not None
    page = browser.new_page(
        viewport={"width": 1600, "height": size["height"]}, reduced_motion="reduce"
    )
    variables = host.page.evaluate(VARIABLES)
    mount(page, widget, width=1000)
    page.evaluate(HOST, variables)
    page.evaluate(
        "width => { document.querySelector('.attn-widget').parentElement.style.width = `${width}px`; }",
        box["width"],
    )
    page.wait_for_timeout(300)
    return page


CELLS = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r})\nimport attn_widget as aw",
    f"w = aw.show({TEXT!r}, layer=3, head=5, token=2, progress=False)",
    f"from scripts.probe import sentiment\nt = aw.show({TEXT!r}, model=sentiment(), progress=False)",
    f"p = aw.show(aw.profile({TEXTS!r}, progress=False))",
)


@cache
def profile() -> aw.Profile:
    return aw.profile(TEXTS, progress=False)


@contextmanager
def widgets() -> Generator[list[aw.AttentionWidget | ProfileWidget]]:
    """What the cells above show."""
    made: list[aw.AttentionWidget | ProfileWidget] = [
        shown(TEXT, layer=3, head=5, token=2),
        shown(TEXT, model=SENTIMENT),
        aw.show(profile()),
    ]
    yield made
    for widget in made:
        widget.close()


def views_of(index: int) -> tuple[str, ...]:
    """What to look at of each widget."""
    return (VIEWS, ("task",), ("heads",))[index]


@pytest.mark.parametrize("where", ["doc/tree", "notebooks"])
def test_styles_of_a_notebook_stay_outside(lab: Lab, browser: Browser, where: str) -> None:
    # One notebook in both hosts, and so one kernel, which loads torch and the models once.
    opened = lab.open(browser, lab.write("styles.ipynb", CELLS), host=where)
    opened.run_all()
    found: dict[str, list[str]] = {}
    with widgets() as made:
        for index, widget in enumerate(made):
            host = opened.widget(index).element
            page = bare_like(browser, host, widget)
            for view in views_of(index):
                found[f"{index} {view}"] = compare(opened.page, host, page, view)
            page.close()
    opened.context.close()  # the kernel stays for the other host
    assert found == {view: [] for view in found}


def test_styles_of_an_exported_notebook_stay_outside(browser: Browser) -> None:
    document, _ = HTMLExporter(template_name="lab").from_notebook_node(nbformat.v4.new_notebook())
    sheets = re.findall(r"<style[^>]*>(.*?)</style>", document, re.DOTALL)
    assert any(".jp-OutputArea-output dt {" in sheet for sheet in sheets)
    found: dict[str, list[str]] = {}
    with widgets() as made:
        for index, widget in enumerate(made):
            page = browser.new_page(
                viewport={"width": 1400, "height": 1000}, reduced_motion="reduce"
            )
            mount(page, widget, width=1000)
            for sheet in sheets:
                page.add_style_tag(content=sheet)
            page.evaluate(OUTPUT)
            bare = bare_like(browser, page.locator(".attn-widget"), widget)
            for view in views_of(index):
                found[f"{index} {view}"] = compare(page, page.locator(".attn-widget"), bare, view)
            page.close()
            bare.close()
    assert found == {view: [] for view in found}
