"""Find a Chromium on this machine. Standard library alone: the set-up script asks before anything is installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "microsoft-edge-stable",
    "microsoft-edge",
    "msedge",
)
APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
PROGRAM_FOLDERS = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")  # of Windows
PROGRAMS = ("Google/Chrome/Application/chrome.exe", "Microsoft/Edge/Application/msedge.exe")
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
    """The executable: ``CHROMIUM``, else one on the path, else an application of macOS or Windows."""
    chosen = os.environ.get("CHROMIUM")
    if chosen:
        return shutil.which(chosen)
    for name in NAMES:
        executable = shutil.which(name)
        if executable:
            return executable
    folders = [os.environ[name] for name in PROGRAM_FOLDERS if name in os.environ]
    programs = [str(Path(folder, program)) for folder in folders for program in PROGRAMS]
    return next((path for path in (*APPLICATIONS, *programs) if Path(path).is_file()), None)
