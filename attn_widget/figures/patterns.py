"""Patterns: how much each head looks at neighbors, at repeated tokens and at what followed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attn_widget.figures.arrays import Float32, Float64, Int32
from attn_widget.figures.catalog.specializations import PATTERNS
from attn_widget.figures.choice import (
    Choice,
    Targets,
    by_mask,
    choices_of,
    divided,
    mean_of_layers,
)
from attn_widget.figures.marginals import Marginals
from attn_widget.host.frames import dataframe, head_records
from attn_widget.trace.windows.masks import Mask

if TYPE_CHECKING:
    from pandas import DataFrame


KEYS = tuple(metric.key for metric in PATTERNS)
OFFSETS = {"previous": -1, "next": 1}
REPEATS = {"duplicate": False, "induction": True}  # whether the key is the token after


@dataclass(frozen=True)
class Patterns:
    """Mean weight on the keys of each pattern, for every head: ``patterns.previous`` and so on.

    Descriptive figures besides the metrics and the seven specializations: roles do not use them.

    Attributes
    ----------
    values : mapping of str to float32 [L, H]
        By the keys of `KEYS`, each of which is an attribute too, in [0, 1]; NaN = N/A: no query has such a
        key that its mask allows. ``rest`` is there only where rows may sum to less than 1.
    chance : mapping of str to float64 [L]
        The figure of a head that attends to all possible keys of each query alike.
    """

    values: Mapping[str, Float32]
    chance: Mapping[str, Float64]

    def __getattr__(self, key: str) -> Float32:
        if key in KEYS and key in self.values:
            return self.values[key]
        raise AttributeError(f"Patterns has no {key!r}; it has {', '.join(self.keys)}.")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.keys]

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the patterns."""
        return tuple(self.__dict__.get("values", ()))

    def as_dict(self) -> dict[str, Float32]:
        """Every pattern by name, each float32 [L, H]."""
        return dict(self.values)

    def chance_of(self, key: str) -> float:
        """The chance level of a pattern, mean over the layers."""
        return mean_of_layers(self.chance[key])

    def to_dataframe(self) -> DataFrame:
        """One row a head: ``layer``, ``head`` and each pattern (needs pandas)."""
        return dataframe(head_records(**self.as_dict()))

    def __repr__(self) -> str:
        layers, heads = self.previous.shape
        return f"Patterns({layers} layers, {heads} heads)"


def head_patterns(
    marginals: Marginals,
    allowed: Sequence[Mask | None],
    kinds: Int32,
    rest: Float32 | None = None,
) -> Patterns:
    """Mean weight on neighbors and on repeated tokens, over the queries that have one.

    With ``t_i`` the token at ``i``, over the queries with a choice (`attn_widget.figures.choice`):
    ``previous`` is the mean of ``A[i, i - 1]`` and ``next`` that of ``A[i, i + 1]``; ``duplicate`` is the mean
    of ``sum A[i, j]`` over ``j < i`` with ``t_j = t_i``, and ``induction`` that over ``j <= i`` with
    ``t_{j-1} = t_i``: the tokens that followed the query's earlier occurrences.

    ``marginals``: with arrays [L, H, n] and [L, H], and the sums over repeats of ``kinds``. ``allowed``, sequence
    of (bool [n, n], a rule, or None), one a layer: False where the model's mask makes a weight impossible: such
    cells are not counted. ``kinds``, int32 [n]: spelling of each token (`attn_widget.figures.choice.kinds_of`).
    ``rest``, float32 [L, H]: one minus the mean row sum, where rows may sum to less than 1.

    References
    ----------
    Clark et al., "What Does BERT Look At?", BlackboxNLP 2019, section 3.1 (relative position); Wang et al.,
    "Interpretability in the Wild", ICLR 2023 (duplicate tokens); Olsson et al., "In-context Learning and
    Induction Heads", 2022 (prefix matching).

    Examples
    --------
    >>> import numpy as np
    >>> from attn_widget.figures.marginals import layer_marginals, stack_marginals
    >>> back = np.array([[[1, 0, 0], [1, 0, 0], [0, 0.5, 0.5]]], dtype=np.float32)
    >>> kinds = np.array([0, 1, 0])
    >>> sums = stack_marginals([layer_marginals(back, kinds=kinds)])
    >>> p = head_patterns(sums, [None], kinds)
    >>> [p.values[key].tolist() for key in ("previous", "next", "duplicate", "induction")]
    [[[0.75]], [[0.0]], [[0.0]], [[0.5]]]
    """
    sums = {
        "previous": marginals.on_previous,
        "next": marginals.on_next,
        "duplicate": marginals.on_duplicate,
        "induction": marginals.on_induction,
    }
    choices = choices_of(allowed, marginals.n_tokens)
    values: dict[str, Float32] = {}
    chance: dict[str, Float64] = {}
    for key, total in sums.items():

        def targets(choice: Choice, key: str = key) -> Targets:
            if key in OFFSETS:
                return choice.diagonal(OFFSETS[key])
            return choice.repeats(kinds, after=REPEATS[key])

        found = by_mask(choices, targets)
        counts = np.array([pattern.count for pattern in found], dtype=np.float64)[:, None]
        values[key] = divided(total, counts)
        chance[key] = np.array([pattern.chance for pattern in found])
    if rest is not None:
        values["rest"], chance["rest"] = rest, np.zeros(len(choices))
    return Patterns(values, chance)


def mean_patterns(runs: Sequence[Patterns]) -> Patterns:
    """The mean of each pattern over runs that have the same ones; the chance levels are theirs.

    >>> import numpy as np
    >>> low, high = (
    ...     Patterns({"previous": np.full((1, 1), x, np.float32)}, {"previous": np.array([0.5])})
    ...     for x in (0.25, 0.75)
    ... )
    >>> mean_patterns([low, high]).previous.tolist()
    [[0.5]]
    """
    values: dict[str, Float32] = {}
    chance: dict[str, Float64] = {}
    for key in runs[0].keys:
        mean = np.stack([run.values[key] for run in runs]).mean(axis=0, dtype=np.float64)
        values[key] = mean.astype(np.float32)
        chance[key] = np.stack([run.chance[key] for run in runs]).mean(axis=0)
    return Patterns(values, chance)
