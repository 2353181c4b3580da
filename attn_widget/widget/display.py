"""Displayed once: `show()` displays at once, and its value as a cell's last line adds no copy.

Displaying at once (and not at the end of the cell, as plots do) keeps the order with `print` in a
loop and lets the first picture come while a long cell still runs.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from attn_widget.host.notice import current_notice, notebook_shell
from attn_widget.page.output import outputs, place
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source

if TYPE_CHECKING:
    from anywidget import AnyWidget


log = logging.getLogger("attn_widget")


class DisplayOnce:
    """Remembers in which cell `show()` has displayed a widget."""

    def __init__(self) -> None:
        self._shown_in: int | None = None

    def display(self, widget: AnyWidget) -> None:
        """Display ``widget`` in the running cell; outside a notebook, do nothing."""
        shell = notebook_shell()
        if shell is None:
            return
        from IPython.display import display

        notice = current_notice()
        handle = None if notice is None else notice.take()
        if handle is None:
            handle = display(widget, display_id=True)
        else:
            handle.update(widget)
        self._shown_in = count = shell.execution_count

        def after_cell() -> None:
            """Give the place back if the widget stands inside a box, which displays it itself."""
            shell.events.unregister("post_execute", after_cell)
            self._shown_in = None
            if handle is not None and in_a_box(widget):
                handle.update({}, raw=True)
                lose_output(count)

        shell.events.register("post_execute", after_cell)

    def takes(self) -> bool:
        """True if this request to display is the repetition that `show()` makes superfluous."""
        shell = notebook_shell()
        if self._shown_in is None or shell is None or shell.execution_count != self._shown_in:
            return False
        self._shown_in = None
        return True


def in_a_box(widget: AnyWidget) -> bool:
    """True if some container of ipywidgets has ``widget`` among its children."""
    from ipywidgets import Box
    from ipywidgets.widgets import widget as module

    # ipywidgets has no public list of the widgets that live.
    alive: dict[str, Any] = getattr(module, "_instances", {})
    boxes = [candidate for candidate in list(alive.values()) if isinstance(candidate, Box)]
    return any(widget in box.children for box in boxes)


def saved_outputs(source: Source, selection: Selection, saved: str) -> dict[str, str]:
    """Content of the running cell's output besides the widget; see `attn_widget.page.output`."""
    shell = notebook_shell()
    if shell is None:
        return {}
    said: dict[str, Any] = (shell.kernel.get_parent() or {}).get("metadata", {})
    deleted = list(said.get("deletedCells") or [])
    try:
        page = source.analysis is None or saved in ("page", "full")
        code = page and place.takes(said.get("cellId"), shell.execution_count, deleted)
        return outputs(source, selection, saved, code=code)
    except Exception:  # the widget itself is shown whatever happens here
        log.exception("the output's page for a saved notebook was not made")
        return {}


def lose_output(count: int) -> None:
    """The output of this execution was taken away, and with it the code that it may have carried."""
    place.forget(count)
