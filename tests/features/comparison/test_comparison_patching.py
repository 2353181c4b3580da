"""Patching: equal to plain runs of `transformers` with hooks written here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError
from tests.close import assert_close
from tests.unit import test_planted, tiny_models

A, B = "The cat sat on the old mat.", "The dog sat on the old mat."
TARGET = aw.target(position=4, token="on", against="in")
planted = test_planted.run  # a fixture
Layers = tuple[str, str, str, str]
# Where each family has its layers, the output projection of attention, and the second map of the MLP.
MODULES: dict[str, Layers] = {
    "bert": ("bert.encoder.layer", "attention.output.dense", "output.dense", ""),
    "roberta": ("roberta.encoder.layer", "attention.output.dense", "output.dense", ""),
    "modernbert": ("model.layers", "attn.Wo", "mlp.Wo", ""),
    "gpt2": ("transformer.h", "attn.c_proj", "mlp.c_proj", ""),
    "llama": ("model.layers", "self_attn.o_proj", "mlp.down_proj", ""),
}
# Decoders of every shape: parallel residual, norms inside it, experts, FFN on rows, softmax called by the model itself.
SHAPES = ("gpt2", "gpt_neox", "gemma2", "gpt_oss", "opt", "bloom")


@pytest.fixture(scope="module", params=MODULES)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def c(family: str) -> Any:
    model, tokenizer = tiny_models.build(family)
    if family == "gpt2":  # so that the words that differ stand where they do in the other families
        tokenizer = tiny_models.tokenizer("beginning")
    return compare((model, tokenizer))


def compare(model: Any) -> Any:
    c = aw.compare(A, B, model=model, tagger=None, progress=False)
    return c.align(list(zip(c.alignment.unmatched_a, c.alignment.unmatched_b, strict=False)))


def module_of(c: Any, family: str, site: Any) -> tuple[Any, bool]:
    """The module of a site, and whether its input (not its output) is meant."""
    path, attention, mlp, _ = MODULES[family]
    layer = c.a.run.encoder.model.get_submodule(path)[site[1]]
    if site[0] == "state":
        return layer, True
    return layer.get_submodule(mlp if site[0] == "mlp" else attention), site[0] == "head"


def plain(c: Any, family: str, site: Any) -> Any:
    """Logits of B [n, vocabulary] where one site comes from A, by hooks of torch."""
    module, enters = module_of(c, family, site)
    taken: list[Any] = []
    position = site[-1] if len(site) == (4 if site[0] == "head" else 3) else None
    partner = {j: i for i, j in c.alignment.tokens}
    places = sorted(partner) if position is None else [position]
    dim = c.a.trace.head_dim
    columns = slice(site[2] * dim, (site[2] + 1) * dim) if site[0] == "head" else slice(None)

    def put(tensor: Any) -> Any:
        changed = tensor.clone()
        for j in places:
            changed[0, j, columns] = taken[0][0, partner[j], columns]
        return changed

    def run(encoding: Any, enter: Callable[..., Any], leave: Callable[..., Any]) -> Any:
        with ExitStack() as stack, torch.no_grad():
            handle = (
                module.register_forward_pre_hook(enter)
                if enters
                else module.register_forward_hook(leave)
            )
            stack.callback(handle.remove)
            return c.a.run.encoder.model(**encoding.inputs).logits[0].numpy()

    run(
        c.a.run.encoding,
        lambda _m, args: taken.append(args[0].clone()),
        lambda _m, _args, output: taken.append(output.clone()),
    )
    return run(
        c.b.run.encoding,
        lambda _m, args: (put(args[0]), *args[1:]),
        lambda _m, _args, output: put(output),
    )


SITES: list[Any] = [
    ("head", 1, 2),
    ("head", 0, 3, 2),
    ("attention", 1, 2),
    ("attention", 2),
    ("mlp", 0, 2),
    ("mlp", 1),
    ("state", 0, 2),
    ("state", 1, 2),
    ("state", 2),
]


@pytest.mark.parametrize("site", SITES)
def test_every_site_is_that_of_plain_hooks(c: Any, family: str, site: Any) -> None:
    patched = c.patch([site])
    assert_close(patched.trace.logits, plain(c, family, site), **tiny_models.RUN)
    assert np.abs(patched.trace.logits - c.b.trace.logits).max() > 1e-4
    assert [token.text for token in patched.tokens] == [token.text for token in c.b.tokens]


@pytest.mark.parametrize("name", [*tiny_models.FAMILIES, *SHAPES])
def test_all_of_a_gives_a_and_nothing_gives_b(name: str) -> None:
    c: Any = aw.compare(
        A, "The mat sat on the old cat.", model=tiny_models.build(name), tagger=None, progress=False
    )
    c = c.align([(i, i) for i in range(min(c.a.trace.n_tokens, c.b.trace.n_tokens))])
    assert not c.alignment.unmatched_a and not c.alignment.unmatched_b
    n_layers = c.a.trace.n_layers
    whole = c.patch([("state", layer) for layer in range(n_layers + 1)])
    assert_close(whole.trace.logits, c.a.trace.logits, **tiny_models.RUN)
    assert_close(c.patch([("state", n_layers)]).trace.logits, c.a.trace.logits, **tiny_models.RUN)
    assert c.patch([]) is c.b
    back = aw.compare(c.b, whole).patch([])
    assert back is whole


def test_a_patched_run_is_asked_again_with_its_patch(c: Any) -> None:
    site = ("state", 1, 2)
    patched = c.patch([site])
    assert_close(
        patched.model.hidden_states[1][2], c.a.model.hidden_states[1][2], **tiny_models.SUMS
    )
    if c.a.run.encoder.mask_token_id is not None:
        assert patched.mask([3]).mask([]) is patched
    both = (
        aw.compare(c.a, patched)
        .align([(i, i) for i in range(c.b.trace.n_tokens)])
        .patch([("head", 2, 1)])
    )
    together = c.patch([site, ("head", 2, 1)])
    assert_close(both.trace.logits, together.trace.logits, **tiny_models.SUMS)
    assert_close(
        aw.analyze(B, model=c.b.run.encoder, tagger=None, progress=False).trace.logits,
        c.b.trace.logits,
        **tiny_models.SUMS,
    )


@pytest.mark.parametrize("of", ["heads", "states", "attention", "mlp"])
def test_recovery_is_that_of_single_patches(of: Any) -> None:
    counts: list[tuple[int, ...]] = []
    for name in ("bert", "albert", "llama"):
        c = compare(tiny_models.build(name))
        places = [j for _, j in c.alignment.tokens if not c.b.tokens[j].special]
        position = places[-1 if name == "llama" else 0]  # a decoder's first words know of no change
        target = aw.target(position=position, token=5, against=9)
        found = c.recovery(target, of, progress=lambda *done: counts.append(done))
        assert counts[-1][0] == counts[-1][1]
        kind = {"heads": "head", "states": "state"}.get(of, of)
        spread = {position: i for i, position in c.alignment.tokens}

        def value(run: Any, at: int) -> float:
            return float(run.trace.logits[at, 5] - run.trace.logits[at, 9])

        s_a, s_b = value(c.a, spread[position]), value(c.b, position)
        size = np.abs(c.b.trace.logits).max()
        assert_close((found.source, found.value), (s_a, s_b), **tiny_models.RUN, size=size)
        for layer, column in [(0, 1), (1, 2), (2, 1)]:
            expected = (value(c.patch([(kind, layer, column)]), position) - s_b) / (s_a - s_b)
            recovered, share = found.values[layer, column], size / abs(s_a - s_b)
            assert_close(recovered, expected, **tiny_models.BOTH_WAYS, size=share)
        if of != "heads":
            assert np.isnan(found.values[:, list(c.alignment.unmatched_b)]).all()
        assert len(found.to_records()) == found.values.size and "most" in repr(found)


def test_the_wired_head_is_found_by_patching_alone(planted: Any) -> None:
    model = planted.run.encoder
    dog = planted.text.replace("cat", "dog")
    c = aw.compare(planted, dog, model=model, tagger=None, progress=False).align([(2, 2)])
    target = aw.target(position=6, token="cat", against="dog", masked=True)
    found = c.recovery(target, "heads")
    assert found.values.argmax() == test_planted.COPYING and found.values[
        0, test_planted.COPYING
    ] == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(np.delete(found.values[0], test_planted.COPYING), 0, atol=1e-4)
    assert np.nanargmax(c.recovery(target, "states").values[0]) == 2


def test_bad_sites_and_targets() -> None:
    model = tiny_models.build("bert")
    c = aw.compare(A, "The big cat sat.", model=model, tagger=None, progress=False)
    unmatched = c.alignment.unmatched_b[0]
    bad: list[tuple[Any, type[Exception]]] = [
        ([("head", 9, 0)], InputError),
        ([("head", 0, 9)], InputError),
        ([("head", 0)], InputError),
        ([("head", 0, 1, 99)], InputError),
        ([("mlp", 3)], InputError),
        ([("state", 4)], InputError),
        ([("mlp", 0, 1, 2)], InputError),
        ([("attention", 0, unmatched)], InputError),
        ([("neuron", 0, 1)], InputError),
        ([("mlp", 0), ("mlp", 0)], InputError),
        ([1], InputTypeError),
        ("head", InputTypeError),
    ]
    for sites, error in bad:
        with pytest.raises(error):
            c.patch(sites)
    with pytest.raises(InputError, match="matched with no token"):
        c.recovery(aw.target(position=unmatched, token="cat"))
    with pytest.raises(InputTypeError):
        c.recovery("no")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="heads"):
        c.recovery(TARGET, "head")  # type: ignore[arg-type]
    same = aw.compare(A, A, model=model, tagger=None, progress=False)
    with pytest.raises(InputError, match="nothing to recover"):
        same.recovery(aw.target(position=2, token="cat"))
