"""What a saved run answers: the kernel's own words, codes within their errors, or that a kernel is needed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attn_widget.api import show
from attn_widget.page.compress import inflate
from attn_widget.page.recorded import light_requests
from attn_widget.page.room import fitting
from attn_widget.page.saved_run import saved_run
from attn_widget.page.snapshot import snapshot
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import HANDLERS, answer
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection
from tests.golden import make_page
from tests.golden.make_page import CODED, EXACT, PATH, REFUSED

RUNS = (
    "factors and tensors", "factors without tensors", "coarse factors", "coarse weights",
    "held weights and a mask", "classes", "a decoder",
)  # fmt: skip


@cache
def runs() -> dict[str, Any]:
    return make_page.runs()


@cache
def paint_of(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    analysis, options, _ = runs()[name]
    return unpack(
        saved_run(RunSource(analysis), Selection(layer=1, head=0), **options).snapshot.chunks[
            "paint"
        ]
    )


def test_every_kind_of_question_is_asked_of_a_saved_page() -> None:
    """A new kind of slice must say here how a page answers it."""
    asked = {request["kind"] for _, _, told in runs().values() for request, _ in told}
    # A page has the heads of its long text whole, and makes levels of detail of them itself.
    of_long_texts = {"heads", "pyramid", "tile", "links"}
    of_an_open_index = {"near"}  # a page has none, and its view Inside no panel for one
    of_parts = {"alignment", "part_paint", "written_shares"}  # tests/unit/test_parts.py
    of_a_cell = {"qk", "qk_effects", "qk_trace"}  # tests/features/qk/test_qk_saved.py
    of_blocks = {"lens"}  # tests/features/lens/test_saved.py
    of_words = {"word_surprisal"}  # tests/features/surprisal/test_of_run.py
    of_a_chat = {"turns", "turn_contributions"}  # tests/features/chat/test_chat_saved.py
    of_a_picture = {
        "image",
        "patch_rows",
        "patch_patterns",
    }  # tests/features/images/test_image_slices.py
    of_a_link = {"pair_weights"}  # js/tests/pinned-link.test.ts
    others = of_long_texts | of_an_open_index | of_parts | of_a_cell | of_blocks | of_words
    others |= of_a_chat | of_a_picture | of_a_link | {"code"}
    assert asked - {"nothing"} == set(HANDLERS) - others


def test_the_questions_of_each_run_have_every_kind_of_answer() -> None:
    ways = {name: {how for _, how in told} for name, (_, _, told) in runs().items()}
    assert tuple(ways) == RUNS
    assert ways["factors and tensors"] == {EXACT, CODED, REFUSED}


@pytest.mark.parametrize("name", RUNS)
def test_what_a_page_recorded_is_the_kernels_own_answer(name: str) -> None:
    analysis, _, _ = runs()[name]
    meta, arrays = paint_of(name)
    assert meta["recorded"]
    for entry in meta["recorded"]:
        request = entry["request"]
        if request["kind"] in ("token_row", "targets", "mixing_code"):
            continue  # tested below; those that were saved; a code, which the page's tests read
        asked = {key: value for key, value in request.items() if key != "cols"}
        reply, buffers = answer(analysis, asked)
        if "refused" in entry["data"]:  # a method that a decoder lacks, with the reason
            assert not reply["ok"] and entry["data"]["refused"]["error"] == reply["error"]
            continue
        assert reply["ok"], request
        data = dict(entry["data"])
        if request["kind"] == "architecture":
            assert data.pop("widths") == {
                "sum": 32,
                "attention_output": 32,
                "ffn_activation": 128 if name == "a decoder" else 48,
            }
        assert data == json.loads(json.dumps(reply["data"])), request
        assert list(entry["arrays"]) == [head["name"] for head in reply["arrays"]]
        for head, buffer in zip(reply["arrays"], buffers, strict=True):
            stored = arrays[entry["arrays"][head["name"]]]
            own = np.frombuffer(buffer, dtype=head["dtype"]).reshape(head["shape"])
            if request["kind"] == "tensor":  # the page has a window of its columns
                own = own[:, : stored.shape[1]]
            np.testing.assert_array_equal(stored, own, err_msg=str(request))


@pytest.mark.parametrize("name", RUNS)
def test_nothing_that_the_kernel_refuses_is_recorded(name: str) -> None:
    analysis, _, told = runs()[name]
    meta, _ = paint_of(name)
    kinds = {entry["request"]["kind"] for entry in meta["recorded"]}
    for request, how in told:
        refused = not answer(analysis, {k: v for k, v in request.items() if k != "cols"})[0]["ok"]
        if refused and request["kind"] not in ("weights", "nothing"):
            assert how == REFUSED
            assert request["kind"] not in kinds, request


def test_a_group_that_is_too_large_leaves_its_room_to_smaller_ones() -> None:
    sizes = [10, 50, 20, 5]
    groups = iter([[({"kind": "tensor", "name": str(size)}, size)] for size in sizes])
    chosen, whole = fitting(groups, budget=4 * 35)
    assert [cells for _, cells in chosen] == [10, 20, 5] and not whole


def test_a_page_without_the_view_inside_has_vectors_alone() -> None:
    analysis, _, _ = runs()["factors and tensors"]
    found = snapshot(analysis, {"layer": 1, "head": 0}, PageSpec(views=["attention"]))
    meta, _ = unpack(found.chunks["paint"])
    kinds = [entry["request"]["kind"] for entry in meta["recorded"]]
    assert "qkv" in kinds and "tensor" not in kinds


@pytest.mark.parametrize(
    ("layers", "quantity", "opens"),
    [
        (None, "rollout", "rollout"),
        ([0, 1], "rollout", "rollout"),
        ([1], "rollout", "weights"),
        (None, "scores", "scores"),
    ],
)
def test_a_page_opens_on_a_quantity_that_it_has(
    layers: list[int] | None, quantity: str, opens: str
) -> None:
    analysis, _, _ = runs()["factors and tensors"]
    selection = {"layer": 1, "head": 0, "quantity": quantity}
    found = snapshot(analysis, selection, PageSpec(layers=layers, views=["attention"]), code="qk")
    meta, _ = unpack(found.chunks["paint"])
    assert meta["snapshot"]["selection"]["quantity"] == opens


def test_a_page_of_coded_weights_opens_on_weights_instead_of_scores() -> None:
    analysis, _, _ = runs()["factors and tensors"]
    selection = {"layer": 1, "head": 0, "quantity": "scores"}
    found = snapshot(analysis, selection, PageSpec(views=["attention"]), code="weights")
    meta, _ = unpack(found.chunks["paint"])
    assert meta["snapshot"]["selection"]["quantity"] == "weights"


def test_the_output_of_a_cell_records_what_takes_milliseconds() -> None:
    analysis, _, _ = runs()["factors and tensors"]
    found = snapshot(analysis, {"layer": 0, "head": 0}, PageSpec(views=["attention"], light=True))
    meta, _ = unpack(found.chunks["paint"])
    recorded = [entry["request"] for entry in meta["recorded"]]
    assert recorded == [request for request in light_requests(analysis) if request in recorded]
    assert {"kind": "predictions", "mode": "as_is", "top_k": 5} in recorded


def recorded(meta: dict[str, Any]) -> list[str]:
    """What a page can answer, but for how many positions: that hangs on how well the rest was compressed."""
    requests = [entry["request"] for entry in meta["recorded"]]
    tables = ("position_table", "sinusoid")
    return sorted(
        json.dumps({key: r[key] for key in r if key != "rows" or r.get("name") not in tables})
        for r in requests
    )


def test_the_golden_pages_are_what_python_makes_now() -> None:
    then = json.loads(PATH.read_text())
    assert [page["name"] for page in then] == list(RUNS)
    for page in then:
        name = page["name"]
        asked = [[one["request"], one["how"]] for one in page["slices"]]
        assert asked == json.loads(json.dumps(runs()[name][2]))
        meta, _ = paint_of(name)
        golden_meta, _ = unpack(inflate(page["chunks"]["paint"]))
        assert recorded(meta) == recorded(golden_meta)
        said, golden_said = meta["snapshot"], golden_meta["snapshot"]
        assert said.keys() == golden_said.keys()
        if not name.startswith(
            "coarse"
        ):  # the smaller code, and the random model's two are nearly of a size
            assert said["code"] == golden_said["code"]


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("factors and tensors", {"words": True}),
        ("factors and tensors", {"special": False}),
        ("factors and tensors", {"words": True, "special": False}),
        ("a decoder", {"words": True}),
    ],
)
def test_a_view_of_words_is_saved_without_what_is_of_tokens(
    name: str, of: dict[str, bool], tmp_path: Path
) -> None:
    words = runs()[name][0].view(**of)
    reply, _ = answer(words, {"kind": "mixing", "quantity": "mixing", "layer": 1})
    assert reply["ok"] and "ratio" not in {array["name"] for array in reply["arrays"]}
    chosen = Selection(layer=1, head=0, quantity="mixing")
    meta, _ = unpack(saved_run(RunSource(words), chosen).snapshot.chunks["paint"])
    about = meta["snapshot"]
    assert "why" not in about["views"] and about["selection"]["quantity"] == "mixing"
    coded = [entry for entry in meta["recorded"] if entry["request"]["kind"] == "mixing_code"]
    assert {entry["request"]["quantity"] for entry in coded} >= {"norms", "mixing", "alti"}
    assert not any("ratio" in entry["arrays"] for entry in coded)
    assert not {"targets", "contributions", "value_lengths"} & {
        entry["request"]["kind"] for entry in meta["recorded"]
    }
    show(words, progress=False).to_html(tmp_path / "words.html")
