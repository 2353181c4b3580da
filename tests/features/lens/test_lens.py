"""The logit lens against one written by hand with the modules of `transformers`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError, NotAvailableError
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, and the dog looked."
DECODERS = ("gpt2", "llama", "qwen2", "gemma", "mistral", "gpt_neox")
ENCODERS = ("bert", "roberta", "distilbert", "electra")


def by_hand(model: Any, ids: list[int]) -> np.ndarray:
    """Log probabilities of every layer [L + 1, n, vocabulary], with the model's own hidden states, norm and head."""
    with torch.no_grad():
        output = model(torch.tensor([ids]), output_hidden_states=True)
        states = [state[0] for state in output.hidden_states]
        base = model.base_model
        norm = (
            getattr(base, "norm", None)
            or getattr(base, "ln_f", None)
            or getattr(base, "final_layer_norm", None)
        )
        if norm is not None:
            states = [*(norm(state) for state in states[:-1]), states[-1]]
        head = model.get_output_embeddings()
        transform: Any = torch.nn.Identity()
        if hasattr(model, "cls"):
            transform = model.cls.predictions.transform
        elif hasattr(model, "lm_head") and hasattr(model.lm_head, "dense"):
            transform, head = torch.nn.Identity(), model.lm_head
        elif hasattr(model, "vocab_transform"):
            transform = lambda x: model.vocab_layer_norm(model.activation(model.vocab_transform(x)))  # noqa: E731
        elif hasattr(model, "generator_predictions"):
            transform = model.generator_predictions
        logits = torch.stack([head(transform(state)) for state in states]).double()
    return logits.log_softmax(-1).numpy()


@pytest.mark.parametrize("family", [*DECODERS, *ENCODERS])
def test_every_layer_is_what_norm_and_head_say(family: str) -> None:
    pair = tiny_models.build(family)
    a = aw.analyze(TEXT, model=pair, tagger=None, progress=False)
    found = a.lens(top_k=5)
    logs = by_hand(pair[0].eval(), [token.id for token in a.tokens])
    n = a.trace.n_tokens
    np.testing.assert_allclose(
        found.probabilities, np.sort(np.exp(logs), axis=-1)[..., :-6:-1], atol=1e-5
    )
    np.testing.assert_allclose(
        found.entropies, -(np.exp(logs) * logs).sum(-1) / math.log(2), atol=1e-4
    )
    last = logs[-1]
    divergence = (np.exp(last) * (last - logs)).sum(-1) / math.log(2)
    np.testing.assert_allclose(found.divergences, divergence, atol=1e-4)
    follows = [token.id for token in a.tokens]
    follows = [*follows[1:], -1] if family in DECODERS else follows
    for position in range(n):
        own = follows[position]
        if own < 0:
            assert (found.ranks[:, position] == 0).all()
            continue
        column = logs[:, position]
        near = (column > column[:, [own]] + 1e-6).sum(-1) + 1
        assert (np.abs(found.ranks[:, position] - near) <= 1).all()
    assert found.ids[-1, :, 0].tolist() == last.argmax(-1).tolist()


def test_masked_positions_are_read_in_copies_of_their_own() -> None:
    a = aw.analyze("The cat sat on the mat.", tagger=None, progress=False)
    found = a.lens(mode="masked", rows=slice(2, 5))
    for k, position in enumerate(found.at):
        masked = a.mask([position])
        alone = masked.lens(rows=slice(position, position + 1))
        np.testing.assert_allclose(found.probabilities[:, k], alone.probabilities[:, 0], atol=1e-5)
        assert found.tokens[-1][k][0] == alone.tokens[-1][0][0]
        assert found.ranks[-1, k] == a.predictions(mode="masked").original_rank[position]


def test_a_layer_from_which_on_the_last_choice_stands() -> None:
    a = aw.analyze("The capital of France is [MASK].", tagger=None, progress=False)
    found = a.lens()
    position = 6
    first = found.settled[position]
    choices = found.ids[:, position, 0]
    assert (choices[first:] == choices[-1]).all() and (
        first == 0 or choices[first - 1] != choices[-1]
    )
    assert found.divergences[-1].max() == 0


def test_the_table_has_a_row_for_every_layer_position_and_rank() -> None:
    a = aw.analyze("the cat", tagger=None, progress=False)
    table = a.lens(top_k=2).to_dataframe()
    assert len(table) == 7 * a.trace.n_tokens * 2
    row = table[(table.layer == 6) & (table.position == 2) & (table["rank"] == 1)].iloc[0]
    found = a.predictions(top_k=1)
    assert row.prediction == found.tokens[2][0] and row.token == "cat"
    assert row.probability == pytest.approx(float(found.probabilities[2, 0]), abs=1e-6)
    assert row.token_rank == found.original_rank[2]


def test_what_was_read_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    from attn_widget.features.lens import grid

    a = aw.analyze("the cat sat", tagger=None, progress=False)
    first = a.lens()
    monkeypatch.setattr(grid, "lens", lambda *_: pytest.fail("read again"))
    assert (a.lens(top_k=3, rows=slice(1, 3)).ids == first.ids[:, 1:3, :3]).all()


def test_bad_input() -> None:
    a = aw.analyze("the cat", tagger=None, progress=False)
    with pytest.raises(InputError, match="top_k"):
        a.lens(top_k=0)
    with pytest.raises(InputError, match="mode"):
        a.lens(mode="last")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="rows"):
        a.lens(rows=slice(9, 9))
    model, tokenizer = tiny_models.build("bert")
    with pytest.raises(NotAvailableError, match="head"):
        aw.analyze("the cat", model=(model.bert, tokenizer), tagger=None, progress=False).lens()
