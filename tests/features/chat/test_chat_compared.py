"""Chats where several texts are taken: comparisons and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from tests.features.chat import chat_models
from tests.features.chat.test_chat import CHATS, REPLY, SYSTEM, USER, analysis
from tests.unit import tiny_models

OTHER = {"role": "system", "content": "Be kind to the dog."}


def options() -> dict[str, Any]:
    return {"model": chat_models.build("chatml"), "tagger": None, "progress": False}


def test_two_system_prompts_are_compared_as_their_analyses_are() -> None:
    chats = [[system, USER, REPLY] for system in (SYSTEM, OTHER)]
    found = aw.compare(*chats, **options())
    expected = aw.compare(*(analysis("chatml", chat) for chat in chats))
    assert found.b.text == expected.b.text and "Be kind" in found.b.text
    pairs = found.alignment.tokens
    assert pairs == expected.alignment.tokens and len(pairs) > len(found.a.chat.turns)
    difference = found.difference(1, 0).difference
    np.testing.assert_array_equal(difference, expected.difference(1, 0).difference)


def test_a_chat_is_compared_with_a_text_and_in_two_models() -> None:
    assert aw.compare(CHATS["one"], "The cat sat", **options()).a.chat.turns
    tiny = options()
    models = [tiny.pop("model"), chat_models.build("llama3")]
    found = aw.compare(CHATS["one"], models=models, **tiny)
    assert found.a.text != found.b.text


def test_a_report_has_chats_beside_texts(tmp_path: Path) -> None:
    given = [CHATS["long"], "The cat sat", CHATS["one"]]
    page = aw.report(given, tmp_path / "chats.html", views=["attention"], **options())
    assert page.stat().st_size > 0
    written = aw.report([CHATS["one"]], tmp_path / "w.html", views=["attention"], generate=2, **options())  # fmt: skip
    assert written.stat().st_size > 0


def test_chats_that_cannot_be_read_are_refused_by_name(tmp_path: Path) -> None:
    plain = {"model": tiny_models.build("gpt2"), "tagger": None, "progress": False}
    for make, error, match in (
        (lambda: aw.compare([USER], [USER], **plain), NotAvailableError, "chat_template"),
        (lambda: aw.compare([USER, REPLY, REPLY], [USER, "hi"], **options()), InputTypeError, "expected"),
        (lambda: aw.report([[USER]], tmp_path / "a.html", **plain), NotAvailableError, "Text 0.*chat_template"),
        (lambda: aw.report(["The cat", [{"role": "user"}]], tmp_path / "a.html", **options()), InputTypeError, "Text 1.*no content"),
        (lambda: aw.report([[USER]], tmp_path / "a.html", engine=True, **options()), InputError, "runs texts"),
    ):  # fmt: skip
        with pytest.raises(error, match=match):
            make()
    assert not (tmp_path / "a.html").exists()
