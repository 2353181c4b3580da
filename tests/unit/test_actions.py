"""Actions: what the page starts runs beside the kernel's work, and arrives whole or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as st

import attn_widget as aw
from attn_widget.errors import InputError
from attn_widget.protocol.pack import unpack
from attn_widget.widget import actions
from attn_widget.widget.jobs import Job
from tests.unit import tiny_models
from tests.unit.test_protocol import json_like

TEXT = "the cat sat on the mat"
LIMIT_S = 60
CAT = 2


@pytest.fixture
def widget() -> Iterator[aw.AttentionWidget]:
    shown = aw.show(TEXT, layer=3, head=5, token=CAT, tagger=None, progress=False)
    shown.pair, shown.group = [1, 2], [1, 2]
    yield shown
    shown.close()


def act(widget: aw.AttentionWidget, **request: Any) -> None:
    reply, buffers = widget._act(request, [])
    assert (reply, buffers) == ({"ok": True, "data": {}, "arrays": []}, [])


def until(holds: Callable[[], bool]) -> None:
    """Wait for another thread."""
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def settled(widget: aw.AttentionWidget) -> None:
    until(lambda: widget.status != "running")


class Gate:
    """Stands in for the model's thread: runs wait here until they are let through."""

    def __init__(self, widget: aw.AttentionWidget) -> None:
        self.open = threading.Event()
        self.entered = 0
        real = widget._runs.analyze
        assert real is not None

        def analyze(text: str, text_pair: str | None, **options: Any) -> Any:
            self.entered += 1
            assert self.open.wait(LIMIT_S)
            return real(text, text_pair, **options)

        widget._runs.analyze = analyze


def test_another_text_is_run_beside_and_shown(widget: aw.AttentionWidget) -> None:
    act(widget, kind="run", text="dogs bark", text_pair="at night")
    settled(widget)
    assert (widget.status, widget.text, widget.text_pair) == ("ready", "dogs bark", "at night")
    assert (widget.layer, widget.head) == (3, 5)
    assert (widget.token, widget.pair, widget.group) == (None, None, [])
    meta, arrays = unpack(widget.first_paint)
    assert meta["text_pair"] == "at night"
    np.testing.assert_array_equal(arrays["weights"], widget.analysis.attention(3, 5))


def test_a_mask_keeps_the_selection_for_its_tokens_stand_where_they_stood(
    widget: aw.AttentionWidget,
) -> None:
    act(widget, kind="mask", tokens=[CAT])
    settled(widget)
    assert widget.masked == [CAT]
    assert (widget.token, widget.pair, widget.group) == (CAT, [1, 2], [1, 2])
    meta, _ = unpack(widget.first_paint)
    assert [hidden["text"] for hidden in meta["masked"]] == ["cat"]
    act(widget, kind="mask", tokens=[])
    settled(widget)
    assert widget.masked == [] == unpack(widget.first_paint)[0]["masked"]
    assert widget.token == CAT


def test_the_page_gets_a_run_in_one_message(
    widget: aw.AttentionWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(widget, "_send", lambda message, buffers=None: sent.append(message))
    act(widget, kind="run", text="dogs bark")
    settled(widget)
    until(lambda: len(sent) > 1)
    states = [message["state"] for message in sent]
    shown = [state for state in states if "text" in state]
    assert len(shown) == 1
    assert shown[0].keys() >= {"text", "history", "token", "pair", "group", "status"}
    assert sent[states.index(shown[0])]["buffer_paths"] == [["first_paint"]]


def test_observers_see_the_whole_new_run(widget: aw.AttentionWidget) -> None:
    seen: list[tuple[str, int, str]] = []
    widget.observe(
        lambda _: seen.append((widget.text, widget.analysis.trace.n_tokens, widget.status)), "text"
    )
    act(widget, kind="run", text="dogs bark")
    settled(widget)
    until(lambda: bool(seen))
    assert seen == [("dogs bark", 4, "ready")]


def test_progress_counts_the_layers_and_then_the_picture(widget: aw.AttentionWidget) -> None:
    job = Job()
    seen: list[dict[str, Any]] = []
    note = job.step("Running")

    def step(done: int, total: int) -> None:
        note(done, total)
        seen.append(job.progress)

    widget.analysis.mask([1], progress=step)
    layers = widget.analysis.trace.n_layers
    assert [one["done"] for one in seen] == list(range(layers + 1))
    assert seen[0] == {"label": "Running", "done": 0, "total": layers}


def test_progress_is_told_while_a_run_lasts_and_taken_back_after(
    widget: aw.AttentionWidget,
) -> None:
    seen: list[dict[str, Any]] = []
    widget.observe(lambda change: seen.append(change["new"]), "progress")
    release = threading.Event()
    real = widget._runs.analyze
    assert real is not None

    def slow(text: str, text_pair: str | None, *, progress: Any, **options: Any) -> Any:
        progress(1, 6)
        assert release.wait(LIMIT_S)
        return real(text, text_pair, progress=progress, **options)

    widget._runs.analyze = slow
    act(widget, kind="run", text="dogs bark")
    until(lambda: {"label": "Running the model", "done": 1, "total": 6} in seen)
    release.set()
    settled(widget)
    assert widget.progress == {}


def test_a_new_run_replaces_the_one_in_hand(widget: aw.AttentionWidget) -> None:
    gate = Gate(widget)
    act(widget, kind="run", text="first")
    until(lambda: gate.entered == 1)
    act(widget, kind="run", text="second")
    assert widget.status == "running"
    gate.open.set()
    settled(widget)
    assert widget.text == "second"
    assert [run["text"] for run in widget.history] == ["second", TEXT]


def test_of_thousands_of_runs_one_thread_does_the_latest(widget: aw.AttentionWidget) -> None:
    gate = Gate(widget)
    before = threading.active_count()
    act(widget, kind="run", text="first")
    until(lambda: gate.entered == 1)
    for number in range(3000):
        act(widget, kind="run", text=f"text {number}")
        assert threading.active_count() <= before + 2  # the worker, and what tells its progress
    gate.open.set()
    settled(widget)
    assert (widget.text, widget.status, gate.entered) == ("text 2999", "ready", 2)
    until(lambda: not any("attn_widget run" in t.name for t in threading.enumerate()))


def test_what_is_canceled_leaves_everything_as_it_was(widget: aw.AttentionWidget) -> None:
    before = widget.first_paint, widget.analysis
    gate = Gate(widget)
    act(widget, kind="run", text="first")
    until(lambda: gate.entered == 1)
    act(widget, kind="cancel")
    assert (widget.status, widget.error, widget.progress) == ("ready", {}, {})
    gate.open.set()
    until(lambda: not any("attn_widget run" in t.name for t in threading.enumerate()))
    assert (widget.first_paint, widget.analysis) == before
    assert (widget.text, widget.status, widget.error) == (TEXT, "ready", {})
    act(widget, kind="cancel")  # nothing runs: nothing happens
    assert widget.status == "ready"


def test_closing_ends_a_run(widget: aw.AttentionWidget) -> None:
    gate = Gate(widget)
    act(widget, kind="run", text="first")
    until(lambda: gate.entered == 1)
    widget.close()
    gate.open.set()
    until(lambda: not any("attn_widget run" in t.name for t in threading.enumerate()))
    assert (widget.status, widget.first_paint) == ("closed", b"")
    reply, _ = widget._act({"kind": "run", "text": "x"}, [])
    assert reply["error"] == "This widget is closed."


def test_a_text_that_is_too_long_is_said_with_its_length(widget: aw.AttentionWidget) -> None:
    before = widget.first_paint
    act(widget, kind="run", text="word " * 600)
    settled(widget)
    assert widget.status == "error"
    assert widget.error["message"] == "The text has 602 tokens; attn_widget/mini reads at most 512."
    assert "truncation=True" in widget.error["hint"]
    assert (widget.first_paint, widget.text) == (before, TEXT)
    act(widget, kind="run", text="word " * 600, truncation=True)
    settled(widget)
    assert (widget.status, widget.error, widget.analysis.trace.n_tokens) == ("ready", {}, 512)


def test_a_bug_is_said_too(widget: aw.AttentionWidget, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("out of memory")

    widget._runs.analyze = broken
    act(widget, kind="run", text="first")
    settled(widget)
    until(lambda: "has failed" in caplog.text)
    assert widget.status == "error"
    assert widget.error["message"] == "RuntimeError: out of memory"
    with pytest.raises(RuntimeError):
        widget.run("second")
    assert widget.status == "error"


def test_running_from_python_takes_the_place_of_the_pages_run(widget: aw.AttentionWidget) -> None:
    real = widget._runs.analyze
    gate = Gate(widget)
    act(widget, kind="run", text="first")
    until(lambda: gate.entered == 1)
    widget._runs.analyze = real
    widget.run("second")
    assert (widget.text, widget.status) == ("second", "ready")
    gate.open.set()
    until(lambda: not any("attn_widget run" in t.name for t in threading.enumerate()))
    assert widget.text == "second"


def test_the_history_keeps_ten_different_runs_newest_first(widget: aw.AttentionWidget) -> None:
    for number in range(11):
        widget.run(f"text {number}")
    widget.run("text 5")
    widget.masked = [1]
    numbers = [int(run["text"].split()[1]) for run in widget.history]
    assert numbers == [5, 10, 9, 8, 7, 6, 4, 3, 2, 1]
    with pytest.raises(InputError):
        widget.run(" ")
    assert len(widget.history) == 10


def test_setting_masked_runs_again(widget: aw.AttentionWidget) -> None:
    plain = widget.analysis
    heard: list[dict[str, Any]] = []
    widget.observe(lambda change: heard.append(unpack(widget.first_paint)[0]), "masked")
    widget.masked = [3, CAT, CAT]
    assert widget.masked == [CAT, 3]
    assert [hidden.token for hidden in widget.analysis.model.masked] == [CAT, 3]
    assert [hidden["token"] for hidden in heard[0]["masked"]] == [CAT, 3]
    assert (widget.status, widget.token) == ("ready", CAT)
    widget.masked = []
    assert widget.analysis is plain


@pytest.mark.parametrize("tokens", [[0], [99], [True], ["cat"], [1.5], 2, None])
def test_masks_that_cannot_be_are_refused_and_the_state_stays(
    widget: aw.AttentionWidget, tokens: Any
) -> None:
    widget.masked = [CAT]
    before = widget.first_paint
    with pytest.raises(traitlets.TraitError):
        widget.masked = tokens
    assert (widget.masked, widget.first_paint, widget.status) == ([CAT], before, "ready")


def test_masks_from_the_page_run_again_or_are_undone(widget: aw.AttentionWidget) -> None:
    widget.set_state({"masked": [CAT]})
    assert [hidden.token for hidden in widget.analysis.model.masked] == [CAT]
    widget.set_state({"masked": [0]})
    assert widget.masked == [CAT]
    assert "which the tokenizer added" in widget.error["message"]
    widget.set_state({"masked": [1], "layer": 99})
    assert (widget.masked, widget.layer, widget.status) == ([CAT], 3, "ready")
    assert [hidden.token for hidden in widget.analysis.model.masked] == [CAT]
    widget.set_state({"masked": [1], "layer": 2})
    assert (widget.masked, widget.layer, widget.status) == ([1], 2, "ready")
    widget.set_trait("masked", [CAT])
    assert [hidden.token for hidden in widget.analysis.model.masked] == [CAT]


def test_show_begins_with_masks() -> None:
    shown = aw.show(TEXT, masked=[CAT], progress=False)
    assert shown.masked == [CAT]
    shown.run("dogs bark at cats")
    assert shown.masked == []
    shown.close()


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (None, "A request must be an object, got NoneType."),
        ([], "A request must be an object"),
        ({}, "kind is None."),
        ({"kind": ["run"]}, "The kind of a request is ['run']"),
        ({"kind": "explode"}, "kind is 'explode'."),
        ({"kind": "run"}, "text is a NoneType, expected a str."),
        ({"kind": "run", "text": 3}, "text is a int"),
        ({"kind": "run", "text": "  "}, "only white space"),
        ({"kind": "run", "text": "a\ud800"}, "lone surrogate"),
        ({"kind": "run", "text": "a", "text_pair": ""}, "text_pair is empty"),
        ({"kind": "run", "text": "a", "truncation": "yes"}, "truncation is 'yes'"),
        ({"kind": "run", "text": "a" * 1_000_001}, "1,000,001 characters, more than 1,000,000"),
        ({"kind": "mask"}, "tokens must be a list"),
        ({"kind": "mask", "tokens": "2"}, "tokens must be a list"),
        ({"kind": "mask", "tokens": [0]}, "which the tokenizer added"),
        ({"kind": "mask", "tokens": [10**15]}, "expected 0 to 7"),
    ],
)
def test_an_action_that_cannot_be_is_refused_in_words(
    widget: aw.AttentionWidget, request_: object, said: str
) -> None:
    reply, _ = widget._act(request_, [])
    assert reply["ok"] is False
    assert said in reply["error"]
    assert widget.status == "ready"


@pytest.mark.parametrize("name", ["text", "text_pair"])
@pytest.mark.parametrize("more", [0, 1])
def test_a_segment_has_at_most_a_million_characters(name: str, more: int) -> None:
    request = {"text": "a", name: "a" * (actions.MAX_CHARACTERS + more)}
    with pytest.raises(InputError, match=f"{name} has") if more else nullcontext():
        assert actions.texts_of(request) == (request["text"], request.get("text_pair"))


def test_figures_alone_cannot_be_run() -> None:
    given = aw.from_attentions(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"], tagger=None)
    shown = aw.AttentionWidget(given)
    assert shown.history == []
    for request in ({"kind": "run", "text": "x"}, {"kind": "mask", "tokens": [1]}):
        reply, _ = shown._act(request, [])
        assert reply["ok"] is False and "no model" in reply["error"]
    shown.masked = []
    with pytest.raises(traitlets.TraitError, match="no model"):
        shown.masked = [1]
    with pytest.raises(InputError, match="no model"):
        shown.run("x")
    assert shown.status == "ready"
    shown.close()


requests = st.fixed_dictionaries(
    {"kind": st.sampled_from(actions.KINDS) | json_like},
    optional={
        name: st.lists(st.integers(-2, 12), max_size=3) | json_like
        for name in ("text", "text_pair", "truncation", "tokens")
    },
)


@settings(max_examples=60)
@given(request_=requests | json_like)
def test_no_action_raises_or_is_called_a_bug(request_: object) -> None:
    shown = fuzzed()
    reply, _ = shown._act(request_, [])
    assert reply["ok"] or "bug" not in reply["hint"], reply
    settled(shown)
    assert shown.status == "ready" or "unexpected" not in shown.error["hint"], shown.error


def fuzzed(held: list[aw.AttentionWidget] = []) -> aw.AttentionWidget:  # noqa: B006 - one for all examples
    if not held:
        held.append(aw.show("a b", model=tiny_models.build("bert"), tagger=None, progress=False))
    return held[0]
