"""`qk_attribution` of the embedded model and tiny ones: contrasts, splits, checks against other ways."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError, NotAvailableError
from attn_widget.features.qk.by_parts import split_by_parts
from attn_widget.features.why.decomposition import biases_of, with_gradients
from attn_widget.features.why.linearized import linearized
from attn_widget.features.why.passes import first_vectors
from attn_widget.trace.hooks import hooked
from tests.unit import tiny_models

KEYS = "The keys to the cabinet are here."


@cache
def keys() -> Any:
    return aw.analyze(KEYS, tagger=None, progress=False)


@cache
def tiny(family: str, text: str = "The cat sat on the mat near our house.") -> Any:
    return aw.analyze(text, model=tiny_models.build(family), tagger=None, progress=False)


def at(a: Any, *words: str) -> list[int]:
    texts = [token.text for token in a.tokens]
    return [texts.index(word) for word in words]


def test_a_head_that_finds_the_noun() -> None:
    a = keys()
    query, key, cabinet = at(a, "are", "keys", "cabinet")
    found = a.qk_attribution(1, 3, query, key)
    assert (found.by, found.against) == ("tokens", "others")
    assert found.weight == pytest.approx(0.483, abs=5e-4)
    assert found.contrast == pytest.approx(2.98, abs=5e-3)
    assert found.matrix[query, key] == pytest.approx(5.44, abs=5e-3)
    assert found.matrix[query, cabinet] == pytest.approx(-0.61, abs=5e-3)
    assert found.pairs(1)[0][:2] == (query, key)
    masked = a.mask([key]).trace.weights(1, 3)[query, key]
    assert masked == pytest.approx(0.214, abs=5e-4)


def test_biases_of_their_own_can_change_a_sign() -> None:
    a = keys()
    query, key = at(a, "are", "keys")
    placed = a.qk_attribution(2, 4, query, key)
    apart = a.qk_attribution(2, 4, query, key, biases="apart")
    assert placed.matrix[query, key] == pytest.approx(3.85, abs=5e-3)
    assert apart.matrix[query, key] == pytest.approx(-0.78, abs=5e-3)
    assert placed.matrix.sum() == pytest.approx(apart.matrix.sum(), abs=1e-5)
    assert placed.biases is None and apart.key_parts[-1].kind == "bias"
    assert apart.biases == pytest.approx(
        apart.contrast - apart.matrix[:-1, :-1].sum(dtype=np.float64), abs=1e-5
    )


def test_where_the_reading_misleads_the_check_tells() -> None:
    text = "The trophy does not fit into the brown suitcase because it is too large."
    a = aw.analyze(text, tagger=None, progress=False)
    query, key, the = at(a, "it", "trophy", "the")
    found = a.qk_attribution(3, 1, query, key)
    assert found.key_sums.argmax() == the
    assert found.key_sums[the] == pytest.approx(1.90, abs=5e-3)
    totals = {e.part: e.total for e in found.total_effects(parts=[the, key]).effects}
    assert totals[the] == pytest.approx(0.38, abs=6e-3)
    assert totals[key] == pytest.approx(3.46, abs=6e-3)


def test_without_biases_both_ways_are_equal() -> None:
    a = tiny("llama")
    placed = a.qk_attribution(2, 1, 6, 2, by="tokens").matrix
    apart = a.qk_attribution(2, 1, 6, 2, by="tokens", biases="apart").matrix
    np.testing.assert_allclose(apart[:-1, :-1], placed, atol=1e-6)
    assert not apart[-1].any() and not apart[:, -1].any()


@pytest.mark.parametrize("by", ["tokens", "parts"])
def test_it_closes_in_every_cell_of_a_head(by: str) -> None:
    a = keys()
    for query in range(1, a.trace.n_tokens - 1):
        for key in range(a.trace.n_tokens):
            found = a.qk_attribution(4, 7, query, key, by=by)
            size = np.abs(found.matrix).sum(dtype=np.float64)
            assert abs(found.gap) <= max(1e-5 * max(1, abs(found.contrast)), 1e-6 * size)


def test_contrasts_are_sums_of_logarithms_of_weights() -> None:
    a = keys()
    query, key = at(a, "are", "keys")
    log = np.log(a.trace.weights(1, 3)[query].astype(np.float64))
    ask = partial(a.qk_attribution, 1, 3, query, key)
    special = [token.special for token in a.tokens]
    words = [k for k in range(a.trace.n_tokens) if k != key and not special[k]]
    rest = [k for k in range(a.trace.n_tokens) if k != key]
    assert ask(against="others").contrast == pytest.approx(log[key] - log[words].mean(), abs=1e-5)
    assert ask(against="all").contrast == pytest.approx(log[key] - log[rest].mean(), abs=1e-5)
    assert ask(against=5).contrast == pytest.approx(log[key] - log[5], abs=1e-5)
    rivals = ask(against="rivals")
    odds = log[key] - math.log(1 - math.exp(log[key]))
    assert rivals.contrast + rivals.constant == pytest.approx(odds, abs=1e-5)


def test_the_first_token_of_a_decoder_is_no_other_word() -> None:
    a = tiny("gpt2")
    log = np.log(a.trace.weights(1, 1)[5, :6].astype(np.float64))
    found = a.qk_attribution(1, 1, 5, 2)
    assert found.by == "parts"
    assert found.contrast == pytest.approx(log[2] - log[[1, 3, 4, 5]].mean(), abs=1e-5)


def test_without_another_word_all_keys_are_compared() -> None:
    a = tiny("gpt2")
    found = a.qk_attribution(1, 1, 1, 1)
    assert found.against == "all" and "no possible output of a word" in (found.fallback or "")
    log = np.log(a.trace.weights(1, 1)[1, :2].astype(np.float64))
    assert found.contrast == pytest.approx(log[1] - log[0], abs=1e-5)


@pytest.mark.parametrize(("place", "model"), [((3, 4, 6, 2), None), ((2, 1, 6, 2), "llama")])
def test_a_column_is_that_of_backward_passes(place: Any, model: Any) -> None:
    """Queries and keys of each token by one backward pass for each of their numbers, of the same linearized network."""
    a = keys() if model is None else tiny(model)
    layer, head, query, key = place
    other = key + 2
    found = a.qk_attribution(layer, head, query, key, against=other, by="tokens", biases="apart")
    encoder, run = a.run.encoder, a.run
    module = encoder.network.base_model.get_submodule(
        f"layers.{layer}.self_attn" if model else f"encoder.layer.{layer}.attention.self"
    )
    width = run.encoder.head_dim
    names = ("q_proj", "k_proj") if model else ("query", "key")
    seen: dict[str, Any] = {}
    turned: list[Any] = []

    def keep(projection: Any, _args: Any, _kwargs: Any, output: Any) -> None:
        seen[next(n for n in names if module.get_submodule(n) is projection)] = output[0]

    def rotation(_module: Any, _args: Any, kwargs: Any) -> None:
        turned.append(kwargs.get("position_embeddings"))

    vectors = first_vectors(run).requires_grad_()
    with encoder.lock, with_gradients(biases_of(encoder)):
        with (
            linearized([run], [vectors], "eager", torch.ones(())),
            hooked([module.get_submodule(n) for n in names], after=keep),
            hooked([module], before=rotation),
        ):
            encoder.network.base_model(**run.encoding.inputs)
        heads = [seen[n].view(len(seen[n]), -1, width) for n in names]
        if model:
            from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

            both = apply_rotary_pos_emb(*(h.transpose(0, 1)[None] for h in heads), *turned[0])
            heads = [h[0].transpose(0, 1) for h in both]
        of = [head, head * heads[1].shape[1] // heads[0].shape[1]]

        def parts(vector: Any) -> Any:
            slopes = [
                torch.autograd.grad(number, vectors, retain_graph=True)[0][0] for number in vector
            ]
            own = vectors.detach()[0].double()
            return torch.stack([(slope.double() * own).sum(-1) for slope in slopes], dim=1)

        of_query = parts(heads[0][query, of[0]])
        of_key = parts(heads[1][key, of[1]]) - parts(heads[1][other, of[1]])
    table = (of_query @ of_key.T / math.sqrt(width)).numpy()
    np.testing.assert_allclose(found.matrix[: len(table), : len(table)], table, atol=1e-5)


@pytest.mark.parametrize(
    ("family", "names"), [("bert", ("query", "key")), ("gptj", ("q_proj", "k_proj"))]
)
def test_the_direct_path_by_hooks_on_the_projections(family: str, names: Any) -> None:
    """A part replaced in one head's input of keys, or taken out of that of queries, with the norm's divisor as it was."""
    a = tiny(family)
    layer, head, query, key, other = 2, 1, 6, 2, 4
    found = a.qk_attribution(layer, head, query, key, against=other, by="parts")
    kept = a._qk_kept
    split = split_by_parts(a.run, kept.plain, layer)
    network, width = a.run.encoder.network, a.run.encoder.head_dim
    module = kept.layers()[layer]
    block = a.run.encoder.family.block
    attention = module.attn if family == "gptj" else module.attention.self
    whole = kept.plain.hidden(layer)[0]
    hidden = split.hidden[:, 0]
    if block.pre_norm:
        norm = module.get_submodule(block.attention_norm)
        deviation = (whole.var(dim=-1, keepdim=True, unbiased=False) + norm.eps).sqrt()
        hidden = (hidden - hidden.mean(dim=-1, keepdim=True)) / deviation * norm.weight
    rows = slice(head * width, (head + 1) * width)

    def contrast(side: str, change: Any) -> float:
        projection = getattr(attention, names[side == "key"])

        def changed(_m: Any, _a: Any, _k: Any, output: Any) -> Any:
            output = output.clone()
            output[0, key if side == "key" else query, rows] += change @ projection.weight[rows].T
            return output

        network.set_attn_implementation("eager")
        with torch.no_grad(), hooked([projection], after=changed):
            weights = network(**a.run.encoding.inputs, output_attentions=True).attentions[layer]
        row = weights[0, head, query].double().log()
        return float(row[key] - row[other])

    for part in (0, 3, 7):
        assert contrast("query", -hidden[part, query]) == pytest.approx(
            found.contrast - found.query_sums[part], abs=1e-5
        )
        if family == "bert":  # a rotation makes the average one of turned keys
            change = hidden[part, other] - hidden[part, key]
            assert contrast("key", change) == pytest.approx(
                found.contrast - found.key_sums[part], abs=1e-5
            )


@pytest.mark.parametrize("family", ["bert", "llama", "gpt2", "olmo2"])
def test_total_effects_are_those_of_heads_off_at_one_place(family: str) -> None:
    a = tiny(family)
    layer, head, query, key, other = 2, 1, 6, 2, 4
    found = a.qk_attribution(layer, head, query, key, against=other, by="parts")
    heads = [i for i, part in enumerate(found.query_parts) if part.kind == "head"][1:7:2]
    effects = found.total_effects(side="query", parts=heads)
    network, width = a.run.encoder.network, a.run.encoder.head_dim
    for effect in effects.effects:
        part = found.query_parts[effect.part]
        output = a._qk_kept.layers()[part.layer].get_submodule(
            a.run.encoder.family.block.attention_output
        )

        def off(_m: Any, args: Any, kwargs: Any, part: Any = part) -> Any:
            given = args[0].clone()
            given[0, query, part.head * width : (part.head + 1) * width] = 0
            return (given,), kwargs

        network.set_attn_implementation("eager")
        with torch.no_grad(), hooked([output], before=off):
            weights = network(**a.run.encoding.inputs, output_attentions=True).attentions[layer]
        row = weights[0, head, query].double()
        after = float(row[key].log() - row[other].log())
        assert effect.total == pytest.approx(found.contrast - after, abs=2e-5)
        assert effect.weight == pytest.approx(float(row[key]), abs=1e-5)
        assert effect.direct == found.query_sums[effect.part]


def test_the_total_effect_of_a_token_is_that_of_masking_it() -> None:
    a = keys()
    query, key = at(a, "are", "keys")
    found = a.qk_attribution(1, 3, query, key)
    effects = found.total_effects(2)
    first = effects.effects[0]
    assert first.part == key and first.weight == pytest.approx(0.214, abs=5e-4)
    table = found.matrix
    direct = table[first.part].sum() + table[:, first.part].sum() - table[first.part, first.part]
    assert first.direct == pytest.approx(direct, abs=1e-5)
    assert effects.to_records()[0]["part"] == f"token {key}"


def test_each_heads_part_is_the_sum_of_its_sources() -> None:
    from attn_widget.features.qk.sources import by_source, slopes

    for family in ("bert", "llama", "gpt2", "olmo2", "gemma3_text"):
        a = tiny(family)
        found = a.qk_attribution(2, 1, 6, 2, by="parts")
        kept = a._qk_kept
        read, _ = kept.read(2, 1, "parts", "apart")
        reads = found.cell.contrast.coefficients * read.factor[1, 6].double().numpy()
        of = slopes(kept, 2, 1, 6, reads)
        for side in ("query", "key"):
            parts, sums = found.parts(side)  # pyright: ignore[reportArgumentType]
            for part, value in zip(parts, sums, strict=True):
                if part.kind != "head":
                    continue
                sources = by_source(kept, part.layer or 0, of[side][part.layer or 0])[
                    part.head or 0
                ]
                assert sources.sum() == pytest.approx(value, abs=2e-5)
                assert part.source is not None


def test_a_planted_pair_of_heads_is_named_first() -> None:
    """Two heads write one word's mark to the place after it, a third looks for the mark."""
    model, tokenizer = tiny_models.build("bert", num_hidden_layers=2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
        generator = torch.Generator().manual_seed(0)
        embeddings = model.bert.embeddings
        words, places = embeddings.word_embeddings.weight, embeddings.position_embeddings.weight
        words[:, 12:] = 0.3 * torch.randn(*words[:, 12:].shape, generator=generator)
        words[tokenizer.convert_tokens_to_ids("cat"), 0] = 3
        words[tokenizer.convert_tokens_to_ids("house"), 1] = 3
        places[2, 2], places[3, 3] = 3, 3  # the cat's place, and the next one
        first, second = (layer.attention for layer in model.bert.encoder.layer)
        for head in (1, 2):  # the place after the cat's looks at the cat and copies its mark
            row = 8 * head
            first.self.query.weight[row, 3] = 4
            first.self.key.weight[row, 2] = 4
            first.self.value.weight[row, 0] = 1
            first.output.dense.weight[4 + head, row] = 2
        second.self.query.weight[0, 1] = 3
        second.self.key.weight[0, 5], second.self.key.weight[0, 6] = 3, 1
    a = aw.analyze(
        "The cat sat on the mat near our house.",
        model=(model, tokenizer),
        tagger=None,
        progress=False,
    )
    house = at(a, "house")[0]
    found = a.qk_attribution(1, 0, house, 3, by="parts")
    order = np.argsort(-np.abs(found.key_sums))
    names = [found.key_parts[i].name for i in order[:2]]
    assert names == ["L0 H1", "L0 H2"]
    assert [found.key_parts[i].source for i in order[:2]] == [2, 2]
    tree = found.trace()
    assert [(e.part.name, e.node.query, e.node.key) for e in tree.children if e.side == "key"] == [
        ("L0 H1", 3, 2), ("L0 H2", 3, 2),
    ]  # fmt: skip


def test_sides_of_a_trace_add_up() -> None:
    a = tiny("llama")
    found = a.qk_attribution(2, 1, 7, 3)
    done: list[tuple[int, int]] = []
    tree = found.trace(2, progress=lambda *given: done.append(given))
    assert done and done[0] == (1, 1)
    nodes = [tree, *(edge.node for edge in tree.children)]
    for node in nodes:
        for sums in node.sides.values():
            assert sums.heads + sums.ffns + sums.rest == pytest.approx(node.contrast, abs=1e-5)
        assert (node.stop is None) == bool(node.children)
    with pytest.raises(InputError, match="by='parts'"):
        a.qk_attribution(2, 1, 7, 3, by="tokens").trace()


def test_axes_of_equal_length_are_not_confused() -> None:
    """As many tokens as heads, head dimensions, or entries of a table of distances."""
    for family in ("bert", "deberta-v2", "bloom", "gpt2"):
        for text in ("cat sat", "The cat sat on the mat"):
            a = tiny(family, text)
            for by in ("tokens", "parts"):
                found = a.qk_attribution(1, 1, a.trace.n_tokens - 1, 1, against="all", by=by)
                assert abs(found.gap) <= 3e-5 * max(1, abs(found.contrast))


def test_query_and_key_are_not_exchanged() -> None:
    a = keys()
    one, other = a.qk_attribution(2, 4, 6, 2), a.qk_attribution(2, 4, 2, 6)
    assert abs(one.contrast - other.contrast) > 0.1
    assert not np.allclose(one.matrix, other.matrix.T, atol=0.1)
    with pytest.raises(InputError, match="may not look at"):
        tiny("gpt2").qk_attribution(1, 1, 2, 6)


def test_refusals() -> None:
    a, decoder = keys(), tiny("gpt2")
    given = [
        (lambda: a.qk_attribution(1, "mean", 6, 2), InputError, "A mean of heads has no query"),
        (lambda: a.qk_attribution(1, 3, 6, 99), InputError, "key"),
        (lambda: a.qk_attribution(9, 3, 6, 2), InputError, "layer"),
        (lambda: decoder.qk_attribution(1, 1, 0, 0), InputError, "one key only"),
        (lambda: a.qk_attribution(1, 3, 6, 2, against=2), InputError, "the key itself"),
        (lambda: a.qk_attribution(1, 3, 6, 2, against=99), InputError, "out of range"),
        (lambda: decoder.qk_attribution(1, 1, 4, 2, against=6), InputError, "the mask forbids"),
        (lambda: a.qk_attribution(1, 3, 6, 2, against="sink"), InputError, "no learned sink"),
        (lambda: a.qk_attribution(1, 3, 6, 2, against=None), InputTypeError, "against"),
        (lambda: a.qk_attribution(1, 3, 6, 2, by="words"), InputError, "by"),
        (lambda: a.qk_attribution(1, 3, 6, 2, biases="gone"), InputError, "biases"),
        (
            lambda: aw.from_attentions(
                [np.full((1, 2, 2), 0.5, np.float32)] * 2, tokens=["a", "b"]
            ).qk_attribution(0, 0, 0, 1),
            NotAvailableError,
            "no model to ask",
        ),
        (lambda: tiny("mixtral").qk_attribution(1, 1, 4, 2, by="tokens"), NotAvailableError, "mixtures of experts"),
        (lambda: tiny("mobilebert").qk_attribution(1, 1, 4, 2, by="parts"), NotAvailableError, "bottleneck"),
    ]  # fmt: skip
    for ask, error, message in given:
        with pytest.raises(error, match=message):
            ask()


def test_with_heads_off_the_run_is_explained_that_was_made() -> None:
    a = keys().ablate([(0, 1), (1, 2)])
    for by in ("tokens", "parts"):
        found = a.qk_attribution(3, 4, 6, 2, by=by)
        assert abs(found.gap) <= 3e-5 * max(1, abs(found.contrast))
    off = [i for i, part in enumerate(found.key_parts) if (part.layer, part.head) == (0, 1)]
    assert found.key_sums[off] == 0


def test_work_can_be_canceled() -> None:
    class CanceledError(Exception):
        pass

    def cancel(_done: int, _all: int) -> None:
        raise CanceledError

    a = aw.analyze("A text of its own.", tagger=None, progress=False)
    with pytest.raises(CanceledError):
        a.qk_attribution(3, 4, 3, 2, progress=cancel)
    assert a.qk_attribution(3, 4, 3, 2).layer == 3


def test_the_stores_lock_is_never_waited_for_with_the_model_held() -> None:
    a = aw.analyze(KEYS, model=tiny_models.build("llama", seed=5), tagger=None, progress=False)
    kept, held = a._qk_kept, a.run.encoder.lock
    lock, taken = kept._lock, []

    class Watched:
        def __enter__(self) -> None:
            taken.append(held._is_owned() and not lock._is_owned())
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    kept._lock = Watched()  # two questions that wait for each other's lock never end
    for by in ("tokens", "parts"):
        found = a.qk_attribution(2, 1, 6, 2, by=by)
        found.total_effects(parts=[0, 1])
    found.trace(2)
    kept.forget()
    a.qk_attribution(2, 2, 6, 2, by="parts")
    assert len(taken) > 6 and not any(taken)


def test_changed_weights_are_refused() -> None:
    model = tiny_models.build("bert", seed=3)
    a = aw.analyze("The cat sat.", model=model, tagger=None, progress=False)
    a.qk_attribution(1, 1, 3, 2)
    with torch.no_grad():
        model[0].bert.encoder.layer[0].output.dense.weight.mul_(1.5)
    with pytest.raises(AttnWidgetError, match="weights"):
        a.qk_attribution(1, 1, 3, 2)


def test_a_table_for_pandas() -> None:
    pytest.importorskip("pandas")
    found = keys().qk_attribution(1, 3, 6, 2)
    frame = found.to_dataframe()
    assert [*frame.columns] == ["query_part", "key_part", "value"] and len(frame) == 100
    assert frame.value.sum() == pytest.approx(found.contrast, abs=1e-5)
    assert found.rest == pytest.approx(found.contrast - sum(v for *_, v in found.pairs(8)))
