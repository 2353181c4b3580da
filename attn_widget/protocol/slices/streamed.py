"""The slice ``heads``: figures of all heads of a long text, as far as they are, and the thread that computes them."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from attn_widget.errors import AttnWidgetError
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.heads import describe_layers
from attn_widget.protocol.request import Request, integer
from attn_widget.protocol.survey import surveyor

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis

log = logging.getLogger("attn_widget")

HEADS = "heads"
# Slices that read the matrices of all heads: of a long text they wait until these were walked through.
OF_ALL_HEADS = frozenset({"specialization", "patterns", "roles", "metrics"})
POLL_S = 0.02


@answers(HEADS)
def heads(analysis: Analysis, request: Request) -> Answer:
    """Thumbnails, maxima and metrics of the layers that are done, from the ``start``-th on."""
    return describe_layers(analysis, integer(request, "start", 0, analysis.n_layers + 1))


def is_surveyed(analysis: Analysis) -> bool:
    """Whether the heads of all layers have been computed."""
    return surveyor(analysis).walk.complete


class StoppedError(Exception):
    """The page wants no more, or another run has the cores."""


class HeadStream:
    """Computes the figures of all heads on a thread of its own, which can be stopped and started again.

    What is done stays done: a layer that was given up half way is computed anew.

    Attributes
    ----------
    analysis : Analysis
    failure : str
        Why it ended before all was done; empty as long as it did not.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.failure = ""
        self._walk = surveyor(analysis).walk
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def progress(self) -> list[int]:
        """Layers that are done, and all."""
        return [len(self._walk.done), self.analysis.n_layers]

    def start(self) -> None:
        """Go on, if it does not."""
        if self._thread is not None and self._thread.is_alive() and not self._stopped.is_set():
            return
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(self._stopped,), name="attn_widget heads", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End after the block of rows that is being computed."""
        self._stopped.set()

    def wait(self, start: int, seconds: float) -> bool:
        """Whether more than ``start`` layers, or all, are done within some seconds."""
        until = time.monotonic() + seconds
        wanted = min(start + 1, self.analysis.n_layers)
        while len(self._walk.done) < wanted:
            if self.failure or time.monotonic() > until:
                return False
            time.sleep(POLL_S)
        return True

    def _run(self, stopped: threading.Event) -> None:
        def check() -> None:
            if stopped.is_set():
                raise StoppedError

        try:
            while self._walk.step(check):
                check()
        except StoppedError:
            pass
        except AttnWidgetError as error:
            self.failure = f"{error.message} {error.hint}"
        except Exception as error:
            log.exception("the figures of the heads could not be computed")
            self.failure = f"{type(error).__name__}: {error}"
