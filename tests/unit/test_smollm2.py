"""SmolLM2-135M, a real decoder with grouped heads: the figures that are known of it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import attn_widget as aw
from attn_widget.analysis.opening import opening
from attn_widget.errors import ModelLoadError
from attn_widget.features.why.targets import Target
from attn_widget.model import gguf, places
from attn_widget.protocol.initial_payload import opening_mode
from tests.close import assert_close
from tests.unit.needs import needs_smollm2

SENTENCE = "When Mary and John went to the store, John gave a drink to"


@cache
def analysis(text: str = SENTENCE) -> Any:
    return aw.analyze(text, model="smollm2", tagger=None, progress=False)


def mary_against_john() -> Target:
    run = analysis().run
    ids = run.encoder.tokenizer.convert_tokens_to_ids(["ĠMary", "ĠJohn"])
    return aw.target(position=analysis().trace.n_tokens - 1, token=ids[0], against=ids[1])


def test_without_the_package_the_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(places.PACKAGED, "smollm2", ("no_such_package", "pip install it"))
    with pytest.raises(ModelLoadError, match=r"not installed\. Run: pip install it"):
        aw.load("smollm2", progress=False)


def test_a_file_that_is_no_gguf_file_is_refused(tmp_path: Any) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"PK\x03\x04")
    with pytest.raises(ModelLoadError, match="is no GGUF file"):
        aw.load(file, progress=False)
    for missing in ("no-such.gguf", tmp_path / "no-such.gguf"):
        with pytest.raises(ModelLoadError, match=r"The file '.*no-such\.gguf' does not exist"):
            aw.load(missing, progress=False)


@needs_smollm2
def test_a_gguf_file_that_is_cut_off_is_refused(tmp_path: Any) -> None:
    whole = places.packaged_file("smollm2")
    assert whole is not None
    file = tmp_path / "cut.gguf"
    for size in (200, 50_000_000):  # within the header, and within the weights
        with whole.open("rb") as opened:
            file.write_bytes(opened.read(size))
        with pytest.raises(ModelLoadError, match=r"'cut.gguf' cannot be read .* cut off"):
            aw.load(file, progress=False)


@needs_smollm2
def test_the_next_token_of_known_sentences() -> None:
    a = analysis()
    assert a.run.encoder.family.name == "llama" and opening_mode(a) == "next"
    assert a.predictions().tokens[-1][0] == "ĠMary"
    assert a.predictions().probabilities[-1, 0] == pytest.approx(0.923, abs=0.001)
    france = analysis("The capital of France is").predictions()
    assert france.tokens[-1][0] == "ĠParis" and france.probabilities[-1, 0] > 0.75


@needs_smollm2
def test_surprisals_are_the_cross_entropy_of_torch() -> None:
    a = analysis()
    ids = torch.tensor([[token.id for token in a.trace.tokens]])
    with torch.no_grad():
        logits = a.run.encoder.model(input_ids=ids, use_cache=False).logits[0]
    nats = functional.cross_entropy(logits[:-1].double(), ids[0, 1:], reduction="none").numpy()
    best = a.predictions()
    # A sum of 576 products in each of 30 layers.
    assert_close(best.original_surprisal[:-1] * np.log(2), nats, terms=576, steps=30, size=logits)
    assert best.perplexity == pytest.approx(np.exp(nats.mean()), rel=1e-5)
    ours = torch.from_numpy(np.array(a.trace.logits)).double()
    own = functional.cross_entropy(ours[:-1], ids[0, 1:], reduction="none").numpy()
    assert np.abs(best.original_surprisal[:-1] * np.log(2) - own).max() <= 1e-5
    assert np.abs(best.original_probability[:-1] - np.exp(-nats)).max() <= 1e-5
    above = logits[:-1] > logits[:-1].gather(1, ids[0, 1:, None])
    np.testing.assert_array_equal(best.original_rank[:-1], 1 + above.sum(dim=1))


@needs_smollm2
def test_components_and_the_decomposition_of_mary_against_john() -> None:
    a, target = analysis(), mary_against_john()
    c = a.why.components(target)
    assert c.value == pytest.approx(6.120, abs=0.002) and c.gap <= 1e-5
    assert np.unravel_index(np.abs(c.heads).argmax(), c.heads.shape) == (23, 3)
    assert (c.heads[23, 3], c.heads[29, 1]) == pytest.approx((2.86, 1.73), abs=0.01)
    assert (c.heads.sum(), c.mlps.sum(), c.embedding) == pytest.approx(
        (1.62, 4.54, -0.04), abs=0.01
    )
    d = a.why.contributions(target)
    assert d.gap <= 1e-5 and d.bias == 0
    assert (d.values[1], d.values[9], d.values[0]) == pytest.approx((3.70, 2.39, 0.98), abs=0.01)
    assert a.why.logit_lens(target).values[-1] == pytest.approx(c.value, abs=1e-4)


@needs_smollm2
def test_the_first_token_takes_neither_the_opening_nor_the_scale() -> None:
    a = analysis()
    opened = opening(a)
    weights = a.attention(opened.layer, opened.head)
    assert weights[1:, 0].mean() < 0.5
    words = np.tril(weights, -1)[:, 1:]  # key 0 stands for no word in a causal mask
    assert words.max() < 0.9


@needs_smollm2
def test_switching_off_the_head_that_adds_most_takes_most_away() -> None:
    effects = analysis().why.head_effects(mary_against_john()).effects
    assert np.unravel_index(np.abs(effects).argmax(), effects.shape) == (23, 3)
    assert effects[23, 3] == pytest.approx(3.04, abs=0.01)


@needs_smollm2
def test_copying_scores() -> None:
    found = analysis().why.copying()
    assert found.shape == (30, 9) and np.isfinite(found).all() and np.abs(found).max() <= 1
    assert int((found > 0.5).sum()) == 126
    assert found[18, 6] > 0  # induction


@needs_smollm2
def test_one_head_finds_what_followed_a_token_the_last_time() -> None:
    for seed in range(2):
        found = analysis().model.probe_patterns(seed).induction
        assert np.unravel_index(np.nanargmax(found), found.shape) == (18, 6)
        assert found[18, 6] >= 0.9


@needs_smollm2
def test_the_number_of_the_subject_decides_the_verb_and_nothing_before_it() -> None:
    keys, key = "The keys to the cabinet are", "The key to the cabinet is"
    c: Any = aw.compare(keys, key, model="smollm2", tagger=None, progress=False)
    changes = {(one["position_b"], one["token"]): one for one in c.predictions(3)}
    assert all((one["position_b"] == 0) == (one["log_odds"] == 0) for one in changes.values())
    are, verb = (changes[4, name] for name in ("Ġare", "Ġis"))
    assert are["before"] > 10 * are["after"] and verb["after"] > 10 * verb["before"]
    target = c.proposals()[0]  # after "cabinet"
    ids = c.b.run.encoder.tokenizer.convert_tokens_to_ids(["Ġare", "Ġis"])
    assert target.position == 4 and {target.token, target.against} == set(ids)


@needs_smollm2
def test_alti_does_not_end_in_the_first_token() -> None:
    rolled = analysis().mixing.rollout("alti")[-1]
    assert (rolled[0], rolled[1], rolled[3]) == pytest.approx((0.333, 0.226, 0.090), abs=0.001)


@needs_smollm2
def test_it_writes_on() -> None:
    a = aw.analyze(SENTENCE, model="smollm2", generate=3, tagger=None, progress=False)
    assert a.model.generated[0].text == "ĠMary" and a.text.startswith(SENTENCE + " Mary")
    assert a.trace.n_tokens == 14 + len(a.model.generated)


@needs_smollm2
def test_a_file_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis()
    file = places.packaged_file("smollm2")
    assert file is not None

    def read(_file: Any) -> Any:
        raise AssertionError("read again")

    monkeypatch.setattr(gguf, "_read", read)
    folder = gguf.converted(file)
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {
        one.name for one in folder.iterdir()
    }
