"""Figures of one item after another, kept in a folder while they are made."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from attn_widget.features.corpus.storage import Parts, Rows
from attn_widget.host.store import locked

KEEP_EVERY = 20.0  # seconds of work that a crash may cost
Item = TypeVar("Item")


def resumable(
    items: Sequence[Item],
    figures: Callable[[int, Item], tuple[int, NDArray[np.float32]] | None],
    identity: dict[str, Any],
    folder: Path | None,
    *,
    label: str,
    progress: bool,
) -> list[Rows]:
    """Figures of every item, those of an earlier call from ``folder``.

    ``figures``: tokens and figures [keys, L, H] of an item and its index; None leaves it out. ``identity``: what
    the work depends on; see `Parts`. ``folder``: where finished work is kept. An error, an interrupt included,
    keeps what was finished. ``label``: of the progress bar. ``progress``: show it. Raises `InputError`: as in
    `Parts`; another call works in the folder, or it cannot be made.
    """
    if folder is None:
        return _done(items, figures, identity, None, label, progress)
    with locked(folder, "resume"):
        return _done(items, figures, identity, Parts(folder, identity), label, progress)


def _done(
    items: Sequence[Item],
    figures: Callable[[int, Item], tuple[int, NDArray[np.float32]] | None],
    identity: dict[str, Any],
    parts: Parts | None,
    label: str,
    progress: bool,
) -> list[Rows]:
    done: list[Rows] = [] if parts is None else list(parts.done)
    finished = {int(k) for rows in done for k in rows.index}
    fresh: list[tuple[int, int, NDArray[np.float32]]] = []

    def keep() -> None:
        if fresh:
            index, n_tokens, values = zip(*fresh, strict=True)
            rows = Rows(np.array(index), np.array(n_tokens), np.stack(values))
            fresh.clear()
            done.append(rows)
            if parts is not None:
                parts.add(rows, identity)

    from tqdm.auto import tqdm

    written_at = time.monotonic()
    bar = tqdm(total=len(items), initial=len(finished), desc=label, disable=not progress)
    try:
        for k, item in enumerate(items):
            if k in finished:
                continue
            row = figures(k, item)
            if row is not None:
                fresh.append((k, *row))
            bar.update(1)
            if time.monotonic() - written_at > KEEP_EVERY:
                keep()
                written_at = time.monotonic()
    finally:
        bar.close()
        keep()
    return done
