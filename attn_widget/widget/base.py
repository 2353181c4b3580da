"""Base of all widgets, whatever their source: the page's code, slices, display and exports."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import traitlets as t
from anywidget.experimental import command
from ipywidgets.widgets.widget import widget_serialization

from attn_widget.errors import InputError, NotPickled
from attn_widget.protocol.answer import Reply, replied
from attn_widget.protocol.request import check_request
from attn_widget.protocol.selection import LARGEST_HEIGHT, THEMES
from attn_widget.protocol.source import Source
from attn_widget.widget.batched_traits import BatchedTraitsWidget
from attn_widget.widget.code import PageCode
from attn_widget.widget.display import DisplayOnce, saved_outputs
from attn_widget.widget.exports import Exports
from attn_widget.widget.traits import CheckedTraits, Int, check_settable


class SourceWidget(CheckedTraits, Exports, NotPickled, BatchedTraitsWidget):
    """A widget over a `Source`; subclasses say which, and what can be selected in it."""

    # Declared, because a path on the class would be read when the package is imported.
    _esm = t.Unicode().tag(sync=True)
    _code = t.Instance(PageCode, allow_none=True).tag(sync=True, **widget_serialization)

    layer = Int(0).tag(sync=True)
    """Selected layer, 0-based."""
    head = t.Union([Int(), t.Enum(["mean"])], default_value=0).tag(sync=True)
    """Selected head, 0-based, or ``"mean"``: the mean of the layer's heads."""
    theme = t.Enum(THEMES, "auto").tag(sync=True)
    """``"auto"`` (follows the host), ``"light"`` or ``"dark"``."""
    height = Int(None, allow_none=True, min=1, max=LARGEST_HEIGHT).tag(sync=True)
    """Height of the open view in px, 1 to 100,000; None (default) fits the content."""
    chrome = t.Bool(True).tag(sync=True)
    """False shows only the open view and its caption, for slides and tutorials. Default True."""
    error = t.Dict().tag(sync=True)
    """``{"message", "hint"}`` of the last failure, or ``{}``; shown in the widget."""
    first_paint = t.Bytes(b"").tag(sync=True)
    """The packed first paint (see ``docs/protocol.md``)."""

    def __init__(self, *parts: Any, **traits: Any) -> None:
        self._once = DisplayOnce()
        super().__init__(*parts, **traits)

    @abstractmethod
    def _open_source(self) -> Source | None:
        """The analysis or profile shown; None once the widget is closed."""

    @property
    def source(self) -> Source:
        """The source behind the widget.

        Raises
        ------
        InputError
            The widget was closed.
        """
        source = self._open_source()
        if source is None:
            raise InputError("This widget is closed.", "Call show() again to make a new one.")
        return source

    def display(self) -> None:
        """Display the widget in the running notebook cell; its value adds no second copy."""
        self._once.display(self)

    @command
    def slice(self, request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Answer a slice request of the page; see `attn_widget.protocol.answer`."""
        return replied(lambda: self._reply(check_request(request)), request)

    @command
    def echo(self, _request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Answer at once: whatever the page sent before has been heard."""
        return {"ok": True}, []

    @abstractmethod
    def _reply(self, request: object) -> Reply:
        """The answer to a request, also of a closed widget."""

    @t.validate("layer")
    def _valid_layer(self, proposal: Any) -> int:
        return in_range("layer", proposal["value"], self.source.shape[0])

    @t.validate("head")
    def _valid_head(self, proposal: Any) -> int | str:
        value = proposal["value"]
        return value if value == "mean" else in_range("head", value, self.source.shape[1])

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take changes from the page; one that is not allowed is refused with a message, and undone there."""
        try:
            check_settable(type(self), sync_data)
            super().set_state(sync_data)
        except t.TraitError as error:
            self.error = {"message": str(error), "hint": "The selection was left as it was."}
            self.send_state([name for name in sync_data if self.has_trait(name)])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        source = self._open_source()
        if bundle is None or source is None:
            return bundle
        data, metadata = bundle
        kept: str = getattr(self, "saved", "page")
        return {**data, **saved_outputs(source, self.selection, kept)}, metadata

    def _ipython_display_(self) -> None:
        """Swallow the one display that `show()` makes superfluous; else leave it to the mimebundle."""
        if not self._once.takes():
            raise NotImplementedError


def in_range(name: str, value: int, size: int) -> int:
    """``value`` as a trait that counts something of ``size`` parts."""
    if not 0 <= value < size:
        raise t.TraitError(f"{name} is {value}, expected 0 to {size - 1} (0-based).")
    return value
