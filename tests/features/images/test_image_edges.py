"""Where pictures and texts meet: what each is taken for, and what runs without either."""

from __future__ import annotations

from typing import Any

import torch

import attn_widget as aw
from attn_widget.api import runner
from attn_widget.protocol.run_source import title_of
from tests.features.images.image_models import build, drawn
from tests.unit.tiny_models import build as build_text


def analyzed(given: Any = None, **options: Any) -> aw.Analysis:
    given = drawn() if given is None else given
    return aw.analyze(given, **{"model": build("dinov2"), "progress": False, **options})


# Of no text, and of an empty one


def test_a_text_without_a_token_is_a_text() -> None:
    model, tokenizer = build_text("t5")
    ends = model.generation_config.eos_token_id or model.config.eos_token_id

    def end_at_once(_module: Any, _args: Any, logits: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(logits).index_fill(-1, torch.tensor([ends]), 5.0)

    hook = model.lm_head.register_forward_hook(end_at_once)
    try:
        a = aw.analyze("the cat", model=(model, tokenizer), generate=4, progress=False)
        assert a.text == "" and a.run is not None and not a.run.encoding.wordless
        assert runner(a, {}) is not None
        assert "the cat" in title_of(a)
    finally:
        hook.remove()


def test_a_run_of_a_picture_is_of_no_text() -> None:
    a = analyzed()
    assert a.text is None and a.run is not None and a.run.encoding.wordless
    assert runner(a, {}) is None
    assert title_of(a) == "60 × 44 px"
