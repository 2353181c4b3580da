"""Batches trait changes from several threads into one message to the page."""

from __future__ import annotations

import threading
from typing import Any

import anywidget
import traitlets as t


class BatchedTraitsWidget(anywidget.AnyWidget):
    """A widget some of whose traits change together, from whatever thread.

    `ipywidgets.Widget.hold_sync` is no help here: what it holds back is kept on the widget, for all
    threads at once.
    """

    def __init__(self, **traits: Any) -> None:
        # Held while traits change, so that the page and a run's thread do so one after the other;
        # never while observers are called, who may wait for anything.
        self._changing = threading.RLock()
        self._gathered = threading.local()
        super().__init__(**traits)

    def _set(self, also: tuple[Any, ...] = (), **values: Any) -> list[Any]:
        """Set traits and send them in one message, with those of the changes in ``also``.

        Returns
        -------
        list of traitlets.Bunch
            The changes, of which `_tell` tells the observers once nothing is locked any more.
        """
        changes: list[Any] = []
        self._gathered.changes = changes
        try:
            for name, value in values.items():
                setattr(self, name, value)
        finally:
            self._gathered.changes = None
        names = {change["name"] for change in (*also, *changes)}
        if names and self.comm is not None:
            self.send_state(names)
        return changes

    def _tell(self, changes: list[Any]) -> None:
        for change in changes:
            t.HasTraits.notify_change(self, change)

    def notify_change(self, change: Any) -> None:
        """Send a change to the page and call its observers; `_set` gathers its own instead."""
        gathered: list[Any] | None = getattr(self._gathered, "changes", None)
        if gathered is None:
            super().notify_change(change)
        else:
            gathered.append(change)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take changes from the page."""
        with self._changing:
            super().set_state(sync_data)
