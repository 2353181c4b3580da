"""A model wired by hand: one head copies a known token, and three stare at [CLS] and give nothing.

What the model says at [MASK] comes from the copied token alone. Measures of influence have to put it, and its
head, first; raw weights point at the sink.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The cat sat on the mat near our house."
SOURCE, MASKED = 2, 6  # "cat"; the word that is masked
COPYING = 3  # the head of the only layer
PATTERN = slice(2, 10)  # dimensions that say "cat"


@pytest.fixture(scope="module")
def run() -> Any:
    model, tokenizer = tiny_models.build("bert", num_hidden_layers=1)
    model = copy.deepcopy(model)
    bert, head = model.bert, model.cls.predictions
    cat = tokenizer.convert_tokens_to_ids("cat")
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
        words = bert.embeddings.word_embeddings.weight
        words[:, 10:] = 0.5 * torch.randn(*words[:, 10:].shape, generator=generator)
        words[cat] = 0
        words[cat, 0], words[cat, PATTERN] = 3, 1
        words[tokenizer.cls_token_id, 1] = 6
        attention, width = bert.encoder.layer[0].attention, 8
        for h in range(4):
            first = h * width
            attention.self.query.bias[first] = 4
            feature = 0 if h == COPYING else 1  # "cat", or [CLS]
            attention.self.key.weight[first, feature] = 4
        rows = slice(COPYING * width, (COPYING + 1) * width)
        attention.self.value.weight[rows, PATTERN] = torch.eye(width)
        attention.output.dense.weight[PATTERN, rows] = 4 * torch.eye(width)
        head.transform.dense.weight.copy_(torch.eye(32))
    a = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    assert a.tokens[SOURCE].text == "cat"
    return a


TARGET = aw.target(position=MASKED, token="cat", against="dog", masked=True)


def test_raw_weights_point_at_the_sink(run: Any) -> None:
    masked = run.mask([MASKED])
    assert masked.attention(0, "mean")[MASKED].argmax() == 0
    weights = run.why.contributions(TARGET, "weights").values.copy()
    weights[MASKED] = 0  # the residual
    assert weights.argmax() == 0


@pytest.mark.parametrize("kind", ["norms", "mixing", "alti", "value_zeroing"])
def test_what_a_layer_carries_is_the_copied_token(run: Any, kind: Any) -> None:
    assert run.mask([MASKED]).mixing(kind, 0)[MASKED].argmax() == SOURCE


@pytest.mark.parametrize(
    "method", ["decomposition", "occlusion", "alti", "value_zeroing", "mixing"]
)
def test_the_copied_token_contributes_most(run: Any, method: Any) -> None:
    values = run.why.contributions(TARGET, method).values
    assert np.nanargmax(values) == SOURCE
    others = np.delete(np.abs(np.nan_to_num(values)), SOURCE)
    assert values[SOURCE] > others.max()


@pytest.mark.parametrize("ablation", ["zero", "mean"])
def test_the_copying_head_has_the_largest_effect(run: Any, ablation: Any) -> None:
    effects = run.why.head_effects(TARGET, ablation)
    if ablation == "zero":
        assert effects.effects.argmax() == COPYING and effects.effects[0, COPYING] > 1
        assert effects.divergence.argmax() == COPYING and effects.proxy.argmax() == COPYING
    assert_close(np.delete(effects.effects[0], COPYING), 0, terms=32, size=run.trace.logits)
