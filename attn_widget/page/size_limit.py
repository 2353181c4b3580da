"""A page within a size limit: what it includes, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attn_widget.analysis import Analysis
from attn_widget.checks import check_count
from attn_widget.errors import InputError
from attn_widget.page.encodings.chunks import is_long, least_bytes
from attn_widget.page.picture import figure
from attn_widget.page.saved_run import ExportOptions, SavedRun, check_options_of, saved_run
from attn_widget.protocol.initial_payload import opening_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source

MIN_BYTES, MAX_BYTES = 1_000, 400_000_000
IN_BYTES = "It limits the size of the page in bytes: max_bytes=5_000_000 means 5 MB."
TEXT = 5 / 4  # characters of a byte: compress.py
FIGURES = 0.25  # of the room: thumbnails, metrics, predictions, at first guess
TENSORS_FROM = 3_000_000  # bytes of a page that has room for tensors of the view Inside
TRIES = 4


def fitted_run(
    source: Source, selection: Selection, options: ExportOptions, most: int, shell: int
) -> tuple[SavedRun, str]:
    """Pack a run so that its page has at most ``most`` bytes.

    The selected head comes first, then the other heads of its layer, then the layers around it, each in the
    best code that fits; thumbnails and metrics of all heads always go along. The page says what was left
    out.

    Parameters
    ----------
    options : ExportOptions
        The requested parts: the page includes no others.
    shell : int
        Bytes of the page around its data.

    Returns
    -------
    SavedRun, str
        The second names the requested parts that were left out; empty if none.

    Raises
    ------
    InputError
        Too few bytes for the selected head; the message says how many it takes.
    """
    most = check_count(most, "max_bytes", MIN_BYTES, MAX_BYTES, IN_BYTES)
    if source.analysis is None:
        return checked(saved_run(source, selection, options), most, shell), ""
    options = check_options_of(source, options)
    analysis = source.analysis
    opened = opening_of(analysis, selection, options.layers, options.heads)
    selection = replace(selection, **opened.selected())
    tensors = 1.0 if most >= TENSORS_FROM else 0.0
    budget = (most - shell) / TEXT
    figures = FIGURES * budget
    run: SavedRun | None = None
    for attempt in range(TRIES):
        attention = 0 if attempt == TRIES - 1 else budget - figures
        layers, heads = parts_that_fit(analysis, selection, options, attention)
        lacks = left_out(analysis, options, layers, heads, inside=tensors == 0)
        run = saved_run(
            source,
            selection,
            replace(options, layers=layers, heads=heads),
            tensors=tensors,
            most=max(attention, 1),
            left_out=lacks,
            parts=False,
        )
        size = size_of(run, shell)
        if size <= most:
            return run, lacks
        if layers is not None and heads is not None and len(layers) == len(heads) == 1:
            break
        figures += (size - most) / TEXT * 1.1
        tensors = 0.0
    assert run is not None
    return checked(run, most, shell), ""


def parts_that_fit(
    analysis: Analysis, selection: Selection, options: ExportOptions, budget: float
) -> tuple[list[int] | None, list[int] | None]:
    """Layers and heads whose attention takes at most ``budget`` bytes; None: all that were asked for."""
    layers = [*(options.layers or range(analysis.n_layers))]
    heads = [*(options.heads or range(analysis.n_heads))]
    layer, head = selection.place
    head_bytes = least_bytes(analysis, layers, heads)  # of a head
    if head_bytes * len(layers) * len(heads) <= budget:
        return layers if options.layers else None, heads if options.heads else None
    fitting = int(budget / (head_bytes * len(heads)))
    if fitting >= 1:
        return around(layers, layer, fitting), heads if options.heads else None
    one_head = heads[0] if isinstance(head, str) else head
    # The mean head of a short text takes as much as a head of its own.
    some = int(budget / head_bytes) if is_long(analysis) else 1
    return [layer], around(heads, one_head, max(some, 1))


def around(layers: Sequence[int], layer: int, count: int) -> list[int]:
    """``count`` neighbors of a layer, itself among them.

    Examples
    --------
    >>> around(range(12), 1, 4), around(range(12), 6, 3)
    ([0, 1, 2, 3], [5, 6, 7])
    """
    place = [*layers].index(layer)
    first = min(max(place - count // 2, 0), max(len(layers) - count, 0))
    return [*layers][first : first + count]


def left_out(
    analysis: Analysis,
    options: ExportOptions,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
    *,
    inside: bool,
) -> str:
    """Requested parts that a page lacks, in words; empty if none."""
    lacking: list[str] = []
    wanted = [*(options.layers or range(analysis.n_layers))]
    missing = [layer for layer in wanted if layers is not None and layer not in layers]
    if missing:
        lacking.append(f"matrices of layers {ranges(missing)}")
    wanted = [*(options.heads or range(analysis.n_heads))]
    others = [head for head in wanted if heads is not None and head not in heads]
    if others:
        lacking.append(f"matrices of heads {ranges(others)}")
        if is_long(analysis):
            lacking.append("mean heads")
    if inside:
        lacking.append("tensors of the view Inside")
    parts = parts_left_out(analysis, (analysis.part,))
    if parts:
        lacking.append(parts)
    return ", ".join(lacking)


def parts_left_out(analysis: Analysis, parts: Sequence[str]) -> str:
    """Parts of an encoder-decoder that a page lacks, in words; empty if none."""
    lacking = [name for name in analysis.parts if name not in parts]
    return f"the parts {' and '.join(lacking)}, which need a kernel" if lacking else ""


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in words.

    Examples
    --------
    >>> ranges([0, 1, 2, 5, 7, 8])
    '0 to 2, 5, 7 to 8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def size_of(run: SavedRun, shell: int) -> int:
    """Bytes of the page of a run."""
    pictured = 0 if run.picture is None else len(figure(run.picture).encode()) + 100
    return shell + pictured + sum(len(text) + 100 for text in run.snapshot.texts.values())


def checked(run: SavedRun, most: int, shell: int) -> SavedRun:
    size = size_of(run, shell)
    if size > most:
        raise InputError(
            f"A page of {most:,} bytes has no room for this text: its code takes {shell:,}, and its smallest page {size:,}.",
            f"Give max_bytes={size} or more, fewer views, or a shorter text.",
        )
    return run
