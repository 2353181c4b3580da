"""Hosts beside a running JupyterLab: a reopened notebook, Notebook 7, marimo."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import marimo
import nbformat
import pytest
from nbconvert import NotebookExporter
from playwright.sync_api import Browser, Page, Route, expect
from traitlets.config import Config

from scripts.lab import LOCAL, Lab, free_port
from scripts.widget_parts import STEP_MS
from tests.e2e.saved import select_head, two_widgets

SHOW = "aw.show('the cat sat on the mat', layer=3, head=5, token=2, progress=False)"
CELLS = ("import attn_widget as aw", f"w = {SHOW}")
LIVE = Config({"Exporter": {"preprocessors": ["attn_widget.features.exports.notebook.LivePages"]}})
MARIMO = f"""
import marimo

app = marimo.App()


@app.cell
def _():
    import attn_widget as aw
    import marimo as mo

    w = mo.ui.anywidget({SHOW})
    w
    return mo, w


@app.cell
def _(mo, w):
    mo.md(f"layer {{w.layer}}, head {{w.head}}")


@app.cell
def _(mo, w):
    mo.Html(w.as_html(height=700))


if __name__ == "__main__":
    app.run()
"""


@contextmanager
def page_of(browser: Browser, files: dict[str, Path] | None = None) -> Iterator[Page]:
    """A window that reaches this machine alone; ``files`` stand in for parts of the network."""
    context = browser.new_context(viewport={"width": 1280, "height": 1600}, reduced_motion="reduce")
    context.set_default_timeout(STEP_MS)

    def let_through(route: Route) -> None:
        url = route.request.url
        for prefix, folder in (files or {}).items():
            if url.startswith(prefix):
                route.fulfill(path=folder / url.removeprefix(prefix).split("?")[0])
                return
        if re.match(r"(file|data|blob|about):", url) or re.match(
            rf"\w+://({'|'.join(filter(None, LOCAL))})[:/]", url
        ):
            route.continue_()
        else:
            route.abort()

    context.route("**/*", let_through)
    try:
        yield context.new_page()
    finally:
        context.close()


@pytest.fixture(scope="module")
def saved(lab: Lab) -> dict[str, str]:
    """The same notebook as it may be found: names of files, none of them signed."""
    stored = copy.deepcopy(two_widgets())
    live, _ = NotebookExporter(config=LIVE).from_notebook_node(nbformat.from_dict(stored))
    bare = nbformat.from_dict(stored)
    del bare.metadata["widgets"]
    written = {"stored": nbformat.writes(stored), "bare": nbformat.writes(bare), "live": live}
    for name, text in written.items():
        (lab.notebooks / f"{name}.ipynb").write_text(text, encoding="utf-8")
    return {name: f"{name}.ipynb" for name in written}


def trust(page: Page) -> None:
    """As the command "Trust Notebook" does, which asks first, and saves the notebook."""
    page.evaluate(
        "() => { window.trusting = window.jupyterapp.commands.execute('notebook:trust'); }"
    )
    page.locator(".jp-Dialog-button.jp-mod-accept").click()
    page.evaluate("() => window.trusting")


def test_jupyterlab_shows_the_picture_of_a_notebook_that_is_not_trusted(
    lab: Lab, saved: dict[str, str], browser: Browser
) -> None:
    for name in ("stored", "bare", "live"):
        notebook = lab.open(browser, saved[name])
        output = notebook.page.locator(".jp-OutputArea-output").first
        expect(output.locator("img")).to_be_visible()
        expect(output).to_contain_text("attention weights of L3 · H5")
        expect(notebook.page.locator(".attn-widget")).to_have_count(0)
        notebook.close()


def test_jupyterlab_shows_the_live_page_of_a_trusted_notebook_without_its_kernel(
    lab: Lab, saved: dict[str, str], browser: Browser
) -> None:
    notebook = lab.open(browser, saved["live"])
    trust(notebook.page)
    frame = notebook.page.frame_locator(".attn-widget-output iframe").first
    expect(frame.locator('[data-aw-part="head-name"]')).to_have_text("L3 · H5")
    select_head(frame, 1, 4)
    for theme in ("Dark", "Light"):
        notebook.theme(f"JupyterLab {theme}")
        expect(frame.locator(".attn-widget")).to_have_attribute("data-theme", theme.lower())
    notebook.close()


def test_jupyterlab_runs_what_is_typed_in_a_page_beside_the_notebook(
    lab: Lab, browser: Browser
) -> None:
    lines = [
        "import attn_widget as aw",
        "from IPython.display import HTML",
        "w = aw.show('the cat sat on the mat', progress=False)",
        "w.to_html('live.html', engine=True)",
        'HTML(\'<a href="live.html" target="_blank" rel="noopener">Run it here</a>\')',
    ]
    notebook = lab.open(browser, lab.write("here.ipynb", ["\n".join(lines)]))
    notebook.run_all()
    notebook.widget(0).wait_drawn()
    page = notebook.page
    page.get_by_role("link", name="Run it here").click()
    page.get_by_role("button", name="Trust HTML").click()
    frame = page.frame_locator(".jp-HTMLViewer iframe")
    frame.locator('[data-aw-part="run-text"]').fill("a dog sat")
    expect(frame.locator("[data-aw-part=ribbon] [data-token]")).to_have_count(5)
    notebook.context.close()


def test_jupyterlab_draws_the_widget_from_stored_state_when_the_notebook_is_trusted(
    lab: Lab, saved: dict[str, str], browser: Browser
) -> None:
    notebook = lab.open(browser, saved["stored"])
    page = notebook.page
    trust(page)
    # ipywidgets holds the state for restored as soon as it is connected to a kernel, in one case of four on
    # a busy machine before it has read the notebook's (its issue 3231). A kernel that runs settles that.
    page.reload()
    names = page.locator('.attn-widget [data-aw-part="head-name"]')
    expect(names).to_have_text(["L3 · H5", "L1 · H2"])
    notebook.close()


def test_jupyterlab_shows_a_widget_in_an_output_once_and_its_page_when_opened_again(
    lab: Lab, browser: Browser
) -> None:
    cells = [
        "import attn_widget as aw\nfrom ipywidgets import Output",
        f"out = Output()\nwith out:\n    {SHOW}\nout",
    ]
    notebook = lab.open(browser, lab.write("output.ipynb", cells))
    notebook.run_all()
    expect(notebook.page.locator('[data-aw-part="head-name"]')).to_have_count(1)
    expect(notebook.page.locator(".attn-widget-output")).to_have_count(0)
    outputs = notebook.cells()[1]["outputs"]
    assert [("text/html" in output["data"]) for output in outputs] == [False, True]
    room = notebook.page.locator(".jp-CodeCell").nth(1).locator(".jp-OutputArea-child").last
    assert (room.bounding_box() or {"height": 0})["height"] < 30  # px, of a widget without room
    written = nbformat.from_dict(
        {
            "cells": notebook.cells(),
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    notebook.close()
    live, _ = NotebookExporter(config=LIVE).from_notebook_node(written)
    (lab.notebooks / "again.ipynb").write_text(live, encoding="utf-8")
    notebook = lab.open(browser, "again.ipynb")
    trust(notebook.page)
    expect(notebook.page.locator(".attn-widget-output")).to_have_count(1)
    frame = notebook.page.frame_locator(".attn-widget-output iframe")
    expect(frame.locator('[data-aw-part="head-name"]')).to_have_text("L3 · H5")
    notebook.close()


def test_notebook_7_runs_and_links_the_widget(lab: Lab, browser: Browser) -> None:
    name = lab.write("seven.ipynb", [*CELLS, "print(w.layer, w.head)"])
    with page_of(browser) as page:
        with page.expect_websocket(lambda socket: "/channels" in socket.url):
            page.goto(f"http://127.0.0.1:{lab.port}/notebooks/{name}?token={lab.token}")
        page.locator(".jp-NotebookPanel [data-status='idle']").wait_for(state="attached")
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        expect(page.locator('[data-aw-part="head-name"]')).to_have_text("L3 · H5")
        select_head(page, 1, 4)
        page.get_by_text("print(w.layer, w.head)").click()
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text("1 4", exact=True)).to_be_visible()


@pytest.fixture(scope="module")
def marimo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("marimo") / "cat.py"
    path.write_text(MARIMO, encoding="utf-8")
    return path


def test_marimo_runs_and_links_the_widget(marimo_file: Path, browser: Browser) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}/"
    with (marimo_file.parent / "server.log").open("w") as log:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "marimo", "--quiet", "run", str(marimo_file)),
                *("--headless", "--no-token", "--host", "127.0.0.1", "--port", str(port)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        deadline = time.monotonic() + STEP_MS / 1000
        while time.monotonic() < deadline and server.poll() is None:
            try:
                urllib.request.urlopen(address, timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        with page_of(browser) as page:
            page.goto(address)
            widget = page.locator("marimo-anywidget")
            expect(widget.locator('[data-aw-part="head-name"]')).to_have_text("L3 · H5")
            frame = page.frame_locator("iframe[sandbox]")
            # The output of the last cell: before it the kernel has no time to answer.
            expect(frame.locator('[data-aw-part="head-name"]')).to_have_text("L3 · H5")
            select_head(widget, 1, 4)
            expect(page.get_by_text("layer 1, head 4")).to_be_visible()
            expect(frame.locator('[data-aw-part="head-name"]')).to_have_text("L1 · H4")
    finally:
        server.terminate()
        server.wait()


def test_a_page_that_marimo_exports_keeps_as_html_alive(
    marimo_file: Path, browser: Browser
) -> None:
    out = marimo_file.with_suffix(".html")
    subprocess.run(
        [sys.executable, "-m", "marimo", "--quiet", "export", "html", marimo_file, "-o", out],
        check=True,
        capture_output=True,
    )
    # An exported page fetches marimo itself; here the installed one answers.
    static = Path(marimo.__file__).parent / "_static"
    cdn = f"https://cdn.jsdelivr.net/npm/@marimo-team/frontend@{marimo.__version__}/dist/"
    with page_of(browser, {cdn: static}) as page:
        page.goto(out.as_uri())
        frame = page.frame_locator("iframe[sandbox]")
        expect(frame.locator('[data-aw-part="head-name"]')).to_have_text("L3 · H5")
        select_head(frame, 1, 4)
        widget = page.locator("marimo-anywidget")
        expect(widget.locator('[data-aw-part="head-name"]')).to_have_text("L3 · H5")
