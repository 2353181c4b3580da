"""Positional patterns: how much each head looks at the token before and the token after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_widget.figures.arrays import Float32, Float64
from attn_widget.figures.catalog.aims import PATTERNS
from attn_widget.figures.marginals import Marginals
from attn_widget.figures.tables import head_records
from attn_widget.host.frames import dataframe
from attn_widget.trace.windows.masks import Mask, allowed_on_diagonal

KEYS = tuple(aim.key for aim in PATTERNS)
OFFSETS = {"previous": -1, "next": 1}


@dataclass(frozen=True)
class Patterns:
    """Mean weight on the neighbors of each query, for every head.

    Descriptive figures besides the metrics and the seven specializations: roles do not use them.

    Attributes
    ----------
    previous, next : float32 [L, H]
        In [0, 1]; NaN = N/A: one token, or a mask that forbids the neighbor to every query.
    """

    previous: Float32
    next: Float32

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the patterns."""
        return KEYS

    def as_dict(self) -> dict[str, Float32]:
        """Every pattern by name, each float32 [L, H]."""
        return {key: getattr(self, key) for key in KEYS}

    def to_dataframe(self) -> Any:
        """One row a head: ``layer``, ``head`` and each pattern (needs pandas)."""
        return dataframe(head_records(self.as_dict()))

    def __repr__(self) -> str:
        layers, heads = self.previous.shape
        return f"Patterns({layers} layers, {heads} heads)"


def positional_patterns(marginals: Marginals, allowed: Sequence[Mask | None]) -> Patterns:
    """Mean weight on the previous and on the next token, over the queries that have one.

    ``previous`` is the mean of ``A[i, i - 1]`` over ``i >= 1``, ``next`` that of ``A[i, i + 1]`` over
    ``i <= n - 2``. A head that attends everywhere alike has ``1 / n``.

    Parameters
    ----------
    marginals : Marginals
        With arrays [L, H, n] and [L, H].
    allowed : sequence of (bool [n, n], a rule, or None), one a layer
        False where the model's mask makes a weight impossible: such queries are not counted.

    Returns
    -------
    Patterns

    References
    ----------
    Clark et al., "What Does BERT Look At?", BlackboxNLP 2019, section 3.1 (relative position).

    Examples
    --------
    >>> import numpy as np
    >>> from attn_widget.figures.marginals import layer_marginals, stack_marginals
    >>> back = np.array([[[1, 0, 0], [1, 0, 0], [0, 0.5, 0.5]]], dtype=np.float32)
    >>> p = positional_patterns(stack_marginals([layer_marginals(back)]), [None])
    >>> p.previous.tolist(), p.next.tolist()
    ([[0.75]], [[0.0]])
    """
    sums = {"previous": marginals.on_previous, "next": marginals.on_next}
    n = marginals.n_tokens
    return Patterns(
        **{key: _mean_over_queries(sums[key], allowed, OFFSETS[key], n) for key in KEYS}
    )


def _mean_over_queries(
    total: Float64, allowed: Sequence[Mask | None], offset: int, n: int
) -> Float32:
    """``total`` [L, H] over the cells of a diagonal that each layer's mask leaves possible."""
    possible = [n - 1 if mask is None else allowed_on_diagonal(mask, offset) for mask in allowed]
    counts = np.array(possible, dtype=np.float64)[:, None]
    ratio = np.full(total.shape, np.nan)
    return np.divide(total, counts, out=ratio, where=counts > 0).astype(np.float32)
