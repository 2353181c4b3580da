"""Folders and files of the site's build."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = ROOT / "site"  # conf.py, templates, styles, the front page
SOURCE = (
    ROOT / "build" / "site-source"
)  # the pages as Sphinx reads them, laid out as the repository is
OUT = ROOT / "build" / "site"
KEPT = (
    ROOT / "build" / "site-kept"
)  # notebooks that were run, by the hash of what they were made from
ASSETS = SOURCE / "_static"  # files of the pages' scripts, copied as they are
