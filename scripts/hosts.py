"""Start a host with its app, open it in Chromium, print what is seen and save a picture of it.

``python -m scripts.hosts shiny -o pictures``, where the host, ipywidgets, anywidget, Playwright and Pillow are installed, in one
environment: Voila and nbclassic look for the scripts of widgets in their own. Only this machine is reached: a host that needs a
server elsewhere for its own scripts stays empty, and the requests that were refused are listed.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from PIL import Image, ImageDraw
from playwright.sync_api import Error, Frame, Page, Route

from scripts.lab import LOCAL, chromium, free_port

ROOT = Path(__file__).resolve().parent.parent
APPS = ROOT / "examples" / "hosts"
START_S, DRAWN_S = 240, 60
WIDTH, HEIGHT = 1100, 1250  # px of the window
LARGEST = 60_000  # bytes of a picture
COLUMNS = 4  # of the sheet


class Host(NamedTuple):
    """Start and address of a host; ``{port}`` is filled in.

    Attributes
    ----------
    command : tuple of str
        Arguments of Python.
    path : str
        Of the page to open.
    run : callable, optional
        Starts the notebook in the page.
    ready : str
        A path that is answered once the host is there, if only by an error: voila runs the notebook for each request of ``/``.
    dark : str, optional
        What gives the host its dark theme: an argument of the command, or a query of the address; empty where it follows the
        system, None where it has none.
    """

    command: tuple[str, ...]
    path: str = "/"
    run: Callable[[Page], None] | None = None
    ready: str = "/"
    dark: str | None = ""


def run_classic(page: Page) -> None:
    # Outputs that arrive before the extension of ipywidgets has loaded are pictures.
    page.wait_for_function(
        "(kernel => kernel?.info_reply?.status === 'ok' && kernel.widget_manager)(window.Jupyter?.notebook?.kernel)",
        timeout=120_000,
    )
    page.evaluate("Jupyter.notebook.execute_all_cells()")


HOSTS = {
    "shiny": Host(("shiny", "run", "--port", "{port}", "shiny_app.py")),
    "streamlit": Host(
        (
            *("streamlit", "run", "streamlit_app.py", "--server.port", "{port}"),
            *("--server.headless", "true", "--browser.gatherUsageStats", "false"),
        )
    ),
    "gradio": Host(("gradio_app.py",)),
    "dash": Host(("dash_app.py",), dark=None),
    "panel": Host(
        ("panel", "serve", "panel_app.py", "--port", "{port}"), "/panel_app", dark="?theme=dark"
    ),
    "panel-live": Host(
        ("panel", "serve", "panel_live_app.py", "--port", "{port}"),
        "/panel_live_app",
        dark="?theme=dark",
    ),
    "voila": Host(
        ("voila", "cat.ipynb", "--no-browser", "--port", "{port}"),
        ready="/voila/nothing",
        dark="--theme=dark",
    ),
    "nbclassic": Host(
        (
            *("jupyter", "nbclassic", "--no-browser", "--allow-root", "--port", "{port}"),
            *("--ServerApp.token=", "--ServerApp.password="),
        ),
        "/nbclassic/notebooks/cat.ipynb",
        run_classic,
        dark=None,
    ),
    "marimo-edit": Host(
        (
            *("marimo", "--yes", "edit", "marimo_app.py", "--headless", "--no-token"),
            *("--port", "{port}"),
        ),
    ),
}
# Without these, marimo is light and runs no cell at first.
SETTINGS = {
    "pyproject.toml": '[tool.marimo.display]\ntheme = "system"\n[tool.marimo.runtime]\nauto_instantiate = true\n'
}
# Panel's IPyWidget asks unpkg.com for anywidget; the installed file answers.
ANYWIDGET = Path(sys.prefix) / "share/jupyter/nbextensions/anywidget/index.js"
SEEN = """() => {
    const inside = root => {
        const found = root.querySelector('.attn-widget');
        if (found !== null) return found;
        for (const element of root.querySelectorAll('*')) {
            const deeper = element.shadowRoot === null ? null : inside(element.shadowRoot);
            if (deeper !== null) return deeper;
        }
        return null;
    };
    const widget = inside(document);
    const name = widget?.querySelector('[data-aw-part="head-name"]')?.textContent ?? '';
    if (!name) return null;
    const box = widget.getBoundingClientRect();
    const cut = [];
    for (let outer = widget.parentElement ?? widget.getRootNode().host; outer !== null && outer !== undefined;
         outer = outer.parentElement ?? outer.getRootNode().host) {
        const style = getComputedStyle(outer);
        if (style.overflowY !== 'visible' && outer.scrollHeight > outer.clientHeight + 1)
            cut.push(`${outer.tagName.toLowerCase()}.${outer.className} ${outer.clientHeight} of ${outer.scrollHeight}`);
    }
    return {head: name, height: Math.round(box.height), width: Math.round(box.width),
        theme: widget.dataset.theme, cut, inner: [innerWidth, innerHeight, document.documentElement.scrollHeight]};
}"""


def started(host: Host, port: int, folder: Path, theme: str) -> subprocess.Popen[bytes]:
    arguments = [word.format(port=port) for word in host.command]
    if theme == "dark" and (host.dark or "").startswith("--"):
        arguments.append(str(host.dark))
    module = [] if arguments[0].endswith(".py") else ["-m"]
    environment = {**os.environ, "PORT": str(port)}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
    log = (folder / "log").open("wb")
    command = [sys.executable, *module, *arguments]
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{host.ready}", timeout=5).close()
        except urllib.error.HTTPError:
            break
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            break
    return server


def seen(page: Page) -> tuple[Frame, dict[str, Any]] | None:
    """The frame that has drawn a widget, and what is seen of it."""
    for frame in page.frames:
        try:
            found = frame.evaluate(SEEN)
        except Error:  # a frame may go while it is asked
            continue
        if found is not None:
            return frame, found
    return None


def clicked(page: Page, frame: Frame) -> str:
    """Name of the head after a click on L1 H4."""
    frame.locator('[data-aw-part="heads"] [data-layer="1"][data-head="4"]').first.click()
    page.wait_for_timeout(1500)
    return frame.locator('[data-aw-part="head-name"]').first.text_content() or ""


def picture_name(host: str, theme: str) -> str:
    return f"{host}.png" if theme == "light" else f"{host}-dark.png"


def small(png: bytes) -> bytes:
    """A picture of fewer colors, and smaller until it has at most `LARGEST` bytes."""
    image, scale = Image.open(io.BytesIO(png)).convert("RGB"), 0.75
    while True:
        size = (round(image.width * scale), round(image.height * scale))
        written = io.BytesIO()
        image.resize(size, Image.Resampling.LANCZOS).quantize(48).save(
            written, "PNG", optimize=True
        )
        if written.tell() <= LARGEST:
            return written.getvalue()
        scale *= 0.9


def picture(name: str, out: Path | None, theme: str) -> dict[str, Any]:
    """Figures of a host: the widget's head, size, theme, what cuts it off, and a click."""
    host, port = HOSTS[name], free_port()
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        folder = Path(temporary)
        for file in (*APPS.glob("*_app.py"), APPS / "cat.ipynb"):
            (folder / file.name).write_bytes(file.read_bytes())
        for file_name, text in SETTINGS.items():
            (folder / file_name).write_text(text)
        server = started(host, port, folder, theme)
        refused: set[str] = set()
        errors: list[str] = []

        def local(route: Route) -> None:
            address = urlsplit(route.request.url)
            if (address.hostname or "") in LOCAL:
                route.continue_()
            elif address.hostname == "unpkg.com" and address.path.startswith("/anywidget@"):
                route.fulfill(path=ANYWIDGET, headers={"Access-Control-Allow-Origin": "*"})
            else:
                refused.add(address.hostname or "")
                route.abort()

        try:
            context = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT},
                color_scheme="dark" if theme == "dark" else "light",
                reduced_motion="reduce",
            )
            context.route("**/*", local)
            page = context.new_page()
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on(
                "console",
                lambda message: errors.append(message.text) if message.type == "error" else None,
            )
            query = host.dark if theme == "dark" and (host.dark or "").startswith("?") else ""
            address = f"http://127.0.0.1:{port}{host.path}{query}"
            page.goto(address, wait_until="commit", timeout=120_000)
            if host.run is not None:
                host.run(page)
            deadline = time.monotonic() + DRAWN_S
            found = None
            while found is None and time.monotonic() < deadline:
                page.wait_for_timeout(500)
                found = seen(page)
            page.wait_for_timeout(2000)  # the host lays out what has grown
            found = seen(page)
            told: dict[str, Any] = {"host": name, "refused": sorted(refused)}
            told["errors"] = [error[:200] for error in dict.fromkeys(errors)]
            if found is not None:
                told |= found[1] | {"frame": found[0] is not page.main_frame}
            if out is not None:
                out.write_bytes(small(page.screenshot()))
            if found is not None:
                told["after a click"] = clicked(page, found[0])
            else:
                told["log"] = (folder / "log").read_text(errors="replace")[-1500:]
            return told
        finally:
            server.terminate()
            server.wait()


def sheet(folder: Path, out: Path) -> None:
    """All pictures of a folder in one, in the order of `HOSTS`; dark ones of the hosts that have a dark theme."""
    shots = [
        (f"{name}, {theme}", folder / picture_name(name, theme))
        for name, host in HOSTS.items()
        for theme in ("light", "dark")
        if (theme == "light" or host.dark is not None)
        and (folder / picture_name(name, theme)).is_file()
    ]
    size, gap, line = 250, 6, 14  # px
    rows = -(-len(shots) // COLUMNS)
    whole = Image.new(
        "RGB", (COLUMNS * (size + gap) + gap, rows * (size + gap + line) + gap), "#777777"
    )
    for k, (title, path) in enumerate(shots):
        x, y = gap + k % COLUMNS * (size + gap), gap + k // COLUMNS * (size + gap + line)
        ImageDraw.Draw(whole).text((x, y), title, "#ffffff")
        shot = Image.open(path).convert("RGB")
        shot = shot.resize((size, round(shot.height * size / shot.width)))
        whole.paste(shot.crop((0, 0, size, size)), (x, y + line))
    whole.quantize(32, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hosts", nargs="*", choices=HOSTS)
    parser.add_argument("-o", "--folder", type=Path, help="where pictures are written")
    parser.add_argument("--sheet", type=Path, help="one picture of all that are in the folder")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    options = parser.parse_args()
    for name in options.hosts:
        out = None if options.folder is None else options.folder / picture_name(name, options.theme)
        print(json.dumps(picture(name, out, options.theme)), flush=True)
    if options.sheet is not None and options.folder is not None:
        sheet(options.folder, options.sheet)


if __name__ == "__main__":
    main()
