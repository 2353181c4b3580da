"""Heads switched off in a widget: the trait, the page's action, and what the page is told."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import traitlets

import attn_widget as aw
from attn_widget.page.saved_run import saved_run
from attn_widget.protocol.answer import answer
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The keys to the cabinet [MASK] here."
HEADS = [(4, 10), (3, 1)]
LISTED = [[3, 1], [4, 10]]


def meta_of(widget: aw.AttentionWidget) -> dict[str, Any]:
    return unpack(widget.first_paint)[0]


def wait(widget: aw.AttentionWidget) -> None:
    deadline = time.monotonic() + 60
    while widget.status == "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_trait_runs_the_text_without_these_heads_and_with_them_again() -> None:
    widget = aw.show(TEXT, progress=False)
    before = widget.analysis
    widget.heads_off = [[*pair] for pair in HEADS]
    assert widget.heads_off == LISTED == meta_of(widget)["heads_off"]
    expected = before.ablate(HEADS).predictions().probabilities
    np.testing.assert_array_equal(widget.analysis.predictions().probabilities, expected)
    widget.masked = [2]  # both at once
    assert widget.heads_off == LISTED and widget.masked == [2]
    widget.heads_off = []
    assert widget.masked == [2] and meta_of(widget)["heads_off"] == []
    widget.masked = []
    assert widget.analysis is before
    widget.close()


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ([[9, 0]], "9"),
        ([[1, 1], [1, 1]], "twice"),
        ([[layer, head] for layer in range(6) for head in range(12)], "all"),
        ([[1]], "heads_off"),
        ([1, 2], "heads_off"),
    ],
)
def test_what_cannot_be_switched_off_leaves_the_picture(heads: Any, said: str) -> None:
    widget = aw.show(TEXT, progress=False)
    before = widget.first_paint
    with pytest.raises(traitlets.TraitError, match=said):
        widget.heads_off = heads
    assert widget.first_paint == before and widget.heads_off == []
    reply, _ = widget._act({"kind": "switch_off", "heads": heads}, [])
    assert not reply["ok"] and widget.first_paint == before  # pyright: ignore[reportIndexIssue, reportArgumentType, reportCallIssue]
    widget.close()


def test_the_page_switches_heads_off() -> None:
    widget = aw.show(TEXT, progress=False)
    reply, _ = widget._act({"kind": "switch_off", "heads": LISTED}, [])
    assert reply["ok"]  # pyright: ignore[reportIndexIssue, reportArgumentType, reportCallIssue]
    wait(widget)
    assert widget.heads_off == LISTED
    reply, _ = widget._act({"kind": "switch_off", "heads": "all"}, [])
    assert not reply["ok"]  # pyright: ignore[reportIndexIssue, reportArgumentType, reportCallIssue]
    widget.run("Another text.")
    assert widget.heads_off == []
    widget.close()


def test_tensors_from_outside_have_no_heads_to_switch_off() -> None:
    held = aw.from_attentions([np.full((1, 2, 3, 3), 1 / 3, np.float32)], ["a", "b", "c"])
    widget = aw.AttentionWidget(held)
    with pytest.raises(traitlets.TraitError):
        widget.heads_off = [[0, 0]]
    widget.close()


def test_the_page_is_told_what_the_model_said_before() -> None:
    a = aw.analyze(TEXT, tagger=None, progress=False)
    off = a.ablate(HEADS)
    reply, buffers = answer(off, {"kind": "intact"})
    assert reply["ok"]
    ids, probabilities, left = (
        np.frombuffer(data, head["dtype"])
        for head, data in zip(reply["arrays"], buffers, strict=True)
    )
    before = a.predictions(top_k=1)
    np.testing.assert_array_equal(ids, before.ids[:, 0])
    assert_close(probabilities, before.probabilities[:, 0], terms=384, steps=6)
    now = [
        off.model.softmax(i, token_ids=[int(one)]).entries[0]["probability"]
        for i, one in enumerate(ids)
    ]
    assert_close(left, now, terms=384, steps=6)
    assert off.model.unablated is a and a.model.unablated is a


def test_a_classifiers_former_class_is_told() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification", num_labels=2)
    a = aw.analyze("the cat sat", model=model, tagger=None, progress=False)
    assert a.model.classification is not None
    reply, _ = answer(a.ablate([(0, 0)]), {"kind": "intact"})
    best = int(a.model.classification.logits.argmax())
    assert reply["data"]["classes"] == {
        "label": a.model.classification.labels[best],
        "probability": pytest.approx(float(np.ravel(a.model.classification.probabilities)[best])),
    }


def test_a_saved_page_says_which_heads_are_off() -> None:
    a = aw.analyze(TEXT, tagger=None, progress=False).ablate(HEADS)
    meta, _ = unpack(saved_run(RunSource(a)).snapshot.chunks["paint"])
    assert meta["heads_off"] == LISTED
    assert {"kind": "intact"} in [entry["request"] for entry in meta["recorded"]]
    widget = aw.AttentionWidget(a)
    widget.close()
