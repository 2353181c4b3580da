"""A widget on a bare page: the built bundle in Chromium, its questions answered by the real protocol.

Quicker than a notebook where no notebook is needed: pictures, timings, hostile texts.
"""

from __future__ import annotations

import base64
import json
import time
from queue import SimpleQueue
from typing import Any

from playwright.sync_api import Page

from attn_widget.features.exports.mount import encode_reply, mount_page
from attn_widget.widget.base import SourceWidget
from attn_widget.widget.traits import page_traits
from scripts.widget_parts import STEP_MS

# A view without a matrix of its own is there when nothing is on its way.
DRAWN = """() => performance.getEntriesByName('aw:drawn').length > 0
  || document.querySelector('.aw-view:not([aria-busy="true"]) > :not([data-view="attention"])')"""


def mount(page: Page, widget: SourceWidget, *, width: int = 1000) -> None:
    """Draw ``widget`` on ``page`` and wait until it stands there.

    Traits go both ways and commands reach the widget, as in a notebook; what Python changes arrives
    while Playwright waits for anything.
    """
    changed: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    sent: dict[str, Any] = {}

    def answer(name: str, request: str) -> str:
        while True:
            reply, buffers = getattr(widget, f"_{name}")(json.loads(request), [])
            if "later" not in reply or "progress" in reply:  # the page shows how far slow work is
                return encode_reply(reply, buffers)
            time.sleep(reply["later"] / 1000)  # a picture of it holds the tags, too

    def save(state: str) -> None:
        sent.clear()
        sent.update(json.loads(state))
        widget.set_state(dict(sent))
        sent.clear()

    def changes() -> str:
        pending: list[tuple[str, Any]] = []
        while not changed.empty():
            name, value = changed.get()
            encoded = isinstance(value, bytes)
            pending.append((name, base64.b64encode(value).decode() if encoded else value))
        return json.dumps(pending)

    def note(change: Any) -> None:
        # A change that came from the page is not sent back to it.
        if change.name not in sent or sent[change.name] != change.new:
            changed.put((change.name, change.new))

    traits = page_traits(widget)
    names = [*traits, "first_paint"]
    page.set_default_timeout(STEP_MS)
    page.goto("about:blank")
    for function in (answer, save, changes):
        page.expose_function(function.__name__, function)
    mount_page(page, traits, widget.first_paint, width=width)
    widget.observe(note, names=names)
    page.once("close", lambda _: widget.unobserve(note, names=names))
    page.wait_for_function(DRAWN)


def milliseconds_to_drawn(page: Page) -> float:
    """From the data at hand to the first drawn matrix, ms."""
    return page.evaluate(
        "() => performance.getEntriesByName('aw:drawn')[0].startTime"
        " - performance.getEntriesByName('reply')[0].startTime"
    )
