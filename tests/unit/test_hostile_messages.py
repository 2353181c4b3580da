"""Messages that no page sends: refused in words, with a bounded number of threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from scipy.sparse import csgraph

import attn_widget as aw
from attn_widget.errors import InputTypeError
from attn_widget.protocol import tasks
from attn_widget.protocol.handlers import Handler
from tests.unit import tiny_models

LIMIT_S = 60


@pytest.fixture(scope="module")
def widget() -> Iterator[aw.AttentionWidget]:
    shown = aw.show("the cat sat on the mat", tagger=None, progress=False)
    yield shown
    shown.close()


HOSTILE_REQUESTS: list[Any] = [
    {"kind": []},
    {"kind": {"kind": []}},
    {"kind": "drop", "of": {"kind": []}},
    {"kind": "weights", "layer": 10**5000, "head": 0},
    {"kind": "weights", "layer": 0, "head": 0, "rows": [0, 10**5000]},
    {"kind": "weights", "source": "b", "layer": [[[[[[[[[]]]]]]]]]},
    {"kind": "drop", "of": {"kind": "flow", "token": 10**30}},
    {"kind": 10**5000, "text": "x"},
    {1: "kind"},
    {"kind": "run", "text": 10**5000},
    {"kind": "mask", "tokens": [10**5000]},
    {"kind": "switch_off", "heads": [[10**5000, 0]]},
]


def nested(depth: int) -> Any:
    within: Any = []
    for _ in range(depth):
        within = [within]
    return within


@pytest.mark.parametrize("name", ["kind", "layer", "of", "tokens", "heads", "text", "source"])
def test_a_value_nested_without_end_is_refused(widget: aw.AttentionWidget, name: str) -> None:
    for depth in (7, 500, 100_000):
        for request_ in (
            {"kind": "weights", name: nested(depth)},
            {"kind": "contributions", name: nested(depth)},
            {"kind": "drop", "of": {"kind": "compared", name: nested(depth)}},
        ):
            for ask in (widget.slice, widget.act):
                reply: Any = ask(request_, [])[0]
                assert reply["ok"] is False and "bug" not in reply["hint"], reply


@pytest.mark.parametrize(
    "request_", HOSTILE_REQUESTS, ids=lambda request_: str(sorted(map(str, request_)))[:60]
)
def test_hostile_requests_are_refused_and_no_bugs(
    widget: aw.AttentionWidget, request_: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for ask in (widget.slice, widget.act):
        reply: Any = ask(request_, [])[0]
        assert reply["ok"] is False, reply
        assert "bug" not in reply["hint"] and len(reply["error"]) < 300, reply
    assert not caplog.records
    assert widget.status == "ready"


@pytest.fixture(scope="module")
def parts() -> Iterator[aw.AttentionWidget]:
    model = tiny_models.build("bart")
    shown = aw.show("The cat.", output="A dog.", model=model, tagger=None, progress=False)
    yield shown
    shown.close()


HOSTILE_PARTS: list[Any] = [
    *({"kind": "part_paint", "part": part} for part in (None, "middle", [], 10**5000, {"part": 1})),
    {"kind": "part_paint", "part": "encoder", "layer": 10**5000, "head": 0},
    {"kind": "part_paint", "part": "encoder", "layer": 0, "head": [0]},
    *(
        {"kind": "weights", "layer": 0, "head": 0, "source": {"part": part}}
        for part in (None, "middle", [], 10**5000, True)
    ),
    {"kind": "weights", "layer": 0, "head": 0, "source": {"part": "cross", "example": 1}},
    {"kind": "weights", "layer": 0, "head": 0, "rows": [0, 6], "source": {"part": "cross"}},
    {"kind": "contributions", "target": {"position": 99}, "method": "decomposition"},
    {"kind": "drill", "aggregation": "mass", "a": 0, "b": 10**5000},
    {"kind": "switch_off", "heads": [["cross", 0, 10**5000]]},
    {"kind": "switch_off", "heads": [["middle", 0, 0], [["cross"], 0, 0]]},
    {"kind": "run", "text": "a", "output": ""},
    {"kind": "run", "text": "a", "output": ["b"]},
    {"kind": "compared", "text": "a"},
]


@pytest.mark.parametrize("request_", HOSTILE_PARTS, ids=lambda one: one["kind"])
def test_hostile_requests_about_parts_are_refused_and_no_bugs(
    parts: aw.AttentionWidget, request_: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for ask in (parts.slice, parts.act):
        reply: Any = ask(request_, [])[0]
        assert reply["ok"] is False, reply
        assert "bug" not in reply["hint"] and len(reply["error"]) < 300, reply
    assert not caplog.records
    assert parts.status == "ready" and parts.part == "cross"


@pytest.mark.parametrize("address", ["c", "a", 0, True, {"example": 1}, ["b"], {}])
def test_a_run_that_a_widget_does_not_have_is_refused(
    widget: aw.AttentionWidget, address: Any
) -> None:
    request = {"kind": "weights", "layer": 0, "head": 0, "source": address}
    reply: Any = widget._slice(request, [])[0]
    assert not reply["ok"] and "has no run" in reply["error"], reply
    assert widget._slice({**request, "source": None}, [])[0]["ok"]  # pyright: ignore


def test_slow_requests_that_are_given_up_start_no_thread_without_end(
    widget: aw.AttentionWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    started: list[int] = []

    def slow(_analysis: Any, request: Any, _progress: Any) -> Any:
        started.append(request["number"])
        assert release.wait(LIMIT_S)
        return {"number": request["number"]}, {}

    monkeypatch.setattr(tasks, "SOON_S", 0.001)
    asked = tasks.Tasks(lambda: widget.analysis, {"slow": Handler(slow, slow=True)})
    for number in range(500):
        reply, _ = asked.answer({"kind": "slow", "number": number})
        assert reply["ok"] is False and reply["later"] > 0
    assert len(started) <= tasks.MAX_THREADS
    release.set()
    last = {"kind": "slow", "number": 499}
    end = time.monotonic() + LIMIT_S
    while not asked.answer(last)[0]["ok"]:
        assert time.monotonic() < end, "waited in vain"


TRAITS = (
    "layer",
    "head",
    "token",
    "top_k",
    "depth",
    "height",
    "pair",
    "group",
    "masked",
    "heads_off",
)


@pytest.mark.parametrize("name", TRAITS)
def test_a_number_is_no_bool_and_no_array(widget: aw.AttentionWidget, name: str) -> None:
    before = getattr(widget, name)
    wrong: list[Any] = [True, np.array([1, 2]), np.array(1), torch.ones(2), nested(4)]
    if isinstance(before, list) or name == "pair":
        wrong = [[True, False], [[True, False]], *wrong[1:]]
    for value in wrong:
        with pytest.raises(traitlets.TraitError, match=name):
            setattr(widget, name, value)
        with pytest.raises((traitlets.TraitError, aw.AttnWidgetError)):
            aw.show(widget.analysis, **{name: value})
    for value in (True, [True], nested(500), 10**5000, "a" * 100_000, {"a": [None]}):
        widget.set_state({name: value})  # as the page would
        assert getattr(widget, name) == before
        assert name in widget.error["message"] and len(widget.error["message"]) < 1100
    widget.error = {}


@pytest.mark.parametrize("name", ["layout", "tabbable", "tooltip"])
def test_traits_of_ipywidgets_take_no_hostile_state(widget: aw.AttentionWidget, name: str) -> None:
    before = getattr(widget, name)
    for value in (nested(500), 10**5000, {1: 2}):
        widget.set_state({name: value})
        assert getattr(widget, name) == before
        assert name in widget.error["message"]
    widget.error = {}


def test_a_key_that_is_asked_for_often_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sinks: list[int] = []
    maximum_flow = csgraph.maximum_flow

    def note(graph: Any, source: int, sink: int) -> Any:
        sinks.append(sink)
        return maximum_flow(graph, source, sink)

    monkeypatch.setattr(csgraph, "maximum_flow", note)
    analysis = aw.analyze("the cat", tagger=None, progress=False)
    flows = analysis.heads.flow(1, [0, 2] * 10_000)
    assert len(sinks) == 2
    np.testing.assert_array_equal(flows, np.tile(flows[:2], 10_000))


@pytest.mark.parametrize("tagger", [5, True, np.array([1, 2]), torch.ones(2), "no", ["a"]], ids=str)
def test_what_is_no_tagger_is_refused_at_once(tagger: Any) -> None:
    with pytest.raises(InputTypeError, match="not a tagger"):
        aw.analyze("the cat", tagger=tagger, progress=False)


@pytest.mark.parametrize("progress", [5, None, "yes", np.array([1, 2])], ids=str)
def test_progress_is_true_or_false(progress: Any) -> None:
    for call in (aw.analyze, aw.show):
        with pytest.raises(InputTypeError, match=r"progress is .*, expected True or False"):
            call("the cat", tagger=None, progress=progress)
