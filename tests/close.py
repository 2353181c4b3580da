"""How close two float32 results have to be: as close as the rounding of their sums allows."""

from __future__ import annotations

from typing import Any

import numpy as np

from attn_widget.checks.rounding import rounding


def assert_close(
    actual: Any, expected: Any, *, terms: int, steps: int = 1, size: Any = None
) -> None:
    """Assert that two results differ by no more than sums in another order (`attn_widget.checks.rounding`).

    Parameters
    ----------
    actual, expected : array-like
        Numbers of any shape. NaN stands at the same places in both.
    terms, steps : int
        Length of a sum, and how many follow on each other.
    size : array-like, optional
        Numbers whose largest finite absolute value is the size of what is summed; ``expected`` by default.
    """
    sizes = np.abs(np.asarray(expected if size is None else size, np.float64))
    allowed = rounding(np.max(sizes, initial=0, where=np.isfinite(sizes)), terms, steps)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=allowed)


def assert_adds_up(found: Any, *, terms: int, steps: int = 1) -> None:
    """Assert that `Contributions`, their bias and baseline add up to the value, as `assert_close`."""
    parts = [float(np.abs(found.values).sum()), abs(found.bias or 0), abs(found.baseline or 0)]
    assert_close(found.total, found.value, terms=terms, steps=steps, size=sum(parts))
