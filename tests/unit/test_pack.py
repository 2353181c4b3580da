"""The pack is read back as it was written, whatever its header's length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attn_widget.protocol.pack import ALIGNMENT, MAGIC, pack, to_json, unpack

arrays = hnp.arrays(
    st.sampled_from([np.uint8, np.int32, np.float32, np.float64]),
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5),
)


@given(
    st.dictionaries(st.text(max_size=20), arrays, max_size=5),
    st.dictionaries(st.text(max_size=20), st.text(max_size=50), max_size=5),
)
def test_what_was_packed_is_unpacked_bit_for_bit(
    given_arrays: dict[str, np.ndarray], meta: dict[str, str]
) -> None:
    data = pack(meta, given_arrays)
    read_meta, read_arrays = unpack(data)
    assert read_meta == meta
    assert list(read_arrays) == list(given_arrays)
    for name, array in given_arrays.items():
        assert read_arrays[name].dtype == array.dtype
        assert read_arrays[name].shape == array.shape
        assert read_arrays[name].tobytes() == array.tobytes()


@given(st.integers(0, 200))
def test_every_array_begins_at_a_multiple_of_the_alignment(padding: int) -> None:
    a, b = np.arange(3, dtype=np.uint8), np.arange(5, dtype=np.float64)
    data = pack({"pad": "x" * padding}, {"a": a, "b": b})
    assert data[:4] == MAGIC
    at = data.index(b.tobytes())
    assert at % ALIGNMENT == 0
    assert data.index(a.tobytes()) % ALIGNMENT == 0


def test_what_json_lacks_becomes_null() -> None:
    assert to_json({"a": [math.nan, math.inf, np.float32(0.5)], 1: np.int64(3)}) == {
        "a": [None, None, 0.5],
        "1": 3,
    }


def test_an_unknown_dtype_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="'weights' has dtype float16"):
        pack({}, {"weights": np.zeros(3, dtype=np.float16)})


def test_something_else_is_not_taken_for_a_pack() -> None:
    with pytest.raises(ValueError, match="not a pack"):
        unpack(b"PK\x03\x04 whatever")
