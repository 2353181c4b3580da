"""The heads of a long text come layer by layer: a page draws the selected one at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis.long import layered
from attn_widget.analysis.long.layered import LayeredWalk
from attn_widget.analysis.opening import ROWS_OF_LONG, links_of, opening
from attn_widget.figures.metrics import KEYS
from attn_widget.protocol.head_scan import head_scan, survey
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import unpack
from attn_widget.trace.base import LONG_TOKENS
from tests.close import assert_close
from tests.unit import tiny_models

LIMIT_S = 60
SENTENCE = "the cat sat on the mat and it looked at a bird . "


@cache
def encoder() -> Any:
    return aw.load(tiny_models.build("modernbert", max_position_embeddings=2048))


def long_run(sentences: int = 90) -> aw.Analysis:
    return aw.analyze(SENTENCE * sentences, model=encoder(), tagger=None, progress=False)


@pytest.fixture
def widget(monkeypatch: pytest.MonkeyPatch) -> Iterator[aw.AttentionWidget]:
    monkeypatch.setattr(layered, "STREAMED_CELLS", 1e6)
    shown = aw.show(SENTENCE * 90, model=encoder(), tagger=None, progress=False)
    yield shown
    shown.close()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def ask(widget: aw.AttentionWidget, start: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The next layers, as the page asks for them."""
    for _ in range(1000):
        reply, buffers = widget._slice({"kind": "heads", "start": start}, [])
        if reply["ok"]:  # pyright: ignore
            arrays = {
                head["name"]: np.frombuffer(part, head["dtype"]).reshape(head["shape"])
                for head, part in zip(reply["arrays"], buffers, strict=True)  # pyright: ignore
            }
            return reply["data"], arrays  # pyright: ignore
        assert reply["later"] and reply["progress"][1] == 3, reply  # pyright: ignore
    raise AssertionError("no layer came")


def test_the_first_paint_has_the_selected_head_and_the_rest_comes_by_layers(
    widget: aw.AttentionWidget,
) -> None:
    meta, arrays = unpack(widget.first_paint)
    assert (meta["computed"], meta["predictions"]) == ([], None)
    known = ~np.isnan(arrays["head_max"])
    assert known.sum() == 1 and known[widget.layer, widget.head]
    assert np.isnan(arrays["metric:q25"]).all()
    whole = {name: arrays[name].copy() for name in arrays}
    seen: list[int] = []
    while len(seen) < 3:
        data, parts = ask(widget, len(seen))
        assert data["total"] == 3
        seen += data["layers"]
        for name, part in parts.items():
            whole[name][data["layers"]] = part
    assert sorted(seen) == [0, 1, 2]
    assert seen[0] == widget.layer, "the selected layer comes first"
    _, expected = unpack(first_paint(long_run(), widget.layer, widget.head))
    for name in ("thumbs", "head_max", "word_max", *(f"metric:{key}" for key in KEYS)):
        assert_close(whole[name], expected[name], terms=1)
    selected = arrays["thumbs"][widget.layer, widget.head]
    np.testing.assert_array_equal(selected, expected["thumbs"][widget.layer, widget.head])


def test_python_waits_for_what_a_page_streams(widget: aw.AttentionWidget) -> None:
    ask(widget, 0)
    metrics = widget.analysis.metrics  # the layers that the page has are not computed again
    assert not np.isnan(metrics.q75).any()
    assert head_scan(widget.analysis).walk.complete
    np.testing.assert_array_equal(survey(widget.analysis).head_max.shape, (3, 4))


def test_what_reads_all_heads_waits_for_them(widget: aw.AttentionWidget) -> None:
    reply, _ = widget._slice({"kind": "patterns"}, [])
    while not reply["ok"]:  # pyright: ignore
        assert reply["later"] and len(reply["progress"]) == 2  # pyright: ignore
        reply, _ = widget._slice({"kind": "patterns"}, [])
    assert head_scan(widget.analysis).walk.complete


def test_dropping_the_request_ends_the_work(widget: aw.AttentionWidget) -> None:
    ask(widget, 0)
    widget._slice({"kind": "drop", "of": {"kind": "heads", "start": 1}}, [])
    until(lambda: not any(t.name == "attn_widget task" for t in threading.enumerate()))
    data, _ = ask(widget, 0)  # what was done is still there
    assert data["layers"][0] == widget.layer


def test_another_run_holds_the_stream_until_it_is_over(widget: aw.AttentionWidget) -> None:
    before = widget.analysis
    ask(widget, 0)
    job = widget._runs.begin()  # pyright: ignore
    until(lambda: not any(t.name == "attn_widget task" for t in threading.enumerate()))
    reply, _ = widget._slice({"kind": "heads", "start": 3}, [])
    assert head_scan(before).walk.complete or reply["later"]  # pyright: ignore
    assert not any(t.name == "attn_widget task" for t in threading.enumerate())
    widget._runs.fail(job, RuntimeError("broken"))  # pyright: ignore
    assert widget.analysis is before and widget.first_paint
    seen = len(ask(widget, 0)[0]["layers"])
    while seen < 3:
        seen += len(ask(widget, seen)[0]["layers"])


def test_a_layer_that_was_given_up_is_computed_anew() -> None:
    trace = long_run().trace
    totals = np.zeros((3, 4))

    def visit(layer: int, heads: slice, _area: object, weights: np.ndarray) -> None:
        totals[layer, heads] += weights.sum(axis=(1, 2))

    def begin(layer: int) -> None:
        totals[layer] = 0

    walk = LayeredWalk(trace, visit, begin)
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walk.step(check)
    assert walk.done == ()
    walk.prefer(2)
    walk.finish()
    assert walk.done == (2, 0, 1)
    assert_close(totals, trace.n_tokens, terms=trace.n_tokens)


def test_failing_work_is_reported_and_keeps_what_is_there(widget: aw.AttentionWidget) -> None:
    trace = widget.analysis.trace

    def broken(layer: int) -> None:
        raise RuntimeError("no memory")

    trace.row_blocks = broken  # pyright: ignore
    reply: dict[str, Any] = {"later": 1}
    while "later" in reply:
        reply, _ = widget._slice({"kind": "heads", "start": 0}, [])  # pyright: ignore
    assert "no memory" in reply["error"] and widget.first_paint


def test_a_long_text_opens_on_a_link_of_the_rows_that_are_read() -> None:
    analysis = long_run()
    assert analysis.trace.n_tokens > LONG_TOKENS
    rows = np.array([1, 400, 900])
    weights = analysis.trace.layer_weights(1)
    assert_close(analysis.trace.picked_rows(1, rows), weights[:, rows], terms=32)
    links, opened = links_of(analysis), opening(analysis)
    assert links.values.shape == (analysis.trace.n_layers, analysis.trace.n_heads, ROWS_OF_LONG)
    assert isinstance(opened.head, int) and opened.token is not None and opened.key is not None
    row = analysis.attention(opened.layer, opened.head)[opened.token]
    others = [
        i for i, token in enumerate(analysis.tokens) if not token.special and i != opened.token
    ]
    assert_close(row[opened.key], row[others].max(), terms=1)


def test_the_first_paint_of_144_heads_and_128_tokens_is_below_150_kb() -> None:
    twelve: dict[str, Any] = {"num_hidden_layers": 12, "num_attention_heads": 12, "hidden_size": 48}
    pair = tiny_models.build("bert", max_position_embeddings=128, **twelve)
    text = "the cat sat on the mat and it looked " * 40
    analysis = aw.analyze(text, model=pair, truncation=True, tagger=None, progress=False)
    assert (analysis.trace.n_layers, analysis.trace.n_heads, analysis.trace.n_tokens) == (
        12,
        12,
        128,
    )
    packed = first_paint(analysis, 3, 5)
    meta, arrays = unpack(packed)
    assert meta["predictions"] is not None and arrays["weights"].shape == (128, 128)
    assert len(packed) < 150_000
