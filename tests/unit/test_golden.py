"""What the kernel sends is what the golden file says, which the page's own tests read."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from attn_widget.checks.rounding import rounding
from attn_widget.protocol.pack import unpack
from tests.close import assert_close
from tests.golden import make_page, make_parts, make_saved
from tests.golden.make import PATH, golden
from tests.unit.tiny_models import EMBEDDED

TERMS = 64  # of the longest sum in runs that are written by hand


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
        assert_close(array, golden_arrays[name], terms=TERMS)


def test_every_reply_is_the_golden_one() -> None:
    now, then = golden(), json.loads(PATH.read_text())
    assert len(now["slices"]) == len(then["slices"])
    for mine, theirs in zip(now["slices"], then["slices"], strict=True):
        assert mine["request"] == theirs["request"]
        assert mine["reply"] == theirs["reply"]
        entries = mine["reply"].get("arrays", [])
        for entry, a, b in zip(entries, mine["buffers"], theirs["buffers"], strict=True):
            one, other = (np.frombuffer(base64.b64decode(x), dtype=entry["dtype"]) for x in (a, b))
            assert_close(one, other, terms=TERMS)


def test_the_chunks_of_a_saved_page_are_the_golden_ones() -> None:
    now, then = make_saved.golden(), json.loads(make_saved.PATH.read_text())
    for mine, theirs in zip(now, then, strict=True):
        assert mine["name"] == theirs["name"]
        _, arrays = unpack(make_saved.same_bytes(mine["chunk"]))
        _, golden_arrays = unpack(make_saved.same_bytes(theirs["chunk"]))
        assert list(arrays) == list(golden_arrays)
        for values in ("weights", "scores"):
            one, other = (np.array(entry.get(values, []), dtype=float) for entry in (mine, theirs))
            assert_close(one, other, terms=TERMS)


def alike(mine: Any, theirs: Any) -> bool:
    """Whether two answers are the same up to rounding between machines."""
    if isinstance(mine, float) or isinstance(theirs, float):
        return mine == theirs or abs(mine - theirs) <= rounding(max(1, abs(theirs)), **EMBEDDED)
    if isinstance(mine, dict):
        return mine.keys() == theirs.keys() and all(alike(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, list):
        return len(mine) == len(theirs) and all(map(alike, mine, theirs))
    return mine == theirs


def test_packs_and_replies_of_an_encoder_decoders_parts_are_the_golden_ones() -> None:
    now, then = make_parts.golden(), json.loads(make_parts.PATH.read_text())
    for part, mine in now.items():
        theirs = then[part]
        packs = [unpack(base64.b64decode(one["first_paint"])) for one in (mine, theirs)]
        for meta, _ in packs:
            meta.pop("versions")
        assert alike(packs[0][0], packs[1][0])
        for name, array in packs[1][1].items():
            values, size = packs[0][1][name], float(np.abs(np.nan_to_num(array)).max(initial=1))
            assert (values.dtype, values.shape) == (array.dtype, array.shape)
            if name == "thumbs":  # rounded up
                assert np.abs(values.astype(int) - array).max() <= 1
            else:
                assert_close(values, array, terms=64, steps=24, size=size)
        for one, other in zip(mine["slices"], theirs["slices"], strict=True):
            assert one["request"] == other["request"] and alike(one["reply"], other["reply"])
            for entry, *data in zip(
                one["reply"].get("arrays", []), one["buffers"], other["buffers"], strict=True
            ):
                a, b = (np.frombuffer(base64.b64decode(x), entry["dtype"]) for x in data)
                size = float(np.abs(b[np.isfinite(b)]).max(initial=1))
                assert_close(a, b, terms=64, steps=24, size=size)
    assert list(now) == list(then) == ["encoder", "decoder", "cross"]


def test_the_answers_of_saved_pages_are_the_golden_ones() -> None:
    now, then = make_page.golden(), json.loads(make_page.PATH.read_text())
    for mine, theirs in zip(now, then, strict=True):
        assert mine["name"] == theirs["name"] and mine["chunks"].keys() == theirs["chunks"].keys()
        for one, other in zip(mine["slices"], theirs["slices"], strict=True):
            assert (one["request"], one["how"]) == (other["request"], other["how"])
            assert alike(one.get("reply"), other.get("reply")), (mine["name"], one["request"])
