"""Actions of the page: ``invoke("act", request)``, and the runs that they start.

The reply comes at once, ``{ok: true, ...}`` or ``{ok: false, error, hint}``, as for slices. A run works
on the thread of a `LatestWorker`; the widget tells how it goes by its traits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from attn_widget.analysis import Analysis
from attn_widget.checks import short_repr
from attn_widget.errors import InputError, InputTypeError
from attn_widget.model.tokenizing import check_text
from attn_widget.protocol.request import check_request, one_of
from attn_widget.trace.forward import Progress

KINDS = ("run", "continue", "mask", "switch_off", "cancel")
MAX_CHARACTERS = 1_000_000  # of one segment; the longest models read some 40,000

Work = Callable[["Progress"], "Analysis"]


class Analyze(Protocol):
    """Runs another text for a widget."""

    def __call__(
        self,
        text: str,
        text_pair: str | None,
        *,
        truncation: bool | None = None,
        output: str | None = None,
        progress: Progress | None = None,
    ) -> Analysis: ...


def kind_of(request: object) -> tuple[str, Mapping[str, Any]]:
    """Which action a request is; nothing about it is trusted."""
    asked = check_request(request)
    return one_of(asked, "kind", KINDS), asked


def texts_of(request: Mapping[str, Any]) -> tuple[str, str | None]:
    """``text`` and ``text_pair`` of a request."""
    text = check_text(request.get("text"), "text")
    pair = request.get("text_pair")
    if pair is not None:
        check_text(pair, "text_pair")
    for name, value in (("text", text), ("text_pair", pair or "")):
        if len(value) > MAX_CHARACTERS:
            raise InputError(
                f"{name} has {len(value):,} characters, more than {MAX_CHARACTERS:,}.",
                "Give only the part that the model should read.",
            )
    return text, pair


def output_of(request: Mapping[str, Any]) -> str | None:
    """``output`` of a request: what an encoder-decoder is to write, or None."""
    output = request.get("output")
    if output is None:
        return None
    text, _ = texts_of({"text": check_text(output, "output")})
    return text


def truncation_of(request: Mapping[str, Any]) -> bool | None:
    """``truncation`` of a request; None leaves it to what `show` was given."""
    value = request.get("truncation")
    if value is not None and not isinstance(value, bool):
        raise InputTypeError(f"truncation is {short_repr(value)}, expected true or false.")
    return value


def list_of(request: Mapping[str, Any], name: str, items: str) -> list[Any]:
    """A list in a request, of anything; lists in it become tuples."""
    given = request.get(name)
    if not isinstance(given, (list, tuple)):
        raise InputTypeError(f"{name} must be a list of {items}, got {short_repr(given)}.")
    return [tuple(item) if isinstance(item, list) else item for item in given]
