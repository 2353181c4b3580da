"""Displayed once: `show()` displays at once, and its value as a cell's last line adds no copy.

Displaying at once (and not at the end of the cell, as plots do) keeps the order with `print` in a
loop and lets the first picture come while a long cell still runs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from attn_widget.host.notice import current_notice, notebook_shell
from attn_widget.page.output import outputs, place
from attn_widget.page.shown import Shown
from attn_widget.widget.captured import alive

if TYPE_CHECKING:
    from anywidget import AnyWidget


log = logging.getLogger("attn_widget")


class DisplayOnce:
    """Remembers in which cell `show()` has displayed a widget.

    ``boxed``: a box that this cell displays has the widget, and its output what readers without a kernel see.
    """

    def __init__(self) -> None:
        self._shown_in: int | None = None
        self.boxed = False

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
        self.boxed = False

        def after_cell() -> None:
            """Give the place back if the widget stands inside a box, which displays it itself."""
            shell.events.unregister("post_execute", after_cell)
            self._shown_in = None
            if handle is not None and in_a_box(widget):
                handle.update({}, raw=True)
                if not self.boxed:
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

    boxes = [candidate for candidate in alive() if isinstance(candidate, Box)]
    return any(widget in box.children for box in boxes)


def inside(box: Any) -> Iterator[Any]:
    """The widgets in a container and in the containers in it, in order."""
    for child in box.children:
        if hasattr(child, "children"):
            yield from inside(child)
        else:
            yield child


def saved_outputs(shown: Shown, saved: str) -> dict[str, str]:
    """Content of the running cell's output besides the widget; see `attn_widget.page.output`."""
    shell = notebook_shell()
    if shell is None:
        return {}
    said: dict[str, Any] = (shell.kernel.get_parent() or {}).get("metadata", {})
    deleted = list(said.get("deletedCells") or [])
    try:
        page = shown.has_page(saved)
        code = page and place.takes(said.get("cellId"), shell.execution_count, deleted)
        return outputs(shown, saved, code=code)
    except Exception:  # the widget itself is shown whatever happens here
        log.exception("the output's page for a saved notebook was not made")
        return {}


def boxes_show(bundle_of: Callable[[Any], dict[str, Any]]) -> None:
    """Let the output of every container of ipywidgets have, besides itself, what ``bundle_of`` it gives.

    Another formatter that the user has set for containers stays.
    """
    shell = notebook_shell()
    if shell is None:
        return
    from ipywidgets import Box

    def formatted(box: Any, include: Any = None, exclude: Any = None) -> Any:
        bundle = box._repr_mimebundle_(include=include, exclude=exclude)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, **bundle_of(box)}, metadata

    formatter = shell.display_formatter.mimebundle_formatter
    if Box not in formatter:
        formatter.for_type(Box, formatted)


def lose_output(count: int) -> None:
    """The output of this execution was taken away, and with it the code that it may have carried."""
    place.forget(count)


def lose_outputs_of_cell() -> None:
    """The outputs that the running cell has made so far will be taken away."""
    shell = notebook_shell()
    if shell is not None:
        place.forget(shell.execution_count)
