"""No key that is pressed inside a widget reaches the notebook: its cells stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts import monkey
from scripts.lab import Lab, Notebook

SOURCES = (
    "import attn_widget as aw",
    "before = 1",
    "w = aw.show('The cat sat on the mat. It was tired.', layer=3, head=5, token=2, progress=False)",
    "after = 2",
    "last = 3",
)
# JupyterLab gets every stroke in every kind of element; Notebook 7, whose key handling is the same code, every fourth
# one, starting elsewhere in each kind, so that all strokes and all kinds have their turn.
HOSTS = {"doc/tree": 1, "notebooks": 4}
VIEWS = ("attention", "heads", "tree", "sentences", "predictions", "inside")
# Of the help sheet of the widget (js/src/frame/keys.ts), besides those that Lab binds.
OF_THE_WIDGET = "x m n p ? [ ] + - 0 1 2 3 . 5 ArrowLeft Home End PageUp PageDown Escape Backspace"
# The focusable parts that the view shows, one of each kind.
KINDS = """() => {
    const root = document.querySelector('.attn-widget');
    const found = {};
    for (const element of root.querySelectorAll('button, input, textarea, select, summary, [tabindex]')) {
        if (!element.checkVisibility() || element.disabled) continue;
        const part = element.closest('[data-aw-part]')?.dataset.awPart ?? '';
        const kind = `${part} ${element.tagName} ${element.className} ${element.getAttribute('role')}`;
        if (!(kind in found)) found[kind] = element;
    }
    window.awKinds = {...found, ...window.awKinds};
    return Object.keys(found);
}"""
# Lumino's names of keys are those of a US keyboard.
BINDINGS = """() => window.jupyterapp.commands.keyBindings
    .filter(binding => /jp-(Notebook|mod-commandMode)|:focus/.test(binding.selector))
    .map(binding => [binding.command, [...binding.keys]])"""
NAMES = {"Accel": "Control", "Ctrl": "Control", "Cmd": "Meta", "Space": " "}


def playwright_keys(keys: list[str]) -> list[str]:
    """The strokes of a binding, one after the other, as Playwright writes them."""
    return [
        "+".join(
            NAMES.get(name, name.lower() if len(name) == 1 else name) for name in stroke.split()
        )
        for stroke in keys
    ]


def command_keys(page: Page) -> list[list[str]]:
    """The shortcuts of a notebook, from the host's own list."""
    bound: list[tuple[str, list[str]]] = page.evaluate(BINDINGS)
    commands = {command for command, _ in bound}
    assert {"notebook:cut-cell", "notebook:delete-cell", "notebook:insert-cell-below"} <= commands
    found = {tuple(playwright_keys(keys)) for _, keys in bound}
    return [list(keys) for keys in sorted(found)]


def cells(notebook: Notebook) -> list[tuple[str, str, Any]]:
    return [
        (cell["cell_type"], cell["source"], cell.get("execution_count"))
        for cell in notebook.cells()
    ]


@pytest.fixture(scope="module", params=HOSTS)
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def notebook(lab: Lab, browser: Browser, host: str) -> Iterator[Notebook]:
    """One notebook in each host; the tests below go on where the one before has left it."""
    opened = lab.open(browser, lab.write(f"keys-{host.split('/')[0]}.ipynb", SOURCES), host=host)
    opened.run_all()
    opened.widget(0).wait_drawn()
    yield opened
    opened.close()


def test_saving_by_its_shortcut_still_works_from_inside(notebook: Notebook) -> None:
    page = notebook.page
    notebook.widget(0).head(1, 4).focus()
    dirty = "() => window.jupyterapp.shell.currentWidget.context.model.dirty"
    assert page.evaluate(dirty)
    page.keyboard.press("Control+s")
    page.wait_for_function(f"() => !({dirty})()")


def test_keys_inside_the_widget_change_no_cell(notebook: Notebook, host: str) -> None:
    page, widget = notebook.page, notebook.widget(0)
    every = HOSTS[host]
    before = cells(notebook)
    page.on("dialog", lambda dialog: dialog.dismiss())
    strokes = [*command_keys(page), *([key] for key in OF_THE_WIDGET.split())]
    assert len(strokes) > 40
    tried: set[str] = set()
    for view in VIEWS:
        widget.tab(view).click()
        expect(widget.part("view").locator(f'[data-view="{view}"]')).to_be_visible()
        for kind in set(page.evaluate(KINDS)) - tried:
            tried.add(kind)
            for keys in strokes[len(tried) % every :: every]:
                if not page.evaluate(
                    "kind => { const e = window.awKinds[kind]; e.focus(); return e.matches(':focus'); }",
                    kind,
                ):
                    break  # gone with what it belonged to
                for key in keys:
                    page.keyboard.press(key)
            assert cells(notebook) == before, f"{kind} in {view}"
    assert len(tried) > 25
    page.evaluate("() => document.fullscreenElement && document.exitFullscreen()")


def test_the_same_keys_do_change_cells_outside_of_it(notebook: Notebook) -> None:
    page = notebook.page
    page.locator(".jp-Cell .jp-InputPrompt").nth(1).click()
    page.keyboard.press("b")
    expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(len(SOURCES) + 1)


def test_random_clicks_and_keys_break_nothing(lab: Lab, browser: Browser) -> None:
    opened = lab.open(browser, lab.write("monkey.ipynb", monkey.SOURCES), height=1000)
    assert monkey.run(opened, seconds=20, seed=1) > 20
    opened.close()
