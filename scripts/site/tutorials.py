"""The tutorials as pages of the site: notebooks that were run, in Markdown, their widgets as places for live ones.

A notebook runs once; its outputs are kept in build/ until the notebook or the package changes.
"""

from __future__ import annotations

import copy
import html
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from PIL import Image

from scripts.lab import chromium
from scripts.site.documents import documents, notebooks, repository, site_links
from scripts.site.kept import digest, package, write
from scripts.site.places import ASSETS, KEPT, ROOT, SOURCE
from scripts.tutorials import execute, page_of, read, take_picture, visible, without_bars

WIDGET = '<div class="attn-widget-output"'
# Parts of a widget's output (attn_widget/page/output.py) that the site replaces by one script for all pages.
OWN_CODE = re.compile(
    r'<script type="text/plain" class="attn-widget-code".*?</script>|<script>.*?</script>',
    re.DOTALL,
)
OPENING = re.compile(r'<div class="attn-widget-output"[^>]*?data-title="([^"]*)"[^>]*>')
AT_ONCE = 2  # notebooks that run at a time, each on a thread of the model's
CARD_WIDTH, CARD_HEIGHT = 640, 400  # px of a tutorial's picture
FENCE = "~~~~~~~~~~"
SOLUTION = re.compile(r"^(<details>)\n(<summary>.*?</summary>)$", re.MULTILINE)


def write_tutorials(*, reuse: bool = False) -> None:
    """Write a page for every notebook, and its picture among the assets.

    ``reuse`` runs none: it takes the outputs of the last run, whatever has changed since.
    """
    names = [Path(path).stem for path in notebooks()]
    with ThreadPoolExecutor(AT_ONCE) as pool:  # each waits for a kernel of its own
        made = dict(zip(names, pool.map(partial(executed, reuse=reuse), names), strict=True))
    for name, (notebook, _) in made.items():
        write(SOURCE / "notebooks" / f"{name}.md", markdown(notebook, f"notebooks/{name}.ipynb"))
    write_pictures({name: (notebook, kept) for name, (notebook, kept) in made.items() if kept})


def executed(name: str, *, reuse: bool) -> tuple[Any, Path | None]:
    """The notebook with its outputs, run now or before, and the file that keeps it; None of one that never ran."""
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{name}-{made_from(name)}.ipynb"
    earlier = sorted(
        KEPT.glob(f"{name}-????????????????.ipynb"), key=lambda one: one.stat().st_mtime
    )
    if reuse and earlier and not kept.exists():
        kept = earlier[-1]
    if kept.exists():
        return nbformat.read(kept, as_version=4), kept
    if reuse:
        return read(name), None
    print(f"[site] running notebooks/{name}.ipynb", flush=True)
    begun = time.monotonic()
    notebook = read(name)
    with tempfile.TemporaryDirectory() as folder:
        execute(notebook, Path(folder))
    without_bars(notebook)
    for path in earlier:
        path.unlink()
        path.with_suffix(".png").unlink(missing_ok=True)
    nbformat.write(notebook, kept)
    print(f"[site] notebooks/{name}.ipynb ran {time.monotonic() - begun:.0f} s", flush=True)
    return notebook, kept


def made_from(name: str) -> str:
    """Hash of the notebook and of the package that runs it; of the page's scripts only if it prints their sizes."""
    path = ROOT / "notebooks" / f"{name}.ipynb"
    writes = re.search("to_html|nbconvert|LivePages", path.read_text(encoding="utf-8"))
    scripts = [one for one in (ROOT / "attn_widget/static").glob("*") if writes]
    return digest([path, *scripts], package())


def write_pictures(made: dict[str, tuple[Any, Path]]) -> None:
    """Write the picture of each tutorial that ran, small, for the cards of the index."""
    folder = ASSETS / "tutorials"
    folder.mkdir(parents=True, exist_ok=True)
    lacking = [name for name, (_, kept) in made.items() if not kept.with_suffix(".png").exists()]
    if lacking:
        with chromium() as browser, tempfile.TemporaryDirectory() as temporary:
            for name in lacking:
                notebook, kept = made[name]
                page = Path(temporary) / f"{name}.html"
                page.write_text(page_of(copy.deepcopy(notebook), name), encoding="utf-8")
                whole = page.with_suffix(".png")
                take_picture(browser, page, whole)
                with Image.open(whole) as picture:
                    small = picture.convert("RGB")
                    small.thumbnail((CARD_WIDTH, 10 * CARD_WIDTH))
                    top = small.crop((0, 0, small.width, min(small.height, CARD_HEIGHT)))
                    top.quantize(128).save(kept.with_suffix(".png"), optimize=True)
    for name, (_, kept) in made.items():
        shutil.copyfile(kept.with_suffix(".png"), folder / f"{name}.png")


def markdown(notebook: Any, document: str) -> str:
    """The page of a notebook that was run."""
    parts: list[str] = []
    for cell in visible(notebook):
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
