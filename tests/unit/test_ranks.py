"""Ranks of our own against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from attn_widget.figures.ranks import mean_ranks


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 9), (2, 4, 6), (0,)])
def test_ranks_are_those_of_scipy(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(-3, 4, shape) / 7
    np.testing.assert_array_equal(mean_ranks(values), rankdata(values, axis=-1))
    if len(shape) > 1:
        values.reshape(-1)[0] = np.nan
        np.testing.assert_array_equal(mean_ranks(values), rankdata(values, axis=-1))
