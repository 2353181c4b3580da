"""Seven head-specialization metrics (docs/definitions.md, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.errors import InputError
from attn_widget.figures.arrays import Bool, Float32, Float64
from attn_widget.figures.catalog.specializations import SPECIALIZATIONS
from attn_widget.figures.choice import (
    LONG_RANGE,
    Choice,
    Targets,
    by_mask,
    choices_of,
    divided,
    mean_of_layers,
)
from attn_widget.figures.marginals import Marginals
from attn_widget.host.frames import dataframe, head_records
from attn_widget.trace.windows.masks import Mask, looks_back

if TYPE_CHECKING:
    from pandas import DataFrame


KEYS = tuple(metric.key for metric in SPECIALIZATIONS)
SHARES: tuple[str, ...] = ("syntax", "semantics", "punctuation", "entities")
EQUAL = 1e-6  # figures closer than this differ by the rounding of float32 weights, not by the model


@dataclass(frozen=True)
class Specialization:
    """The seven raw metrics of every head, with chance levels and the reasons of what is N/A.

    Attributes
    ----------
    raw : dict of str to float32 [L, H]
        Every key of `KEYS`; NaN = N/A.
    chance : dict of str to float
        What a head that attends to all possible keys of each query alike has, mean over the layers:
        with a full mask ``|P| / n`` for a share, and ``1 / n`` for ``cls``, ``self`` and ``long_range``.
        NaN where the metric is N/A.
    reasons : dict of str to str
        Why each metric that is N/A for every head is so.
    chance_by_layer : dict of str to float64 [L]
        Layers differ where their masks do.
    """

    raw: dict[str, Float32]
    chance: dict[str, float]
    reasons: dict[str, str]
    chance_by_layer: dict[str, Float64]

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return KEYS

    @property
    def syntax(self) -> Float32:
        """Share of the attention on function words, float32 [L, H]."""
        return self.raw["syntax"]

    @property
    def semantics(self) -> Float32:
        """Share of the attention on content words, float32 [L, H]."""
        return self.raw["semantics"]

    @property
    def cls(self) -> Float32:
        """Mean weight on the first token, float32 [L, H]."""
        return self.raw["cls"]

    @property
    def punctuation(self) -> Float32:
        """Share of the attention on punctuation, float32 [L, H]."""
        return self.raw["punctuation"]

    @property
    def entities(self) -> Float32:
        """Share of the attention on named entities, float32 [L, H]."""
        return self.raw["entities"]

    @property
    def long_range(self) -> Float32:
        """Mean weight of pairs five or more tokens apart, float32 [L, H]."""
        return self.raw["long_range"]

    @property
    def self(self) -> Float32:
        """Mean weight of a token on itself, float32 [L, H]."""
        return self.raw["self"]

    def scaled(self) -> dict[str, Float32]:
        """Min-max scaled by layer across its heads, each float32 [L, H] in [0, 1].

        NaN where the metric is N/A, or where all heads of the layer agree. A 1 says "the most of
        this layer", which need not be much.
        """
        return {key: scale_by_layer(values) for key, values in self.raw.items()}

    def zscores(self) -> dict[str, Float32]:
        """Standard scores across all heads of the model, each float32 [L, H].

        With the population standard deviation. NaN where the metric is N/A, or the same for all.
        """
        return {key: standardize(values) for key, values in self.raw.items()}

    def to_dataframe(self) -> DataFrame:
        """One row a head: ``layer``, ``head`` and each raw metric (needs pandas)."""
        return dataframe(head_records(**self.raw))

    def __repr__(self) -> str:
        layers, heads = self.raw["self"].shape
        missing = f", N/A: {', '.join(self.reasons)}" if self.reasons else ""
        return f"Specialization({layers} layers, {heads} heads{missing})"


def specialize(
    marginals: Marginals,
    key_sets: Mapping[str, Bool],
    reasons: Mapping[str, str] | None = None,
    *,
    first_is_summary: bool = True,
    allowed: Sequence[Mask | None] | None = None,
) -> Specialization:
    """The seven metrics from the marginals of all heads.

    Over the queries with a choice (`attn_widget.figures.choice`), which are all where the mask is full:
    with ``P`` a set of keys, ``share(P) = sum_{i, j in P} A_ij / sum_ij A_ij``; ``cls`` is the mean of
    ``A_i0``, ``self`` that of ``A_ii``, ``long_range`` that of ``A_ij`` with ``|i - j| >= 5``, each over
    the cells that the mask allows. Special tokens are in no ``P`` and in every denominator.

    ``marginals``: with arrays [L, H, n] and [L, H]. ``key_sets``, mapping of str to bool [n]: ``syntax``,
    ``semantics``, ``punctuation``, ``entities``; what is left out or empty is N/A. ``reasons``: why a set was left
    out. ``first_is_summary``: whether token 0 is ``[CLS]``, ``<s>`` or the like; otherwise ``cls`` is N/A, unless
    all masks look back alone: then token 0 is what a query attends to that finds nothing else. ``allowed``,
    sequence of (bool [n, n], a rule, or None), one a layer: False where the model's mask makes a weight impossible.
    By default all is possible.

    References
    ----------
    Clark et al., BlackboxNLP 2019; Kovaleva et al., EMNLP 2019; Voita et al., ACL 2019; Xiao et al.,
    ICLR 2024 (the first token of a decoder).

    Examples
    --------
    >>> import numpy as np
    >>> from attn_widget.figures.marginals import layer_marginals, stack_marginals
    >>> uniform = np.full((1, 4, 4), 0.25, dtype=np.float32)
    >>> keys = {"syntax": np.array([False, True, False, False])}
    >>> s = specialize(stack_marginals([layer_marginals(uniform)]), keys)
    >>> float(s.syntax[0, 0]), s.chance["syntax"], s.reasons["long_range"]
    (0.25, 0.25, 'There are 4 tokens; a pair 5 tokens apart needs 6.')
    """
    n = marginals.n_tokens
    shape = marginals.on_self.shape
    masks = [None] * shape[0] if allowed is None else allowed
    choices = choices_of(masks, n)
    total = marginals.received.sum(axis=-1)
    absent = np.full(shape, np.nan, dtype=np.float32)
    raw: dict[str, Float32] = dict.fromkeys(KEYS, absent)
    by_layer = {key: np.full(shape[0], np.nan) for key in KEYS}
    why: dict[str, str] = {}

    def put(key: str, sums: Float64, of: Callable[[Choice], Targets], over: Any = None) -> None:
        """``sums`` over ``over``, or over as many cells as the mask allows."""
        targets = by_mask(choices, of)
        counts = np.array([found.count for found in targets], dtype=np.float64)[:, None]
        raw[key] = divided(sums, counts if over is None else over)
        by_layer[key] = np.array([found.chance for found in targets])

    for key, mask in key_sets.items():
        if key not in SHARES:
            raise InputError(f"Unknown key set {key!r}.", f"Known: {', '.join(SHARES)}.")
        if mask.shape != (n,) or mask.dtype != np.bool_:
            raise InputError(
                f"Key set {key!r} is {mask.dtype} {list(mask.shape)}, expected bool [{n}]."
            )
    for key in SHARES:
        mask = key_sets.get(key)
        if mask is None or not mask.any():
            why[key] = (reasons or {}).get(key, "No token of the text belongs to this set.")
            continue
        inside = marginals.received[..., mask].sum(axis=-1)
        put(key, inside, lambda choice, keys=mask: choice.keys(keys), total)
    if first_is_summary or all(looks_back(mask) for mask in masks):
        put("cls", marginals.received[..., 0], Choice.first)
    else:
        why["cls"] = "No token stands for the whole sequence here, as [CLS] or <s> do."
    if reasons and "long_range" in reasons:
        why["long_range"] = reasons["long_range"]
    elif n > LONG_RANGE:
        put("long_range", marginals.far, Choice.far)
        if np.isnan(by_layer["long_range"]).all():
            why["long_range"] = f"The mask forbids all pairs {LONG_RANGE} tokens apart."
    else:
        count = "There is 1 token" if n == 1 else f"There are {n} tokens"
        why["long_range"] = f"{count}; a pair {LONG_RANGE} tokens apart needs {LONG_RANGE + 1}."
    put("self", marginals.on_self, lambda choice: choice.diagonal(0))
    if np.isnan(by_layer["self"]).all():
        why["self"] = "The mask forbids every token to look at itself."
    chance = {key: mean_of_layers(values) for key, values in by_layer.items()}
    return Specialization(raw, chance, {key: why[key] for key in KEYS if key in why}, by_layer)


def scale_by_layer(values: Float32) -> Float32:
    """Min-max scale each row of ``values``, float32 [L, H]; NaN for a row without a spread.

    >>> import numpy as np
    >>> scale_by_layer(np.array([[1, 2, 3], [5, 5, 5]], dtype=np.float32)).tolist()
    [[0.0, 0.5, 1.0], [nan, nan, nan]]
    """
    low = values.min(axis=1, keepdims=True)
    spread = values.max(axis=1, keepdims=True) - low
    divisor = np.where(spread > EQUAL, spread, np.nan)
    return ((values - low) / divisor).astype(np.float32)


def standardize(values: Float32) -> Float32:
    """Standard scores of ``values``, float32 [L, H], over all heads; NaN when they agree.

    >>> import numpy as np
    >>> standardize(np.array([[1, 3]], dtype=np.float32)).tolist()
    [[-1.0, 1.0]]
    """
    wide = values.astype(np.float64)
    deviation = wide.std()
    if not deviation > EQUAL:  # NaN too
        return np.full(values.shape, np.nan, dtype=np.float32)
    return ((wide - wide.mean()) / deviation).astype(np.float32)
