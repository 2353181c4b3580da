"""`make site`: writes the pages' sources to build/site-source, and the site to build/site.

Each step makes again only what has changed since the last build: outputs of notebooks and recorded runs by the content of
what they were made from, pages by their sources.

``python -m scripts.site [--reuse]``: ``--reuse`` takes the tutorials' last outputs whatever has changed since.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from sphinx.cmd.build import build_main

from scripts import lite
from scripts.site.documents import documents, notebooks, write_documents
from scripts.site.front import write_assets, write_front
from scripts.site.gallery import write_gallery
from scripts.site.kept import package
from scripts.site.links import check
from scripts.site.places import OUT, ROOT, SETTINGS, SOURCE
from scripts.site.posters import write_posters
from scripts.site.reference import all_entries, write_reference
from scripts.site.tutorials import write_tutorials


def forgotten() -> list[Path]:
    """Sources and pages of documents that are no longer there: a later build writes over an earlier one."""
    names = {name.rsplit(".", 1)[0] for name in [*documents(), *notebooks()]}
    names |= {entry.document for entry in all_entries()} | {"reference/index", "gallery"}
    names |= {path.stem for path in SETTINGS.glob("*.md")}
    sources = [path for kind in ("md", "rst") for path in SOURCE.rglob(f"*.{kind}")]
    gone = [
        path for path in sources if path.relative_to(SOURCE).with_suffix("").as_posix() not in names
    ]
    pages = [OUT / path.relative_to(SOURCE).with_suffix(".html") for path in gone]
    return [*gone, *(page for page in pages if page.exists())]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.site", description=__doc__)
    parser.add_argument("--reuse", action="store_true", help="the tutorials' last outputs")
    reuse = parser.parse_args(arguments).reuse
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # two notebooks run at a time
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"[site] {time.monotonic() - begun:4.0f} s  {text}", flush=True)

    say("tutorials")
    write_tutorials(reuse=reuse)
    say("documents, API reference")
    write_documents()
    write_reference()
    say("gallery")
    write_gallery()
    say("playground and engine")
    write_assets()
    write_front()
    write_posters()
    for page in forgotten():
        page.unlink()
    say("Sphinx")
    # The reference reads docstrings, of which Sphinx does not know when they change: then all is read again.
    doctrees = OUT.with_name("site-doctrees")
    for folder in doctrees.parent.glob("site-doctrees*"):
        if folder.name != f"site-doctrees-{package()}":
            shutil.rmtree(folder)
    options = ["-q", "-W", "--keep-going", "-j", "auto", "-d", f"{doctrees}-{package()}"]
    if build_main([*options, "-c", str(SETTINGS), "-b", "html", str(SOURCE), str(OUT)]):
        sys.exit("[site] Sphinx found something wrong; see above.")
    say("JupyterLite")
    lite.build()
    wrong = check(OUT)
    if wrong:
        sys.exit("\n".join([*wrong, f"[site] {len(wrong)} links are wrong."]))
    say(f"{(OUT / 'index.html').relative_to(ROOT)}; every link leads somewhere")


if __name__ == "__main__":
    main(sys.argv[1:])
