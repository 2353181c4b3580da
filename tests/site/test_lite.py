"""build/site/lite in Chromium, from a static server, with the network cut. `make lite` and `make site` build it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from benchmarks.site_pages import served
from scripts.lab import CELLS, RUN_ALL, RUN_CODE
from scripts.lite import OUT
from scripts.widget_parts import Widget

pytestmark = pytest.mark.skipif(
    not (OUT / "notebooks/index.html").exists(), reason="`make lite` builds it"
)
PATIENCE_MS = (
    120_000  # the interpreter starts in 20 s; several times that where the cores are shared
)
# A cell outside the window is not drawn.
TO_THE_TOP = """() => {
    const {content} = window.jupyterapp.shell.currentWidget;
    content.activeCellIndex = 0;
    return content.scrollToItem(0);
}"""
# What the quickstart does not ask: each needs something that a browser's kernel lacks.
ASKS = """
for ask in (lambda: w.analysis.heads.flow(1), lambda: w.analysis.why.contributions(aw.target(position=2, token="cat")),
            lambda: aw.show("a cat", model="bert-base-uncased"), lambda: aw.analyze("a cat", model="bert-base-uncased")):
    try:
        ask()
    except aw.AttnWidgetError as error:
        print(error)
"""
# Without the package regex.
WORDS = """
a = aw.analyze("Don't pay 3.50! The cat slept.", progress=False)
print([word.text for word in a.words], a.sentences, "regex" in sys.modules)
print(aw.compare("the cat sat", "the dog sat").summary())
"""


@pytest.fixture(scope="module")
def notebook(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """The quickstart after all its cells were run, and what the page asked of other machines."""
    with served(OUT) as home:
        outside: list[str] = []

        def answer(route: Route) -> None:
            address = route.request.url
            if address.startswith(home) or urlsplit(address).scheme in ("data", "blob"):
                route.continue_()
            else:
                outside.append(address)
                route.abort()

        context = browser.new_context(viewport={"width": 1200, "height": 1000})
        context.set_default_timeout(PATIENCE_MS)
        context.route("**/*", answer)
        page = context.new_page()
        page.goto(f"{home}/notebooks/index.html?path=quickstart.ipynb")
        page.get_by_text("Python (Pyodide)").wait_for()
        yield page, outside
        context.close()


def test_the_quickstart_draws_its_pictures_and_asks_nothing_of_other_machines(
    notebook: tuple[Page, list[str]],
) -> None:
    page, outside = notebook
    page.evaluate(RUN_ALL)
    page.evaluate("() => window.running")
    outputs = [
        (cell["source"], output)
        for cell in page.evaluate(CELLS)
        for output in cell.get("outputs", [])
    ]
    failed = [
        (source, output["evalue"]) for source, output in outputs if output["output_type"] == "error"
    ]
    assert failed == [] and len(outputs) > 5
    page.evaluate(TO_THE_TOP)
    first = Widget(page.locator(".attn-widget").first)
    first.wait_drawn()
    expect(first.token(2)).to_have_text("cat")
    assert outside == []


def test_what_a_browser_lacks_is_said_in_a_sentence_and_the_picture_stays(
    notebook: tuple[Page, list[str]],
) -> None:
    page, _ = notebook
    done = page.evaluate(RUN_CODE, ASKS)
    assert done["status"] == "ok", done
    lines = done["text"].splitlines()
    assert lines[0].endswith("needs SciPy, which is not installed. Run: %pip install scipy"), lines
    torch = "which does not run in a browser. Use a kernel on your machine: pip install"
    assert all(torch in line for line in lines[1:4]), lines
    assert len(lines) == 4, lines
    page.evaluate(TO_THE_TOP)
    first = Widget(page.locator(".attn-widget").first)
    first.tab("why").click()
    expect(first.element.get_by_text("does not run in a browser").first).to_be_visible()
    first.tab("attention").click()
    first.wait_drawn()


def test_words_and_sentences_need_no_package_beyond_the_folder(
    notebook: tuple[Page, list[str]],
) -> None:
    page, outside = notebook
    done = page.evaluate(RUN_CODE, "import sys\n" + WORDS)
    assert done["status"] == "ok", done
    words, comparison = done["text"].splitlines()
    assert (
        words
        == """["Don't", 'pay', '3.50', '!', 'The', 'cat', 'slept', '.'] SentenceAttention(2 sentences) False"""
    ), done
    assert comparison.startswith("heads that differ most"), done
    assert outside == []


def test_the_command_that_it_names_brings_what_lacks(notebook: tuple[Page, list[str]]) -> None:
    page, outside = notebook
    done = page.evaluate(
        RUN_CODE, "%pip install -q scipy\nw.analysis.heads.roles(), w.analysis.heads.flow(1)"
    )
    assert done["status"] == "ok", done
    assert outside == []
