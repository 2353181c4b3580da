"""The front page's run, and the engine's file that all pages share."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
from pathlib import Path

import attn_widget as aw
from attn_widget.features.engine.live import SUFFIX, page_model
from attn_widget.features.engine.options import LIVE_VIEWS
from attn_widget.page.compress import deflate
from attn_widget.page.saved_run import saved_run
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.built import bundle
from scripts.sentence import SENTENCE
from scripts.site.places import ASSETS, ROOT, SETTINGS, SOURCE
from scripts.site.tutorials import raw

ENGINE = "engine.js"
SCRIPT = "attn-widget.js"
STYLE = "attn-widget.css"
PLAYGROUND, SIZE = "<!-- playground -->", "<!-- size -->"  # places in site/index.md
POSTERS = ("light", "dark")


def write_assets(folder: Path = ASSETS) -> None:
    """Write what the pages' widgets need: script, styles, engine, and the model, which is loaded when it is first used."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder = aw.load(progress=False)
    model = page_model(encoder, [(SENTENCE, None)], folder=folder)
    facts = {**model.facts, "name": encoder.name, "views": LIVE_VIEWS}
    (folder / "model.json").write_text(json.dumps(facts), encoding="utf-8")
    subprocess.run(["node", ROOT / "js" / "site.mjs", folder], check=True, cwd=ROOT)
    (folder / "model.json").unlink()
    (folder / ENGINE).write_text(bundle("engine.js"), encoding="utf-8")
    (folder / STYLE).write_text(bundle("widget.css"), encoding="utf-8")
    for path in (SETTINGS / "static").iterdir():
        shutil.copyfile(path, folder / path.name)


def playground() -> str:
    """The place of the front page's widget: a picture at first, then a recorded run, then whatever is typed."""
    widget = aw.show(SENTENCE, progress=False)
    kept = PageSpec(views=LIVE_VIEWS)
    run = saved_run(widget._shown_source, widget.selection, kept)
    widget.close()
    pictures = "".join(
        f'<picture class="only-{theme}"><source media="(max-width: 700px)" '
        f'srcset="_static/playground-{theme}-390.png">'
        f'<img src="_static/playground-{theme}-1200.png" alt="{html.escape(about())}"></picture>'
        for theme in POSTERS
    )
    chunks = "\n".join(
        f'<script type="text/plain" class="aw-data" data-run="0" data-chunk="{name}">{deflate(chunk).decode()}</script>'
        for name, chunk in run.snapshot.chunks.items()
    )
    return f'<div id="playground" class="aw-place playground">\n{pictures}\n{chunks}\n</div>'


def about() -> str:
    """Text of the front page's picture."""
    return (
        f'The widget on "{SENTENCE}": the words as a ribbon, a thumbnail of every attention head, and one '
        "head as a matrix with its links."
    )


def write_front() -> None:
    """Write the front page and the guide's below the source folder."""
    for path in SETTINGS.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        if PLAYGROUND in text:
            size = sum(path.stat().st_size for path in ASSETS.glob(f"*{SUFFIX}"))
            text = text.replace(PLAYGROUND, raw(playground())).replace(SIZE, f"{size / 1e6:.0f} MB")
        (SOURCE / path.name).write_text(text, encoding="utf-8")
