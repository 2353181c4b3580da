"""A pass that is canceled leaves the model clean, also for other threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import AttnWidgetError
from attn_widget.trace.capture import capture
from attn_widget.widget.jobs import CancelledError
from tests.unit import tiny_models

LIMIT_S = 60


@pytest.mark.parametrize("family", ["bert", "albert", "modernbert", "deberta-v2"])
def test_a_pass_that_is_canceled_between_layers_leaves_the_model_clean(family: str) -> None:
    model, tokenizer = tiny_models.build(family)
    encoder = aw.load((model, tokenizer))
    encoding = encoder.encode("The cat sat on the mat.")
    expected = capture(encoder, encoding)
    implementation = model.config._attn_implementation
    model.train()
    reached: list[int] = []

    def stop(done: int, _total: int) -> None:
        reached.append(done)
        if done == 1:
            raise CancelledError

    with pytest.raises(AttnWidgetError, match="canceled"):
        capture(encoder, encoding, progress=stop)
    assert reached == [0, 1]
    assert model.config._attn_implementation == implementation
    assert model.training
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]
    assert sum(hooks) == 0
    assert encoder.lock.acquire(blocking=False)
    encoder.lock.release()
    again = capture(encoder, encoding)
    for layer in range(expected.n_layers):
        np.testing.assert_array_equal(again.layer_weights(layer), expected.layer_weights(layer))


def test_a_pass_on_another_thread_is_not_disturbed_by_one_that_is_canceled() -> None:
    import torch

    model, tokenizer = tiny_models.build("bert")
    encoder = aw.load((model, tokenizer))
    encoding = encoder.encode("The cat sat on the mat.")
    with torch.no_grad():
        expected = model(**encoding.inputs).logits
    found: list[Any] = []
    reached, release = threading.Event(), threading.Event()

    def stop(done: int, _total: int) -> None:
        if done == 1:
            reached.set()
            assert release.wait(LIMIT_S)
            raise CancelledError

    def canceled() -> None:
        with pytest.raises(CancelledError):
            capture(encoder, encoding, progress=stop)

    thread = threading.Thread(target=canceled)
    thread.start()
    assert reached.wait(LIMIT_S)
    with torch.no_grad():  # as a user's own code does, without our lock
        found.append(model(**encoding.inputs).logits)
    release.set()
    thread.join(LIMIT_S)
    torch.testing.assert_close(found[0], expected)
