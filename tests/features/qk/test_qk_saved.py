"""What a saved page has of why a head looks there."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.features.qk import saved
from attn_widget.page.saved_run import saved_run
from attn_widget.page.shown import output_run
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection

CELL: dict[str, Any] = {"layer": 1, "head": 3, "query": 6, "key": 2}
PINNED: dict[str, Any] = {"layer": 1, "head": 3, "token": 6, "pair": (6, 2)}
TEXT = "The keys to the cabinet are here."


def analysis() -> aw.Analysis:
    return aw.analyze(TEXT, tagger=None, progress=False)


def ask(a: aw.Analysis, kind: str, **more: Any) -> dict[str, Any]:
    """As the page asks, with the fields that it leaves open."""
    request = {"kind": kind, **CELL, "against": "others", "by": None, **more}
    reply, _ = answer(a, request)
    assert reply["ok"], reply
    return reply["data"]


def recorded(a: aw.Analysis, **selection: Any) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """Entries of the page about this, its arrays, and the bytes of its first chunk, compressed."""
    page = saved_run(RunSource(a), Selection(**{**PINNED, **selection})).snapshot.chunks["paint"]
    meta, arrays = unpack(page)
    entries = [each for each in meta["recorded"] if each["request"]["kind"].startswith("qk")]
    return (
        [each for each in entries if each["request"]["kind"] != "qkv"],
        arrays,
        len(zlib.compress(page)),
    )


def test_what_was_asked_of_the_pinned_pair_goes_along() -> None:
    a = analysis()
    _, _, without = recorded(a)
    data = ask(a, "qk")
    ask(a, "qk", by="parts")
    ask(a, "qk_effects", by="tokens", side="key", parts=[1, 2])
    ask(a, "qk_trace", by="parts", depth=2)
    ask(a, "qk", key=3)
    entries, arrays, size = recorded(a)
    asked = [{k: v for k, v in each["request"].items() if k not in CELL} for each in entries]
    order = ("qk", "qk_effects", "qk_trace")
    assert sorted(asked, key=lambda one: (order.index(one["kind"]), "by" in one)) == [
        {"kind": "qk", "against": "others"},
        {"kind": "qk", "against": "others", "by": "parts"},
        {"kind": "qk_effects", "against": "others", "by": "tokens", "side": "key", "parts": [1, 2]},
        {"kind": "qk_trace", "against": "others", "by": "parts", "depth": 2},
    ]
    assert all({k: each["request"][k] for k in CELL} == CELL for each in entries)
    first = next(
        each for each in entries if each["request"]["kind"] == "qk" and "by" not in each["request"]
    )
    assert first["data"] == data
    found = a.qk_attribution(1, 3, 6, 2)
    np.testing.assert_array_equal(arrays[first["arrays"]["matrix"]], found.matrix)
    assert size - without < 9_000


def test_the_default_sum_is_there_whatever_was_asked() -> None:
    a = analysis()
    ask(a, "qk", against="all", by="parts")
    entries, _, _ = recorded(a)
    assert [each["request"]["against"] for each in entries] == ["others", "all"]
    assert entries[0]["data"]["by"] == "tokens"


def test_the_output_of_a_cell_has_it() -> None:
    """It is made of a copy of the run, whose words no tagger has found."""
    a = aw.analyze(TEXT, progress=False)
    a.qk_attribution(1, 3, 6, 2)
    run = output_run(RunSource(a), Selection(**PINNED), full=False)
    meta, _ = unpack(run.snapshot.chunks["paint"])
    assert "qk" in [each["request"]["kind"] for each in meta["recorded"]]


@pytest.mark.parametrize(
    "selection", [{"pair": None}, {"pair": (6, 3)}, {"head": 4}, {"head": "mean"}]
)
def test_another_pair_has_none(selection: dict[str, Any]) -> None:
    a = analysis()
    ask(a, "qk")
    assert recorded(a, **selection)[0] == []


def test_a_page_of_other_views_has_none() -> None:
    a = analysis()
    ask(a, "qk")
    meta, _ = unpack(
        saved_run(
            RunSource(a), Selection(view="heads", **PINNED), PageSpec(views=["heads"])
        ).snapshot.chunks["paint"]
    )
    assert not any(each["request"]["kind"] == "qk" for each in meta["recorded"])


def test_a_run_keeps_the_last_answers_and_each_once() -> None:
    a = analysis()
    for at in [*range(saved.KEPT + 3), 7]:
        saved.remember(a, {"kind": "qk", **CELL, "against": at, "by": None})
    kept = [asked["against"] for asked, _ in saved.asked_of(a)]
    assert kept == [*range(3, 7), *range(8, saved.KEPT + 3), 7]
