"""The front page's run, and the engine's file that all pages share."""

from __future__ import annotations

import hashlib
import html
import json
import shutil
import subprocess

import attn_widget as aw
from attn_widget.model.places import EMBEDDED
from attn_widget.page.compress import deflate
from attn_widget.page.engine.live import LIVE_VIEWS, packed, tag_reader
from attn_widget.page.engine.rounding import rounding_of
from attn_widget.page.saved_run import ExportOptions, saved_run
from attn_widget.protocol.built import bundle
from scripts.site.places import ASSETS, ROOT, SETTINGS, SOURCE
from scripts.site.tutorials import raw

TEXT = "The trophy does not fit into the brown suitcase because it is too large."
OPEN = {"layer": 2, "head": 3, "token": 11}  # "it" and what it stands for
ENGINE = "attn-widget-engine.js"
SCRIPT = "attn-widget.js"
STYLE = "attn-widget.css"
PLAYGROUND = "<!-- playground -->"
POSTERS = ("light", "dark")


def write_assets() -> str:
    """Write the script and the styles of live widgets, and the engine with its model; the engine's version."""
    ASSETS.mkdir(parents=True, exist_ok=True)
    subprocess.run(["node", ROOT / "js" / "site.mjs", ASSETS], check=True, cwd=ROOT)
    (ASSETS / STYLE).write_text(bundle("widget.css"), encoding="utf-8")
    for path in (SETTINGS / "static").iterdir():
        shutil.copyfile(path, ASSETS / path.name)
    text = engine_script()
    (ASSETS / ENGINE).write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def engine_script() -> str:
    """The engine, and the embedded model with its facts, as one script."""
    analysis = aw.analyze(TEXT, tagger=None, progress=False)
    facts = {"rounding": rounding_of(analysis), "tagger": tag_reader(analysis)}
    model = {"weights": packed(analysis).decode(), "facts": facts}
    return f"{bundle('engine.js')}\nglobalThis.attnWidgetModel={json.dumps(model)};\n"


def playground() -> str:
    """The place of the front page's widget: a picture at first, then a recorded run, then whatever is typed."""
    widget = aw.show(TEXT, progress=False, **OPEN)
    kept = ExportOptions(views=LIVE_VIEWS)
    run = saved_run(widget.source, widget.selection, kept)
    widget.close()
    pictures = "".join(
        f'<picture class="only-{theme}"><source media="(max-width: 700px)" '
        f'srcset="_static/playground-{theme}-390.png">'
        f'<img src="_static/playground-{theme}-1200.png" alt="{html.escape(about())}"></picture>'
        for theme in POSTERS
    )
    chunks = "\n".join(
        f'<script type="text/plain" class="aw-data" data-chunk="{name}">{deflate(chunk).decode()}</script>'
        for name, chunk in run.snapshot.chunks.items()
    )
    return f'<div id="playground" class="aw-place playground">\n{pictures}\n{chunks}\n</div>'


def about() -> str:
    """Text of the front page's picture."""
    return (
        f'The widget on "{TEXT}": the words as a ribbon, a thumbnail of every attention head, and one '
        "head as a matrix with its links."
    )


def write_front() -> None:
    """Write the front page and the guide's below the source folder."""
    for path in SETTINGS.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        if PLAYGROUND in text:
            text = text.replace(PLAYGROUND, raw(playground()))
        (SOURCE / path.name).write_text(text, encoding="utf-8")


def settings(version: str) -> dict[str, str]:
    """Attributes of the script's element: where the engine is, and whose runs it can go on with."""
    return {"defer": "defer", "data-engine": f"{ENGINE}?v={version}", "data-model": EMBEDDED}
