"""Decoders: weights, hidden states and predictions of tiny random ones are the model's own."""

from __future__ import annotations

import copy
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.features.corpus.source import profile_paint
from attn_widget.model.families import layer_modules, states_module
from attn_widget.page.snapshot import snapshot
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.pack import unpack
from attn_widget.trace.capture import capture
from benchmarks.saved_page import bert_pair, page_bytes
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.tiny_models import DECODERS

TEXT = "The cat sat on the mat, and the dog looked at the bird in the old tree."
TAPPED = ("bloom", "falcon", "gpt_neo", "gptj", "mpt", "xglm")  # seen by their softmax
EXPERTS = ("gpt_oss", "mixtral")
WINDOWED = ("gemma2", "gemma3_text", "gpt_neo", "gpt_oss", "mistral")
SUMS: dict[str, int] = tiny_models.SUMS


@cache
def analysis(name: str) -> Analysis:
    return aw.analyze(TEXT, model=tiny_models.build(name), tagger=None, progress=False)


@cache
def eager(name: str) -> Any:
    """The same text run by `transformers` alone."""
    model, _ = tiny_models.build(name)
    model.config._attn_implementation = "eager"
    ids = [token.id for token in analysis(name).trace.tokens]
    with torch.no_grad():
        return model(
            input_ids=torch.tensor([ids]),
            output_attentions=True,
            output_hidden_states=True,
            use_cache=False,
        )


@pytest.fixture(scope="module", params=DECODERS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_weights_are_those_of_the_models_eager_attention(name: str) -> None:
    trace, expected = analysis(name).trace, eager(name).attentions
    n = trace.n_tokens
    above = np.triu(np.ones((n, n), bool), 1)
    assert trace.has_qkv == (name not in TAPPED)
    for layer in range(trace.n_layers):
        scores = trace.layer_scores(layer)
        # A weight moves by the share that its score moves, which is a sum of 8 products of 32.
        assert_close(
            trace.layer_weights(layer), expected[layer][0], **SUMS, size=scores[np.isfinite(scores)]
        )
        allowed = trace.allowed(layer)
        assert allowed is not None and not allowed[above].any()
        assert not trace.layer_weights(layer)[:, above].any()
        assert np.isneginf(scores[:, ~allowed]).all() and np.isfinite(scores[:, allowed]).all()
        assert_close(trace.layer_weights(layer).sum(axis=-1) + trace.rest(layer), 1.0, terms=n)
        assert bool(trace.rest(layer).any()) == (name == "gpt_oss")
    windows = [not trace.allowed(layer)[-1, 0] for layer in range(trace.n_layers)]  # pyright: ignore[reportOptionalSubscript]
    assert any(windows) == (name in WINDOWED)


def test_weights_of_the_same_hidden_states_are_those_of_eager_attention_to_a_millionth(
    name: str,
) -> None:
    """Over a whole pass they differ by more: each layer reads what another attention kernel gave before it."""
    a = analysis(name)
    assert a.run is not None
    model, _ = tiny_models.build(name)
    model.config._attn_implementation = "eager"
    layers = layer_modules(a.run.encoder.family, model)
    assert layers is not None

    def entering(states: Any) -> Any:
        tensor = torch.from_numpy(np.array(states))[None]

        def enter(_module: Any, args: Any, kwargs: Any) -> Any:
            return (
                ((tensor, *args[1:]), kwargs) if args else ((), {**kwargs, "hidden_states": tensor})
            )

        return enter

    for layer, states in zip(layers, a.model.hidden_states, strict=False):
        layer.register_forward_pre_hook(entering(states), with_kwargs=True)
    ids = torch.tensor([[token.id for token in a.trace.tokens]])
    with torch.no_grad():
        expected = model(input_ids=ids, output_attentions=True, use_cache=False).attentions
    for layer, weights in enumerate(expected):
        difference = np.abs(a.trace.layer_weights(layer) - weights[0].numpy()).max()
        assert difference <= (0 if name in TAPPED else 1e-6)
    assert len(DECODERS) - len(TAPPED) >= 15  # that dispatch


def test_scores_that_are_divided_after_they_were_masked_are_masked() -> None:
    from transformers import CodeGenConfig, CodeGenForCausalLM

    config = CodeGenConfig(**tiny_models.GPT, **tiny_models.IDS, rotary_dim=4)
    pair = (CodeGenForCausalLM(config).eval(), tiny_models.tokenizer("text"))
    trace = aw.analyze(TEXT, model=pair, tagger=None, progress=False).trace
    past = np.tri(trace.n_tokens, dtype=bool)
    for layer in range(trace.n_layers):
        np.testing.assert_array_equal(trace.allowed(layer), past)
        assert np.isneginf(trace.layer_scores(layer)[:, ~past]).all()


def test_layers_share_the_mask_that_a_missing_one_stands_for() -> None:
    for name in ("gpt2", "llama"):
        masks = [
            analysis(name).trace.allowed(layer) for layer in range(analysis(name).trace.n_layers)
        ]
        assert masks[0] is not None and all(mask is masks[0] for mask in masks)


def test_weights_are_as_close_to_double_precision_as_those_of_eager_attention(name: str) -> None:
    """Up to some 4e-6 either way, by the bound of the sums: a difference between two kernels is no error of ours."""
    model = copy.deepcopy(tiny_models.build(name)[0]).double()
    model.config._attn_implementation = "eager"
    trace = analysis(name).trace
    ids = torch.tensor([[token.id for token in trace.tokens]])
    try:
        with torch.no_grad():
            exact = model(input_ids=ids, output_attentions=True, use_cache=False).attentions
    except RuntimeError:
        assert name in (*EXPERTS, "xglm")  # which mix float32 in
        return
    for layer, (weights, theirs) in enumerate(zip(exact, eager(name).attentions, strict=True)):
        scores = trace.layer_scores(layer)
        for found in (trace.layer_weights(layer), theirs[0]):
            assert_close(found, weights[0], **SUMS, size=scores[np.isfinite(scores)])


def test_hidden_states_and_logits_are_the_models_own(name: str) -> None:
    a, expected = analysis(name), eager(name)
    states = np.stack([state[0].numpy() for state in expected.hidden_states])
    assert a.model.hidden_states.shape == states.shape  # OPT's last one too
    assert_close(a.model.hidden_states, states, terms=32 * 32, steps=3)
    assert_close(a.trace.logits, expected.logits[0], terms=32 * 32, steps=3)


def test_next_tokens_have_the_cross_entropy_of_torch(name: str) -> None:
    a = analysis(name)
    best = a.predictions()
    logits, ids = eager(name).logits[0].double(), torch.tensor([t.id for t in a.trace.tokens])
    nats = functional.cross_entropy(logits[:-1], ids[1:], reduction="none").numpy()
    # Sums of 32 products in each of three layers and the head.
    size = logits.abs()
    assert best.mode == "next" and best.original_rank[-1] == 0
    assert np.isnan(best.original_surprisal[-1]) and np.isnan(best.original_probability[-1])
    assert_close(
        best.original_surprisal[:-1] * math.log(2), nats, terms=32 * 32, steps=4, size=size
    )
    assert_close(best.original_probability[:-1], np.exp(-nats), terms=32 * 32, steps=4, size=size)
    ours = torch.from_numpy(np.array(a.trace.logits)).double()  # one run's logits: to 1e-5
    own = functional.cross_entropy(ours[:-1], ids[1:], reduction="none").numpy()
    assert np.abs(best.original_surprisal[:-1] * math.log(2) - own).max() <= 1e-5
    assert np.abs(best.original_probability[:-1] - np.exp(-own)).max() <= 1e-5
    ranks = 1 + (logits[:-1] > logits[:-1].gather(1, ids[1:, None])).sum(dim=-1)
    np.testing.assert_array_equal(best.original_rank[:-1], ranks)
    assert best.perplexity == pytest.approx(math.exp(nats.mean()), rel=1e-5)
    np.testing.assert_array_equal(best.ids[:, 0], logits.argmax(dim=-1))


def test_a_row_of_the_table_has_the_surprisal_of_its_own_token() -> None:
    a = analysis("gpt2")
    logits, ids = eager("gpt2").logits[0].double(), torch.tensor([t.id for t in a.trace.tokens])
    bits = functional.cross_entropy(logits[:-1], ids[1:], reduction="none").numpy() / math.log(2)
    ranks = 1 + (logits[:-1] > logits[:-1].gather(1, ids[1:, None])).sum(dim=-1).numpy()
    table = a.predictions(top_k=2).to_dataframe()
    own = table[table["rank"] == 1]
    assert own.token.tolist() == [token.text for token in a.trace.tokens]
    assert math.isnan(own.token_surprisal.iloc[0]) and math.isnan(own.token_rank.iloc[0])
    np.testing.assert_allclose(own.token_surprisal[1:], bits, atol=1e-4)
    np.testing.assert_allclose(own.token_probability[1:], 2.0**-bits, rtol=1e-4)
    assert own.token_rank[1:].tolist() == ranks.tolist()
    assert not {"surprisal", "original_rank", "original_probability"} & set(table.columns)
    for rows in (slice(3, 6), slice(1, None, 3)):
        some = a.predictions(top_k=1, rows=rows).to_dataframe()
        np.testing.assert_allclose(some.token_surprisal, own.token_surprisal[rows], atol=1e-5)
    widget = aw.AttentionWidget(a)
    table = widget.to_dataframe("predictions")
    assert [*table.columns][-5:] == [
        "probability",
        "logit",
        "token_rank",
        "token_probability",
        "token_surprisal",
    ]
    assert table.iloc[:2, -3:].isna().all(axis=None)
    widget.close()


def test_inside_calls_norm_and_activation_by_their_names(name: str) -> None:
    a = analysis(name)
    assert a.run is not None
    data = answer(a, {"kind": "architecture"})[0]["data"]
    norms = [type(module).__name__ for module in a.run.encoder.network.modules()]
    by_root = any("RMSNorm" in norm for norm in norms)
    assert data["norm"] == ("RMSNorm" if by_root else "LayerNorm")
    assert data["activation"] != "None"
    said = [note for note in data["notes"] if note.startswith("Grouped heads")]
    two = "Grouped heads: 4 heads share 2 sets of keys and values, heads 0 to 1 the first."
    one = "Grouped heads: all 4 heads share their keys and values."
    ungrouped = ("gpt2", "gpt_neox", "opt", *TAPPED)
    assert said == ([] if name in ungrouped else [one if name == "gemma" else two])


def test_no_pass_keeps_a_cache_of_keys_and_values(name: str) -> None:
    a = analysis(name)
    assert a.run is not None
    caches: list[Any] = []
    network = a.run.encoder.network
    handle = states_module(a.run.encoder.family, network).register_forward_hook(
        lambda _module, _args, output: caches.append(output.get("past_key_values"))
    )
    try:
        capture(a.run.encoder, a.run.encoding)
        a.model.layer(0)
    finally:
        handle.remove()
    assert caches == [None] and network.config.use_cache  # a pass up to a layer returns nothing


def test_the_parts_of_every_layer_add_up(name: str) -> None:
    a = analysis(name)
    assert a.run is not None
    encoder, states = a.run.encoder, a.model.hidden_states
    block, layers = encoder.family.block, layer_modules(encoder.family, encoder.model)
    assert block is not None and layers is not None
    inner = block.attention_added is not None
    for index, layer in enumerate(layers):

        def made(module: str, array: Any, layer: Any = layer) -> Any:
            with torch.no_grad():
                return layer.get_submodule(module)(torch.from_numpy(array)[None])[0].numpy()

        p = a.model.layer(index)
        close = {"terms": 32, "steps": 2}
        assert_close(p.layer_input, states[index], terms=32, steps=3)  # by another kernel
        assert_close(p.layer_input + p.attention_output, p.attention_sum, **close)
        assert_close(p.attention_sum + p.ffn_output, p.ffn_sum, **close)
        np.testing.assert_array_equal(p.ffn_sum, p.layer_output)
        if name == "olmo2":
            np.testing.assert_array_equal(p.attention_norm, p.attention_output)
            np.testing.assert_array_equal(p.ffn_norm, p.ffn_output)
        else:
            read = p.layer_input if block.parallel else p.attention_sum
            assert_close(made(block.attention_norm, p.layer_input), p.attention_norm, **close)
            assert_close(made(block.ffn_norm, read), p.ffn_norm, **close)
        if block.experts:
            assert p.ffn_activation.shape == (a.trace.n_tokens, 0)
            with pytest.raises(NotAvailableError, match="mixture of experts"):
                a.model.ffn(index)
        elif not inner and name != "mpt":  # adds the residual within its FFN
            assert_close(made(block.ffn_output, p.ffn_activation), p.ffn_output, **close)
    assert (name in EXPERTS) == block.experts
    assert (name in ("falcon", "gpt_neox", "gptj")) == block.parallel
    assert (name in ("gemma2", "gemma3_text", "olmo2")) == inner


def test_embeddings_add_up_to_what_enters_the_first_layer(name: str) -> None:
    a = analysis(name)
    parts = a.model.embeddings
    total = parts.token if parts.position is None else parts.token + parts.position
    assert_close(total, parts.sum, terms=2)
    np.testing.assert_array_equal(parts.output, a.model.hidden_states[0])
    if parts.norm is None:
        np.testing.assert_array_equal(parts.sum, parts.output)
        with pytest.raises(NotAvailableError, match="This model has no norm"):
            parts.part("norm")
    assert (parts.norm is None) == (name != "bloom")
    for missing in ("segment", "position"):
        if getattr(parts, missing) is None:
            with pytest.raises(
                NotAvailableError, match=f"This model has no {missing} embeddings: "
            ):
                parts.part(missing)
    assert sum(a.model.parameters.values()) == 2 * a.model.parameters["total"]
    assert a.model.parameters["norms"] > 0 and a.model.parameters["embeddings"] >= 512 * 32


def test_a_decoder_without_segment_embeddings_is_given_no_segments() -> None:
    encoder = aw.load(tiny_models.build("gpt2"))
    encoding = encoder.encode(TEXT)
    assert "token_type_ids" in encoder.tokenizer.model_input_names
    assert not encoder.takes_segments and "token_type_ids" not in encoding.inputs
    # It would take them, and add the embedding of word 0 to every token.
    with torch.no_grad():
        zeros = torch.zeros_like(encoding.inputs["input_ids"])
        read = encoder.model(**encoding.inputs, token_type_ids=zeros).logits[0]
    assert float((read - eager("gpt2").logits[0]).abs().max()) > 0.1


def test_an_argument_of_attention_that_is_not_known_is_refused() -> None:
    model, tokenizer = tiny_models.build("llama", seed=1)
    attention = model.model.layers[1].self_attn
    plain = attention.forward
    attention.forward = lambda *args, **kwargs: plain(*args, **kwargs, temperature=2.0)
    with pytest.raises(NotAvailableError, match="passes 'temperature' to its attention"):
        aw.analyze(TEXT, model=(model, tokenizer), progress=False)


def test_attention_that_gives_something_else_than_its_weights_do_is_refused() -> None:
    from transformers.integrations import sdpa_attention

    model, tokenizer = tiny_models.build("llama", seed=1)
    encoder = aw.load((model, tokenizer))
    capture(encoder, encoder.encode(TEXT))
    from attn_widget.trace import capture as module

    def doubled(*args: Any, **kwargs: Any) -> Any:
        output, weights = sdpa_attention.sdpa_attention_forward(*args, **kwargs)
        return output * 1.001, weights

    from transformers import AttentionInterface

    before = AttentionInterface()[module.ATTENTION]
    AttentionInterface.register(module.ATTENTION, module._noting(doubled))  # pyright: ignore[reportPrivateUsage]
    try:
        with pytest.raises(NotAvailableError, match="does more than weigh its values"):
            capture(encoder, encoder.encode(TEXT))
    finally:
        AttentionInterface.register(module.ATTENTION, before)


def test_modes_that_a_head_does_not_have_are_refused_in_words() -> None:
    for mode in ("as_is", "masked"):
        with pytest.raises(
            NotAvailableError, match=r"language-model head of .* predicts the token that follows"
        ):
            analysis("gpt2").predictions(mode=mode)
    encoder = aw.analyze(TEXT, tagger=None, progress=False)
    with pytest.raises(NotAvailableError, match="predicts the token at each position"):
        encoder.predictions(mode="next")


def test_a_saved_page_has_little_more_than_half_of_the_bytes_of_an_encoders() -> None:
    """`benchmarks.saved_page`: the same weights, with the mask and without; of 20 tokens, what does not grow with their square is the larger part."""
    for n, most in ((20, 0.65), (128, 0.55)):
        encoder, decoder = (page_bytes(a)[0] for a in bert_pair(n, 3))
        assert decoder <= most * encoder, (n, decoder / encoder)


@pytest.mark.parametrize("name", ["gemma2", "gpt_oss"])
def test_a_saved_page_has_weights_and_scores_that_do_not_follow_from_queries_and_keys(
    name: str,
) -> None:
    a = analysis(name)
    views, selection = ["attention", "inside"], {"layer": 0, "head": 0}
    found = snapshot(a, selection, PageSpec(views=views))
    meta, arrays = unpack(found.chunks["paint"])
    assert found.code == "weights" and found.error <= 1e-4
    assert meta.get("rest", False) == (name == "gpt_oss")
    recorded = [one for one in meta["recorded"] if one["request"]["kind"] == "scores"]
    assert len(recorded) == a.trace.n_layers * a.trace.n_heads
    for one in recorded:
        own = a.scores(one["request"]["layer"], one["request"]["head"])
        np.testing.assert_array_equal(arrays[one["arrays"]["scores"]], own)
    caps = [one["data"].get("cap") for one in meta["recorded"] if one["request"]["kind"] == "qkv"]
    assert caps and set(caps) == {5.0 if name == "gemma2" else None}


def test_a_run_is_saved_compared_and_counted_over_texts_as_an_encoders_is() -> None:
    a = analysis("gpt2")
    assert a.run is not None
    found = snapshot(a, {"layer": 0, "head": 0}, PageSpec(views=["predictions"]))
    meta, arrays = unpack(found.chunks["paint"])
    assert meta["model"]["predicts"] == meta["predictions"]["mode"] == "next"
    assert meta["predictions"]["opens"] == "next"
    (recorded,) = (one for one in meta["recorded"] if one["request"]["kind"] == "predictions")
    assert recorded["request"]["mode"] == "next"
    stored = {name: arrays[key] for name, key in recorded["arrays"].items()}
    np.testing.assert_array_equal(stored["next_rank"], a.predictions().original_rank)
    np.testing.assert_array_equal(stored["next_surprisal"], a.predictions().original_surprisal)
    assert not stored.keys() & arrays.keys()  # of the first paint: the page takes it from this list

    encoder = a.run.encoder
    c = aw.compare(TEXT, TEXT.replace("cat", "dog"), model=encoder, tagger=None, progress=False)
    before = [record for record in c.predictions(2) if record["position_b"] == 0]
    assert before[0]["log_odds"] == 0  # what is before the change
    assert any(record["log_odds"] for record in c.predictions(2))
    with pytest.raises(
        NotAvailableError, match="is a decoder, which has no predictions of mode 'masked'"
    ):
        c.predictions(2, "masked")
    texts = [TEXT, TEXT.replace("cat", "dog")]
    p = aw.profile(texts, model=encoder, tagger=None, progress=False)
    of_each = [
        {"focus_entropy": one.metrics.focus_entropy, "cls": one.heads.specialization.cls}
        | one.heads.patterns.as_dict()
        for one in (c.a, c.b)
    ]
    assert p.keys[-4:] == ("previous", "next", "duplicate", "induction")
    for key in ("focus_entropy", "cls", "previous", "duplicate", "induction"):
        assert_close(
            p.mean[key], np.mean([one[key] for one in of_each], axis=0), terms=a.trace.n_tokens
        )
        assert np.isfinite(p.mean[key]).all()
    assert np.isnan(p.mean["next"]).all() and not p.count["next"].any()
    assert unpack(profile_paint(p))[0]["profile"]["looks_back"]
    layer, head = divmod(int(p.mean["induction"].argmax()), a.trace.n_heads)
    (first,) = p.examples(layer, head, by="induction", k=1)["index"]
    assert first == int(np.argmax([one["induction"][layer, head] for one in of_each]))
    with pytest.raises(NotAvailableError, match="they need a special token at both ends"):
        p.pattern_records()


def test_two_texts_of_a_decoder_differ_from_the_first_changed_token_on() -> None:
    c = aw.compare(
        "The keys to the cabinet are",
        "The key to the cabinet is",
        model=tiny_models.build("llama"),
        tagger=None,
        progress=False,
    )
    texts = [[token.text for token in one.tokens] for one in (c.a, c.b)]
    changed = next(k for k, (a, b) in enumerate(zip(*texts, strict=False)) if a != b)
    assert changed >= 2  # <s> and The are before it
    cosines = dict(zip(c.alignment.tokens, c.states().T, strict=True))
    for (_, position), of_layers in cosines.items():
        assert (position < changed) == bool((of_layers[1:] > 1 - 1e-6).all())
    for change in c.predictions(3):
        assert (change["position_b"] < changed) == (change["log_odds"] == 0)
    positions = [target.position for target in c.proposals()]
    assert positions and all(at is not None and at >= changed for at in positions)


def test_weights_are_the_softmax_of_what_the_model_passes_in_double_precision(name: str) -> None:
    """To a millionth. Between two kernels they may differ by more, because queries and keys do."""
    a = analysis(name)
    if name in TAPPED:
        assert not a.trace.has_qkv  # the softmax is the model's own
        return
    assert a.run is not None
    layers = layer_modules(a.run.encoder.family, a.run.encoder.model)
    assert layers is not None
    for layer in range(a.trace.n_layers):
        allowed = a.trace.allowed(layer)
        assert allowed is not None
        for head in range(a.trace.n_heads):
            query, key = (
                found(layer, head).astype(np.float64) for found in (a.trace.queries, a.trace.keys)
            )
            scores = query @ key.T * a.trace.scaling(layer)
            if name == "gemma2":
                scores = 5 * np.tanh(scores / 5)
            scores = np.where(allowed, scores, -np.inf)
            if name == "gpt_oss":
                sink = layers[layer].self_attn.sinks[head].item()
                scores = np.column_stack([scores, np.full(len(scores), sink)])
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            assert (
                np.abs(a.trace.weights(layer, head) - shares[:, : a.trace.n_tokens]).max() <= 1e-6
            )
