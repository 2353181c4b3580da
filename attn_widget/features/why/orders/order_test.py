"""Is an order better than random orders: its percentile, and a verdict corrected for the methods tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attn_widget.host.installed import require

LEVEL = 0.05  # chance that any of the methods is called better when all orders are random


@dataclass(frozen=True)
class OrderTest:
    """A method's order among random ones.

    Attributes
    ----------
    percentile : float
        Percent of random orders that lower the probability less, 0 to 100. NaN without an order.
    low, high : float
        95% interval of ``percentile`` (Clopper-Pearson); both equal it where every order was read.
    p : float
        Share of orders that lower it at least as much, the method's own included.
    adjusted : float
        ``p`` after Holm's correction for the methods that were tried.

    References
    ----------
    Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure. Phipson & Smyth (2010),
    Permutation P-values Should Never Be Zero. Clopper & Pearson (1934).
    """

    percentile: float
    low: float
    high: float
    p: float
    adjusted: float

    @property
    def better(self) -> bool | None:
        """True if the order is better than random; None where that cannot be tested."""
        return None if math.isnan(self.adjusted) else self.adjusted <= LEVEL

    @staticmethod
    def none() -> OrderTest:
        """The test of what cannot be tested."""
        return OrderTest(*[math.nan] * 5)

    @staticmethod
    def of(
        names: Iterable[str], at_least: Mapping[str, int], orders: int, *, drawn: bool
    ) -> dict[str, OrderTest]:
        """Tests of methods by how many of ``orders`` random orders lower the probability at least as much."""
        own = 1 if drawn else 0  # among all orders the method's own is counted already
        p = {name: (count + own) / (orders + own) for name, count in at_least.items()}
        adjusted = dict(zip(p, holm(list(p.values())), strict=True))
        tests: dict[str, OrderTest] = {}
        for name in names:
            if name not in p:
                tests[name] = OrderTest.none()
                continue
            below = orders - at_least[name]
            ends = clopper_pearson(below, orders) if drawn else (below / orders,) * 2
            percentile, low, high = (100 * share for share in (below / orders, *ends))
            tests[name] = OrderTest(percentile, low, high, p[name], adjusted[name])
        return tests


def holm(p: Sequence[float]) -> list[float]:
    """P values after Holm's step-down correction, at most 1.

    Examples
    --------
    >>> [round(value, 3) for value in holm([0.01, 0.5, 0.02])]
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    steps = np.minimum(np.maximum.accumulate(factors * np.asarray(p, float)[order]), 1)
    adjusted = np.empty(len(p))
    adjusted[order] = steps
    return adjusted.tolist()


def clopper_pearson(successes: int, total: int) -> tuple[float, float]:
    """Exact 95% interval of a share.

    Examples
    --------
    >>> [round(end, 3) for end in clopper_pearson(23, 23)]
    [0.852, 1.0]
    """
    require("scipy", "An interval")
    from scipy.stats import beta

    low = beta.ppf(0.025, successes, total - successes + 1) if successes else 0.0
    high = beta.ppf(0.975, successes + 1, total - successes) if successes < total else 1.0
    return float(low), float(high)


def most_orders_above(orders: int, n_methods: int) -> int:
    """Largest number of drawn orders that may lower the probability at least as much as the first method to pass.

    Examples
    --------
    >>> most_orders_above(400, 10), most_orders_above(400, 1)
    (1, 19)
    """
    return math.floor(LEVEL * (orders + 1) / max(1, n_methods)) - 1


def too_few_orders(words: int, orders: int, n_methods: int, *, drawn: bool) -> str | None:
    """Why even the best of all orders could not be called better; None if it could.

    Examples
    --------
    >>> too_few_orders(3, 6, 10, drawn=False)
    '3 words have 6 orders, and a test of 10 methods needs 200'
    """
    least = n_methods / (orders + 1 if drawn else orders)
    if least <= LEVEL:
        return None
    have = f"{orders:,} random orders are drawn" if drawn else _have(words, orders)
    needed = math.ceil(n_methods / LEVEL)
    several = f"{n_methods} methods" if n_methods > 1 else "one method"
    return f"{have}, and a test of {several} needs {needed}"


def _have(words: int, orders: int) -> str:
    return "1 word has 1 order" if words == 1 else f"{words} words have {orders:,} orders"
