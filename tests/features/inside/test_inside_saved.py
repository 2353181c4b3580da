"""Tensors in a saved page: whole groups as room allows, or one token's row of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.features.inside.slices import EMBEDDINGS, HEAD, LAYER
from attn_widget.features.inside.tensors import groups
from attn_widget.page.snapshot import Snapshot, snapshot
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.pack import unpack
from tests.unit.test_snapshot import runs


def test_tensors_are_taken_in_whole_groups_as_room_allows() -> None:
    analysis, _, _ = runs()["factors and tensors"]
    counts: list[int] = []
    for share in (0.0, 0.02, 0.05, 1.0):
        found = snapshot(
            analysis, {"layer": 1, "head": 0}, PageSpec(views=["inside"], tensors=share)
        )
        meta, _ = unpack(found.chunks["paint"])
        names = [
            e["request"].get("name") for e in meta["recorded"] if e["request"]["kind"] == "tensor"
        ]
        assert ("token" in names) == ("sum" in names)
        counts.append(len(names))
    assert counts[0] == 0 and counts == sorted(counts) and counts[1] < counts[-1]


def rows_of(found: Snapshot) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """The focus token's row of a page: its data and its arrays."""
    meta, arrays = unpack(found.chunks["paint"])
    entry = next((e for e in meta["recorded"] if e["request"]["kind"] == "token_row"), None)
    if entry is None:
        return None
    return entry["data"], {name: arrays[stored] for name, stored in entry["arrays"].items()}


@pytest.mark.parametrize("token", [None, 4])
def test_without_room_for_tensors_a_page_keeps_the_focus_tokens_row_of_each(
    token: int | None,
) -> None:
    analysis, _, _ = runs()["factors without tensors"]
    selection = {"layer": 1, "head": 0, "token": token}
    found = rows_of(
        snapshot(analysis, selection, PageSpec(views=["inside"], tensors=0, heads=[0, 2]))
    )
    assert found is not None
    data, arrays = found
    focus = 1 if token is None else token
    assert data["token"] == focus and data["heads"] == [0, 2]
    assert {name.partition(":")[0] for name in arrays} == {*EMBEDDINGS, *LAYER, *HEAD, "hidden"}
    assert (
        len(arrays)
        == len(EMBEDDINGS) + analysis.trace.n_layers * len((*LAYER, *HEAD, "hidden")) + 1
    )
    for key, row in arrays.items():
        name, _, layer = key.partition(":")
        asked = {"kind": "tensor", "name": name, "rows": [focus, focus + 1]}
        asked |= {"layer": int(layer)} if layer else {}
        for place, head in enumerate([0, 2] if name in HEAD else [None]):
            reply, buffers = answer(analysis, asked if head is None else {**asked, "head": head})
            assert data["widths"][name] == reply["data"]["shape"][1]
            own = np.frombuffer(buffers[0], dtype=np.float32)
            np.testing.assert_array_equal(row if head is None else row[place], own, err_msg=key)


def test_a_page_with_every_tensor_or_of_very_many_texts_has_no_row_of_its_own() -> None:
    analysis, _, _ = runs()["factors and tensors"]
    selection = {"layer": 1, "head": 0}

    def rows(**options: Any) -> Any:
        return rows_of(snapshot(analysis, selection, PageSpec(**{"views": ["inside"], **options})))

    assert rows() is None
    assert rows(tensors=0, most=1e9) is not None
    assert rows(tensors=0, most=1e4) is None
    assert rows(light=True) is None
    assert rows(tensors=0, views=["attention"]) is None


def test_a_saved_page_has_the_vectors_of_the_selected_layer_before_other_tensors() -> None:
    analysis = aw.analyze("the cat sat on the mat", tagger=None, progress=False)
    found = list(groups(analysis, 3, [5], budget=1e6))
    # After the embeddings, on which the view Inside opens.
    later = [group for group in found if "layer" in group[0][0]]
    assert later[0] == [({"kind": "qkv", "layer": 3, "head": 5}, 8 * 3 * 32)]
    asked = [request for group in found for request, _ in group if request["kind"] == "qkv"]
    assert sorted(request["layer"] for request in asked) == list(range(6))
