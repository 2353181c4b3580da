"""Logits of the language-model head, kept for the latest runs: they outweigh all else that a run holds."""

from __future__ import annotations

import threading
import weakref

from attn_widget.trace.base import Outputs


class LogitsCache:
    """Drops the oldest logits when all together pass a limit; they are then computed again.

    ``limit``: bytes.

    >>> import torch
    >>> from attn_widget.trace import Outputs
    >>> kept, runs = LogitsCache(1000), [Outputs(logits=torch.zeros(100)) for _ in range(3)]
    >>> for run in runs:
    ...     kept.add(run)
    >>> [run.logits is None for run in runs]
    [True, False, False]
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._held: list[weakref.ref[Outputs]] = []

    def add(self, outputs: Outputs) -> None:
        """Count the logits of a new run, which can compute them again."""
        with self._lock:
            before = [held for ref in self._held if (held := ref()) is not None]
            # Whoever holds a run may have given its logits up.
            alive = [held for held in before if held.logits is not None] + [outputs]
            total = sum(held.logits.nbytes for held in alive)
            while total > self.limit:
                oldest = alive.pop(0)
                total -= oldest.logits.nbytes
                oldest.logits = None
            self._held = [weakref.ref(held) for held in alive]
