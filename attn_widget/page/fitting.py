"""A page within a size limit: what it includes, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attn_widget.checks import check_count
from attn_widget.errors import InputError
from attn_widget.page.encodings.chunks import is_long, least_bytes
from attn_widget.page.saved_run import ExportOptions, SavedRun, check_options_of, saved_run
from attn_widget.protocol.paint import opening_of

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.protocol.selection import Selection
    from attn_widget.protocol.source import Source

LEAST_BYTES, LARGEST_BYTES = 1_000, 400_000_000
IN_BYTES = "It limits the size of the page in bytes: max_bytes=5_000_000 means 5 MB."
TEXT = 5 / 4  # characters of a byte: compress.py
FIGURES = 0.25  # of the room: thumbnails, metrics, predictions, at first guess
TENSORS_FROM = 3_000_000  # bytes of a page that has room for tensors of the view Inside
TRIES = 4


class NoRoomError(InputError):
    """The smallest page of a run is larger than asked for; ``size`` says how large, in bytes."""

    def __init__(self, size: int, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.size = size


def fitted_run(
    source: Source, selection: Selection, kept: ExportOptions, most: int, shell: int
) -> tuple[SavedRun, str]:
    """Pack a run so that its page has at most ``most`` bytes.

    The selected head comes first, then the other heads of its layer, then the layers around it, each in the
    best code that fits; thumbnails and metrics of all heads always go along. The page says what was left
    out.

    Parameters
    ----------
    kept : ExportOptions
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
    most = check_count(most, "max_bytes", LEAST_BYTES, LARGEST_BYTES, IN_BYTES)
    if source.analysis is None:
        return checked(saved_run(source, selection, kept), most, shell), ""
    kept = check_options_of(source, kept)
    analysis = source.analysis
    opened = opening_of(analysis, selection, kept.layers, kept.heads)
    selection = replace(selection, layer=opened.layer, head=opened.head, token=opened.token)
    tensors = 1.0 if most >= TENSORS_FROM else 0.0
    room = (most - shell) / TEXT
    figures = FIGURES * room
    run: SavedRun | None = None
    for attempt in range(TRIES):
        attention = 0 if attempt == TRIES - 1 else room - figures
        layers, heads = parts_that_fit(analysis, selection, kept, attention)
        lacks = left_out(analysis, kept, layers, heads, inside=tensors == 0)
        run = saved_run(
            source,
            selection,
            replace(kept, layers=layers, heads=heads),
            tensors=tensors,
            most=max(attention, 1),
            left_out=lacks,
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


def fitted_runs(
    shown: Sequence[tuple[Source, Selection]], kept: ExportOptions, most: int, shell: int
) -> tuple[list[SavedRun], str]:
    """`fitted_run` of several runs in one page, which share its bytes: what a short text leaves, a longer one gets.

    Raises
    ------
    InputError
        Too few bytes for the selected head of each.
    """
    if len(shown) == 1:
        run, lacks = fitted_run(*shown[0], kept, most, shell)
        return [run], lacks
    most = check_count(most, "max_bytes", LEAST_BYTES, LARGEST_BYTES, IN_BYTES)
    runs: dict[int, SavedRun] = {}
    lacking: dict[int, str] = {}
    room, count = most - shell, len(shown)
    for number in sorted(range(count), key=lambda number: shown[number][0].size):
        share = max(room // (count - len(runs)), 0)
        try:
            run, lacks = fitted_run(*shown[number], kept, max(shell + share, LEAST_BYTES), shell)
        except NoRoomError as error:
            others = [shown[other] for other in range(count) if other not in {*runs, number}]
            sizes = [error.size, *(smallest(*other, kept, shell) for other in others)]
            least = most - room + sum(size - shell for size in sizes)
            raise InputError(
                f"A page of {most:,} bytes has no room for {count} widgets: its code takes {shell:,}, and number "
                f"{number + 1} alone {error.size - shell:,}.",
                f"Give max_bytes={least} or more, fewer widgets or views, or shorter texts.",
            ) from error
        runs[number] = run
        room -= size_of(run, 0)
        if lacks:
            lacking[number] = f"{lacks} of widget {number + 1}"
    return [runs[number] for number in range(count)], "; ".join(
        lacking[number] for number in sorted(lacking)
    )


def smallest(source: Source, selection: Selection, kept: ExportOptions, shell: int) -> int:
    """Bytes of the smallest page of a run."""
    try:
        run, _ = fitted_run(source, selection, kept, LEAST_BYTES, shell)
    except NoRoomError as error:
        return error.size
    return size_of(run, shell)


def parts_that_fit(
    analysis: Analysis, selection: Selection, kept: ExportOptions, room: float
) -> tuple[list[int] | None, list[int] | None]:
    """Layers and heads whose attention takes at most ``room`` bytes; None: all that were asked for."""
    layers = [*(kept.layers or range(analysis.n_layers))]
    heads = [*(kept.heads or range(analysis.n_heads))]
    layer, head = selection.place
    one = least_bytes(analysis, layers, heads)  # of a head
    if one * len(layers) * len(heads) <= room:
        return layers if kept.layers else None, heads if kept.heads else None
    fitting = int(room / (one * len(heads)))
    if fitting >= 1:
        return around(layers, layer, fitting), heads if kept.heads else None
    one_head = heads[0] if isinstance(head, str) else head
    # The mean head of a short text takes as much as a head of its own.
    some = int(room / one) if is_long(analysis) else 1
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
    kept: ExportOptions,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
    *,
    inside: bool,
) -> str:
    """Requested parts that a page lacks, in words; empty if none."""
    lacking: list[str] = []
    wanted = [*(kept.layers or range(analysis.n_layers))]
    missing = [layer for layer in wanted if layers is not None and layer not in layers]
    if missing:
        lacking.append(f"matrices of layers {ranges(missing)}")
    wanted = [*(kept.heads or range(analysis.n_heads))]
    others = [head for head in wanted if heads is not None and head not in heads]
    if others:
        lacking.append(f"matrices of heads {ranges(others)}")
        if is_long(analysis):
            lacking.append("mean heads")
    if inside:
        lacking.append("tensors of the view Inside")
    return ", ".join(lacking)


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
    return shell + sum(len(text) + 100 for text in run.snapshot.texts.values())


def checked(run: SavedRun, most: int, shell: int) -> SavedRun:
    size = size_of(run, shell)
    if size > most:
        raise NoRoomError(
            size,
            f"A page of {most:,} bytes has no room for this text: its code takes {shell:,}, and its smallest page {size:,}.",
            f"Give max_bytes={size} or more, fewer views, or a shorter text.",
        )
    return run
