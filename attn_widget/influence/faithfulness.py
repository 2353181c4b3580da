"""Are methods right: how the target's probability falls as words are masked in a method's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float64
from attn_widget.host.frames import dataframe
from attn_widget.influence.agreement import word_scores
from attn_widget.influence.contributions import Contributions, pieces_of_words
from attn_widget.influence.passes import probabilities_of_masked
from attn_widget.influence.targets import Target

if TYPE_CHECKING:
    from attn_widget.influence.bound_target import BoundTarget
    from attn_widget.model.tokens import Token
    from attn_widget.trace.forward import Progress
    from attn_widget.trace.run import Run

BAND = (2.5, 97.5)  # percent
STEPS = 20  # of a curve, at most


@dataclass(frozen=True)
class Deletion:
    """Probabilities of the target as words are masked in one order, at S shares of the words.

    Attributes
    ----------
    shares : float64 [S]
        Share of the words, 0 to 1: every word of a short text, 20 steps of a longer one.
    deleted : float64 [S]
        With the first words of the order masked.
    kept : float64 [S]
        With all but the first words masked.
    """

    shares: Float64
    deleted: Float64
    kept: Float64

    @property
    def comprehensiveness(self) -> float:
        """Mean fall of the probability along ``deleted``: high where the first words were needed."""
        return _area(self.shares, self.deleted[0] - self.deleted)

    @property
    def sufficiency(self) -> float:
        """Mean fall along ``kept``: low where the first words are enough."""
        return _area(self.shares, self.deleted[0] - self.kept)


@dataclass(frozen=True)
class Faithfulness:
    """Deletion curves of methods, and of random orders.

    Attributes
    ----------
    target : Target
    probability : float
        Of the target in the whole text: its share of the softmax; for a difference of two, their
        share between the two of them.
    curves : dict of str to Deletion
        By method.
    random : tuple of Deletion
        One for each random order.
    """

    target: Target
    probability: float
    curves: dict[str, Deletion]
    random: tuple[Deletion, ...]

    def band(self, figure: str = "comprehensiveness") -> tuple[float, float, float]:
        """Mean of the random orders' figure, and the ends of its central 95%."""
        values = [getattr(one, figure) for one in self.random]
        low, high = np.percentile(values, BAND)
        return float(np.mean(values)), float(low), float(high)

    @property
    def better_than_random(self) -> dict[str, bool]:
        """Whether a method's comprehensiveness lies above the random band; inside, it tells nothing."""
        high = self.band()[2]
        return {method: item.comprehensiveness > high for method, item in self.curves.items()}

    def to_dataframe(self) -> Any:
        """One row a method and one for random orders (needs the extra ``pandas``)."""
        better = self.better_than_random
        rows: list[dict[str, Any]] = [
            {
                "method": method,
                "comprehensiveness": item.comprehensiveness,
                "sufficiency": item.sufficiency,
                "better_than_random": better[method],
            }
            for method, item in self.curves.items()
        ]
        rows.append(
            {
                "method": "random",
                "comprehensiveness": self.band()[0],
                "sufficiency": self.band("sufficiency")[0],
                "better_than_random": False,
            }
        )
        return dataframe(rows)

    def __repr__(self) -> str:
        better = sum(self.better_than_random.values())
        return f"Faithfulness({better} of {len(self.curves)} methods better than random)"


def faithfulness(
    run: Run,
    target: Target,
    bound: BoundTarget,
    found: Mapping[str, Contributions],
    tokens: Sequence[Token],
    *,
    n_random: int,
    seed: int,
    progress: Progress | None = None,
) -> Faithfulness:
    """Mask words in each method's order and in random ones; see `Analysis.faithfulness`.

    References
    ----------
    DeYoung et al. (2020), ERASER: A Benchmark to Evaluate Rationalized NLP Models, ACL.
    """
    if run.encoder.mask_token_id is None:
        raise NotAvailableError(f"{run.encoder.name} has no mask token, so no word can be masked.")
    words = list(pieces_of_words(tokens).values())
    if not words:
        raise NotAvailableError("The text has no words to mask.")
    rng = np.random.default_rng(seed)
    orders = {
        method: np.argsort(-word_scores(item), kind="stable").tolist()
        for method, item in found.items()
    }
    drawn = [rng.permutation(len(words)).tolist() for _ in range(n_random)]
    # Orders share many of their sets of words: each set is run once.
    sets: dict[frozenset[int], int] = {}
    for order in (*orders.values(), *drawn):
        for masked in _sets(order):
            sets.setdefault(masked, len(sets))
    groups = [sorted(piece for word in masked for piece in words[word]) for masked in sets]
    probabilities = probabilities_of_masked(run, bound, groups, progress)

    def deletion(order: list[int]) -> Deletion:
        shares = np.array(_cuts(len(order))) / len(order)
        curves = np.array([probabilities[sets[masked]] for masked in _sets(order)])
        return Deletion(shares, *np.split(curves, 2))

    curves = {method: deletion(order) for method, order in orders.items()}
    whole = float(probabilities[sets[frozenset()]])
    return Faithfulness(target, whole, curves, tuple(deletion(order) for order in drawn))


def _cuts(size: int) -> list[int]:
    """How many of ``size`` words are masked at each step.

    Examples
    --------
    >>> _cuts(3), len(_cuts(300)), _cuts(300)[-1]
    ([0, 1, 2, 3], 21, 300)
    """
    return np.rint(np.linspace(0, size, min(size, STEPS) + 1)).astype(int).tolist()


def _sets(order: Sequence[int]) -> list[frozenset[int]]:
    """The sets of masked words of a curve: the first k deleted, then all but the first k."""
    cuts = _cuts(len(order))
    return [frozenset(order[:k]) for k in cuts] + [frozenset(order[k:]) for k in cuts]


def _area(shares: Float64, fall: Float64) -> float:
    """Area under a curve over the share of words, 0 to 1, by trapezoids."""
    return float((np.diff(shares) * (fall[1:] + fall[:-1])).sum() / 2)
