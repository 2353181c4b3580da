"""docs/extending.md, walked."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from pathlib import Path

import pytest

from attn_widget.figures.catalog import registry
from attn_widget.protocol.answer import HANDLERS  # with all handlers in it
from attn_widget.protocol.handlers import answers

ROOT = Path(__file__).parents[2]


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    metrics = dict(registry.METRICS)
    monkeypatch.setattr(registry, "_METRICS", metrics)
    monkeypatch.setattr(registry, "METRICS", metrics)
    known = dict(HANDLERS)
    # A reader who follows the page literally has its examples already.
    monkeypatch.delitem(metrics, "entropy_range", raising=False)
    HANDLERS.pop("entropy", None)
    yield
    HANDLERS.clear()
    HANDLERS.update(known)


@pytest.mark.usefixtures("as_before")
def test_the_walk_through_extending_works() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs" / "extending.md"), module_relative=False)
    assert failed == 0
    assert tried > 8


def test_every_file_of_the_walk_is_there() -> None:
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    named = {part for part in text.split("`") if "/" in part and part.endswith((".py", ".ts"))}
    named = {
        f"attn_widget/{one}" if one.startswith(("export/", "protocol/")) else one for one in named
    }
    assert len(named) > 8
    missing = [
        one
        for one in named
        if not (ROOT / one).is_file() and not (ROOT / "attn_widget" / one).is_file()
    ]
    assert missing == []


def test_a_kind_is_answered_by_one_function() -> None:
    with pytest.raises(ValueError, match="two functions answer"):
        answers("weights")(HANDLERS["weights"])
