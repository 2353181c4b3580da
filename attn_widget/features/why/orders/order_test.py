"""Is an order better than random orders: its percentile, and a verdict corrected for the methods tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attn_widget.host.installed import require

LEVEL = 0.05  # chance that any of the methods is called better when all orders are random
ERROR = 0.01  # chance at most that drawn orders decide a p value's side of a threshold otherwise than all orders would
FIRST_LOOK = 100  # orders that are drawn before it is decided whether more are needed


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
    sure : bool
        False if more orders could change the verdict: an interval of ``p`` over the orders that were drawn holds the threshold.

    References
    ----------
    Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure. Phipson & Smyth (2010),
    Permutation P-values Should Never Be Zero. Clopper & Pearson (1934). Gandy (2009), Sequential Implementation of
    Monte Carlo Tests with Uniformly Bounded Resampling Risk.
    """

    percentile: float
    low: float
    high: float
    p: float
    adjusted: float
    sure: bool = True

    @property
    def better(self) -> bool | None:
        """True if the order is better than random; None where that cannot be tested, or is undecided."""
        return None if math.isnan(self.adjusted) or not self.sure else self.adjusted <= LEVEL

    @property
    def undecided(self) -> bool:
        """True if the orders that were drawn do not decide whether the order is better."""
        return not math.isnan(self.adjusted) and not self.sure

    @staticmethod
    def none() -> OrderTest:
        """The test of what cannot be tested."""
        nan = math.nan
        return OrderTest(nan, nan, nan, nan, nan)

    @staticmethod
    def of(
        names: Iterable[str],
        at_least: Mapping[str, int],
        orders: int,
        *,
        drawn: bool,
        most: int = 0,
    ) -> dict[str, OrderTest]:
        """Tests of methods by how many of ``orders`` random orders lower the probability at least as much.

        Of drawn orders, ``most`` is how many there may be: see `looks`.
        """
        own = 1 if drawn else 0  # among all orders the method's own is counted already
        p = {name: (count + own) / (orders + own) for name, count in at_least.items()}
        adjusted = dict(zip(p, holm(list(p.values())), strict=True))
        sure = dict(zip(p, decided([*at_least.values()], orders, most), strict=True))
        tests: dict[str, OrderTest] = {}
        for name in names:
            if name not in p:
                tests[name] = OrderTest.none()
                continue
            below = orders - at_least[name]
            ends = clopper_pearson(below, orders) if drawn else (below / orders,) * 2
            percentile, low, high = (100 * share for share in (below / orders, *ends))
            tests[name] = OrderTest(
                percentile, low, high, p[name], adjusted[name], sure[name] or not drawn
            )
        return tests


def holm(p: Sequence[float]) -> list[float]:
    """P values after Holm's step-down correction, at most 1.

    >>> [round(value, 3) for value in holm([0.01, 0.5, 0.02])]
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    steps = np.minimum(np.maximum.accumulate(factors * np.asarray(p, float)[order]), 1)
    adjusted = np.empty(len(p))
    adjusted[order] = steps
    return adjusted.tolist()


def looks(most: int) -> list[int]:
    """Numbers of drawn orders after which it is decided whether more are needed.

    >>> looks(1600), looks(1000), looks(20)
    ([100, 200, 400, 800, 1600], [100, 200, 400, 800, 1000], [20])
    """
    sizes: list[int] = []
    size = FIRST_LOOK
    while size < most:
        sizes.append(size)
        size *= 2
    return [*sizes, most]


def decided(at_least: Sequence[int], orders: int, most: int) -> list[bool]:
    """For each method, whether the orders drawn so far settle its verdict.

    Each p value has an exact interval, and Holm's correction grows with every p value: a verdict is settled if it is the same
    with all lower ends and with all upper ends. The chance `ERROR` of an interval is shared by all looks.

    ``at_least``: of ``orders`` random orders, those that lower the probability at least as much as each method.

    >>> decided([0, 40, 3], 100, 1600), decided([0], 200, 1600)
    ([False, True, False], [True])
    """
    tail = ERROR / (2 * len(looks(most)))
    ends = [clopper_pearson(count, orders, tail) for count in at_least]
    lower, upper = (holm([end[side] for end in ends]) for side in (0, 1))
    return [high <= LEVEL or low > LEVEL for low, high in zip(lower, upper, strict=True)]


def clopper_pearson(successes: int, total: int, tail: float = 0.025) -> tuple[float, float]:
    """Exact interval of a share, which it misses on either side with a probability of ``tail``; by default of 95%.

    >>> [round(end, 3) for end in clopper_pearson(23, 23)]
    [0.852, 1.0]
    """
    require("scipy", "An interval")
    from scipy.special import betaincinv  # without scipy.stats, which takes a second to import

    low = betaincinv(successes, total - successes + 1, tail) if successes else 0.0
    high = betaincinv(successes + 1, total - successes, 1 - tail) if successes < total else 1.0
    return float(low), float(high)


def too_few_orders(words: int, orders: int, n_methods: int, *, drawn: bool) -> str | None:
    """Why even the best of all orders could not be called better; None if it could.

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
