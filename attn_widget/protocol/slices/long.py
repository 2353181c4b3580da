"""Slices of long texts: a matrix by levels of detail, and its strongest links. None is larger than 1 MB."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.long.detail import QUANTITIES, Matrix, levels_of_detail
from attn_widget.checks import short_repr
from attn_widget.errors import SliceError
from attn_widget.figures.long.pyramid import TILE, Pooling, Pyramid, coarsest_level, tiles_of
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request, head_of, integer, layer_of, one_of
from attn_widget.trace.forward import Progress

MAX_LINKS = 500


@answers("pyramid", slow=True)
def pyramid(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    """The coarsest level of a matrix, which is one tile, and what is known of it as a whole."""
    analysis.trace.check_square("A matrix by levels of detail")
    matrix = matrix_of(analysis, request)
    found = levels_of_detail(analysis).pyramid(matrix, progress)
    masked = analysis.trace.mask(matrix.layer) is not None and matrix.quantity != "rollout"
    rest = analysis.trace.has_rest and matrix.quantity == "weights"
    return described(found, masked=masked, rest=rest)


def described(found: Pyramid, *, masked: bool, rest: bool) -> Answer:
    """The answer to ``pyramid``, with the ``rest`` of each row where it may sum to less than 1; a saved page has it recorded."""
    data: dict[str, Any] = {
        "tile": TILE,
        "coarsest": found.coarsest,
        "largest": found.largest,
        "smallest": found.smallest,
        "word_max": found.word_max,
        "mean_largest": {str(level): float(np.nanmax(part)) for level, part in found.mean.items()},
        "masked": masked,
    }
    arrays = {
        "max": found.maximum[found.coarsest],
        "mean": found.mean[found.coarsest],
        "received": found.received,
    }
    if rest:
        arrays["rest"] = np.maximum(1 - found.given, 0)
    return data, arrays


@answers("tile")
def tile(analysis: Analysis, request: Request) -> Answer:
    """A tile of a level: ``TILE`` x ``TILE`` cells of ``2**level`` tokens a side; NaN where the mask forbids."""
    analysis.trace.check_square("A matrix by levels of detail")
    matrix = matrix_of(analysis, request)
    level = integer(request, "level", 0, coarsest_level(analysis.trace.n_tokens) + 1)
    tiles = tiles_of(analysis.trace.n_tokens, level)
    row, col = (integer(request, name, 0, tiles) for name in ("row", "col"))
    pooling = cast("Pooling", one_of(request, "pooling", ("max", "mean")))
    return {}, {"tile": levels_of_detail(analysis).tile(matrix, level, row, col, pooling)}


@answers("links", slow=True)
def links(analysis: Analysis, request: Request, _progress: Progress | None) -> Answer:
    """The strongest links of a matrix, with special tokens and, of one text, neighbors and self by choice."""
    matrix = matrix_of(analysis, request)
    count = integer({"count": request.get("count", 50)}, "count", 1, MAX_LINKS + 1)
    chosen = {name: flag(request, name) for name in ("special", "neighbors", "itself")}
    found = levels_of_detail(analysis).links(
        matrix, count, least=number(request, "least"), **chosen
    )
    arrays = {"queries": found.queries, "keys": found.keys, "weights": found.weights}
    return {"total": found.total}, arrays


def matrix_of(analysis: Analysis, request: Request) -> Matrix:
    """The matrix that a request is about."""
    quantity = one_of({"quantity": "weights", **request}, "quantity", QUANTITIES)
    layer = layer_of(analysis, request)
    # A rollout mixes all heads.
    head = "mean" if quantity == "rollout" else head_of(analysis, request)
    return Matrix(quantity, layer, head)  # pyright: ignore[reportArgumentType]


def flag(request: Request, name: str) -> bool:
    """``request[name]`` as a bool; True where it is left out."""
    value = request.get(name, True)
    if not isinstance(value, bool):
        raise SliceError(f"{name} must be true or false, got {short_repr(value)}.")
    return value


def number(request: Request, name: str) -> float:
    """``request[name]`` as a finite number; -inf where it is left out."""
    value = request.get(name)
    if value is None:
        return -np.inf
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise SliceError(f"{name} must be a number, got {short_repr(value)}.")
    return float(value)
