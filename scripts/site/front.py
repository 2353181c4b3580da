"""The front page's run, and the engine's file that all pages share."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import attn_widget as aw
from attn_widget.features.engine.live import SUFFIX, page_model
from attn_widget.features.engine.options import LIVE_VIEWS
from attn_widget.protocol.built import bundle
from scripts.sentence import SENTENCE
from scripts.site.documents import repository
from scripts.site.examples import write_examples
from scripts.site.kept import write
from scripts.site.places import ASSETS, OUT, ROOT, SETTINGS, SOURCE
from scripts.site.tutorials import raw

ENGINE = "engine.js"
SCRIPT = "attn-widget.js"
STYLE = "attn-widget.css"
SOCIAL = "social.png"  # what a link to the site shows elsewhere
PLAYGROUND, SIZE = "<!-- playground -->", "<!-- size -->"  # places in site/index.md
CFF_FIELD = re.compile(r'^([\w-]+): "?(.*?)"?$', re.MULTILINE)
POSTERS = ("light", "dark")
NO_SCRIPT = (
    "This is a picture: the widget itself needs JavaScript, and WebAssembly to run what you type."
)


def write_assets(folder: Path = ASSETS) -> None:
    """Write what the pages' widgets need: script, styles, engine, and the model, which is loaded when it is first used."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder = aw.load(progress=False)
    model = page_model(encoder, [(SENTENCE, None)], folder=folder)
    facts = {**model.facts, "name": encoder.name, "views": LIVE_VIEWS}
    for earlier in [*folder.glob(f"*{SUFFIX}"), *(OUT / "_static").glob(f"*{SUFFIX}")]:
        if earlier.name != facts["beside"]["src"]:
            earlier.unlink()
    (folder / "model.json").write_text(json.dumps(facts), encoding="utf-8")
    subprocess.run(["node", ROOT / "js" / "site.mjs", folder], check=True, cwd=ROOT)
    (folder / "model.json").unlink()
    (folder / ENGINE).write_text(bundle("engine.js"), encoding="utf-8")
    (folder / STYLE).write_text(bundle("widget.css"), encoding="utf-8")
    for path in (SETTINGS / "static").iterdir():
        shutil.copyfile(path, folder / path.name)


def playground() -> str:
    """The place of the front page's widget: a picture at first, then a recorded run, then whatever is chosen or typed."""
    buttons, run = write_examples()
    pictures = "".join(
        f'<picture class="only-{theme}"><source media="(max-width: 700px)" '
        f'srcset="_static/playground-{theme}-390.png">'
        f'<img loading="lazy" src="_static/playground-{theme}-1200.png" alt="{html.escape(about())}"></picture>'
        for theme in POSTERS
    )
    chunks = "\n".join(
        f'<script type="text/plain" class="aw-data" data-run="0" data-chunk="{name}">{chunk}</script>'
        for name, chunk in run.items()
    )
    return (
        f'{buttons}\n<p id="example-said" role="status">{NO_SCRIPT}</p>\n'
        f'<div id="playground" class="aw-place playground" data-aw-front="">\n{pictures}\n{chunks}\n</div>'
    )


def about() -> str:
    """Text of the front page's picture."""
    return (
        f'The widget on "{SENTENCE}": the words as a ribbon, a thumbnail of every attention head, and one '
        "head as a matrix with its links."
    )


def citation() -> str:
    """The entry of CITATION.cff for a bibliography."""
    fields = dict(CFF_FIELD.findall((ROOT / "CITATION.cff").read_text(encoding="utf-8")))
    title, year = fields["title"], fields["date-released"][:4]
    address = repository()
    lines = [
        "@software{attn_widget,",
        "  author = {{The attn_widget developers}},",
        f"  title = {{{title}}},",
        f"  version = {{{fields['version']}}},",
        f"  year = {{{year}}},",
        *([f"  url = {{{address}}},"] if address else []),
        "}",
    ]
    return "\n".join(["```text", *lines, "```"])


def source() -> str:
    """Address of the source, in a sentence."""
    address = repository()
    if address is None:
        return "The source is in every checkout and in the package itself; its public address comes with the first release."
    return f"[{address.split('://')[1]}]({address})"


def write_front() -> None:
    """Write the site's own pages below the source folder: the front, the guide, what it is and how to cite it."""
    filled = {
        PLAYGROUND: lambda: raw(playground()),
        SIZE: lambda: (
            f"{sum(path.stat().st_size for path in ASSETS.glob(f'*{SUFFIX}')) / 1e6:.0f} MB"
        ),
        "<!-- version -->": lambda: aw.__version__,
        "<!-- source -->": source,
        "<!-- citation -->": citation,
    }
    for path in SETTINGS.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        for mark, value in filled.items():
            if mark in text:
                text = text.replace(mark, value())
        write(SOURCE / path.name, text)
