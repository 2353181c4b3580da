"""One widget from two sources: the live kernel, and a page that was saved and has none."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Locator, Page, Route

import attn_widget as aw
from attn_widget.checks.rounding import rounding
from scripts.page import DRAWN, mount
from scripts.widget_parts import POLL_S, STEP_MS

SOURCES = ("live", "saved")
FLOAT32 = rounding(1.0, 64)  # of shares and of rows' sums


@dataclass
class Opened:
    """A widget on a page.

    Attributes
    ----------
    requests : list of str
        What a saved page asked of anybody, itself aside; nothing gets through.
    problems : list of str
        Exceptions and messages of the console, violations of the page's own policy among them.
    """

    page: Page
    widget: aw.AttentionWidget
    source: str
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def agree(self, found: Locator, expected: Any, rel: float = 0.0, *, head: bool = False) -> None:
        """Wait until every number behind ``found`` is Python's; of a saved page, to its own last digit.

        Of a ``head`` of numbers as many are compared as are shown.
        """
        wanted = np.asarray(expected, dtype=np.float64).ravel()
        deadline = time.monotonic() + STEP_MS / 1000
        while True:
            texts: list[str] = found.evaluate_all("all => all.map(one => one.dataset.awValue)")
            compared = wanted[: len(texts)] if head and texts else wanted
            off = [
                (text, value)
                for text, value in zip(texts, compared, strict=False)
                if not abs(float(text) - value) <= max(FLOAT32 + rel * abs(value), self.unit(text))
            ]
            if len(texts) == len(compared) > 0 and not off:
                return
            if time.monotonic() >= deadline:
                said = self.page.locator(".aw-messages, .aw-view").all_inner_texts()
                raise AssertionError((len(texts), len(compared), off[:5], self.problems, said))
            self.page.wait_for_timeout(1000 * POLL_S)

    def unit(self, text: str) -> float:
        """Of the last digit of a saved page's number; a live one has all digits of float32."""
        if self.source == "live":
            return 0.0
        exponent = Decimal(text).as_tuple().exponent
        assert isinstance(exponent, int), text
        return 10.0**exponent


@contextmanager
def opened(
    browser: Browser, widget: aw.AttentionWidget, source: str, folder: Path
) -> Generator[Opened]:
    """Open ``widget``; at the end no request left a saved page, and nothing went wrong on it."""
    context = browser.new_context(
        viewport={"width": 1200, "height": 1100}, reduced_motion="reduce", accept_downloads=True
    )
    page = context.new_page()
    page.set_default_timeout(STEP_MS)
    one = Opened(page, widget, source)
    try:
        if source == "live":
            mount(page, widget, width=1200)
        else:
            address = aw.to_html(widget, folder / "saved.html").as_uri()
            watch(one, address)
            page.goto(address)
            page.wait_for_function(DRAWN)
        yield one
        assert one.requests == []
        assert one.problems == []
    finally:
        context.close()


def watch(one: Opened, address: str) -> None:
    """Block and count every request but the page's own, and note what the page complains of."""

    def block(route: Route) -> None:
        if route.request.url.split("#")[0] == address:
            route.continue_()
        else:
            one.requests.append(route.request.url)
            route.abort()

    one.page.context.route("**/*", block)
    one.page.on("pageerror", lambda error: one.problems.append(f"exception: {error}"))
    one.page.on("dialog", lambda dialog: one.problems.append(f"dialog: {dialog.message}"))
    one.page.on(
        "console",
        lambda message: (
            one.problems.append(f"{message.type}: {message.text}")
            if message.type in ("error", "warning")
            else None
        ),
    )
