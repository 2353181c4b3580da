"""Memory that will not do is said before it is tried; long documents of odd kinds are drawn."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis.long import layered
from attn_widget.errors import NotEnoughMemoryError, TooLongError
from attn_widget.host import memory
from attn_widget.host.memory import check_memory, free_bytes
from attn_widget.protocol.pack import unpack
from attn_widget.trace import capture as module
from tests.unit import tiny_models


def free(monkeypatch: pytest.MonkeyPatch, amount: float) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: int(amount))


def test_what_would_fit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 4e6)
    check_memory("A matrix", lambda n: 4 * n**2, 900)
    with pytest.raises(
        NotEnoughMemoryError, match=r"2,000 tokens takes.*About 974 tokens"
    ) as caught:
        check_memory("A matrix", lambda n: 4 * n**2, 2000)
    assert isinstance(caught.value, MemoryError)
    assert 4 * 974**2 <= 0.95 * 4e6 < 4 * 975**2


def test_the_systems_own_numbers_are_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, used = tmp_path / "max", tmp_path / "current"
    limit.write_text("3000000\n")
    used.write_text("1000000\n")
    monkeypatch.setattr(memory, "CGROUPS", ((str(limit), str(used)),))
    assert free_bytes() == 2_000_000
    limit.write_text("max\n")
    found = free_bytes()
    assert found is None or found > 2_000_000


def test_a_run_that_will_not_fit_never_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = aw.load(tiny_models.build("bert", max_position_embeddings=2048))
    free(monkeypatch, 1e6)
    monkeypatch.setattr(module, "forward", lambda *_: pytest.fail("it was tried"))
    with pytest.raises(
        NotEnoughMemoryError, match=r"forward pass of 1,502 tokens.*would fit.*windows="
    ):
        aw.analyze("cat " * 1500, model=encoder, progress=False)


def test_figures_that_will_not_fit_are_refused_and_the_widget_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layered, "STREAMED_CELLS", 1e6)
    encoder = aw.load(tiny_models.build("bert", max_position_embeddings=2048))
    widget = aw.show("cat dog " * 600, model=encoder, tagger=None, progress=False)
    free(monkeypatch, 1e6)
    for ask in (
        lambda: widget.analysis.rollout(),
        lambda: widget.analysis.trace.layer_weights(0),
        lambda: widget.analysis.metrics,
    ):
        with pytest.raises(NotEnoughMemoryError, match="would fit"):
            ask()
    reply: dict[str, Any] = {"later": 1}
    while "later" in reply:
        reply, _ = widget._slice({"kind": "heads", "start": 0}, [])  # pyright: ignore
    assert "would fit" in reply["hint"]
    free(monkeypatch, 1e12)
    assert not np.isnan(widget.analysis.metrics.q25).any()  # what failed is tried again
    widget.close()


def test_one_token_too_many_is_refused_before_anything_runs() -> None:
    encoder = aw.load(tiny_models.build("modernbert", max_position_embeddings=8192))
    others = (
        encoder.encode("cat" + " cat" * 100).n_tokens - 100
    )  # special ones, and the first word's
    assert encoder.encode("cat" + " cat" * (8192 - others)).n_tokens == 8192
    with pytest.raises(TooLongError, match=r"8,193 tokens.*at most 8,192.*windows=True"):
        aw.analyze("cat" + " cat" * (8193 - others), model=encoder, progress=False)


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("bert", "cat " * 1100),
        ("bert", "cat" + "\n" * 8000 + "dog"),
        ("roberta", "\n" * 1100 + "cat"),
        ("roberta", "thecatsatonthemat" * 120),
    ],
)
def test_odd_documents_are_drawn(family: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layered, "STREAMED_CELLS", 1e6)
    encoder = aw.load(tiny_models.build(family, max_position_embeddings=2048))
    widget = aw.show(text, model=encoder, tagger=None, progress=False)
    meta, arrays = unpack(widget.first_paint)
    assert len(meta["tokens"]["text"]) == widget.analysis.trace.n_tokens
    start, until = len(meta.get("computed", range(encoder.n_layers))), time.monotonic() + 60
    while start < encoder.n_layers:
        reply, _ = widget._slice({"kind": "heads", "start": start}, [])
        assert time.monotonic() < until
        if reply["ok"]:  # pyright: ignore
            start += len(reply["data"]["layers"])  # pyright: ignore
    assert np.isfinite(widget.analysis.metrics.effective_keys).all()
    assert arrays["thumbs"].max() > 0
    widget.close()
