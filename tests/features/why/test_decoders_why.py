"""Why, for decoders: what closes closes, and each method is what its formula says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.features.why.proposals import proposals
from attn_widget.features.why.targets import Target
from attn_widget.influence.attention_block import attention_block
from attn_widget.trace.forward import inference_mode
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.test_decoders import EXPERTS, SUMS, TAPPED, analysis
from tests.unit.tiny_models import DECODERS


@pytest.fixture(scope="module", params=DECODERS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def first_against_second(name: str) -> Target:
    (proposal,) = proposals(analysis(name))
    return proposal


def plain_value(a: Any, target: Target, **inputs: Any) -> float:
    """By `transformers`, whose eager attention caps the scores of Gemma 2 in every version."""
    model = a.run.encoder.model
    before = model.config._attn_implementation
    model.config._attn_implementation = "eager"
    try:
        with torch.no_grad():
            logits = model(**a.run.encoding.inputs, **inputs).logits[0, target.position]
    finally:
        model.config._attn_implementation = before
    return float(logits[target.token] - logits[target.against])


def test_scores_are_capped_whatever_kernel_the_model_names() -> None:
    a = analysis("gemma2")
    config = a.run.encoder.model.config
    before = config._attn_implementation
    config._attn_implementation = "sdpa"  # which leaves the cap out, or raises an error
    try:
        with inference_mode(a.run.encoder):
            logits = a.run.encoder.model(**a.run.encoding.inputs, use_cache=False).logits[0]
        assert config._attn_implementation == "sdpa"
    finally:
        config._attn_implementation = before
    assert_close(logits, a.trace.logits, **SUMS)


def test_the_target_proposed_is_the_first_choice_against_the_second_at_the_end(name: str) -> None:
    a, target = analysis(name), first_against_second(name)
    best = a.predictions(top_k=2).ids[-1].tolist()
    assert (target.position, target.token, target.against) == (a.trace.n_tokens - 1, *best)


def test_a_decomposition_closes(name: str) -> None:
    a, target = analysis(name), first_against_second(name)
    if name in EXPERTS:
        with pytest.raises(NotAvailableError, match="mixtures of experts"):
            a.why.contributions(target)
        return
    c = a.why.contributions(target)
    assert_close(c.value, plain_value(a, target), **SUMS, size=a.trace.logits)
    # Each contribution is a sum over three layers of products of 32 numbers, forward and back.
    assert c.gap <= 1e-5
    middle = Target(position=4, token=target.token, against=target.against)
    before = a.why.contributions(middle)
    assert before.gap <= 1e-5 and not before.values[5:].any()


def test_components_close(name: str) -> None:
    a, target = analysis(name), first_against_second(name)
    for asked in (target, Target(position=3, token=17)):
        c = a.why.components(asked)
        assert c.heads.shape == (a.trace.n_layers, a.trace.n_heads) and c.mlps.shape == (
            a.trace.n_layers,
        )
        assert c.gap <= 1e-5
        assert len(c.to_records()) == a.trace.n_layers * (a.trace.n_heads + 1) + 2


def test_components_are_of_the_pass_that_the_view_inside_reads(name: str) -> None:
    a, target = analysis(name), first_against_second(name)
    encoder = a.run.encoder
    before, after = (
        aw.analyze(a.run.encoding.text, model=encoder, tagger=None, progress=False)
        for _ in range(2)
    )
    passes: list[Any] = []
    handle = encoder.model.base_model.register_forward_pre_hook(lambda *call: passes.append(call))
    try:
        found = before.why.components(target)
        before.model.residuals  # noqa: B018
        after.model.residuals  # noqa: B018
        again = after.why.components(target)
    finally:
        handle.remove()
    assert len(passes) == 2
    np.testing.assert_array_equal(found.heads, again.heads)
    np.testing.assert_array_equal(found.mlps, again.mlps)


def test_a_head_that_is_off_writes_nothing(name: str) -> None:
    a, target = analysis(name), first_against_second(name)
    last = a.trace.n_layers - 1
    off = a.ablate([(last, 1)]).why.components(target)
    whole = a.why.components(target)
    assert off.heads[last, 1] == 0 and whole.heads[last, 1] != 0
    assert off.gap <= 1e-5
    assert_close(off.value, plain_effect(a, target, last, 1), **SUMS, size=a.trace.logits)


def plain_effect(a: Any, target: Target, layer: int, head: int) -> float:
    """The target's value by `transformers`, a head's ``A v`` zeroed by hand."""
    encoder = a.run.encoder
    module = encoder.model.base_model.get_submodule(encoder.family.layers)[layer]
    projection = module.get_submodule(encoder.family.block.attention_output)

    def zero(_module: Any, args: Any) -> Any:
        vectors = args[0].clone()
        vectors.view(*vectors.shape[:-1], encoder.n_heads, -1)[..., head, :] = 0
        return (vectors,)

    handle = projection.register_forward_pre_hook(zero)
    try:
        return plain_value(a, target, use_cache=False)
    finally:
        handle.remove()


def test_effects_of_heads_and_the_lens(name: str) -> None:
    a, target = analysis(name), first_against_second(name)
    effects = a.why.head_effects(target)
    expected = plain_value(a, target) - plain_effect(a, target, 0, 2)
    assert_close(effects.effects[0, 2], expected, **SUMS, size=a.trace.logits)
    assert np.isfinite(effects.proxy).all() and (effects.proxy > 0).any()
    lens = a.why.logit_lens(target)
    assert_close(lens.values[-1], plain_value(a, target), **SUMS, size=a.trace.logits)
    assert lens.ranks[-1] == 1


def test_occlusion_hides_a_word_from_all_later_tokens(name: str) -> None:
    a, target = analysis(name), first_against_second(name)
    c = a.why.contributions(target, "occlusion")
    word = next(w for w in a.language.words if w.text == "dog")
    pieces = [
        i for i, token in enumerate(a.language.tokens) if token.word == a.language.words.index(word)
    ]
    assert c.values[-1] == 0 and c.signed
    fall = plain_value(a, target) - hidden_value(a, target, pieces)
    assert_close(c.values[pieces].sum(), fall, **SUMS, size=a.trace.logits)


def hidden_value(a: Any, target: Target, pieces: list[int]) -> float:
    """The target's value by `transformers` with a float mask of each layer's own cells but those of the pieces."""
    n, encoder = a.trace.n_tokens, a.run.encoder
    layers = encoder.model.base_model.get_submodule(encoder.family.layers)
    hidden = torch.zeros(n, n)
    for key in pieces:
        hidden[key + 1 :, key] = torch.finfo(torch.float32).min

    def masked(_module: Any, args: Any, kwargs: Any) -> Any:
        place = next(
            (i for i, arg in enumerate(args) if torch.is_tensor(arg) and arg.dim() == 4), None
        )
        given = kwargs["attention_mask"] if place is None else args[place]
        if given.dtype == torch.bool:  # MPT: what is forbidden
            return args, {**kwargs, "attention_mask": given | (hidden < 0)}
        if place is not None:  # GPT-2
            return (*args[:place], given + hidden, *args[place + 1 :]), kwargs
        return args, {
            **kwargs,
            "attention_mask": (given + hidden).clamp_min(torch.finfo(given.dtype).min),
        }

    handles = [layer.register_forward_pre_hook(masked, with_kwargs=True) for layer in layers]
    try:
        return plain_value(a, target, use_cache=False)
    finally:
        for handle in handles:
            handle.remove()


def test_mixing_adds_up_and_looks_at_no_later_token(name: str) -> None:
    a = analysis(name)
    n = a.trace.n_tokens
    above = np.triu(np.ones((n, n), bool), 1)
    zeroed = a.mixing.matrix("value_zeroing", 1)
    assert not zeroed[above].any() and zeroed[-1].any()
    if name in TAPPED:
        with pytest.raises(NotAvailableError, match="No values of"):
            a.mixing.matrix("alti", 1)
        return
    for kind in ("norms", "mixing", "alti"):
        matrix = a.mixing.matrix(kind, 1)
        assert not matrix[above].any() and matrix[-1].any()
    # The block is the layer's own: its output is what the layer goes on with.
    assert a.run is not None
    block = attention_block(a.run, 1)
    assert_close(block.outputs, a.model.layer(1).attention_sum, terms=32, steps=2)
    parts = a.mixing.decompose_output(1, n - 1)
    assert parts.gap <= 1e-5


def test_what_a_decoder_does_not_have_is_refused_with_the_reason() -> None:
    a = analysis("llama")
    with pytest.raises(NotAvailableError, match="no mask token"):
        a.why.contributions(aw.target(position=3, token=17, masked=True))
    with pytest.raises(NotAvailableError, match=r"integrated gradients|Captum|no mask token"):
        a.why.contributions(first_against_second("llama"), "integrated_gradients")
    with pytest.raises(NotAvailableError, match="no next-sentence head"):
        a.model.next_sentence  # noqa: B018  # pyright: ignore[reportUnusedExpression]
    encoder = aw.analyze("the cat sat", tagger=None, progress=False)
    with pytest.raises(NotAvailableError, match="Components are of a language-model head"):
        encoder.why.components(aw.target(position=2, token="cat"))
    with pytest.raises(NotAvailableError, match="Copying scores are of a language-model head"):
        encoder.why.copying()
    with pytest.raises(NotAvailableError, match="no model to ask for copying scores"):
        aw.from_attentions(np.ones((1, 1, 1, 1)), ["a"]).why.copying()
    without_norm = aw.load(tiny_models.build("opt", do_layer_norm_before=False))
    with pytest.raises(NotAvailableError, match="normalizes its residual stream after each sum"):
        aw.analyze("the cat sat", model=without_norm, tagger=None, progress=False).why.copying()


def test_faithfulness_hides_the_words_before_the_target() -> None:
    a, target = analysis("gpt2"), first_against_second("gpt2")
    tested = a.why.faithfulness(target, ["decomposition", "occlusion"], n_random=20)
    curve = tested.curves["occlusion"]
    assert curve.deleted.shape == curve.shares.shape and curve.deleted[0] == pytest.approx(
        tested.probability
    )
    assert tested.probability > 0.5  # the first choice against the second


def value_weight(name: str, layer: Any, heads: int) -> Any:
    """The values' own weight as each family keeps it, float64 [groups, head_dim, d]."""
    if name == "gpt2":  # a Conv1D of queries, keys and values
        return layer.attn.c_attn.weight.double().T[-32:].view(heads, 8, 32)
    if name == "mpt":
        return layer.attn.Wqkv.weight.double()[-32:].view(heads, 8, 32)
    if name == "gpt_neox":  # interleaved by head
        return layer.attention.query_key_value.weight.double().view(heads, 3, 8, 32)[:, 2]
    if name == "bloom":
        return layer.self_attention.query_key_value.weight.double().view(heads, 3, 8, 32)[:, 2]
    if name == "falcon":  # one group after all queries
        return layer.self_attention.query_key_value.weight.double().view(heads + 2, 8, 32)[-1:]
    if name == "phi3":  # two groups, after four queries and two keys
        return layer.self_attn.qkv_proj.weight.double().view(8, 8, 32)[-2:]
    attention = layer.attn if name in ("gpt_neo", "gptj") else layer.self_attn
    attention = attention.attention if name == "gpt_neo" else attention
    return attention.v_proj.weight.double().view(-1, 8, 32)


def scaled(vectors: Any, norm: Any, name: str) -> Any:
    """What a norm does to vectors [..., d], but for its divisor and its bias."""
    if isinstance(norm, torch.nn.LayerNorm):
        vectors = vectors - vectors.mean(dim=-1, keepdim=True)
    return vectors * (norm.weight.double() + name.startswith("gemma"))  # which adds 1


@torch.no_grad()
def test_copying_scores_are_those_of_the_whole_matrix_of_the_vocabulary(name: str) -> None:
    a = analysis(name)
    assert a.run is not None
    encoder, block = a.run.encoder, a.run.encoder.family.block
    assert block is not None and encoder.family.final_norm is not None
    base = encoder.model.base_model
    tokens = encoder.model.get_input_embeddings().weight
    if name == "bloom":
        tokens = base.word_embeddings_layernorm(tokens)
    layers = base.get_submodule(encoder.family.layers)
    found = a.why.copying()
    for index, head in ((0, 1), (a.trace.n_layers - 1, 2)):  # of both groups, where there are two
        layer = layers[index]
        entering = tokens.double()
        if name != "olmo2":
            entering = scaled(entering, layer.get_submodule(block.attention_norm), name)
        values = value_weight(name, layer, 4)
        output = layer.get_submodule(block.attention_output).weight.double()
        output = (output if name == "gpt2" else output.T).view(4, 8, 32)
        moved = entering @ values[head * len(values) // 4].T @ output[head]
        if block.attention_added is not None:
            moved = scaled(moved, layer.get_submodule(block.attention_added), name)
        written = scaled(moved, base.get_submodule(encoder.family.final_norm), name)
        logits = written @ encoder.model.get_output_embeddings().weight.double().T
        # Of [512, 512]; those outside the space of its columns are 0.
        space = torch.linalg.qr(written).Q
        eigenvalues = torch.linalg.eigvals(space.T @ logits @ space)
        expected = float(eigenvalues.sum().real / eigenvalues.abs().sum())
        # The maps of values were read off one pass: a product of 32, and the bias taken away again.
        assert_close(found[index, head], expected, terms=32, steps=2, size=1)
    assert (np.abs(found) < 1).all() and found.max() > 0.1 > -0.1 > found.min()
