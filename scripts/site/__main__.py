"""`make site`: writes the pages' sources to build/site-source, and the site to build/site.

``python -m scripts.site [--reuse]``: ``--reuse`` takes the tutorials' last outputs whatever has changed since.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time

from sphinx.cmd.build import build_main

from scripts import lite
from scripts.site.documents import write_documents
from scripts.site.front import write_assets, write_front
from scripts.site.gallery import write_gallery
from scripts.site.links import check
from scripts.site.places import OUT, ROOT, SETTINGS, SOURCE
from scripts.site.posters import write_posters
from scripts.site.reference import write_reference
from scripts.site.tutorials import write_tutorials


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.site", description=__doc__)
    parser.add_argument("--reuse", action="store_true", help="the tutorials' last outputs")
    reuse = parser.parse_args(arguments).reuse
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"[site] {time.monotonic() - begun:4.0f} s  {text}", flush=True)

    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    say("documents, API reference")
    write_documents()
    write_reference()
    say("tutorials")
    write_tutorials(reuse=reuse)
    say("gallery")
    write_gallery()
    say("playground and engine")
    write_assets()
    write_front()
    write_posters()
    say("Sphinx")
    shutil.rmtree(OUT, ignore_errors=True)
    options = ["-q", "-W", "--keep-going", "-j", "auto", "-d", str(OUT.with_name("site-doctrees"))]
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
