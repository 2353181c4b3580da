"""Find the Chromium that the tests and the demo drive."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# No sandbox: containers run as root. The rest keeps the browser from talking to anybody by itself.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = (
    "No Chromium was found. Install Chromium or Google Chrome, or set CHROMIUM to the path of "
    "its executable."
)


def find_chromium() -> str | None:
    """The executable: ``CHROMIUM``, else one on the path, else an application of macOS."""
    chosen = os.environ.get("CHROMIUM")
    if chosen:
        return shutil.which(chosen)
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    return next((path for path in APPLICATIONS if Path(path).is_file()), None)
