"""Windows of a text: where they begin and end, and which one a token is read in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_count, short_repr
from attn_widget.errors import InputError, InputTypeError
from attn_widget.model.tokens import Token

SHARED = 4  # by default neighbors share one in so many tokens
FEWEST_TOKENS = 2  # of the text, in a window
MAX_WINDOWS = 2_000


@dataclass(frozen=True)
class Windows:
    """Overlapping windows of a text, of which each position belongs to one."""

    size: int  # tokens of a window, special ones included
    # Tokens of the text that neighbors share, at least: the last window begins earlier, so that it is full.
    overlap: int
    # First and past the last position of each, without what every window has (`read_whole`).
    spans: tuple[tuple[int, int], ...]
    # [n]; the window of each position: that in which it is most central, or of a decoder, which looks back alone,
    # the one with most text before it. Its row of attention, its hidden state and its predictions are of this
    # window.
    of: NDArray[np.int32]

    def picked(self, positions: NDArray[np.intp]) -> Windows:
        """The windows of some of the positions."""
        return Windows(self.size, self.overlap, self.spans, self.of[positions])


def check_windows(windows: Any, limit: int) -> tuple[int, int] | None:
    """``windows`` as size and overlap; None for False.

    ``limit``: most tokens that the model reads. Raises `InputTypeError`: anything but a bool or a pair of int.
    Raises `InputError`: a window that the model cannot read, or an overlap that leaves no step.

    >>> check_windows(True, 512), check_windows((100, 20), 512), check_windows(False, 512)
    ((512, 128), (100, 20), None)
    """
    if isinstance(windows, bool):
        return (limit, limit // SHARED) if windows else None
    if not isinstance(windows, (tuple, list)) or len(windows) != 2:
        raise InputTypeError(
            f"windows is {short_repr(windows)}, expected True, False or (size, overlap).",
            "windows=(512, 128) reads 512 tokens at a time, and 128 of them again in the next window.",
        )
    size = check_count(
        windows[0], "the size of windows", FEWEST_TOKENS, limit, "It is a number of tokens."
    )
    overlap = check_count(
        windows[1], "the overlap of windows", 0, size - 1, "It is a number of tokens."
    )
    return size, overlap


def plan_windows(
    n_tokens: int, before: int, after: int, size: int, overlap: int, *, looks_back: bool = False
) -> Windows:
    """Windows over ``n_tokens`` positions, of which all have the first ``before`` and the last ``after``.

    ``size``, ``overlap``: see `check_windows`. ``looks_back``: whether each token looks at itself and at earlier
    ones alone.

    >>> found = plan_windows(12, 1, 1, size=6, overlap=2)
    >>> found.spans, found.of.tolist()
    (((1, 5), (3, 7), (5, 9), (7, 11)), [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3])
    >>> plan_windows(10, 0, 0, size=4, overlap=2, looks_back=True).of.tolist()
    [0, 0, 0, 0, 1, 1, 2, 2, 3, 3]
    """
    room, length = size - before - after, n_tokens - before - after
    step = room - overlap
    if room < FEWEST_TOKENS or step < 1:
        raise InputError(
            f"Windows of {size} tokens have room for {max(room, 0)} of the text beside {before + after} that each has, "
            f"and neighbors are to share {overlap}.",
            f"Give a size of at least {before + after + max(overlap + 1, FEWEST_TOKENS)}, or a smaller overlap.",
        )
    last = max(length - room, 0)
    starts = [*range(0, last, step), last]
    if len(starts) > MAX_WINDOWS:
        raise InputError(
            f"The text would be read in {len(starts):,} windows, at most {MAX_WINDOWS:,} are.",
            "Give larger windows or a smaller overlap, or a part of the text.",
        )
    spans = [(before + start, before + min(start + room, length)) for start in starts]
    of = np.zeros(n_tokens, dtype=np.int32)
    depth = np.full(n_tokens, -1)
    for number, (first, end) in enumerate(spans):
        place = np.arange(first, end)
        # Windows come in order: with the same text before it, a position keeps the first of them.
        central = place - first if looks_back else np.minimum(place - first, end - 1 - place)
        nearer = central > depth[first:end]
        of[first:end][nearer] = number
        depth[first:end][nearer] = central[nearer]
    of[n_tokens - after :] = len(spans) - 1
    return Windows(size, overlap, tuple(spans), of)


def read_whole(tokens: Sequence[Token]) -> tuple[int, int]:
    """Number of tokens at the beginning and at the end of every window: special ones, and the shorter text of a pair.

    >>> def token(segment, special=False):
    ...     return Token("a", 0, 0, 1, segment=segment, special=special)
    >>> cls, sep = token(0, True), token(0, True)
    >>> read_whole([cls, token(0), token(0), sep])
    (1, 1)
    >>> read_whole([cls, token(0), sep, token(1), token(1), sep])
    (3, 1)
    """
    segments = np.array([-1 if token.special else token.segment for token in tokens])
    longer = int((segments == 1).sum() > (segments == 0).sum())
    words = np.flatnonzero(segments == longer)
    return int(words[0]), len(tokens) - 1 - int(words[-1])
