"""Checked fields of a request: layers, heads, positions and rows that exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.checks import is_plain, short_repr
from attn_widget.errors import SliceError
from attn_widget.figures.arrays import Head

Request = Mapping[str, Any]
DEEPEST = 6  # levels: a canceled request that lists the sites of a patch has four


def check_request(request: object) -> Request:
    """``request`` as an object of plain values that JSON could have carried.

    Raises `SliceError`: no object, keys that are no str, nested too deep, or integers beyond those of JavaScript.
    """
    if not isinstance(request, Mapping):
        raise SliceError(f"A request must be an object, got {type(request).__name__}.")
    if not is_plain(dict(request), DEEPEST):
        raise SliceError(
            f"A request holds what the page never sends: {short_repr(request)}.",
            f"Send names with numbers, texts and lists, at most {DEEPEST} levels deep.",
        )
    for asked in (request, request.get("of")):
        kind = asked.get("kind") if isinstance(asked, Mapping) else None
        if kind is not None and not isinstance(kind, str):
            raise SliceError(f"The kind of a request is {short_repr(kind)}, expected a str.")
    return request


def addressed(request: Request) -> tuple[object, Request]:
    """The run that a request of a widget is about, and the request; None: the widget's own run."""
    return request.get("source"), {k: v for k, v in request.items() if k != "source"}


def integer(request: Request, name: str, low: int, high: int) -> int:
    """``request[name]`` as an int in ``[low, high)``."""
    value = request.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise SliceError(f"{name} must be an integer, got {short_repr(value)}.")
    if not low <= value < high:
        raise SliceError(
            f"{name} {short_repr(value)} is out of range.", f"Allowed: {low} to {high - 1}."
        )
    return value


def layer_of(analysis: Analysis, request: Request) -> int:
    return integer(request, "layer", 0, analysis.trace.n_layers)


def head_of(analysis: Analysis, request: Request) -> Head:
    if request.get("head") == "mean":
        return "mean"
    return integer(request, "head", 0, analysis.trace.n_heads)


def place_of(counted: Any, request: Request) -> tuple[int, int]:
    """Layer and number of a head of a trace or a profile."""
    layer = integer(request, "layer", 0, counted.n_layers)
    return layer, integer(request, "head", 0, counted.n_heads)


def rows_of(analysis: Analysis, request: Request) -> slice:
    return span(request, "rows", analysis.trace.n_tokens)


def span(request: Request, name: str, size: int) -> slice:
    """``request[name]`` as a slice of ``size`` things; all of them without it."""
    value = request.get(name)
    if value is None:
        return slice(0, size)
    if not isinstance(value, (list, tuple)) or len(value) != 2:  # pyright: ignore[reportUnknownArgumentType]
        raise SliceError(f"{name} must be [start, stop], got {short_repr(value)}.")
    bounds: dict[str, Any] = {"start": value[0], "stop": value[1]}
    start = integer(bounds, "start", 0, size)
    return slice(start, integer(bounds, "stop", start + 1, size + 1))


def optional(request: Request, name: str, size: int) -> int | None:
    """``request[name]`` in ``[0, size)``, or None where it is left out."""
    return None if request.get(name) is None else integer(request, name, 0, size)


def one_of(request: Request, name: str, choices: tuple[str, ...]) -> str:
    value = request.get(name)
    if value not in choices:
        raise SliceError(f"{name} is {short_repr(value)}.", f"Known: {', '.join(choices)}.")
    return str(value)
