"""`make tutorials`: every notebook as one live page that asks nothing of the network, with its picture.

``python -m scripts.tutorials [name ...]`` runs the notebooks and writes build/tutorials/<name>.html and
<name>.png. What an author has to keep to stands in CONTRIBUTING.md.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
from jinja2 import pass_context
from latex2mathml.converter import convert
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from playwright.sync_api import Browser, Page, expect
from traitlets.config import Config

import attn_widget as aw
from scripts.gallery import shrink
from scripts.lab import ROOT, chromium
from scripts.widget_parts import STEP_MS

NOTEBOOKS = ROOT / "notebooks"
OUT = ROOT / "build" / "tutorials"
TEMPLATES = Path(__file__).parent / "templates"
LIMIT_S = 900  # of a cell, against one that hangs
WIDTH, HEIGHT = 1100, 3000  # px of a picture's page; what sticks to its lower edge is drawn once
SETTLE_MS = 600  # for what is drawn after a view's first answer
PICTURE = "picture"  # tag of the cell whose output is the tutorial's picture
HIDDEN = (
    "remove-cell"  # tag of a cell that checks what the others say: it runs, and no page shows it
)
MAX_BYTES = 150_000  # of a picture
SOLUTION = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
FENCED = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# The frames of live pages inherit it and have a narrower one of their own.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)
HERE = ("file", "data", "blob", "about")  # schemes of what is on this machine


def read(name: str) -> Any:
    """The notebook ``notebooks/<name>.ipynb``."""
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def visible(notebook: Any) -> list[Any]:
    """The cells that a page shows."""
    return [cell for cell in notebook.cells if HIDDEN not in cell.metadata.get("tags", [])]


def solutions(notebook: Any) -> list[str]:
    """The code of the hidden solutions, in order."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return [code for _, body in SOLUTION.findall("\n".join(texts)) for code in FENCED.findall(body)]


def execute(notebook: Any, folder: Path) -> None:
    """Run ``notebook`` in place; ``folder`` is where its relative paths lead to.

    The state of widgets is not kept: their pages in the outputs stand for them.
    """
    NotebookClient(
        notebook,
        timeout=LIMIT_S,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()


class Renderer(IPythonRenderer):
    """Markdown with formulas as MathML, and links that lead from page to page."""

    def block_math(self, body: str) -> str:
        return convert(body.strip(), display="block")

    def inline_math(self, body: str) -> str:
        return convert(body.strip(), display="inline")

    def link(self, text: str, url: str, title: str | None = None) -> str:
        url = re.sub(r"^([\w-]+)\.ipynb\b", r"\1.html", url).replace("../docs/", "../../docs/")
        return super().link(text, url, title)


class TutorialExporter(HTMLExporter):
    """One page without scripts but those of our outputs."""

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:  # type: ignore[override]
        renderer = Renderer(escape=False, exclude_anchor_links=True)
        return str(MarkdownWithMath(renderer=renderer).render(source))


def page_of(notebook: Any, name: str) -> str:
    """The page of a notebook that was run."""
    without_bars(notebook)
    notebook.cells = visible(notebook)
    exporter = TutorialExporter(
        config=Config(
            {"Exporter": {"preprocessors": ["attn_widget.features.exports.notebook.LivePages"]}}
        ),
        extra_template_basedirs=[str(TEMPLATES)],
        template_name="tutorial",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    about = {
        "name": name,
        "title": title_of(notebook),
        "version": aw.__version__,
        "policy": POLICY,
        "style": (TEMPLATES / "tutorial" / "style.css").read_text(encoding="utf-8"),
    }
    text, _ = exporter.from_notebook_node(notebook, resources=about)
    return text.replace("<pre>", '<pre tabindex="0">')  # long lines scroll, with the keyboard too


def title_of(notebook: Any) -> str:
    """The heading of the first cell."""
    return str(notebook.cells[0].source).splitlines()[0].removeprefix("# ")


def without_bars(notebook: Any) -> None:
    """Progress bars say nothing once they are through."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not is_bar(output)]


def is_bar(output: Any) -> bool:
    """True if tqdm wrote this, as text or as a widget."""
    data = output.get("data", {})
    said = output.get("text", "") if "text" in output else data.get("text/plain", "")
    return "text/html" not in data and "%|" in said


def take_picture(browser: Browser, path: Path, target: Path) -> None:
    """Write what the cell with the tag ``picture`` shows, as it stands in the page at ``path``.

    Raises
    ------
    RuntimeError
        The page asks the network for something, or the picture is too large.
    """
    asked: list[str] = []
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
    page.set_default_timeout(STEP_MS)
    page.on(
        "request",
        lambda request: None if urlsplit(request.url).scheme in HERE else asked.append(request.url),
    )
    page.goto(path.as_uri())
    shown = page.locator(f".celltag_{PICTURE} .output").last
    shown.scroll_into_view_if_needed()
    for output in shown.locator(".attn-widget-output").all():
        # Until then a picture stands for it.
        expect(output.locator("iframe")).to_be_attached(timeout=STEP_MS)
    wait_for_widgets(page)
    shrink(shown.screenshot(animations="disabled"), target)
    page.close()
    if asked:
        raise RuntimeError(f"{path.name} asks the network: {asked}")
    if target.stat().st_size > MAX_BYTES:
        raise RuntimeError(f"{target.name} is {target.stat().st_size:,} bytes; make it narrower.")


def wait_for_widgets(page: Page) -> None:
    """Until the frames near the window are drawn and as high as their pages."""
    for frame in page.locator(".attn-widget-output iframe").all():
        expect(frame.content_frame.locator(".aw-view > *").first).to_be_visible()
        expect(frame.content_frame.locator('.aw-view [aria-busy="true"]')).to_have_count(0)
    page.wait_for_timeout(SETTLE_MS)


def main(names: list[str]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for name in names or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")):
            notebook = read(name)
            with tempfile.TemporaryDirectory() as folder:
                execute(notebook, Path(folder))
            page = OUT / f"{name}.html"
            page.write_text(page_of(notebook, name), encoding="utf-8")
            take_picture(browser, page, OUT / f"{name}.png")
            print(
                f"[tutorials] {page.relative_to(ROOT)}: {page.stat().st_size:,} bytes", flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1:])
