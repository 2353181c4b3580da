"""The page's size budget, and each run's share of it."""

from __future__ import annotations

from typing import TypedDict

from attn_widget.errors import InputError
from attn_widget.page.saved_run import SavedRun

MAX_BYTES = 400e6  # of a page, which the browser holds whole
FOR_ATTENTION = 0.45  # of a run's share of that, compressed: the rest is figures and predictions
ENOUGH = 8  # runs, from which the size of the page is foreseen


class Share(TypedDict):
    """Share of a page that one run may take, as fields of a `PageSpec`."""

    tensors: float
    most: float


class SizeBudget:
    """The rest of a page's budget, shared by many runs.

    ``tokens``: of each run. ``what``: what the runs are, for the reader. ``instead``: how else they can be saved.
    """

    def __init__(self, tokens: list[int], what: str = "texts", instead: str = "") -> None:
        self._tokens = tokens
        self._what = what
        self._instead = instead
        self._seen = 0
        self._bytes = 0

    @property
    def of_one(self) -> Share:
        """Share of one run."""
        count = len(self._tokens)
        return {"tensors": 1 / count, "most": FOR_ATTENTION * MAX_BYTES / count}

    def take(self, run: SavedRun) -> None:
        """Count a run."""
        self._bytes += sum(map(len, run.snapshot.texts.values()))
        self._seen += 1
        count = len(self._tokens)
        if self._seen < min(ENOUGH, count):
            return
        mean = self._bytes / self._seen
        longer = sum(self._tokens) / count / (sum(self._tokens[: self._seen]) / self._seen)
        foreseen = mean * count * min(1.0, longer)
        if foreseen > MAX_BYTES:
            raise InputError(
                f"A page of these {count:,} {self._what} would have some {foreseen / 1e6:,.0f} MB, more than "
                f"the {MAX_BYTES / 1e6:.0f} MB that a browser can be asked to open.",
                f"Give about {int(count * MAX_BYTES / foreseen):,} at a time, or fewer layers=, heads=."
                f"{self._instead}",
            )
