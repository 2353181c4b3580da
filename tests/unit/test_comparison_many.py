"""compare_many(): many pairs, and going on where it was interrupted."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError
from tests.unit import tiny_models


@pytest.fixture(scope="module")
def tiny() -> Any:
    return aw.load(tiny_models.build("bert"))


PAIRS = [("he sat", "she sat"), ("he ran", "she ran"), (("a cat", "it ran"), ("a dog", "it ran"))]


def test_many_pairs(tiny: Any, tmp_path: Path) -> None:
    many = aw.compare_many(PAIRS, model=tiny, progress=False)
    each = [
        aw.compare(a, b, model=tiny, tagger=None, progress=False).distances().distances
        for a, b in PAIRS
    ]
    np.testing.assert_allclose(many.mean, np.mean(each, axis=0), atol=1e-6)
    low, high = many.interval
    assert (low <= many.mean).all() and (many.mean <= high).all()
    assert many.heads()[0] == divmod(int(np.mean(each, axis=0).argmax()), 4)
    table = many.to_dataframe()
    assert "layer" in many.plot().axes[0].get_ylabel()
    assert table["distance"].is_monotonic_decreasing and table["count"].tolist() == [3] * 12

    class StopError(Exception):
        pass

    def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
        import attn_widget.comparison.many as module

        whole: Any = vars(module)["_figures"]
        calls = itertools.count()

        def figures(*runs: Any) -> Any:
            if next(calls) == 2:
                raise StopError
            return whole(*runs)

        monkeypatch.setattr(module, "_figures", figures)
        with pytest.raises(StopError):
            aw.compare_many(PAIRS, model=tiny, progress=False, resume=tmp_path)

    with pytest.MonkeyPatch.context() as monkeypatch:
        interrupted(monkeypatch)
    assert len(list(tmp_path.glob("part-*"))) == 1
    resumed = aw.compare_many(PAIRS, model=tiny, progress=False, resume=tmp_path)
    np.testing.assert_array_equal(resumed.distances, many.distances)
    with pytest.raises(InputError, match="not of this run"):
        aw.compare_many(PAIRS[:2], model=tiny, progress=False, resume=tmp_path)
    with pytest.raises(InputError, match="Pair 1"):
        aw.compare_many([("a", "b"), ("a", "")], model=tiny, progress=False)
    with pytest.raises(InputTypeError, match="Pair 0"):
        aw.compare_many(["ab"], model=tiny)
    with pytest.raises(InputError, match="empty"):
        aw.compare_many([], model=tiny)
