"""Encoder-decoders: three kinds of attention, what is written, and why, of tiny random models are the model's own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from scipy.stats import spearmanr
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.analysis.opening import Opening, opening
from attn_widget.errors import (
    InputError,
    InputTypeError,
    NotAvailableError,
)
from attn_widget.model.families import Part, layer_modules
from attn_widget.protocol.answer import answer
from tests.close import assert_close
from tests.unit import tiny_models

SOURCE = "The cat sat on the mat."
OUTPUT = "A quick brown fox."
KINDS = {
    "encoder": "encoder_attentions",
    "decoder": "decoder_attentions",
    "cross": "cross_attentions",
}
LIKE_T5 = ("t5", "mt5", "umt5", "switch_transformers")
OF_EXPERTS = ("switch_transformers",)
POST_NORM = ("bart", "marian", "plbart", "blenderbot-small", "encoder-decoder")
SINUSOIDAL = ("marian", "pegasus", "m2m_100")
PROMISED = 1e-6  # docs/encoder-decoders.md: of weights
CLOSES = 1e-5  # the same page: of a decomposition, in logits


@cache
def analysis(name: str) -> Analysis:
    model = tiny_models.build(name)
    return aw.analyze(SOURCE, output=OUTPUT, model=model, tagger=None, progress=False)


def make_eager(model: Any) -> None:
    """Let all parts of ``model`` attend by their own functions; below transformers 5.20 the whole does not tell T5's stacks."""
    for part in model.modules():
        if isinstance(part, tf.PreTrainedModel):
            part.set_attn_implementation("eager")


def eager(name: str) -> Any:
    """The same texts, run by `transformers` alone."""
    model, _ = tiny_models.build(name)
    make_eager(model)
    run = analysis(name).run
    assert run is not None
    with torch.no_grad():
        return model(
            **run.encoding.inputs,
            output_attentions=True,
            output_hidden_states=True,
            use_cache=False,
        )


@pytest.fixture(scope="module", params=tiny_models.ENCODER_DECODERS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_three_kinds_of_attention_are_those_of_the_models_eager_attention(name: str) -> None:
    a, expected = analysis(name), eager(name)
    assert (a.part, a.model.parts) == ("decoder", ("encoder", "decoder", "cross"))
    m, n = a.of("encoder").trace.n_tokens, a.trace.n_tokens
    for part, kind in KINDS.items():
        one, layers = a.of(part), expected[kind]
        assert (
            one.part == part
            and one.trace.n_layers == len(layers)
            and one.trace.n_heads == layers[0].shape[1]
        )
        for layer, weights in enumerate(layers):
            found = one.trace.layer_weights(layer)
            assert found.shape == weights.shape[1:]
            assert np.abs(found - weights[0].numpy()).max() <= PROMISED
        square = (m, m) if part == "encoder" else (n, n)
        assert one.attention(0, 1).shape == ((n, m) if part == "cross" else square)
        allowed = one.trace.allowed(0)
        assert (allowed is None) == (part != "decoder")
        assert allowed is None or np.array_equal(allowed, np.tri(n, dtype=bool))
    cross = a.of("cross")
    assert [t.text for t in cross.tokens] == [t.text for t in a.tokens]
    assert [t.text for t in cross.model.key_tokens] == [t.text for t in a.of("encoder").tokens]
    assert a.of("encoder") is cross.of("encoder") and cross.of("decoder") is a
    np.testing.assert_allclose(
        cross.trace.head_output(1, 1),
        cross.attention(1, 1) @ cross.model.values(1, 1),
    )


def test_hidden_states_and_logits_are_the_models_own(name: str) -> None:
    a, expected = analysis(name), eager(name)
    for one, states in (
        (a.of("encoder"), expected.encoder_hidden_states),
        (a, expected.decoder_hidden_states),
    ):
        states = np.stack([state[0].numpy() for state in states])
        assert_close(one.model.hidden_states, states, terms=48, steps=12)
    assert_close(a.trace.logits, expected.logits[0], terms=48, steps=14)
    best = a.predictions(top_k=3)
    assert best.mode == "next" and best.original_rank[-1] == 0
    np.testing.assert_array_equal(best.ids[:, 0], expected.logits[0].argmax(dim=-1))
    with pytest.raises(
        NotAvailableError, match=r"predictions of its encoder part .* of\('decoder'\)"
    ):
        a.of("encoder").predictions()


def test_each_greedy_step_is_a_row_of_one_pass(name: str) -> None:
    model, tokenizer = tiny_models.build(name)
    a = aw.analyze(SOURCE, generate=5, model=(model, tokenizer), tagger=None, progress=False)
    ids = [token.id for token in a.tokens]
    assert (
        0 < len(a.model.generated) <= 5
        and len(ids) == len(a.model.generated) + 1
        and a.tokens[0].special
    )
    assert a.run is not None
    inputs = {k: v for k, v in a.run.encoding.inputs.items() if not k.startswith("decoder")}
    make_eager(model)
    options: dict[str, Any] = {
        "max_new_tokens": len(a.model.generated), "do_sample": False, "num_beams": 1,
        "use_cache": name not in LIKE_T5,  # T5's cache has a place for each layer of the encoder alone
        "output_attentions": True, "output_logits": True, "return_dict_in_generate": True,
    }  # fmt: skip
    out: Any = model.generate(**inputs, **options)
    assert out.sequences[0].tolist() == ids
    for part in ("decoder", "cross"):
        for row, step in enumerate(out[KINDS[part]]):
            for layer, weights in enumerate(step):  # [1, H, 1, keys so far]
                found = a.of(part).trace.layer_weights(layer)[:, row]
                so_far = weights.shape[-1]
                assert np.abs(found[:, :so_far] - weights[0, :, -1].numpy()).max() <= PROMISED
                assert part == "cross" or (so_far == row + 1 and not found[:, so_far:].any())
    steps = torch.stack(out.logits)[:, 0]
    assert_close(a.trace.logits[: len(steps)], steps, terms=48, steps=14)


def test_source_prefix_and_bias_add_up_to_each_written_logit(name: str) -> None:
    a = analysis(name)
    position = 3
    if name in OF_EXPERTS:
        with pytest.raises(NotAvailableError, match="mixtures of experts"):
            _ = a.why.written_shares
        return
    written = a.why.written_shares
    sums = written.source.sum(1) + written.prefix.sum(1) + written.bias
    assert np.abs(sums - written.logits).max() <= CLOSES
    assert not written.prefix[
        ~np.tri(a.trace.n_tokens, dtype=bool)
    ].any()  # tokens after the position
    ids = [*(token.id for token in a.tokens[1:]), int(eager(name).logits[0, -1].argmax())]
    assert written.ids.tolist() == ids
    np.testing.assert_allclose(written.shares.sum(axis=1), 1, rtol=1e-6)
    c = a.why.contributions(aw.target(position=position, token=ids[position]))
    assert c.source is not None and c.total is not None
    assert abs(c.total - c.value) <= CLOSES and not c.values[position + 1 :].any()
    size = np.abs(written.source[position]).sum() + np.abs(written.prefix[position]).sum()
    assert_close(c.source, written.source[position], terms=48, steps=24, size=size)
    assert_close(c.values, written.prefix[position], terms=48, steps=24, size=size)
    shap, captum = c.to_shap(), c.to_captum()
    assert len(shap["values"]) == len(shap["data"]) == len(captum["raw_input_ids"])
    assert shap["base_values"] == pytest.approx(c.bias, abs=CLOSES)
    texts = [record["text"] for record in c.to_records()]
    assert (texts.count("source"), texts.count("target")) == (
        a.of("encoder").trace.n_tokens,
        a.trace.n_tokens,
    )


@pytest.mark.parametrize("part", KINDS)
def test_a_heads_effect_is_that_of_its_columns_of_the_output_projection(
    name: str, part: Part
) -> None:
    a, (layer, head), position = analysis(name), (1, 1), 2
    one = a.of(part)
    assert one.run is not None
    effects = one.why.head_effects(aw.target(position=position, token=20, against=30))
    assert effects.effects.shape == (one.trace.n_layers, one.trace.n_heads) and effects.part == part
    encoder = one.run.encoder
    block, layers = encoder.family.block, layer_modules(encoder.family, encoder.network)
    assert block is not None and layers is not None
    weight = layers[layer].get_submodule(block.attention_output).weight
    columns = slice(head * encoder.head_dim, (head + 1) * encoder.head_dim)
    before = weight[:, columns].clone()

    def difference(logits: Any) -> float:
        return float(logits[position, 20] - logits[position, 30])

    whole = eager(name).logits[0]
    weight.data[:, columns] = 0  # `.data`: a change that torch counts would end the analysis
    try:
        run = one.run.encoder.network
        make_eager(run)  # below transformers 5.21 the kernel sdpa leaves a cap of the scores out
        with torch.no_grad():
            without = run(**one.run.encoding.inputs, use_cache=False).logits[0]
    finally:
        weight.data[:, columns] = before
    expected = difference(whole) - difference(without)
    size = float(whole.abs().max())
    assert_close(effects.effects[layer, head], expected, terms=48, steps=28, size=size)
    off = a.ablate([(part, layer, head)])
    assert_close(off.trace.logits, without, terms=48, steps=28, size=size)
    assert off.of(part).model.heads_off == ((layer, head),) and off.model.unablated is a
    assert off.ablate([]) is a and off.of(part).model.unablated is one


def test_value_zeroing_of_the_source_is_that_of_the_layers_own_values() -> None:
    a, layer = analysis("bart"), 1
    cross = a.of("cross")
    assert cross.run is not None
    module = cross.run.encoder.network.model.decoder.layers[layer]
    states: list[Any] = []
    handle = module.register_forward_hook(lambda _m, _a, output: states.append(output[0].double()))
    zeroed = [-1]

    def zero(_module: Any, _args: Any, output: Any) -> Any:
        if zeroed[0] < 0:
            return output
        changed = output.clone()
        changed[:, zeroed[0]] = 0
        return changed

    values = module.encoder_attn.v_proj.register_forward_hook(zero)
    try:
        for key in range(-1, cross.trace.n_keys):
            zeroed[0] = key
            with torch.no_grad():
                cross.run.encoder.network(**cross.run.encoding.inputs, use_cache=False)
    finally:
        handle.remove()
        values.remove()
    far = [1 - torch.cosine_similarity(states[0], one, dim=-1) for one in states[1:]]
    distances = torch.stack(far, dim=1).numpy()
    found = cross.mixing.matrix("value_zeroing", layer)
    np.testing.assert_allclose(
        found, distances / distances.sum(axis=1, keepdims=True), atol=1e-4
    )  # cosines of a float32 run
    assert cross.mixing.matrix("norms", layer).shape == cross.attention(layer, 0).shape
    with pytest.raises(NotAvailableError, match="two texts"):
        cross.mixing.matrix("alti", layer)


def test_figures_of_a_rectangle_are_the_formulas_own() -> None:
    cross = analysis("marian").of("cross")
    n, m = cross.attention(0, 0).shape
    assert n != m
    for layer, head in np.ndindex(cross.trace.n_layers, cross.trace.n_heads):
        weights = cross.attention(layer, head).astype(np.float64)
        entropy = -(weights * np.log(weights)).sum()
        figures = {
            key: float(values[layer, head]) for key, values in cross.metrics.as_dict().items()
        }
        assert figures["focus_entropy"] == pytest.approx(entropy, rel=1e-5)
        assert figures["focus_normalized"] == pytest.approx(entropy / (n * np.log(m)), rel=1e-5)
        assert figures["confidence_max"] == pytest.approx(weights.max(), rel=1e-6)
        deviation = np.sqrt(((weights - 1 / m) ** 2).mean())
        assert figures["uniformity"] == pytest.approx(deviation, rel=1e-4)
        places = weights @ np.arange(m)
        np.testing.assert_allclose(cross.heads.monotony.expected[layer, head], places, rtol=1e-5)
        order: Any = spearmanr(places.round(4), np.arange(n))
        assert cross.heads.monotony.monotony[layer, head] == pytest.approx(
            order.statistic, abs=1e-6
        )
        np.testing.assert_allclose(
            cross.heads.marginals.received[layer, head], weights.sum(axis=0), rtol=1e-5
        )
    assert float(cross.heads.metrics_at("uniform").sparsity[0, 0]) == pytest.approx(
        (cross.attention(0, 0) < np.float32(1 / m)).mean()
    )
    frame = cross.to_dataframe()
    assert {"focus_entropy", "monotony", "expected_place"} <= set(frame.columns)


def test_the_parts_of_the_encoders_layers_add_up(name: str) -> None:
    encoder = analysis(name).of("encoder")
    for layer in range(encoder.trace.n_layers):
        p = encoder.model.layer(layer)
        assert_close(p.layer_input, encoder.model.hidden_states[layer], terms=48, steps=12)
        assert_close(p.layer_input + p.attention_output, p.attention_sum, terms=48, steps=2)
        into = p.attention_sum if p.pre_norm else p.attention_norm
        assert_close(into + p.ffn_output, p.ffn_sum, terms=48, steps=2)
        assert_close(
            encoder.mixing.matrix("alti", layer).sum(axis=1), 1.0, terms=encoder.trace.n_tokens
        )


def test_the_encoders_embeddings_add_up_to_its_first_hidden_state(name: str) -> None:
    encoder = analysis(name).of("encoder")
    parts, (model, _) = encoder.model.embeddings, tiny_models.build(name)
    stack = model.get_encoder()
    ids = torch.tensor([[token.id for token in encoder.tokens]])
    with torch.no_grad():
        token = stack.get_input_embeddings()(ids)[0] * getattr(stack, "embed_scale", 1)
        norm = getattr(getattr(stack, "embeddings", None), "LayerNorm", None)
        norm = getattr(stack, "layernorm_embedding", norm)
        normed = None if norm is None else norm(torch.from_numpy(parts.sum)).numpy()
    assert_close(parts.token, token, terms=1)
    whole = parts.token * (32**0.5 if name == "t5gemma" else 1)  # as Gemma does
    for added in (parts.position, parts.segment):
        whole = whole if added is None else whole + added
    assert_close(parts.sum, whole, terms=3)
    assert (parts.norm is None) == (normed is None)
    if normed is not None:
        assert_close(parts.norm, normed, terms=48, steps=2)
    np.testing.assert_array_equal(parts.output, encoder.model.hidden_states[0])
    lacking = set() if name == "encoder-decoder" else {"segment"}
    lacking |= {"position"} if name in (*LIKE_T5, "t5gemma") else set()
    lacking |= {"norm"} if normed is None else set()
    assert set(parts.reasons) == lacking


def test_parameters_of_an_encoder_decoder_are_those_of_its_encoder_and_of_the_rest(
    name: str,
) -> None:
    counts = analysis(name).of("encoder").model.parameters
    model, _ = tiny_models.build(name)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert counts["total"] == trained == sum(v for k, v in counts.items() if k != "total")
    layers = [m for name, m in model.get_encoder().named_modules() if "pooler" not in name]
    linear = [m for m in layers if isinstance(m, torch.nn.Linear)]
    biases = [m for m in layers if isinstance(m, torch.nn.Embedding) and m.embedding_dim == 4]
    in_layers = counts["attention"] + counts["feed_forward"]
    assert in_layers == sum(p.numel() for m in (*linear, *biases) for p in m.parameters())
    width, inner = 32, 48
    maps = 3 if name in ("mt5", "umt5", "t5gemma") else 2  # gated
    plain = name in (*LIKE_T5, "t5gemma")  # without biases
    each = maps * width * inner + (0 if plain else width + inner)
    if name not in OF_EXPERTS:
        assert counts["feed_forward"] == each * analysis(name).of("encoder").trace.n_layers
    shared = model.get_input_embeddings().weight
    assert counts["embeddings"] >= shared.numel() and counts["decoder"] > in_layers
    tied = shared is model.get_output_embeddings().weight
    of_decoder = name in (
        "t5gemma",
        "encoder-decoder",
    )  # whose table, or whose own module, the head is
    assert (counts["heads"] == 0) == (tied or of_decoder)


def test_the_map_of_an_encoder_names_what_its_layers_compute(name: str) -> None:
    reply, _ = answer(analysis(name).of("encoder"), {"kind": "architecture"})
    found = reply["data"]
    t5 = name in LIKE_T5
    assert found["norm"] == ("RMSNorm" if t5 or name == "t5gemma" else "LayerNorm")
    assert found["pre_norm"] == (name not in POST_NORM)
    own = {
        **{"t5": "relu", "mt5": "gelu_new", "umt5": "gelu_new", "m2m_100": "relu"},
        "t5gemma": "gelu_pytorch_tanh",
    }
    if name not in OF_EXPERTS:
        assert found["activation"] == own.get(name, "gelu")
        assert found["sizes"]["intermediate"] == analysis(name).of("encoder").model.ffn(0).shape[1]
    assert found.get("sinusoidal", False) == (name in SINUSOIDAL)
    assert ("q · k, and a learned number" in found.get("scores", "")) == t5
    absent = {key for key, why in found["tensors"].items() if why}
    assert ("segment" in absent) == (name != "encoder-decoder")
    assert ("position_table" in absent) == (t5 or name == "t5gemma")
    for part in ("decoder", "cross"):
        refused, _ = answer(analysis(name).of(part), {"kind": "architecture"})
        assert "Ask of('encoder')" in str(refused)


def test_figures_of_one_text_are_refused_of_two_with_the_reason() -> None:
    a = analysis("t5")
    cross = a.of("cross")
    figures = (
        *(lambda: cross.heads.specialization, lambda: cross.heads.patterns),
        *(lambda: cross.heads.roles(), lambda: cross.rollout(), lambda: cross.heads.flow(0)),
        lambda: cross.heads.tree(0, layer=0, head=0),
    )
    for figure in figures:
        with pytest.raises(NotAvailableError, match=f"{a.trace.n_tokens} target tokens look at"):
            figure()
    for figure in (a.rollout, lambda: a.heads.flow(0), lambda: a.mixing.rollout("alti")):
        with pytest.raises(NotAvailableError, match="stands attention to the source"):
            figure()
    with pytest.raises(NotAvailableError, match='Ask of\\("cross"\\)'):
        _ = a.heads.monotony
    target = aw.target(position=2, token=20)
    for asked, words in (
        (lambda: a.mask([1]), "masked runs"),
        (lambda: a.model.layer(0), r"layers of its decoder part .* of\('encoder'\)"),
        (lambda: a.why.contributions(target, "occlusion"), "by 'occlusion' are of one text"),
        (lambda: a.why.faithfulness(target), "no word is masked or knocked out|are of one text"),
        (lambda: a.why.components(target), "Components are of"),
        (lambda: a.why.logit_lens(target), "cannot be taken by itself"),
        (
            lambda: cross.why.contributions(target),
            r"contributions of its cross part .* of\('decoder'\)",
        ),
        (lambda: a.of("encoder").why.written_shares, "contributions of its encoder part"),
    ):
        with pytest.raises(NotAvailableError, match=words):
            asked()
    assert a.of("encoder").rollout().shape == a.of("encoder").attention(0, 0).shape
    assert a.heads.patterns.previous.shape == (3, 4) and a.view(words=True).part == "decoder"


# A head that copies


def copier() -> tuple[Any, Any]:
    """A model that writes its source again: cross head (1, 0) looks at the place where it writes, and copies the word."""
    words = [*tiny_models.ANGLES[:4], *(f"w{i}" for i in range(12))]
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )  # fmt: skip
    config = tf.MBartConfig(
        vocab_size=16, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=30,
        init_std=0.01, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    model = tf.MBartForConditionalGeneration(config).eval()
    with torch.no_grad():
        base = model.model
        base.shared.weight.zero_()[:, :16] = torch.eye(16)  # words, and places in other directions
        for stack in (base.encoder, base.decoder):
            stack.embed_positions.weight.zero_()[2:, 32:62] = torch.eye(30)
        head = base.decoder.layers[1].encoder_attn
        for projection, first, size in (
            (head.q_proj, 32, 3.0),
            (head.k_proj, 32, 3.0),
            (head.v_proj, 0, 1.0),
        ):
            projection.weight[:32] = 0
            projection.weight[:32, first : first + 32] = size * torch.eye(32)
        head.out_proj.weight[:, :32] = 0
        head.out_proj.weight[:32, :32] = 5 * torch.eye(32)
    return model, tokenizer


def test_a_planted_copying_head_is_first_in_effects_and_alignment() -> None:
    source = "w3 w7 w1 w11 w0 w5"
    a = aw.analyze(source, generate=12, model=copier(), tagger=None, progress=False)
    assert a.text == source and len(a.model.generated) == 6
    for position, word in enumerate(source.split()):
        target = aw.target(position=position, token=word)
        found = {
            (part, layer, head): abs(float(effect))
            for part in a.model.parts
            for (layer, head), effect in np.ndenumerate(a.of(part).why.head_effects(target).effects)
        }
        first, second = sorted(found, key=lambda address: -found[address])[:2]
        assert first == ("cross", 1, 0) and found[first] > 2 * found[second]
        c = a.why.contributions(target)
        assert c.source is not None and int(c.source.argmax()) == position
    cross = a.of("cross")
    assert cross.heads.monotony.monotony.argmax() == 2 and cross.heads.monotony.monotony[1, 0] == 1
    np.testing.assert_allclose(cross.heads.monotony.expected[1, 0], np.arange(7), atol=0.2)
    assert a.why.written_shares.source.argmax(axis=1).tolist() == [*range(7)]
    assert opening(cross) == Opening(1, 0, 0, 0)  # all words are copied alike: the first one
    without = a.ablate([("cross", 1, 0)]).trace.logits.argmax(axis=-1)[:6]
    assert not (without == [token.id for token in a.model.generated]).any()


# Tensors from outside


def test_attentions_are_taken_as_they_come_out_of_transformers() -> None:
    a, out = analysis("t5"), eager("t5")
    tokens = {part: [token.text for token in a.of(part).tokens] for part in ("encoder", "decoder")}
    b = aw.from_attentions(
        encoder_attentions=out.encoder_attentions,
        decoder_attentions=out.decoder_attentions,
        cross_attentions=out.cross_attentions,
        encoder_tokens=tokens["encoder"],
        decoder_tokens=tokens["decoder"],
        tagger=None,
    )
    assert (b.part, b.model.parts) == ("decoder", a.model.parts)
    for part in KINDS:
        mine, theirs = a.of(part), b.of(part)
        assert [token.text for token in theirs.tokens] == [token.text for token in mine.tokens]
        assert np.abs(theirs.attention(1, 2) - mine.attention(1, 2)).max() <= PROMISED
        assert (theirs.trace.allowed(0) is None) == (part != "decoder")
    assert b.of("encoder").text == SOURCE and b.tokens[0].special and b.text == OUTPUT
    cross = aw.from_attentions(
        out.cross_attentions, tokens["decoder"], keys=tokens["encoder"], tagger=None
    )
    assert cross.part == "cross" and cross.model.parts == ("cross",)
    np.testing.assert_array_equal(
        cross.heads.monotony.monotony, b.of("cross").heads.monotony.monotony
    )


def test_steps_of_generate_are_joined_to_one_matrix() -> None:
    model, tokenizer = tiny_models.build("bart")
    a = aw.analyze(SOURCE, generate=6, model=(model, tokenizer), tagger=None, progress=False)
    assert a.run is not None
    inputs = {k: v for k, v in a.run.encoding.inputs.items() if not k.startswith("decoder")}
    make_eager(model)
    options: dict[str, Any] = {
        "max_new_tokens": len(a.model.generated), "do_sample": False, "output_attentions": True, "return_dict_in_generate": True
    }  # fmt: skip
    out: Any = model.generate(**inputs, **options, num_beams=1)
    sequence = a.run.encoder.token_texts(out.sequences[0].tolist())
    assert [token.text for token in a.tokens] == sequence
    given = {kind: out[kind] for kind in KINDS.values()}
    source = [token.text for token in a.of("encoder").tokens]
    b = aw.from_attentions(**given, encoder_tokens=source, decoder_tokens=sequence, tagger=None)
    rows = slice(0, b.trace.n_tokens)  # the last token was written, and no step has read it
    assert b.trace.n_tokens == len(sequence) - 1
    for part in KINDS:
        cols = slice(0, b.of(part).trace.n_keys)
        mine = a.of(part).attention(
            2 if part != "encoder" else 1, 1, None if part == "encoder" else rows, cols
        )
        theirs = b.of(part).attention(2 if part != "encoder" else 1, 1)
        assert np.abs(mine - theirs).max() <= PROMISED
    beams: Any = model.generate(**inputs, **options, num_beams=2)
    with pytest.raises(
        InputError, match=r"2 texts or beams.* Run the model once on the text that was chosen"
    ):
        aw.from_attentions(beams.cross_attentions, sequence, keys=source)


def test_tensors_that_do_not_belong_together_are_refused_with_their_shapes() -> None:
    def uniform(*shape: int) -> Any:
        return np.full(shape, 1 / shape[-1], np.float32)

    source, target = ["a", "b", "c", "d"], ["x", "y", "z"]
    encoder, decoder, cross = uniform(2, 2, 4, 4), uniform(3, 2, 3, 3), uniform(3, 2, 3, 4)
    names = {"encoder_tokens": source, "decoder_tokens": target}
    for given, words in (
        ({"encoder_attentions": uniform(2, 2, 5, 5), "cross_attentions": cross}, r"\[2, 2, 5, 5\].*\[3, 2, 3, 4\]; .*4 source tokens of 5"),
        ({"decoder_attentions": uniform(3, 2, 5, 5), "cross_attentions": cross}, "3 queries for 5 target tokens"),
        ({"decoder_attentions": uniform(2, 4, 3, 3), "cross_attentions": cross}, "3 layers of 2 heads, the decoder 2 of 4"),
        ({"decoder_attentions": cross}, r"decoder_attentions \[3, 2, 3, 4\]; .* as many queries as keys"),
        ({"cross_attentions": uniform(3, 2, 4, 3)}, r"\[3, 2, 4, 3\], 4 queries by 3 keys.*are swapped"),
        ({"encoder_attentions": uniform(2, 2, 6, 6)}, r"\[2, 2, 6, 6\], and there are 4 encoder_tokens"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            aw.from_attentions(**given, **names)
    with pytest.raises(
        InputTypeError, match=r"cross_attentions is given, \[3, 2, 3, 4\], and decoder_tokens is"
    ):
        aw.from_attentions(cross_attentions=cross, encoder_tokens=source)
    with pytest.raises(InputError, match="attentions, tokens are taken"):
        aw.from_attentions(encoder, source, decoder_attentions=decoder, **names)
    with pytest.raises(InputError, match="encoder_tokens go"):
        aw.from_attentions(encoder, source, encoder_tokens=source)
    with pytest.raises(InputError, match=r"4 tokens and 3 keys.* are swapped"):
        aw.from_attentions(cross, source, keys=target)
    with pytest.raises(InputError, match="Row 0 of layer 0, head 0 sums to 2"):
        aw.from_attentions(cross * 2, target, keys=source)
    with pytest.raises(InputTypeError, match="tokens is missing"):
        aw.from_attentions(encoder)


def test_the_shape_of_a_rectangle_is_in_its_repr() -> None:
    a = analysis("bart")
    assert repr(a.of("cross")) == "<Analysis of 7 by 9 positions (cross), 3 layers of 2 heads>"
