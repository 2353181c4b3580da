"""What the page may set in Python, and what it may not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import attn_widget as aw
from attn_widget.widget.code import PageCode


@pytest.fixture
def widget() -> Iterator[aw.AttentionWidget]:
    shown = aw.show("the cat sat on the mat", layer=3, head=5, progress=False)
    yield shown
    shown.close()


@pytest.mark.parametrize("name", ["_esm", "_code", "status", "progress", "_model_module"])
def test_the_page_sets_nothing_that_only_python_sets(
    widget: aw.AttentionWidget, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: Any = getattr(widget, name)
    sent: list[object] = []
    monkeypatch.setattr(widget, "send_state", lambda key: sent.append(key))
    widget.set_state({"layer": 1, name: "export default { render() { alert(1) } }"})
    assert (getattr(widget, name), widget.layer) == (before, 3)
    assert widget.error["message"] == f"{name} cannot be set from the page."
    assert ["layer", name] in sent


def test_the_code_that_widgets_share_takes_nothing_from_the_page() -> None:
    code = PageCode(_esm="export default {}")
    code.set_state({"_esm": "alert(1)"})
    assert code.get_state("_esm") == {"_esm": "export default {}"}
    code.close()
