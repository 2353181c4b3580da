"""The tutorials as pages of the site: notebooks that were run, in Markdown, their widgets as places for live ones.

A notebook runs once; its outputs are kept in build/ until the notebook or the package changes.
"""

from __future__ import annotations

import hashlib
import html
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from scripts.site.documents import documents, notebooks, repository, site_links
from scripts.site.places import KEPT, ROOT, SOURCE
from scripts.tutorials import execute, read, without_bars

WIDGET = '<div class="attn-widget-output"'
# Parts of a widget's output (attn_widget/page/output.py) that the site replaces by one script for all pages.
OWN_CODE = re.compile(
    r'<script type="text/plain" class="attn-widget-code".*?</script>|<script>.*?</script>',
    re.DOTALL,
)
OPENING = re.compile(r'<div class="attn-widget-output"[^>]*?data-title="([^"]*)"[^>]*>')
FENCE = "~~~~~~~~~~"
SOLUTION = re.compile(r"^(<details>)\n(<summary>.*?</summary>)$", re.MULTILINE)


def write_tutorials(*, reuse: bool = False) -> None:
    """Write a page for every notebook.

    ``reuse`` runs none: it takes the outputs of the last run, whatever has changed since.
    """
    for path in notebooks():
        name = Path(path).stem
        notebook = executed(name, reuse=reuse)
        target = SOURCE / "notebooks" / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(markdown(notebook, f"notebooks/{name}.ipynb"), encoding="utf-8")


def executed(name: str, *, reuse: bool) -> Any:
    """The notebook with its outputs, run now or before."""
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{name}-{made_from(name)}.ipynb"
    earlier = sorted(
        KEPT.glob(f"{name}-????????????????.ipynb"), key=lambda one: one.stat().st_mtime
    )
    if reuse and earlier and not kept.exists():
        kept = earlier[-1]
    if kept.exists():
        return nbformat.read(kept, as_version=4)
    if reuse:
        return read(name)
    print(f"[site] running notebooks/{name}.ipynb", flush=True)
    notebook = read(name)
    with tempfile.TemporaryDirectory() as folder:
        execute(notebook, Path(folder))
    without_bars(notebook)
    for path in earlier:
        path.unlink()
    nbformat.write(notebook, kept)
    return notebook


def made_from(name: str) -> str:
    """Hash of the notebook and of the package that runs it."""
    package = ROOT / "attn_widget"
    paths = [
        *package.rglob("*.py"),
        *package.glob("mini/*"),
        *package.glob("dates/*"),
        *package.glob("static/*"),
    ]
    total = hashlib.sha256()
    for path in [ROOT / "notebooks" / f"{name}.ipynb", *sorted(paths)]:
        if path.is_file():
            total.update(path.read_bytes())
    return total.hexdigest()[:16]


def markdown(notebook: Any, document: str) -> str:
    """The page of a notebook that was run."""
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(prose(cell.source, document))
        elif cell.cell_type == "code":
            if cell.source.strip():
                parts.append(f"{FENCE}python\n{cell.source}\n{FENCE}")
            parts += outputs(cell)
    return "\n\n".join(parts) + "\n"


def prose(source: str, document: str) -> str:
    """A Markdown cell: links to other pages, and solutions that open."""
    text = site_links(source, document, [*notebooks(), *documents()], repository())
    return SOLUTION.sub(r"\1\n\2\n", text)


def outputs(cell: Any) -> Iterator[str]:
    """Each output of a code cell, as Markdown."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield text_block(output.text)
        elif output.output_type == "error":
            yield text_block(f"{output.ename}: {output.evalue}")
        else:
            yield data_block(output.data)


def data_block(data: Any) -> str:
    """The richest form of an output that a page can show."""
    if "text/html" in data:
        text = joined(data["text/html"])
        return raw(place(text) if WIDGET in text else f'<div class="printed">{text}</div>')
    if "image/png" in data:
        picture = joined(data["image/png"]).replace("\n", "")
        return raw(f'<img class="printed dark-light" alt="" src="data:image/png;base64,{picture}">')
    if "image/svg+xml" in data:
        return raw(f'<div class="printed dark-light">{joined(data["image/svg+xml"])}</div>')
    if "text/markdown" in data:
        return joined(data["text/markdown"])
    return text_block(joined(data.get("text/plain", "")))


def place(text: str) -> str:
    """A widget's output as a place on the page: its picture and its data, without code."""
    opening = OPENING.search(text)
    assert opening is not None
    title = html.escape(html.unescape(opening[1]), quote=True)
    text = OWN_CODE.sub("", text).replace(
        opening[0], f'<div class="aw-place" data-title="{title}">', 1
    )
    return re.sub(r"\n\s*\n", "\n", text)


def joined(text: str | list[str]) -> str:
    """A file may hold a text as a list of lines."""
    return text if isinstance(text, str) else "".join(text)


def text_block(text: str) -> str:
    """Plain output."""
    return (
        f"{FENCE}{{code-block}} text\n:class: printed\n\n{text.rstrip()}\n{FENCE}"
        if text.strip()
        else ""
    )


def raw(text: str) -> str:
    """HTML as it stands."""
    return f"{FENCE}{{raw}} html\n{text}\n{FENCE}"
