"""Pictures from Python: the page draws itself in a headless Chromium and gives its own file away.

The picture is the one that the menu of the page saves, so nothing is drawn twice in two languages.
The browser has no network, and a profile that is thrown away.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attn_widget.errors import NotAvailableError
from attn_widget.features.exports.chromium import FLAGS, MISSING, find_chromium
from attn_widget.features.exports.mount import encode_reply, mount_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

VIEWPORT_HEIGHT = 1200  # px
TIMEOUT_MS = 120_000  # without a sign of life from the page
QUIET_MS = 300  # without a question from the page: it asks ahead for neighbors 120 ms after drawing
INSTALL = 'Run: pip install "attn-widget[images]"'

Value = TypeVar("Value")

# The first picture stands, nothing is on its way, and no question was asked for a while.
SETTLED = """quiet => {
  const panel = document.querySelector(".aw-view");
  return panel?.firstElementChild != null && panel.querySelector("[aria-busy=true]") === null
    && panel.getAttribute("aria-busy") !== "true"
    && window.aw.asking === 0 && performance.now() - window.aw.asked > quiet;
}"""
# The page waits for our figures, or had some of them not long ago: a busy machine takes as long as it takes.
ANSWERED = "within => window.aw.asking > 0 || performance.now() - window.aw.asked < within"
OPEN_VIEW = "() => document.querySelector('.aw-view > [data-view]')?.dataset.view"
SAVE = """({format, scale}) => new Promise(resolve => {
  const failed = message => resolve({error: message});
  const done = ({blob}) => {
    const reader = new FileReader();
    reader.onload = () => resolve({data: reader.result.split(",")[1]});
    reader.onerror = () => failed(String(reader.error));
    reader.readAsDataURL(blob);
  };
  const detail = {format, scale, done, failed};
  document.querySelector(".attn-widget").dispatchEvent(new CustomEvent("aw:save", {detail}));
})"""


def in_thread(call: Callable[[], Value]) -> Value:
    """``call()`` in a thread of its own: Playwright refuses one in which an event loop runs, as in a notebook."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="attn_widget-browser") as pool:
        return pool.submit(call).result()


def executable(playwright: Playwright) -> str:
    """The browser to draw with: the system's, else the one that Playwright has installed."""
    path = find_chromium()
    if path is not None:
        return path
    own = playwright.chromium.executable_path
    if own and Path(own).is_file():
        return own
    raise NotAvailableError(MISSING, "`playwright install chromium` also installs one.")


def launch(playwright: Playwright) -> Browser:
    """A headless browser."""
    from playwright.sync_api import Error

    path = executable(playwright)
    try:
        return playwright.chromium.launch(executable_path=path, args=[*FLAGS])
    except Error as error:
        raise NotAvailableError(
            f"{path} does not start: {error.message.splitlines()[0]}",
            "Set CHROMIUM to the path of another Chromium or Google Chrome.",
        ) from error


def draw(
    format: str,  # noqa: A002
    *,
    view: str,
    traits: Mapping[str, Any],
    paint: bytes,
    answer: Callable[[str, object], tuple[object, list[bytes]]],
    width: int,
    scale: float,
) -> bytes:
    """Draw one view and return its file.

    ``format``: {"png", "svg"}. ``traits``: what the page reads; see
    `attn_widget.features.exports.mount.page_traits`. ``paint``: the packed first paint. ``answer``:
    ``(command, request) -> (reply, buffers)``: answers the page's questions, in another thread. ``width``: of the
    picture, CSS px. ``scale``: pixels to a CSS pixel.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise NotAvailableError(
            "Pictures are drawn in a browser, and playwright, which drives it, is not installed.",
            INSTALL,
        ) from error

    def drawn() -> bytes:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            try:
                context = browser.new_context(
                    viewport={"width": width + 80, "height": VIEWPORT_HEIGHT},
                    reduced_motion="reduce",
                    offline=True,
                )
                page = context.new_page()
                page.set_default_timeout(TIMEOUT_MS)
                page.expose_function(
                    "answer",
                    lambda name, request: encode_reply(*answer(name, json.loads(request))),
                )
                mount_page(page, traits, paint, width=width)
                wait_for_view(page, view)
                return saved(page, format, view, scale)
            except Error as error:
                raise NotAvailableError(
                    f"The view {view!r} could not be drawn: {error.message.splitlines()[0]}"
                ) from error
            finally:
                browser.close()

    return in_thread(drawn)


def wait_settled(page: Page, within: float = TIMEOUT_MS) -> None:
    """Wait until a picture stands; an error comes ``within`` ms after the last answer to the page."""
    from playwright.sync_api import TimeoutError as NotSettled

    while True:
        try:
            page.wait_for_function(SETTLED, arg=QUIET_MS, timeout=within)
        except NotSettled:
            if not page.evaluate(ANSWERED, within):
                raise
        else:
            return


def wait_for_view(page: Page, view: str) -> None:
    """Wait until ``view`` stands there and asks for nothing any more."""
    wait_settled(page)
    if page.evaluate(OPEN_VIEW) != view:
        raise NotAvailableError(f"The view {view!r} has nothing to show for this run.")


def saved(page: Page, format: str, view: str, scale: float) -> bytes:  # noqa: A002
    """The files that the page's own menu would save."""
    reply: dict[str, str] = page.evaluate(SAVE, {"format": format, "scale": scale})
    if "error" in reply:
        raise NotAvailableError(f"The view {view!r} gives no {format.upper()}: {reply['error']}")
    return base64.b64decode(reply["data"])
