"""What a page reads of a chat: its turns, and slices of it; live, saved and recorded."""

from __future__ import annotations

import numpy as np
import pytest

from attn_widget.api import runner
from attn_widget.features.chat.recorded import answers_of
from attn_widget.page.saved_run import saved_run
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection
from tests.answers import arrays_of
from tests.features.chat.test_chat import CHATS, analysis


def test_the_first_paint_has_the_turns_of_a_chat_alone() -> None:
    a = analysis("chatml", CHATS["long"], generate=3)
    meta, _ = unpack(first_paint(a, 0, 0))
    turns = a.chat.turns
    assert meta["chat"] == {
        "roles": ["system", "user", "assistant", "user", "assistant"],
        "start": [turn.start for turn in turns],
        "stop": [turn.stop for turn in turns],
    }
    special = meta["tokens"]["special"]
    assert special == [token.special for token in a.tokens] and special[0]
    assert "chat" not in unpack(first_paint(analysis("chatml", "The cat sat"), 0, 0))[0]


def test_slices_are_the_figures() -> None:
    a = analysis("chatml", CHATS["long"], generate=3)
    for head in (1, "mean"):
        shares = arrays_of(answer(a, {"kind": "turns", "layer": 1, "head": head}))["shares"]
        np.testing.assert_array_equal(shares, a.chat.attention_by_turn(1, head))
    reply = answer(a, {"kind": "turn_contributions"})
    found, c = arrays_of(reply), a.chat.contributions()
    assert reply[0]["data"]["positions"] == [*c.positions]
    assert reply[0]["data"]["tokens"] == [*c.tokens]
    for name, array in {"values": c.values, "shares": c.shares, "bias": c.bias, "logit": c.logits}.items():  # fmt: skip
        np.testing.assert_array_equal(found[name], array)
    for request in ({"kind": "turns", "layer": 9, "head": 0}, {"kind": "turns", "layer": 0, "head": "x"}):  # fmt: skip
        assert not answer(a, request)[0]["ok"]
    plain = analysis("chatml", "The cat sat")
    for kind in ("turns", "turn_contributions"):
        header, _ = answer(plain, {"kind": kind, "layer": 0, "head": 0})
        assert not header["ok"] and "not of a chat" in header["error"]


def test_a_saved_page_has_turns_and_contributions() -> None:
    a = analysis("chatml", CHATS["long"], generate=3)
    saved = saved_run(RunSource(a), Selection(layer=1, head=0))
    meta, arrays = unpack(saved.snapshot.chunks["paint"])
    assert meta["chat"]["roles"][0] == "system"
    (entry,) = [e for e in meta["recorded"] if e["request"]["kind"] == "turn_contributions"]
    np.testing.assert_array_equal(arrays[entry["arrays"]["values"]], a.chat.contributions().values)
    sentences = [e for e in meta["recorded"] if e["request"]["kind"] == "sentences"]
    assert sentences[0]["data"]["texts"] == [turn.name for turn in a.chat.turns]


def test_a_cell_and_a_long_reply_have_the_contributions_that_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = analysis("chatml", CHATS["long"], generate=3)
    assert answers_of(a, {}, PageSpec(light=True)) == []
    assert len(answers_of(a, {}, PageSpec())) == 1
    assert len(answers_of(a, {}, PageSpec(light=True))) == 1  # asked just now
    monkeypatch.setattr("attn_widget.features.chat.recorded.WRITTEN", 2)
    long = analysis("chatml", CHATS["one"], output="The cat sat on the mat.")
    assert answers_of(long, {}, PageSpec()) == []
    assert answers_of(analysis("chatml", "The cat sat"), {}, PageSpec()) == []


def test_a_widget_runs_the_text_of_a_chat_again() -> None:
    a = analysis("chatml", CHATS["long"])
    again = runner(a, {})
    assert again is not None
    b = again(a.text, None)
    assert b.chat.turns == a.chat.turns and b.tokens == a.tokens
