"""Random orders of a text's words: all of them where they are few, otherwise as many as are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attn_widget.features.why.orders.order_test import (
    OrderTest,
    decided,
    looks,
    too_few_orders,
)
from attn_widget.figures.arrays import Float64

EVERY_ORDER = 10  # words, at most, of which every order is read: 1,024 masked texts
STEPS = 10  # of a curve, at most
AT_ONCE = 100  # orders whose masked texts are run together
BAND = (2.5, 97.5)  # percent
SAME = 1e-9  # areas that differ by less are of the same masked texts, added in another order

Probabilities = Callable[[Sequence[int]], Float64]


@dataclass(frozen=True)
class RandomOrders:
    """Deletion curves of random orders of ``words`` words, at S shares of them.

    Attributes
    ----------
    words : int
    drawn : bool
        False: ``areas`` holds every order.
    most : int
        How many orders are read at most. Fewer are drawn once every verdict is settled.
    shares : float64 [S]
        Share of the words, 0 to 1.
    mean, low, high : float64 [S]
        Probability of the target with so many words masked: mean and central 95%.
    areas : float64 [orders]
        Comprehensiveness of each order, ascending. An order's sufficiency is the comprehensiveness of
        the reversed order, so over random orders both have the same distribution.
    """

    words: int
    drawn: bool
    most: int
    shares: Float64
    mean: Float64
    low: Float64
    high: Float64
    areas: Float64

    @property
    def orders(self) -> int:
        """Number of orders that were read."""
        return len(self.areas)

    @property
    def flat(self) -> bool:
        """True if all orders have the same area."""
        return bool(self.areas[-1] - self.areas[0] <= SAME)

    def band(self) -> tuple[float, float, float]:
        """Mean area, and the ends of the central 95%."""
        low, high = np.percentile(self.areas, BAND)
        return float(self.areas.mean()), float(low), float(high)

    def untestable(self, n_methods: int) -> str | None:
        """Why no order of these words can pass a test of so many methods; None if one can."""
        few = too_few_orders(self.words, self.most, n_methods, drawn=self.drawn)
        if few is None and self.flat:
            return "every order of the words gives the same curve"
        return few

    def tests(self, areas: Mapping[str, float]) -> dict[str, OrderTest]:
        """Compare each method's area with those of random orders; NaN for a method without an area."""
        at_least = {
            name: self.orders - int(np.searchsorted(self.areas, area - SAME))
            for name, area in areas.items()
            if not math.isnan(area)
        }
        return OrderTest.of(areas, at_least, self.orders, drawn=self.drawn, most=self.most)


def cuts(size: int) -> list[int]:
    """Numbers of masked words, of ``size``, at each step; ``k`` and ``size - k`` are both among them.

    >>> cuts(3), cuts(25)
    ([0, 1, 2, 3], [0, 3, 5, 8, 10, 12, 13, 15, 17, 20, 22, 25])
    """
    if size <= STEPS:
        return list(range(size + 1))
    lower = [math.floor(step * size / STEPS + 0.5) for step in range(STEPS // 2)] + [size // 2]
    return sorted({*lower, *(size - k for k in lower)})


def prefixes(order: Sequence[int]) -> list[int]:
    """The sets of first words of an order at each of `cuts`; bit k of a set stands for word k.

    >>> prefixes([2, 0, 1])
    [0, 4, 5, 7]
    """
    sets, masked, done = [0], 0, 0
    for k in cuts(len(order))[1:]:
        for word in order[done:k]:
            masked |= 1 << word
        sets.append(masked)
        done = k
    return sets


def area(shares: Float64, fall: Float64) -> float:
    """Area under a curve over the share of words, 0 to 1, by trapezoids."""
    return float((np.diff(shares) * (fall[1:] + fall[:-1])).sum() / 2)


def every_order(words: int, probabilities: Probabilities) -> RandomOrders:
    """All ``words!`` orders, from the probabilities of all ``2 ** words`` masked sets."""
    values = probabilities(range(1 << words))
    sizes = np.array([masked.bit_count() for masked in range(1 << words)])
    steps = [values[sizes == size] for size in range(words + 1)]
    low, high = np.array([np.percentile(step, BAND) for step in steps]).T
    return RandomOrders(
        words,
        False,
        math.factorial(words),
        np.arange(words + 1) / words,
        np.array([step.mean() for step in steps]),
        low,
        high,
        np.sort(_areas(values[0] - values)),
    )


def _areas(falls: Float64) -> Float64:
    """The area of every order, from the fall of each set: orders of a set end with one of its words."""
    words = (len(falls) - 1).bit_length()
    sums = {0: np.zeros(1)}
    for size in range(1, words + 1):
        share = 0.5 if size == words else 1.0  # trapezoids; the first fall is 0
        sums = {
            masked: np.concatenate(
                [sums[masked ^ (1 << word)] for word in range(words) if masked >> word & 1]
            )
            + share * falls[masked]
            for masked in range(1 << words)
            if masked.bit_count() == size
        }
    return sums[len(falls) - 1] / words


def drawn_orders(
    words: int,
    probabilities: Probabilities,
    methods: Sequence[float],
    n_random: int,
    seed: int,
) -> RandomOrders:
    """``n_random`` orders, or fewer once every method's verdict is settled: see `decided`.

    ``methods``: areas of the methods.
    """
    rng = np.random.default_rng(seed)
    shares = np.array(cuts(words)) / words
    curves: list[Float64] = []
    areas: list[float] = []
    until = looks(n_random)
    while until:
        count = min(AT_ONCE, until[0] - len(areas))
        orders = [rng.permutation(words).tolist() for _ in range(count)]
        sets = [prefixes(order) for order in orders]
        curves += list(
            probabilities([prefix for each in sets for prefix in each]).reshape(len(sets), -1)
        )
        areas += [area(shares, curve[0] - curve) for curve in curves[len(areas) :]]
        if len(areas) < until[0]:
            continue
        until.pop(0)
        at_least = [sum(area >= mine - SAME for area in areas) for mine in methods]
        if all(decided(at_least, len(areas), n_random)):
            break
    low, high = np.percentile(curves, BAND, axis=0)
    mean = np.mean(curves, axis=0)
    return RandomOrders(words, True, n_random, shares, mean, low, high, np.sort(areas))
