"""Two runs of an encoder-decoder within one part: in Python, in a saved page, and in reports of parts."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

import attn_widget as aw
from attn_widget.__main__ import main
from attn_widget.analysis.report_json import document
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.comparison.page import compared_parts
from attn_widget.features.comparison.widget import ComparisonWidget
from attn_widget.protocol.pack import to_json, unpack
from tests.close import assert_close
from tests.unit import tiny_models

A, B = ("the 8th of November 1987", "1987-11-08"), ("March 8th, 1987", "1987-03-08")
PARTS = ("encoder", "decoder", "cross")


@cache
def compared(part: Any) -> aw.Comparison:
    return aw.compare(A, B, part=part, model="dates", tagger=None, progress=False)


@pytest.mark.parametrize("part", PARTS)
def test_matrices_and_distances_are_those_between_matched_queries_and_keys(part: Any) -> None:
    c = compared(part)
    assert (c.part, c.a.part, c.b.part) == (part, part, part)
    queries, keys = c.alignment.tokens, c.key_alignment.tokens
    assert (queries == keys) == (part != "cross")
    for i, j in keys:
        assert c.a.model.key_tokens[i].text == c.b.model.key_tokens[j].text
    of_a, of_b = ([pair[side] for pair in queries] for side in (0, 1))
    keys_a, keys_b = ([pair[side] for pair in keys] for side in (0, 1))
    found = c.distances()
    for layer, head in np.ndindex(2, 4):
        first = c.a.attention(layer, head)[np.ix_(of_a, keys_a)]
        second = c.b.attention(layer, head)[np.ix_(of_b, keys_b)]
        change = c.difference(layer, head)
        np.testing.assert_array_equal(change.difference, second - first)
        assert (change.keys_a, change.keys_b) == (tuple(keys_a), tuple(keys_b))
        pairs = zip(first.astype(float), second.astype(float), strict=True)
        with np.errstate(invalid="ignore"):  # the root of a rounded 0, where rows are equal
            rows = np.nan_to_num([jensenshannon(p, q) for p, q in pairs])
        assert_close(found.distances[layer, head], np.mean(rows), terms=len(keys), size=1)
    assert c.difference(1, 1, "scores").a.shape == (len(queries), len(keys))
    assert ("monotony" in c.metrics()) == (part == "cross")
    assert c.heads()[0] == divmod(int(found.distances.argmax()), 4)


def test_figures_of_both_runs_are_there_or_say_why_not() -> None:
    cross, decoder, encoder = compared("cross"), compared("decoder"), compared("encoder")
    assert repr(cross) == "<Comparison of 11 by 25 and 11 by 16 positions (cross), 9 by 8 matched>"
    assert repr(encoder) == "<Comparison of 25 and 16 positions (encoder), 8 matched>"
    change = cross.metrics()["monotony"]
    np.testing.assert_array_equal(change.b, cross.b.heads.monotony.monotony)
    records = cross.predictions(3)
    assert records == decoder.predictions(3)
    first = next(record for record in records if record["token"] == "1")
    assert (first["position_a"], first["position_b"]) == (0, 0)  # written after the start token
    for run, key in ((cross.a, "before"), (cross.b, "after")):
        best = run.model.writing.predictions(top_k=1)
        assert (best.tokens[0][0], float(best.probabilities[0, 0])) == (
            "1",
            pytest.approx(first[key], rel=1e-6),
        )
    assert decoder.states().shape == (3, 9) and encoder.states().shape == (3, 8)
    for asked, words in (
        (cross.states, "Cross-attention has no hidden states of its own"),
        (encoder.predictions, "encoder of an encoder-decoder predicts no tokens"),
        (cross.classes, "no classifier"),
        (
            lambda: cross.patch([("state", 1)]),
            "heads alone are put into another run, and 'state' is none",
        ),
        (
            lambda: cross.recovery(aw.target(position=0, token="1"), "mlp"),
            "heads alone .* 'mlp' is none",
        ),
    ):
        with pytest.raises(NotAvailableError, match=words):
            asked()
    assert cross.proposals() == []
    by_hand = cross.align([(6, 6)], keys=[(12, 0)])
    assert (6, 6) in by_hand.alignment.tokens and (12, 0) in by_hand.key_alignment.hand
    with pytest.raises(InputError, match="keys are given, and the keys of these runs"):
        encoder.align([], keys=[(0, 0)])
    meta, arrays = compared_parts(cross)
    assert (
        meta["keys"] == [*cross.key_alignment.tokens] and "keys" not in compared_parts(encoder)[0]
    )
    np.testing.assert_array_equal(arrays["b:monotony"], change.b)
    assert {*meta["reasons"]} == {"states", "classes", "patching"}


def test_other_models_and_tensors_from_outside_are_compared_within_a_part() -> None:
    source, output = "The cat sat on the mat.", "A quick brown fox."
    models = [tiny_models.build("bart"), tiny_models.build("t5")]
    c = aw.compare((source, output), models=models, part="cross", tagger=None, progress=False)
    assert c.notes[0] == "The two texts are identical." and len(c.notes) == 2
    partner = c.distances().partner
    layer, head = partner[1, 1].tolist()
    ends = [(i, j) for i, j in c.alignment.tokens]
    assert c.difference(1, 1).b.shape == (len(ends), len(c.key_alignment.tokens))
    assert c.metrics()["monotony"].b[1, 1] == c.b.heads.monotony.monotony[layer, head]
    weights = np.full((1, 2, 2, 3), 1 / 3, np.float32)
    first = aw.from_attentions(weights, ["x", "y"], keys=["a", "b", "c"], tagger=None)
    second = aw.from_attentions(weights, ["x", "z"], keys=["c", "b", "a"], tagger=None)
    outside = aw.compare(first, second)
    assert outside.alignment.tokens == ((0, 0),) and len(outside.key_alignment.tokens) == 1


def test_what_is_of_different_kinds_is_refused_with_its_shapes() -> None:
    c = compared("cross")
    for a, b, words in (
        (c.a, c.b.of("encoder"), r"A is the cross part, \[11, 25\] and B is the encoder part, \[16, 16\].*compare\(a\.of"),
        (c.a.of("encoder"), aw.analyze("a cat", tagger=None, progress=False), r"B reads one text, \[4, 4\].*two of one text"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            aw.compare(a, b)

    def run(*texts: Any, **options: Any) -> aw.Comparison:
        given: dict[str, Any] = {"progress": False, "model": "dates", **options}
        return aw.compare(*texts, **given)

    for texts, options, error, words in (
        ((A, B), {"part": "x"}, InputError, "part is 'x', expected one of 'encoder', 'decoder', 'cross'"),
        (("May 1", "May 2"), {}, InputError, r"no target is given\. Give pairs \(source, output\)"),
        ((A, B), {"generate": 3}, InputError, "generate is 3, and an output is given"),
        (("a", "b"), {"model": None, "part": "cross"}, NotAvailableError, "part is 'cross', and .* is no encoder-decoder"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            run(*texts, **options)
    written = run("March 8th, 1987", "March 9th, 1987", generate=12, part="decoder", tagger=None)
    assert (written.a.text, written.b.text) == ("1987-03-08", "1987-03-09")


def test_a_comparison_of_parts_is_shown_without_a_switch_of_parts() -> None:
    c = compared("cross")
    shown = aw.show(c)
    assert isinstance(shown, ComparisonWidget) and shown.part == "cross"
    meta, _ = unpack(shown.first_paint)
    assert (meta["part"], meta["parts"]) == ("cross", ["cross"])
    shown.close()
    whole = aw.show(c.a.of("decoder"))
    assert unpack(whole.first_paint)[0]["parts"] == [*PARTS]
    whole.close()


# Patching

MODULES = {
    ("t5", "encoder"): ("encoder.block", "layer.0.SelfAttention.o"),
    ("t5", "decoder"): ("decoder.block", "layer.0.SelfAttention.o"),
    ("t5", "cross"): ("decoder.block", "layer.1.EncDecAttention.o"),
    ("bart", "encoder"): ("model.encoder.layers", "self_attn.out_proj"),
    ("bart", "decoder"): ("model.decoder.layers", "self_attn.out_proj"),
    ("bart", "cross"): ("model.decoder.layers", "encoder_attn.out_proj"),
}
OTHER = ("The dog sat on the old mat.", "A quick brown fox.")  # the outputs are the same
SUMS = {"terms": 64, "steps": 24}  # no wider; six sums in each of two layers of both texts
WRITTEN = aw.target(position=4, token=20, against=30)


@cache
def tiny(name: str, part: Any) -> aw.Comparison:
    texts = ("The cat sat on the mat.", "A quick brown fox."), OTHER
    c = aw.compare(*texts, model=tiny_models.build(name), part=part, tagger=None, progress=False)
    # Tokens of no word, such as T5's lone "▁", are matched by hand alone.
    return c if part == "encoder" else c.align([(i, i) for i in range(c.b.trace.n_tokens)])


def logits_of(run: Any) -> Any:
    """Of what the decoder writes, [n, vocabulary]."""
    return run.model.writing.trace.logits


def by_hooks(c: aw.Comparison, name: str, heads: dict[tuple[int, int], list[int]]) -> Any:
    """Logits [n, vocabulary] of B, by hooks of torch, where heads have at positions of B what they have in A."""
    assert c.a.run is not None and c.b.run is not None
    model, dim = c.a.run.encoder.model, c.a.run.encoder.head_dim
    path, projection = MODULES[name, c.part]
    partner = {j: i for i, j in c.alignment.tokens}
    taken: list[Any] = []
    modules = [layer.get_submodule(projection) for layer in model.get_submodule(path)]

    def putting(layer: int) -> Any:
        def put(_module: Any, args: Any) -> Any:
            changed = args[0].clone()
            for (where, head), places in heads.items():
                columns = slice(head * dim, (head + 1) * dim)
                for place in places if where == layer else []:
                    changed[0, place, columns] = taken[layer][0, partner[place], columns]
            return (changed,)

        return put

    with torch.no_grad():
        handles = [
            module.register_forward_pre_hook(lambda _module, args: taken.append(args[0].clone()))
            for module in modules
        ]
        model(**c.a.run.encoding.inputs, use_cache=False)
        for handle in handles:
            handle.remove()
        handles = [
            module.register_forward_pre_hook(putting(layer)) for layer, module in enumerate(modules)
        ]
        logits = model(**c.b.run.encoding.inputs, use_cache=False).logits[0].numpy()
        for handle in handles:
            handle.remove()
    return logits


@pytest.mark.parametrize(("name", "part"), MODULES)
def test_patched_heads_of_a_part_are_those_of_plain_hooks(name: str, part: Any) -> None:
    c = tiny(name, part)
    places = [j for _, j in c.alignment.tokens]
    assert part == "encoder" or len(places) == c.b.trace.n_tokens
    every = dict.fromkeys(np.ndindex(c.b.trace.n_layers, c.b.trace.n_heads), places)
    one = {(1, 1): places[1:2]}
    for heads, sites in (
        (every, [("head", *at) for at in every]),
        (one, [("head", 1, 1, places[1])]),
    ):
        expected = by_hooks(c, name, heads)
        before = logits_of(c.b)
        run = c.patch(sites)
        assert run.part == part and np.abs(expected - before).max() > 1e-3
        assert_close(logits_of(run), expected, **SUMS)
    if part == "cross":  # nothing else of the source reaches what is written
        found = c.patch([("head", *at) for at in every])
        assert_close(logits_of(found), logits_of(c.a), **SUMS)


@pytest.mark.parametrize("part", PARTS)
def test_recovery_by_heads_of_a_part(part: Any) -> None:
    from attn_widget.features.comparison.patching import patched_value

    c = tiny("t5", part)
    grid = c.recovery(WRITTEN, "heads")
    assert grid.part == part and grid.values.shape == (c.b.trace.n_layers, c.b.trace.n_heads)
    assert grid.to_records()[3]["part"] == part and f"by {part}, layer" in repr(grid)
    for run, value in ((c.a, grid.source), (c.b, grid.value)):
        logits = logits_of(run)[4]
        assert value == pytest.approx(float(logits[20] - logits[30]), rel=1e-5)
    for at in ((0, 1), (1, 3)):
        alone = patched_value(c, [("head", *at)], WRITTEN)
        size = float(np.abs(grid.patched).max())
        assert_close(grid.patched[at], alone, size=size, **SUMS)
        gap = grid.source - grid.value
        assert_close(grid.values[at], (alone - grid.value) / gap, size=size / abs(gap), **SUMS)


@pytest.mark.parametrize("name", ["t5", "bart"])
@pytest.mark.parametrize("part", PARTS)
def test_a_run_patched_with_itself_stays_as_it_is(name: str, part: Any) -> None:
    b = tiny(name, part).b
    c = aw.compare(b, b)
    run = c.patch([("head", *at) for at in np.ndindex(b.trace.n_layers, b.trace.n_heads)])
    assert_close(logits_of(run), logits_of(b), **tiny_models.BOTH_WAYS)
    assert c.patch([]) is b


def test_patches_of_two_parts_stay_in_their_layers() -> None:
    cross, encoder = tiny("t5", "cross"), tiny("t5", "encoder")
    once = cross.patch([("head", 0, 1)])
    both = aw.compare(encoder.a, once.of("encoder"), tagger=None).patch([("head", 1, 2)])
    assert both.part == "encoder" and both.run is not None
    assert [piece.part for piece in both.run.encoder.patch or ()] == ["cross", "encoder"]
    weights = both.attention(1, 0)
    np.testing.assert_array_equal(weights, encoder.b.attention(1, 0))  # below what is changed
    assert not np.array_equal(both.of("cross").attention(0, 0), once.of("cross").attention(0, 0))


def test_a_site_names_another_part_and_several_parts_change_together() -> None:
    cross, encoder = tiny("t5", "cross"), tiny("t5", "encoder")
    together = cross.patch([("head", "cross", 0, 1), ("head", "encoder", 1, 2)])
    assert together.part == "cross"
    of_encoder = encoder.patch([("head", 1, 2)])
    then = aw.compare(cross.a, of_encoder.of("cross"), tagger=None)
    in_turn = then.align(cross.alignment.tokens).patch([("head", 0, 1)])
    np.testing.assert_array_equal(logits_of(together), logits_of(in_turn))
    assert not np.array_equal(logits_of(together), logits_of(cross.patch([("head", 0, 1)])))
    with pytest.raises(InputError, match="stands twice"):
        cross.patch([("head", 0, 1), ("head", "cross", 0, 1)])
    with pytest.raises(InputError, match="the part of a site is 'middle', expected one of"):
        cross.patch([("head", "middle", 0, 1)])
    with pytest.raises(InputError, match="names no layer"):
        cross.patch([("head", "encoder")])


def test_what_cannot_be_patched_in_a_part_is_refused() -> None:
    c = compared("encoder")
    written = {b for _, b in compared("decoder").alignment.tokens}
    alone = next(k for k in range(compared("decoder").b.trace.n_tokens) if k not in written)
    for asked, error, words in (
        (lambda: c.recovery(aw.target(position=alone, token="1")), InputError, "matched with no token of A.*both runs write"),
        (lambda: c.recovery(aw.target(position=99, token="1")), InputError, "position is 99"),
        (lambda: c.patch([("head", 9, 0)]), InputError, "layer is 9"),
        (lambda: c.patch([("head", 0, 0, c.alignment.unmatched_b[0])]), InputError, "is matched with no token of A"),
        (lambda: c.patch([("mlp", 0)]), NotAvailableError, "'mlp' is none.*Patch heads"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            asked()


# Reports


def runs_of(path: Path) -> list[dict[str, Any]]:
    (text,) = re.findall(r'id="aw-index">(.*?)</script>', path.read_text("utf-8"))
    return json.loads(text)["runs"]


def test_a_report_has_texts_pairs_and_comparisons_of_an_encoder_decoder(tmp_path: Path) -> None:
    options: dict[str, Any] = {"model": "dates", "tagger": None, "progress": False}
    path = aw.report([A, B], tmp_path / "pairs.html", **options)
    assert [run["title"] for run in runs_of(path)] == [" · ".join(A), " · ".join(B)]
    assert path.read_text("utf-8").count("encoder:paint") >= 2  # all parts of both
    path = aw.report(["May 3, 2021"], tmp_path / "one.html", generate=12, part="decoder", **options)
    (run,) = runs_of(path)
    assert run["title"] == "May 3, 2021 · 2021-05-03"
    path = aw.report([compared("cross")], tmp_path / "compared.html", progress=False)
    assert len(runs_of(path)) == 2
    for texts, given, words in (
        (["May 3, 2021"], {}, r"Text 0: .* no target is given\. Give pairs \(source, output\)"),
        ([A], {"generate": 3}, "Text 0: generate is 3, and an output is given"),
        ([A, ("a", " ")], {}, "Text 1: output holds only white space"),
    ):
        with pytest.raises(InputError, match=words):
            aw.report(texts, tmp_path / "none.html", **given, **options)
    assert not (tmp_path / "none.html").exists()


def test_a_document_has_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    whole = compared("decoder").a
    found = document(whole)
    assert found["part"] == "decoder" and [*found["parts"]] == ["encoder", "cross"]
    cross = found["parts"]["cross"]
    np.testing.assert_array_equal(
        cross["alignment"]["monotony"], whole.of("cross").heads.monotony.monotony
    )
    np.testing.assert_array_equal(
        found["written_shares"]["shares"], whole.why.written_shares.shares
    )
    assert cross["rollout"] is None and "two texts" in cross["not_available"]["rollout"]
    assert found["parts"]["encoder"]["specialization"] is not None
    json.dumps(to_json(found), allow_nan=False)
    assert main([A[0], "--written", A[1], "--model", "dates", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [*printed["parts"]] == ["encoder", "cross"] and printed["source_text"] == A[0]
