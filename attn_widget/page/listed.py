"""Cells of a list: a row for each text, shaded by its number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.model.tokens import Token
from attn_widget.protocol.source import Cells

ROWS = 24  # of a list that has one for each token
NAMED = 3  # rows that the description names
LEAST = 0.005  # share that is named


def listed(
    what: str, caption: str, rows: Sequence[str], values: Sequence[float], column: str, top: float | None = None,
    *, signed: bool = False,
) -> Cells:  # fmt: skip
    """Rows with a number each, whose strongest shade is ``top``; without one, that of the largest number."""
    sizes = np.abs(np.asarray(values, np.float64))
    most = float(sizes.max(initial=0)) if top is None else top
    shades = (np.asarray(values, np.float64) / (most or 1.0)).astype(np.float32)[:, None]
    ends = (f"−{most:.2g}", f"+{most:.2g}") if signed else ("0", f"{most:.2g}")
    return Cells(
        shades, f"{what}: {'; '.join(rows[:NAMED])}", caption, rows, [column], ends, signed
    )


def shares(names: Sequence[str], probabilities: Sequence[float]) -> str:
    """The first of some names with what they have of 1."""
    pairs = zip(names[:NAMED], probabilities, strict=False)
    named = [f"{name} {share:.0%}" for name, share in pairs if share >= LEAST]
    return ", ".join(named) or "none is likely"


def token_label(token: Token) -> str:
    """A token as labels name it."""
    return token.surface if token.surface.strip() else token.text


def too_slow() -> NotAvailableError:
    """Error for a view that a saved page pictures, and the output of a cell does not."""
    return NotAvailableError(
        "It takes a pass of the model for each token, for which the output of a cell does not wait.",
        "A saved page has it.",
    )
