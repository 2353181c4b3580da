"""Attention metrics of every head (docs/definitions.md, section 2)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attn_widget.checks import short_repr
from attn_widget.errors import InputError
from attn_widget.figures.arrays import Bool, Float32, Tau
from attn_widget.figures.catalog.head_matrix import HeadMatrix
from attn_widget.figures.catalog.metrics import METRICS
from attn_widget.figures.catalog.registry import Counts
from attn_widget.figures.choice import Choice, queries_with_choice
from attn_widget.host.frames import dataframe, head_records
from attn_widget.host.threads import pool
from attn_widget.trace import Trace

if TYPE_CHECKING:
    from pandas import DataFrame


TAU = 0.01  # as published
KEYS = tuple(METRICS)
SHARED_FROM = 100_000  # cells of a layer, from which threads pay
MAX_WORKERS = 8


def threshold(tau: Tau, n: int) -> np.float32:
    """The weight below which a cell counts as sparse, rounded to float32 as the weights are.

    ``tau``, float in (0, 1] or "uniform": ``"uniform"`` is ``1 / n``, the weight of a head that looks everywhere
    alike. ``n``: number of tokens.

    >>> float(threshold("uniform", 4))
    0.25
    """
    if isinstance(tau, str):
        if tau == "uniform":
            return np.float32(1 / n)
    elif isinstance(tau, (int, float)) and not isinstance(tau, bool) and 0 < tau <= 1:
        return np.float32(tau)
    raise InputError(
        f"tau is {short_repr(tau)}.", 'Give a number above 0 and up to 1, or "uniform" (1/n).'
    )


def thresholds(tau: Tau, choice: Choice) -> np.float32 | Float32:
    """`threshold`, by query where it depends on how many keys each may look at: ``1 / m_i``, float32 [r]."""
    if tau == "uniform" and choice.mask is not None:
        return (1 / choice.counts[choice.queries]).astype(np.float32)
    return threshold(tau, choice.n_keys)


def layer_metrics(
    weights: Float32, allowed: Bool | None = None, tau: Tau = TAU, *, square: bool = True
) -> dict[str, Float32]:
    """The metrics of each head of a layer, with quartiles and the two scaled entropies.

    With ``A`` one head's matrix, ``m_i`` the number of keys that query ``i`` may look at, and ``R`` the
    queries with a choice, ``m_i >= 2`` (with a full mask all queries, and ``m_i = n``):
    ``confidence_max`` and ``confidence_avg`` are the maximum and the mean of the row maxima over ``R``;
    ``focus_entropy = -sum A ln A`` in nats (high = diffuse); ``sparsity`` is the share of possible cells
    of ``R`` with ``A < tau``; ``q25``, ``distribution_median``, ``q75`` are quartiles of these cells, exact,
    interpolated linearly; ``uniformity`` is the root of the mean of ``(A - 1 / m_i)^2`` over all possible
    cells (high = less uniform); ``focus_normalized`` is the entropy over the largest possible one,
    ``sum ln m_i``; ``focus_per_row`` is its mean over ``R`` (Clark et al. 2019); ``effective_keys`` is the
    mean over ``R`` of exp of the row's entropy: a query that attends to k keys alike counts k.

    ``weights``, float32 [H, n, n]: rows are queries; each sums to 1. [H, n, m] unless ``square``. ``allowed``, bool
    [n, n]: False where the model's mask makes a weight impossible. ``tau``, float or "uniform": see `threshold`.
    ``square``: whether queries and keys are the same tokens. Returns dict of str to float32 [H]: the keys of
    `KEYS`. NaN where a figure is not defined: ``focus_normalized`` when no row has two possible cells (n = 1),
    everything when the matrix holds NaN.

    References
    ----------
    Golshanrad & Faghih, "From Attention to Assurance: Enhancing Transformer Encoder Reliability
    Through Advanced Testing and Online Error Prediction", SSRN 2024; Voita et al., ACL 2019
    (confidence); Clark et al., BlackboxNLP 2019 (entropy by row).

    Examples
    --------
    >>> import numpy as np
    >>> uniform = np.full((1, 4, 4), 0.25, dtype=np.float32)
    >>> m = layer_metrics(uniform, tau="uniform")
    >>> float(m["focus_normalized"][0]), float(m["uniformity"][0]), float(m["sparsity"][0])
    (1.0, 0.0, 0.0)
    """
    if (
        weights.ndim != 3
        or 0 in weights.shape[1:]
        or (square and weights.shape[1] != weights.shape[2])
    ):
        wanted = "[heads, n, n]" if square else "[heads, n, m]"
        raise InputError(f"Weights have shape {list(weights.shape)}, expected {wanted}.")
    n, n_keys = weights.shape[1:]
    if allowed is not None and allowed.shape != (n, n_keys):
        raise InputError(f"The mask has shape {list(allowed.shape)}, expected [{n}, {n_keys}].")
    choice = Choice(allowed, n, n_keys)
    tau32 = thresholds(tau, choice)
    figures = np.empty((len(KEYS), weights.shape[0]), dtype=np.float32)

    def fill(heads: range) -> None:
        buffer = np.empty((n, n_keys), dtype=np.float32)  # one head at a time stays in the cache
        for index in heads:
            figures[:, index] = head_values(HeadMatrix.of(weights[index], choice, tau32, buffer))

    workers = usable_cores() if weights.size >= SHARED_FROM else 1
    shares = [range(first, len(weights), workers) for first in range(workers)]
    if workers == 1:
        fill(*shares)
    else:
        with pool(workers) as executor:
            for done in [executor.submit(fill, share) for share in shares]:
                done.result()
    return dict(zip(KEYS, figures, strict=True))


def head_values(head: HeadMatrix) -> list[float]:
    """The metrics of one head, in the order of `KEYS`; NaN when its matrix holds NaN."""
    if np.isnan(head.row_max.max()) or np.isnan(head.forced).any():
        return [float("nan")] * len(KEYS)
    return [METRICS[key].value(head) for key in KEYS]


def usable_cores() -> int:
    """Cores that this process may use, at most `MAX_WORKERS`."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = os.cpu_count() or 1 if affinity is None else len(affinity(0))
    return min(cores, MAX_WORKERS)


class Summary(NamedTuple):
    """One metric over the heads of each layer, and over all heads; heads without it are left out.

    Attributes
    ----------
    mean, low, high : float32 [L]
    model_mean, model_low, model_high : float
    """

    mean: Float32
    low: Float32
    high: Float32
    model_mean: float
    model_low: float
    model_high: float


@dataclass(frozen=True)
class Metrics:
    """The metrics of `layer_metrics` for every head of every layer: ``metrics.sparsity`` and so on.

    Attributes
    ----------
    values : mapping of str to float32 [L, H]
        By the keys of `KEYS`, each of which is an attribute too; NaN = N/A.
    tau : float or "uniform"
        What ``sparsity`` was counted with.
    """

    values: Mapping[str, Float32]
    tau: Tau = TAU

    def __getattr__(self, key: str) -> Float32:
        if key in KEYS:
            return self.values[key]
        raise AttributeError(f"Metrics has no {key!r}; it has {', '.join(KEYS)}.")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *KEYS]

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return KEYS

    def as_dict(self) -> dict[str, Float32]:
        """Every metric by name, each float32 [L, H]."""
        return dict(self.values)

    def summary(self) -> dict[str, Summary]:
        """Mean, minimum and maximum of the heads' figures, by layer and for the model.

        This is the mean of figures, never the figure of the averaged matrix.
        """
        return {key: summarize(values) for key, values in self.as_dict().items()}

    def to_dataframe(self) -> DataFrame:
        """One row a head: ``layer``, ``head`` and each metric (needs pandas)."""
        return dataframe(head_records(**self.as_dict()))

    def __repr__(self) -> str:
        layers, heads = self.confidence_max.shape
        return f"Metrics({layers} layers, {heads} heads, tau={self.tau!r})"


def summarize(values: Float32) -> Summary:
    """Mean and range of ``values``, float32 [L, H], over heads and over everything; NaN is left out.

    >>> import numpy as np
    >>> summarize(np.array([[1, 3], [np.nan, 5]], dtype=np.float32)).mean.tolist()
    [2.0, 5.0]
    """
    defined = ~np.isnan(values)
    counts = defined.sum(axis=1)
    some = counts > 0
    total = np.where(defined, values, 0).sum(axis=1, dtype=np.float64)
    mean = np.where(some, total / np.maximum(counts, 1), np.nan)
    low = np.where(some, np.where(defined, values, np.inf).min(axis=1), np.nan)
    high = np.where(some, np.where(defined, values, -np.inf).max(axis=1), np.nan)
    everything = values[defined].astype(np.float64)
    return Summary(
        mean.astype(np.float32),
        low.astype(np.float32),
        high.astype(np.float32),
        float(everything.mean()) if everything.size else float("nan"),
        float(everything.min()) if everything.size else float("nan"),
        float(everything.max()) if everything.size else float("nan"),
    )


def compute_metrics(trace: Trace, tau: Tau = TAU, *, mean_head: bool = False) -> Metrics:
    """The metrics of every head, layer by layer: memory stays that of one layer.

    ``tau``, float or "uniform": see `threshold`. ``mean_head``: of the layer's mean matrix instead (a pseudo-head:
    the matrix is averaged first); the arrays are then [L, 1].
    """
    layers: list[dict[str, Float32]] = []
    for layer in range(trace.n_layers):
        weights = trace.weights(layer, "mean")[None] if mean_head else trace.layer_weights(layer)
        layers.append(layer_metrics(weights, trace.allowed(layer), tau, square=trace.square))
    return stack_metrics(layers, tau)


def stack_metrics(layers: list[dict[str, Float32]], tau: Tau) -> Metrics:
    """`Metrics` from the dicts of `layer_metrics`, in the order of the layers."""
    return Metrics({key: np.stack([layer[key] for layer in layers]) for key in KEYS}, tau)


Scale = dict[str, tuple[float, float, float]]


def metric_scale(counts: Sequence[Counts], tau: Tau = TAU) -> list[Scale]:
    """Scale of each metric with a card: least, most, and the figure of uniform attention.

    ``counts``, sequence of int [n]: for each layer, how many keys each query may attend to. ``tau``, float or
    "uniform": see `threshold`. Returns: by layer; one entry where all layers are alike.

    >>> import numpy as np
    >>> metric_scale([np.array([4, 4, 4, 4])] * 12)[0]["focus_entropy"]
    (0, 5.545177444479562, 5.545177444479562)
    """
    first, *others = counts
    different = counts if any(not np.array_equal(first, other) for other in others) else [first]
    threshold(tau, len(first))  # refuses what is no tau
    return [
        {
            key: metric.card.scale(row, tau)
            for key, metric in METRICS.items()
            if metric.card is not None
        }
        for row in (counts[queries_with_choice(counts)] for counts in different)
    ]
