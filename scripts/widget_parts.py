"""A widget in a page: its parts, and the numbers behind what they print."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from playwright.sync_api import Locator, expect

STEP_MS = 60_000  # milliseconds for anything in the page; idle, all take less than 10,000
POLL_S = 0.2


class Widget:
    """One view of an attn_widget in a page, found by the attributes that js/src/frame/frame.tsx lists."""

    def __init__(self, element: Locator) -> None:
        self.element = element

    def part(self, name: str) -> Locator:
        return self.element.locator(f'[data-aw-part="{name}"]')

    def head(self, layer: int, head: int) -> Locator:
        """The button of one head in the grid."""
        return self.part("heads").locator(f'[data-layer="{layer}"][data-head="{head}"]')

    def token(self, index: int) -> Locator:
        """The button of one token in the ribbon."""
        return self.part("ribbon").locator(f'[data-token="{index}"]')

    def tab(self, view: str) -> Locator:
        return self.part("tabs").locator(f'[data-view="{view}"]')

    def hover_cell(self, query: int, key: int, n: int) -> None:
        """Move the pointer over one cell of the matrix of ``n`` tokens."""
        pane = self.part("heatmap").locator(".aw-map-pane")
        pane.scroll_into_view_if_needed()
        box = pane.bounding_box()
        if box is None:
            raise AssertionError("the matrix is not shown")
        cell = box["width"] / n
        mouse = self.element.page.mouse
        mouse.move(box["x"] + (key + 0.5) * cell, box["y"] + (query + 0.5) * cell)

    def leave(self) -> None:
        """Move the pointer away, so that nothing is hovered."""
        self.element.page.mouse.move(0, 0)

    def wait_drawn(self, patience_ms: int = STEP_MS) -> None:
        """Wait until a matrix has been drawn: the name of its head is written with it."""
        expect(self.part("head-name")).to_contain_text("L", timeout=patience_ms)


def values(found: Locator) -> list[float]:
    """The numbers behind all texts that ``found`` matches, with all their digits."""
    texts: list[str] = found.evaluate_all("all => all.map(element => element.dataset.awValue)")
    return [float(text) for text in texts]


def agree(
    found: Locator, expected: Any, *, rtol: float = 0.0, atol: float = 0.0, head: bool = False
) -> None:
    """Wait until the numbers behind ``found`` are those expected; of a ``head``, as many as are shown.

    A view may stand there before its numbers do: what is read once is read too early on a busy machine.
    """
    wanted = np.asarray(expected, dtype=np.float64).ravel()
    deadline = time.monotonic() + STEP_MS / 1000
    while True:
        shown = values(found)
        compared = wanted[: len(shown)] if head and shown else wanted
        same_length = len(shown) == len(compared) > 0
        if same_length and np.allclose(shown, compared, rtol=rtol, atol=atol, equal_nan=True):
            return
        if time.monotonic() > deadline:
            np.testing.assert_allclose(shown, compared, rtol=rtol, atol=atol)
            raise AssertionError("there are no numbers")
        found.page.wait_for_timeout(1000 * POLL_S)
