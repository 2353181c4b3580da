"""The heads that come with the first paint."""

from __future__ import annotations

from typing import Any, cast

import pytest

import attn_widget as aw
from attn_widget.protocol.initial_payload import HEADS_BYTES, first_paint
from attn_widget.protocol.pack import unpack
from tests.unit import tiny_models


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_no_head_of_a_short_text_needs_the_kernel(family: str) -> None:
    model = aw.load(tiny_models.build(family))
    shown = aw.show("one two three four five six seven eight nine", model=model, progress=False)
    _, arrays = unpack(shown.first_paint)
    n_layers, n_heads = shown.analysis.trace.n_layers, shown.analysis.trace.n_heads
    for layer in range(n_layers):
        for i, head in enumerate([*range(n_heads), "mean"]):
            (meta, buffers) = shown._slice({"kind": "weights", "layer": layer, "head": head}, [])
            names = [array["name"] for array in cast("dict[str, Any]", meta)["arrays"]]
            asked = dict(zip(names, buffers, strict=True))
            assert arrays["heads"][layer, i].tobytes() == asked["weights"]
            if "masks" in arrays:
                every = b"\1" * len(arrays["masks"][layer].tobytes())
                assert arrays["masks"][layer].tobytes() == asked.get("allowed", every)
    assert ("masks" in arrays) == (family == "modernbert")
    assert arrays["heads"].nbytes <= HEADS_BYTES
    shown.close()


def test_a_text_whose_heads_are_large_brings_one_and_a_saved_page_no_copy() -> None:
    shown = aw.show("word " * 24, progress=False)
    meta, arrays = unpack(shown.first_paint)
    assert meta["selected"] is not None and "heads" not in arrays
    shown.run("word " * 23)
    assert unpack(shown.first_paint)[1]["heads"].shape[:2] == (6, 13)
    assert "heads" not in unpack(first_paint(shown.analysis, 0, 0))[1]
    shown.close()
