"""A real JupyterLab in a real browser, for the end-to-end tests, the demo and the gallery."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Page,
    Route,
    sync_playwright,
)

from scripts.chromium import FLAGS, MISSING, find_chromium
from scripts.widget_parts import POLL_S, STEP_MS, Widget

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ("127.0.0.1", "localhost", "")  # "" is the host of data: and blob: addresses
LATE_MODULE = "[anywidget] Failed to initialize model."
START_S = 600  # seconds until the server answers; idle it takes 5

# Chromium 156 loads two pages for the popup of its address bar with each context: 0.6 of 0.95 s of CPU.
# The last --disable-features counts alone, so those of Playwright (chromiumSwitches) stand here again.
DISABLED = (
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding",
    "ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "TcpPortRandomizationWin",
    "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch",
    "msForceBrowserSignIn", "msEdgeUpdateLaunchServicesPreferredVersion",
)  # fmt: skip

SETTINGS = {
    # The announcements ask the network.
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
    # A cell outside the window is otherwise not rendered, and its widget not drawn.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}

RUN_ALL = """() => {
    const app = window.jupyterapp;
    window.running = app.shell.currentWidget.sessionContext.ready
        .then(() => app.commands.execute('notebook:run-all-cells'));
}"""
CELLS = """() => {
    const shown = window.jupyterapp.shell.currentWidget;
    return shown.content.model.sharedModel.cells.map(cell => cell.toJSON());
}"""

RUN_CODE = """async code => {
    const shown = window.jupyterapp.shell.currentWidget;
    const kernel = shown.sessionContext.session.kernel;
    const future = kernel.requestExecute({code, store_history: false});
    let text = '';
    future.onIOPub = message => {
        if (message.header.msg_type === 'stream') text += message.content.text;
    };
    const reply = await future.done;
    const {status, ename, evalue} = reply.content;
    return {status, text, error: `${ename}: ${evalue}`};
}"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser."""
    executable = find_chromium()
    if executable is None:
        raise FileNotFoundError(MISSING)
    with sync_playwright() as playwright:
        flags = [*FLAGS, f"--disable-features={','.join(DISABLED)}"]
        browser = playwright.chromium.launch(executable_path=executable, args=flags)
        try:
            yield browser
        finally:
            browser.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Lab:
    """A JupyterLab server on localhost, with settings, kernels and files in a folder of its own.

    Parameters
    ----------
    folder : Path
        Notebooks lie in ``folder / "notebooks"``; all else that the server writes stays next to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notebooks = folder / "notebooks"
        self.notebooks.mkdir(parents=True)
        self.port = free_port()
        self.token = secrets.token_hex(16)
        for name, values in SETTINGS.items():
            path = folder / "settings" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))
        environment = dict(os.environ) | {
            "HF_HUB_OFFLINE": "1",
            "OMP_WAIT_POLICY": "passive",
            "IPYTHONDIR": str(folder / "ipython"),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "JUPYTER_DATA_DIR": str(folder / "data"),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        }
        self.log = folder / "server.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                    *(f"--port={self.port}", "--ServerApp.port_retries=0", "--ip=127.0.0.1"),
                    f"--IdentityProvider.token={self.token}",
                    f"--ServerApp.root_dir={self.notebooks}",
                    *("--expose-app-in-browser", "--LabApp.extension_manager=readonly"),
                    "--JupyterNotebookApp.expose_app_in_browser=True",
                    "--LanguageServerManager.autodetect=False",
                ],
                cwd=self.notebooks,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_S
        address = f"http://127.0.0.1:{self.port}/api/status?token={self.token}"
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(address, timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(POLL_S)
        self.close()
        raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}")

    def write(self, name: str, cells: Sequence[str]) -> str:
        """Write a notebook of code cells; returns its name."""
        notebook: dict[str, Any] = {
            "cells": [
                {
                    "cell_type": "code",
                    "execution_count": None,
                    "id": f"cell-{number}",
                    "metadata": {},
                    "outputs": [],
                    "source": source,
                }
                for number, source in enumerate(cells)
            ],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.notebooks / name).write_text(json.dumps(notebook), encoding="utf-8")
        return name

    def copy(self, path: Path) -> str:
        """Copy a notebook in; returns its name."""
        shutil.copy(path, self.notebooks / path.name)
        return path.name

    def open(
        self,
        browser: Browser,
        name: str,
        width: int = 1280,
        height: int = 1600,
        host: str = "doc/tree",
        patience_ms: int = STEP_MS,
    ) -> Notebook:
        """Open a notebook of this server in a new window: in JupyterLab, or with host "notebooks" in Notebook 7."""
        return Notebook(self, browser, name, width, height, host, patience_ms)

    def close(self) -> None:
        """Stop the server and its kernels."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Notebook:
    """One notebook in one window.

    Attributes
    ----------
    page : Page
        Playwright's page.
    errors : list of str
        Exceptions and console errors of the page.
    outside : list of str
        Requests that tried to leave this machine; none of them got through.
    """

    def __init__(
        self,
        lab: Lab,
        browser: Browser,
        name: str,
        width: int,
        height: int,
        host: str = "doc/tree",
        patience_ms: int = STEP_MS,
    ) -> None:
        self.lab = lab
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce"
        )
        self.context.set_default_timeout(patience_ms)
        self.context.route("**/*", self._let_through)
        self.page: Page = self.context.new_page()
        self.page.on("pageerror", self._hear)
        self.page.on("console", self._listen)
        self.page.on("websocket", lambda socket: self._is_local(socket.url))
        self.page.goto(f"http://127.0.0.1:{lab.port}/{host}/{name}?token={lab.token}")
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.isReady"
        )

    def _hear(self, error: Error) -> None:
        stack = error.stack or ""
        # JupyterLab's windowed notebook detaches a cell twice now and then (its issue 15415).
        # The page calls no removeChild, and its code comes from a blob.
        if "removeChild" in error.message and stack and "blob:" not in stack:
            return
        # Notebook 7.6 starts with exceptions of its own: it lacks a plugin's schema and a command.
        if "notebook_core" in stack and "blob:" not in stack:
            return
        # A module that loads late, as on a busy machine: js/src/protocol/comm/restore.ts mends what follows.
        if error.message == LATE_MODULE:
            return
        self.errors.append(f"exception: {error}\n{stack}")

    def _is_local(self, url: str) -> bool:
        if (urlsplit(url).hostname or "") in LOCAL:
            return True
        self.outside.append(url)
        return False

    def _let_through(self, route: Route) -> None:
        if self._is_local(route.request.url):
            route.continue_()
        else:
            route.abort()

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            where = message.location.get("url", "")
            self.errors.append(f"console: {message.text} ({where})")

    def start_all(self) -> None:
        """Let every cell run."""
        self.page.evaluate(RUN_ALL)

    def run_all(self) -> None:
        """Run every cell and wait until the last one has finished; raises on a cell's error."""
        self.start_all()
        self.finish_all()

    def finish_all(self) -> None:
        """Wait until the last cell has finished; raises on a cell's error."""
        self.page.evaluate("() => window.running")
        for number, cell in enumerate(self.cells()):
            for output in cell.get("outputs", []):
                if output["output_type"] == "error":
                    trace = "\n".join(output["traceback"])
                    raise AssertionError(f"cell {number} failed:\n{trace}")

    def cells(self) -> list[dict[str, Any]]:
        """The cells as they would be saved, outputs included."""
        cells: list[dict[str, Any]] = self.page.evaluate(CELLS)
        return cells

    def widget(self, index: int) -> Widget:
        """A view of a widget, counted from the top of the notebook."""
        return Widget(self.page.locator(".attn-widget").nth(index))

    def python(self, code: str) -> str:
        """Run code in the notebook's kernel, outside its cells, and return what it prints.

        The reply is waited for, so that what the code changed in the kernel has happened.
        """
        outcome: dict[str, str] = self.page.evaluate(
            RUN_CODE,
            code,
        )
        if outcome["status"] != "ok":
            raise AssertionError(f"{code!r} failed: {outcome['error']}")
        return outcome["text"]

    def prints(self, code: str, expected: str) -> None:
        """Wait until code prints something: what the page says to the kernel may arrive after it was run."""
        deadline = time.monotonic() + STEP_MS / 1000
        while (printed := self.python(code)) != expected:
            assert time.monotonic() < deadline, (
                f"{code!r} prints {printed!r}, expected {expected!r}"
            )
            self.page.wait_for_timeout(1000 * POLL_S)

    def restart_kernel(self) -> None:
        """Restart the kernel, as the menu does after its question."""
        self.page.evaluate(
            """async () => {
                const {sessionContext} = window.jupyterapp.shell.currentWidget;
                await sessionContext.session.kernel.restart();
                await sessionContext.session.kernel.info;
            }"""
        )

    def theme(self, name: str) -> None:
        """Switch JupyterLab's theme: ``"JupyterLab Light"`` or ``"JupyterLab Dark"``."""
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name
        )
        light = "true" if name.endswith("Light") else "false"
        self.page.wait_for_function(
            "light => document.body.dataset.jpThemeLight === light", arg=light
        )

    def close(self) -> None:
        """Close the window and end its kernel."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        self.context.close()


OpenNotebook = Callable[..., Notebook]


@contextmanager
def jupyterlab() -> Iterator[Lab]:
    """A server in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="aw-lab-", ignore_cleanup_errors=True) as folder:
        lab = Lab(Path(folder))
        try:
            yield lab
        finally:
            lab.close()
