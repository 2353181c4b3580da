"""What the kernel sends is what the golden file says, which the page's own tests read."""

from __future__ import annotations

import base64
import json

import numpy as np

from attn_widget.protocol.pack import unpack
from tests.golden import make_saved
from tests.golden.make import PATH, golden

ROUNDING = 1e-6  # of logarithms and sums between machines


def test_the_first_paint_is_the_golden_one() -> None:
    now, then = golden(), json.loads(PATH.read_text())
    meta, arrays = unpack(base64.b64decode(now["first_paint"]))
    golden_meta, golden_arrays = unpack(base64.b64decode(then["first_paint"]))
    assert meta.pop("versions").keys() >= {"attn_widget"}
    golden_meta.pop("versions")
    assert meta == golden_meta
    assert list(arrays) == list(golden_arrays)
    for name, array in arrays.items():
        assert array.dtype == golden_arrays[name].dtype
        np.testing.assert_allclose(array, golden_arrays[name], atol=ROUNDING, err_msg=name)


def test_every_reply_is_the_golden_one() -> None:
    now, then = golden(), json.loads(PATH.read_text())
    assert len(now["slices"]) == len(then["slices"])
    for mine, theirs in zip(now["slices"], then["slices"], strict=True):
        assert mine["request"] == theirs["request"]
        assert mine["reply"] == theirs["reply"]
        entries = mine["reply"].get("arrays", [])
        for entry, a, b in zip(entries, mine["buffers"], theirs["buffers"], strict=True):
            one, other = (np.frombuffer(base64.b64decode(x), dtype=entry["dtype"]) for x in (a, b))
            np.testing.assert_allclose(one, other, atol=ROUNDING, err_msg=entry["name"])


def test_the_chunks_of_a_saved_page_are_the_golden_ones() -> None:
    now, then = make_saved.golden(), json.loads(make_saved.PATH.read_text())
    for mine, theirs in zip(now, then, strict=True):
        assert mine["name"] == theirs["name"]
        _, arrays = unpack(make_saved.same_bytes(mine["chunk"]))
        _, golden_arrays = unpack(make_saved.same_bytes(theirs["chunk"]))
        assert list(arrays) == list(golden_arrays)
        for values in ("weights", "scores"):
            np.testing.assert_allclose(
                np.array(mine.get(values, []), dtype=float),
                np.array(theirs.get(values, []), dtype=float),
                atol=1e-4,
            )
