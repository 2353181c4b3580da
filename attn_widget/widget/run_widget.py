"""Base of the widgets whose texts a run replaces."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import traitlets as t
from anywidget.experimental import command

from attn_widget.protocol.answer import Reply, replied
from attn_widget.protocol.tasks import Tasks
from attn_widget.widget.actions import kind_of
from attn_widget.widget.base import SourceWidget
from attn_widget.widget.runs import SHOWN, Jobs
from attn_widget.widget.traits import Trait, synced

J = TypeVar("J", bound=Jobs)


class RunWidget(SourceWidget, Generic[J]):
    """A widget that shows another result once a run, which Python or the page starts, has made it."""

    _ANOTHER: ClassVar[str]  # the call that shows another text, for messages

    text: Trait[str] = synced(t.Unicode(""))
    """The text, the first of two, or the query. Read-only; `run` shows another one."""
    text_pair: Trait[str | None] = synced(t.Unicode(None, allow_none=True))
    """The second text, or None. Read-only, like ``text``."""
    progress: Trait[dict[str, Any]] = synced(t.Dict())
    """``{"label", "done", "total"}`` of a run that the page started, or ``{}``."""

    # A widget that cannot be made is closed all the same.
    _runs: J | None = None
    _tasks: Tasks | None = None

    def cancel(self) -> None:
        """Cancel a run that the page has started; the current picture stays."""
        self._require_runs().cancel()

    @command
    def _act(self, request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Start an action that the page requests; see `attn_widget.widget.actions`."""

        def start() -> Reply:
            kind, asked = kind_of(request)
            if kind == "cancel":
                self.cancel()
            else:
                self._begin(kind, asked)
            return {"ok": True, "data": {}, "arrays": []}, []

        return replied(start, request)

    @abstractmethod
    def _begin(self, kind: str, asked: Any) -> None:
        """Start the run of an action, one of `KINDS` but ``"cancel"``.

        Raises
        ------
        AttnWidgetError
            The action is not one of this widget, or its request cannot be used.
        """

    def _require_runs(self) -> J:
        assert self._runs is not None  # set before any trait
        return self._runs

    @t.validate(*SHOWN)
    def _valid_shown(self, proposal: Any) -> Any:
        name = proposal["trait"].name
        if proposal["value"] != self._require_runs().shown[name]:
            raise t.TraitError(
                f"{name} is set by a run and cannot be changed here. {self._ANOTHER}."
            )
        return proposal["value"]
