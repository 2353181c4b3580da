"""Capture: every family's trace is what the plain model computes, and the model stays as it was."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.model.encoder import Encoder
from attn_widget.trace import LogitsCache, Outputs, QKVTrace, Trace, WeightsTrace
from attn_widget.trace.capture import capture
from attn_widget.trace.forward import forward_ids
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.plain import CLOSE, PAIR, TEXT, plain


@pytest.fixture(scope="module", params=tiny_models.FAMILIES)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return aw.load(tiny_models.build(request.param))


@pytest.mark.parametrize("pair", [None, PAIR])
def test_a_trace_equals_the_plain_model(encoder: Encoder, pair: str | None) -> None:
    encoding = encoder.encode(TEXT, pair)
    trace = capture(encoder, encoding)
    expected = plain(encoder.model, encoding.inputs, "eager")
    assert isinstance(trace, QKVTrace) == (encoder.family.name in tiny_models.DISPATCHED)
    assert (trace.n_layers, trace.n_heads) == (encoder.n_layers, encoder.n_heads)
    assert trace.head_dim == encoder.head_dim
    for layer, attention in enumerate(expected.attentions):
        weights = trace.layer_weights(layer)
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights, attention[0], rtol=0, atol=CLOSE)
    assert trace.hidden_states is not None and trace.logits is not None
    states = torch.stack(expected.hidden_states)[:, 0].numpy()
    assert_close(trace.hidden_states, states, **tiny_models.RUN)
    assert_close(trace.logits, expected.logits[0], **tiny_models.RUN)


def test_the_random_models_attend_far_from_uniformly(encoder: Encoder) -> None:
    trace = capture(encoder, encoder.encode(TEXT))
    peak = np.mean([trace.layer_weights(i).max(axis=-1).mean() for i in range(trace.n_layers)])
    assert peak > 3 / trace.n_tokens


def test_scores_weights_values_and_head_output_close(encoder: Encoder) -> None:
    """Softmax of the scores is the weights; weights times values enter the output projection."""
    encoding = encoder.encode(TEXT, PAIR)
    trace = capture(encoder, encoding)
    for layer in range(trace.n_layers):
        heads = []
        for head in range(trace.n_heads):
            scores = trace.scores(layer, head).astype(float)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(trace.weights(layer, head), weights, rtol=0, atol=CLOSE)
            q, k = trace.queries(layer, head), trace.keys(layer, head)
            product, size = (a @ b.T * trace.scaling(layer) for a, b in ((q, k), (abs(q), abs(k))))
            bias, allowed = trace.bias(layer, head), trace.allowed(layer)
            product = product if bias is None else product + bias
            if allowed is not None:
                product[~allowed] = -np.inf
            size = size if bias is None else size + abs(bias)
            assert_close(product, trace.scores(layer, head), terms=trace.head_dim, size=size)
            heads.append(trace.head_output(layer, head))
        entered = projection_input(encoder, encoding.inputs, layer)
        values = [trace.values(layer, head) for head in range(trace.n_heads)]
        # Scores, weights and their product follow on each other.
        assert_close(
            np.concatenate(heads, axis=1), entered, terms=trace.n_tokens, steps=3, size=values
        )


def projection_input(encoder: Encoder, inputs: dict[str, torch.Tensor], layer: int) -> Any:
    """What enters the attention's output projection in a pass of the plain model."""
    from attn_widget.model.families import layer_modules

    assert encoder.family.block is not None
    modules = layer_modules(encoder.family, encoder.model)
    assert modules is not None
    turn = sum(other is modules[layer] for other in modules[:layer])
    seen: list[Any] = []
    name = encoder.family.block.attention_output
    handle = (
        modules[layer]
        .get_submodule(name)
        .register_forward_pre_hook(lambda _module, args: seen.append(args[0][0]) or None)
    )
    with torch.no_grad():
        encoder.model(**inputs)
    handle.remove()
    return seen[turn].numpy()


def test_slices_and_the_mean_head_are_cut_from_the_layer(encoder: Encoder) -> None:
    trace = capture(encoder, encoder.encode(TEXT))
    layer = trace.layer_weights(1)
    rows, cols = slice(2, 5), slice(0, 3)
    whole = trace.weights(1, 2)
    assert_close(whole, layer[2], terms=32)
    np.testing.assert_array_equal(trace.weights(1, 2, rows, cols), whole[rows, cols])
    assert_close(trace.weights(1, "mean"), layer.mean(axis=0), terms=32)
    np.testing.assert_array_equal(trace.weights(1, "mean", rows), trace.weights(1, "mean")[rows])
    np.testing.assert_array_equal(trace.scores(1, 2, rows, cols), trace.scores(1, 2)[rows, cols])


def test_masked_predictions_run_the_head_on_the_chosen_positions(encoder: Encoder) -> None:
    inputs = encoder.encode(TEXT, PAIR).inputs
    ids = inputs["input_ids"].repeat(3, 1)
    positions = torch.tensor([1, 4, 2])
    ids[torch.arange(3), positions] = encoder.mask_token_id
    extra = {name: inputs[name] for name in inputs if name != "input_ids"}
    rows = forward_ids(encoder, ids, positions=positions, **extra)
    with torch.no_grad():
        batch = {name: tensor.expand_as(ids) for name, tensor in extra.items()}
        expected = encoder.model(input_ids=ids, **batch).logits[torch.arange(3), positions]
    assert_close(rows, expected, **tiny_models.RUN)
    whole = forward_ids(encoder, ids, **extra)[torch.arange(3), positions]
    assert_close(whole, expected, **tiny_models.RUN)


def test_logits_too_large_to_keep_are_computed_when_asked_for(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding = encoder.encode(TEXT)
    kept = capture(encoder, encoding)
    monkeypatch.setattr("attn_widget.trace.forward.LOGITS_CACHE.limit", 0)
    later = capture(encoder, encoding)
    assert later.nbytes < kept.nbytes
    assert_close(later.logits, kept.logits, **tiny_models.RUN)
    assert_close(later.logits_tensor([2, 0]), kept.logits[[2, 0]], **tiny_models.RUN)


def test_later_runs_take_the_room_of_earlier_logits_which_are_computed_anew(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = LogitsCache(2**20)
    monkeypatch.setattr("attn_widget.trace.forward.LOGITS_CACHE", room)
    encoding = encoder.encode(TEXT)
    first = capture(encoder, encoding)
    size, expected = first.nbytes, np.array(first.logits)
    room.limit = 2 * expected.nbytes
    later = [capture(encoder, encoding) for _ in range(2)]
    if encoder.family.lm is not None:
        assert first.nbytes <= size - expected.nbytes
    assert {trace.nbytes for trace in later} == {size}
    assert_close(first.logits, expected, **tiny_models.RUN)


def test_logits_that_another_gave_up_take_no_room() -> None:
    first, later = (Outputs(logits=torch.zeros(100)) for _ in range(2))
    cache = LogitsCache(500)
    cache.add(first)
    LogitsCache(0).add(first)
    cache.add(later)
    assert first.logits is None
    assert later.logits is not None


def test_a_model_is_left_as_it_was(encoder: Encoder) -> None:
    """In training mode, with hooks of its own and another attention implementation."""
    model, tokenizer = encoder.model, encoder.tokenizer
    model.train()
    model.base_model.eval()
    model.set_attn_implementation("eager")
    calls: list[int] = []
    handle = model.base_model.register_forward_hook(lambda *_: calls.append(1))
    tokenizer.backend_tokenizer.enable_truncation(max_length=7)
    tokenizer.backend_tokenizer.enable_padding(length=64)

    def state() -> Any:
        return (
            [module.training for module in model.modules()],
            [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()],
            model.config.to_dict(),
            model.config._attn_implementation,
            [p.requires_grad for p in model.parameters()],
            tokenizer.backend_tokenizer.truncation,
            tokenizer.backend_tokenizer.padding,
        )

    try:
        before = state()
        first = capture(encoder, encoder.encode(TEXT))
        second = capture(encoder, encoder.encode(TEXT))
        assert state() == before
        assert len(calls) == 2
        np.testing.assert_array_equal(first.logits, second.logits)  # no dropout
        assert not any(p.grad is not None for p in model.parameters())
        encoding = encoder.encode(TEXT)
        broken = model.base_model.register_forward_hook(_fail)
        with pytest.raises(RuntimeError, match="on purpose"):
            capture(encoder, encoding)
        broken.remove()
        assert state() == before
    finally:
        handle.remove()
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
        model.eval()


def _fail(*_: Any) -> None:
    raise RuntimeError("on purpose")


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_threads_do_not_see_each_other(family: str) -> None:
    """Captures of one encoder at once, while the user's own thread runs the same model."""
    model, tokenizer = tiny_models.build(family)
    encoder = aw.load((model, tokenizer))
    texts = ["the cat sat", "a dog ran and ran", "she sells shells", "it rained"] * 3
    alone = [capture(encoder, encoder.encode(text)) for text in texts]
    together: list[Trace | None] = [None] * len(texts)

    def work(i: int) -> None:
        together[i] = capture(encoder, encoder.encode(texts[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(texts))]
    for thread in threads:
        thread.start()
    inputs = encoder.encode("the user's own pass").inputs
    with torch.no_grad():
        for _ in range(5):
            model(**inputs)
    for thread in threads:
        thread.join()
    for one, other in zip(alone, together, strict=True):
        assert other is not None and one.tokens == other.tokens
        assert other.n_layers == encoder.n_layers
        np.testing.assert_array_equal(one.layer_weights(1), other.layer_weights(1))
        np.testing.assert_array_equal(one.hidden_states, other.hidden_states)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_weights_give_float32_figures(dtype: torch.dtype) -> None:
    model, tokenizer = tiny_models.build("bert")
    encoder = aw.load((model.to(dtype), tokenizer))
    encoding = encoder.encode(TEXT)
    trace = capture(encoder, encoding)
    expected = plain(encoder.model, encoding.inputs, "eager")
    error = float(torch.finfo(dtype).eps) * 8  # the model rounds its scores, which are below 16
    for layer, attention in enumerate(expected.attentions):
        weights = trace.layer_weights(layer)
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=0, atol=CLOSE)
        np.testing.assert_allclose(weights, attention[0].float(), rtol=0, atol=error)
    assert trace.logits is not None and trace.logits.dtype == np.float32
    assert trace.hidden_states is not None and trace.hidden_states.dtype == np.float32


def test_a_windowed_layer_says_which_cells_are_impossible() -> None:
    encoder = aw.load(tiny_models.build("modernbert"))
    trace = capture(encoder, encoder.encode(TEXT))
    n = trace.n_tokens
    near = np.abs(np.arange(n)[:, None] - np.arange(n)) <= encoder.model.config.sliding_window
    assert trace.allowed(0) is None  # global
    for layer in (1, 2):
        np.testing.assert_array_equal(trace.allowed(layer), near)
        assert (trace.layer_weights(layer)[:, ~near] == 0).all()
        assert np.isneginf(trace.layer_scores(layer)[:, ~near]).all()


def test_a_causal_model_says_which_cells_are_impossible() -> None:
    encoder = aw.load(tiny_models.build("bert", is_decoder=True))
    encoding = encoder.encode(TEXT)
    trace = capture(encoder, encoding)
    past = np.tri(trace.n_tokens, dtype=bool)
    np.testing.assert_array_equal(trace.allowed(0), past)
    expected = plain(encoder.model, encoding.inputs, "eager")
    np.testing.assert_allclose(
        trace.layer_weights(2), expected.attentions[2][0], rtol=0, atol=CLOSE
    )


def test_grouped_keys_belong_to_neighboring_heads() -> None:
    from attn_widget.trace import LayerQKV

    torch.manual_seed(0)
    query, key, value = torch.randn(6, 9, 8), torch.randn(2, 9, 8), torch.randn(2, 9, 8)
    bias = torch.randn(6, 9, 9)
    encoder = aw.load(progress=False)
    tokens = encoder.encode("a b c d e f g").tokens
    trace = QKVTrace(tokens, [LayerQKV(query, key, value, 8**-0.5, bias=bias)])
    for head in range(6):
        group = head // 3
        output = torch.nn.functional.scaled_dot_product_attention(
            query[head], key[group], value[group], attn_mask=bias[head]
        )
        np.testing.assert_array_equal(trace.keys(0, head), key[group])
        np.testing.assert_allclose(trace.head_output(0, head), output, rtol=1e-4, atol=CLOSE)
        np.testing.assert_array_equal(trace.bias(0, head), bias[head])


def test_albert_groups_of_several_layers_are_layers_of_their_own() -> None:
    model, tokenizer = tiny_models.build("albert", num_hidden_groups=3, inner_group_num=2)
    encoder = aw.load((model, tokenizer))
    encoding = encoder.encode(TEXT)
    trace = capture(encoder, encoding)
    expected = plain(model, encoding.inputs, "eager")
    assert trace.n_layers == encoder.n_layers == len(expected.attentions) == 6
    for layer, attention in enumerate(expected.attentions):
        np.testing.assert_allclose(trace.layer_weights(layer), attention[0], rtol=0, atol=CLOSE)


def test_indices_out_of_range_are_refused(encoder: Encoder) -> None:
    trace = capture(encoder, encoder.encode("the cat sat"))
    for layer, head in [(-1, 0), (trace.n_layers, 0), (0, -1), (0, trace.n_heads), (0, "max")]:
        with pytest.raises(InputError):
            trace.weights(layer, head)
    with pytest.raises(NotAvailableError, match="mean head"):
        trace.scores(0, "mean")  # pyright: ignore[reportArgumentType]: that is the test


def test_a_trace_of_weights_alone_says_what_it_cannot_give() -> None:
    tokens = aw.load(progress=False).encode("the cat sat").tokens
    weights = np.full((2, 3, 5, 5), 0.2)
    trace = WeightsTrace(tokens, weights)
    assert (trace.n_layers, trace.n_heads, trace.has_scores, trace.has_qkv) == (2, 3, False, False)
    assert_close(trace.weights(1, "mean"), 0.2, terms=3)
    for ask in (trace.scores, trace.queries, trace.head_output):
        with pytest.raises(NotAvailableError, match="only the attention weights are known"):
            ask(0, 0)
    with pytest.raises(ValueError, match="read-only"):
        trace.layer_weights(0)[0, 0, 0] = 1
    assert trace.hidden_states is None and trace.logits is None and trace.allowed(0) is None


@pytest.mark.parametrize("words", [4, 480])
def test_a_captured_pass_is_bit_equal_to_the_plain_one(words: int) -> None:
    """Hidden states and logits of the embedded model, as `transformers` computes them with SDPA."""
    encoder = aw.load(progress=False)
    encoding = encoder.encode("the old cat sat " * (words // 4))
    trace = capture(encoder, encoding)
    with torch.inference_mode():
        plain = encoder.model(**encoding.inputs, output_hidden_states=True)
    assert encoder.model.config._attn_implementation == "sdpa"
    np.testing.assert_array_equal(trace.hidden_states, torch.stack(plain.hidden_states)[:, 0])
    np.testing.assert_array_equal(trace.logits, plain.prediction_logits[0])
