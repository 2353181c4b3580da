"""Are methods right: how the target's probability falls as words are masked in a method's order."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.features.why.agreement import word_scores
from attn_widget.features.why.bound_target import BoundTarget
from attn_widget.features.why.contributions import Contributions, check_maskable
from attn_widget.features.why.orders.order_test import OrderTest
from attn_widget.features.why.orders.random_orders import (
    EVERY_ORDER,
    RandomOrders,
    area,
    cuts,
    drawn_orders,
    every_order,
    prefixes,
)
from attn_widget.features.why.passes import of_masked
from attn_widget.features.why.targets import Target
from attn_widget.figures.arrays import Float64
from attn_widget.host.frames import dataframe
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Deletion:
    """Probabilities of the target as words are masked in one order, at S shares of the words.

    Attributes
    ----------
    shares : float64 [S]
        Share of the words, 0 to 1: every word of a short text, 10 steps of a longer one.
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
        return area(self.shares, self.deleted[0] - self.deleted)

    @property
    def sufficiency(self) -> float:
        """Mean fall along ``kept``: low where the first words are enough."""
        return area(self.shares, self.deleted[0] - self.kept)


@dataclass(frozen=True)
class Faithfulness:
    """Deletion curves of methods, compared with random orders of the same words.

    Attributes
    ----------
    target : Target
    probability : float
        Of the target in the whole text: its share of the softmax; for a difference of two, their
        share between the two of them; for a single class its sigmoid. A similarity stands for itself.
    curves : dict of str to Deletion
        By method.
    random : RandomOrders
        Every order of the words, or drawn ones.
    tests : dict of str to OrderTest
        By method: its percentile among random orders, and the verdict after Holm's correction for the
        methods tried. NaN where it cannot be tested.
    untestable : str or None
        Why no verdict is possible: ``3 words have 6 orders ...``.
    """

    target: Target
    probability: float
    curves: dict[str, Deletion]
    random: RandomOrders
    tests: dict[str, OrderTest]
    untestable: str | None = None

    def band(self) -> tuple[float, float, float]:
        """Mean comprehensiveness of random orders, and the ends of its central 95%; so for sufficiency.

        The band is not the verdict: of ten random orders one in five has a member above it.
        """
        return self.random.band()

    @property
    def better_than_random(self) -> dict[str, bool | None]:
        """True for methods whose order is better than random ones, after correction; None: cannot be tested, or `undecided`.

        If all orders are random, the chance that any of them is called better is at most 5%.
        """
        return {method: test.better for method, test in self.tests.items()}

    @property
    def undecided(self) -> list[str]:
        """Methods whose verdict more random orders could change: ``n_random`` was reached while an interval of p held the threshold.

        The chance that other orders would have settled a method's verdict otherwise is at most 1%.
        """
        return [method for method, test in self.tests.items() if test.undecided]

    def to_dataframe(self) -> DataFrame:
        """One row a method and one for random orders (needs the extra ``pandas``).

        ``method, comprehensiveness, sufficiency, percentile, low, high, p, adjusted, better_than_random, undecided``;
        see `OrderTest`.
        """
        rows: list[dict[str, Any]] = [
            {
                "method": method,
                "comprehensiveness": item.comprehensiveness,
                "sufficiency": item.sufficiency,
                "percentile": self.tests[method].percentile,
                "low": self.tests[method].low,
                "high": self.tests[method].high,
                "p": self.tests[method].p,
                "adjusted": self.tests[method].adjusted,
                "better_than_random": self.tests[method].better,
                "undecided": self.tests[method].undecided,
            }
            for method, item in self.curves.items()
        ]
        mean = self.band()[0]
        chance: dict[str, Any] = dict.fromkeys(rows[0], math.nan) if rows else {}
        chance |= {"method": "random", "comprehensiveness": mean, "sufficiency": mean}
        return dataframe([*rows, chance | {"better_than_random": None, "undecided": False}])

    def __repr__(self) -> str:
        if self.untestable is not None:
            return f"Faithfulness(cannot be tested: {self.untestable})"
        better = sum(self.better_than_random[method] is True for method in self.curves)
        return (
            f"Faithfulness({better} of {len(self.curves)} methods better than "
            f"{self.random.orders:,} random orders"
            + (f", {len(self.undecided)} undecided)" if self.undecided else ")")
        )


def faithfulness(
    run: Run,
    target: Target,
    bound: BoundTarget,
    found: Mapping[str, Contributions],
    words: Sequence[Sequence[int]],
    probabilities: dict[int, float],
    *,
    n_random: int,
    progress: Progress | None = None,
) -> Faithfulness:
    """Mask words in each method's order and in random ones; see `Analysis.why.faithfulness`.

    Parameters
    ----------
    words : sequence of sequence of int
        Positions of each word that can be masked.
    probabilities : dict
        Probabilities of masked sets, from earlier calls; those of this call are added.

    References
    ----------
    DeYoung et al. (2020), ERASER: A Benchmark to Evaluate Rationalized NLP Models, ACL.
    """
    check_maskable(run)
    if not words:
        raise NotAvailableError("The text has no word that can be masked.")
    size = len(words)
    every = size <= EVERY_ORDER
    steps = len(cuts(size))
    # The text decides which orders are drawn: asked again, it gets the same verdict.
    seed = _seed(run)
    scores = {method: word_scores(item, words) for method, item in found.items()}
    orders = {method: ranked(values, seed) for method, values in scores.items()}
    sets = {method: [*prefixes(order), *_rests(order)] for method, order in orders.items()}
    expected = 1 << size if every else 2 * len(found) * steps + n_random * (steps - 2)
    masked = MaskedSets(run, bound, words, probabilities, expected, progress)
    shares = np.array(cuts(size)) / size
    curves = {
        method: Deletion(shares, *np.split(masked.probabilities(rows), 2))
        for method, rows in sets.items()
    }
    # A method that gives all words the same has no order.
    areas = {
        method: curve.comprehensiveness if size == 1 or np.ptp(scores[method]) > 0 else math.nan
        for method, curve in curves.items()
    }
    of_methods = [area for area in areas.values() if not math.isnan(area)]
    random = (
        every_order(size, masked.probabilities)
        if every
        else drawn_orders(size, masked.probabilities, of_methods, n_random, seed)
    )
    masked.finish()
    whole = float(masked.probabilities([0])[0])
    untestable = random.untestable(len(areas))
    tests = random.tests(areas) if untestable is None else dict.fromkeys(areas, OrderTest.none())
    return Faithfulness(target, whole, curves, random, tests, untestable)


@dataclass(frozen=True, eq=False, repr=False)
class MaskedSets:
    """The target's probability with sets of words masked; each set is run once."""

    run: Run
    bound: BoundTarget
    words: Sequence[Sequence[int]]  # positions of each word
    known: dict[int, float]  # probabilities of the sets that were run
    expected: int  # how many sets there will be, at most
    progress: Progress | None

    def probabilities(self, sets: Sequence[int]) -> Float64:
        """Probability with each set masked, float64 [sets]; bit k of a set stands for word k."""
        new = [masked for masked in dict.fromkeys(sets) if masked not in self.known]
        groups = [
            [i for k, word in enumerate(self.words) if masked >> k & 1 for i in word]
            for masked in new
        ]
        values = of_masked(self.run, self.bound, self.bound.probability_of, groups, self._report)
        self.known.update(zip(new, values.tolist(), strict=True))
        return np.array([self.known[masked] for masked in sets])

    def _report(self, done: int, _all: int) -> None:
        if self.progress is not None:
            at = len(self.known) + done
            self.progress(at, max(at, self.expected))

    def finish(self) -> None:
        """Report that no further set is needed."""
        if self.progress is not None:
            self.progress(self.expected, self.expected)


def ranked(scores: Float64, seed: int) -> list[int]:
    """Words from the highest score down; equal ones in an order that says nothing about their place."""
    chance = np.random.default_rng([seed, 1]).permutation(len(scores))
    return np.lexsort((chance, -scores)).tolist()


def _rests(order: Sequence[int]) -> list[int]:
    """The words that are masked where only the first ones are kept, as sets."""
    every = (1 << len(order)) - 1
    return [every ^ first for first in prefixes(order)]


def _seed(run: Run) -> int:
    ids = run.encoding.inputs["input_ids"].cpu().numpy().astype(np.int64)
    return int.from_bytes(hashlib.sha256(ids.tobytes()).digest()[:8], "big")
