"""Layers keep their own numbers: a model with a layer that cannot be read is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "the cat sat on the mat"


def funnel(blocks: list[int], decoders: int, kind: str) -> Any:
    torch.manual_seed(0)
    config = tf.FunnelConfig(
        vocab_size=512, block_sizes=blocks, num_decoder_layers=decoders, d_model=32, n_head=4, d_head=8, d_inner=48,
    )  # fmt: skip
    return getattr(tf, kind)(config).eval(), tiny_models.tokenizer("wordpiece")


@pytest.mark.parametrize("kind", ["FunnelModel", "FunnelForMaskedLM", "FunnelBaseModel"])
@pytest.mark.parametrize(
    ("blocks", "decoders"),
    # In the first three, a decoder layer over all tokens makes up for each pooled one.
    [([1, 1], 1), ([2, 1], 1), ([1, 1, 1], 2), ([1, 2], 1), ([2, 2], 0)],
)
def test_a_model_that_pools_its_tokens_is_refused(
    blocks: list[int], decoders: int, kind: str
) -> None:
    with pytest.raises(NotAvailableError, match="not an n x n matrix for each head and layer"):
        aw.analyze(TEXT, model=funnel(blocks, decoders, kind), tagger=None, progress=False)


def test_a_funnel_of_one_block_has_its_layers_in_order() -> None:
    model, tokenizer = funnel([3], 0, "FunnelBaseModel")
    a = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    with torch.no_grad():
        plain = model(**tokenizer(TEXT, return_tensors="pt"), output_attentions=True).attentions
    assert a.trace.n_layers == len(plain) == 3
    for layer, weights in enumerate(plain):
        for head in range(4):
            assert_close(a.attention(layer, head), weights[0, head], **tiny_models.SUMS, size=1)
    assert np.abs(a.attention(0, 0) - a.attention(1, 0)).max() > 1e-3


def test_a_layer_that_the_model_leaves_out_is_no_other_layers_number() -> None:
    """As a pruned or early-leaving model does: its config still counts the layer."""
    model, tokenizer = tiny_models.build("bert", seed=5)
    model.bert.encoder.layer[1].forward = lambda hidden, *_args, **_kwargs: hidden
    with pytest.raises(NotAvailableError, match="not an n x n matrix for each head and layer"):
        aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
