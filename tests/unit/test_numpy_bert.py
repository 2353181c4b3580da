"""The embedded model in numpy is the model in torch, up to the rounding of sums; and what it does without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.analysis.texts import run_text
from attn_widget.model.bert import BertForPreTraining as TorchBert
from attn_widget.model.checkpoint import embedded_checkpoint
from attn_widget.model.encoder import Encoder, HeadMeans
from attn_widget.model.numpy_bert import BertForPreTraining
from attn_widget.model.places import locate
from attn_widget.trace import LogitsCache
from tests.close import assert_close

WORDS = "The old keeper of the light tells her that a storm 'll come, and it does. "
TEXTS: dict[str, tuple[str, str | None]] = {
    "short": ("the cat sat on the mat", None),
    "pair": ("Where is it?", "It is in the garden, behind the house."),
    "odd characters": ("naïve 你好 🙂‍↔️ x\u200by [MASK] [SEP] 1/2 A\u0301 ﬁ", None),
    "long": (WORDS * 10, WORDS),
}
INNER = 1536  # width of the feed-forward network: its second map has the longest sums
WEIGHTS = 1e-5  # how far a weight may be off


def encoder_in(*, torch: bool) -> Encoder:
    return Encoder(embedded_checkpoint(locate(None), in_torch=torch))


@pytest.fixture(scope="module")
def plain() -> Encoder:
    return encoder_in(torch=False)


@pytest.fixture(scope="module")
def torches() -> Encoder:
    return encoder_in(torch=True)


def analyses(plain: Encoder, torches: Encoder, name: str) -> tuple[aw.Analysis, aw.Analysis]:
    text, pair = TEXTS[name]
    a, b = (run_text(e, text, pair, truncation=True, tagger=None) for e in (plain, torches))
    return a, b


def assert_same_run(a: aw.Analysis, b: aw.Analysis) -> None:
    """Two runs of one text agree in all that a trace holds, layer by layer."""
    for layer in range(a.trace.n_layers):
        close = {"terms": INNER, "steps": layer + 1}
        assert_close(a.model.hidden_states[layer], b.model.hidden_states[layer], **close)
        assert_close(a.trace.layer_scores(layer), b.trace.layer_scores(layer), **close)
        np.testing.assert_allclose(
            a.trace.layer_weights(layer), b.trace.layer_weights(layer), 0, WEIGHTS
        )
        for part in ("queries", "keys", "values", "head_output"):
            parts = ([getattr(x.trace, part)(layer, h) for h in range(12)] for x in (a, b))
            assert_close(*parts, **close)
        assert a.trace.allowed(layer) is None and a.trace.scaling(layer) == b.trace.scaling(layer)
    after = {"terms": INNER, "steps": a.trace.n_layers + 1}
    assert_close(a.model.hidden_states[-1], b.model.hidden_states[-1], **after)
    assert_close(a.trace.logits, b.trace.logits, **after)
    assert_close(a.trace.nsp_logits, b.trace.nsp_logits, **after)


def assert_same_predictions(a: Any, b: Any) -> None:
    after = {"terms": INNER, "steps": 7}
    for name in ("logits", "logit_max", "log_sum_exp"):
        assert_close(getattr(a, name), getattr(b, name), **after)
    # A probability is off by its own share of what its logit is off.
    off = 2 * np.abs(a.logits - b.logits).max() + np.abs(a.log_sum_exp - b.log_sum_exp).max()
    np.testing.assert_allclose(a.probabilities, b.probabilities, rtol=off + 1e-6)
    differ = a.ids != b.ids
    # Neighbors of which rounding decides may have changed places.
    np.testing.assert_allclose(a.logits[differ], b.logits[differ], rtol=1e-5)
    assert differ.mean() < 0.01
    assert (np.abs(a.original_rank - b.original_rank) <= 2).all()


@pytest.mark.parametrize("name", TEXTS)
def test_a_run_is_that_of_torch(plain: Encoder, torches: Encoder, name: str) -> None:
    a, b = analyses(plain, torches, name)
    assert a.tokens == b.tokens
    assert_same_run(a, b)
    assert_same_predictions(a.predictions(20), b.predictions(20))


@pytest.mark.parametrize("name", ["short", "pair", "odd characters"])
def test_predictions_of_masked_tokens_and_of_the_next_sentence_are_those_of_torch(
    plain: Encoder, torches: Encoder, name: str
) -> None:
    a, b = analyses(plain, torches, name)
    assert_same_predictions(a.predictions(20, "masked"), b.predictions(20, "masked"))
    one, other = (x.model.softmax(2, [1037, 4937], "masked") for x in (a, b))
    assert_close(one.log_sum_exp, other.log_sum_exp, terms=INNER, steps=7)
    assert [entry["rank"] for entry in one.entries] == [entry["rank"] for entry in other.entries]
    if name == "pair":
        chances = [x.model.next_sentence.probabilities for x in (a, b)]
        np.testing.assert_allclose(chances[0], chances[1], atol=WEIGHTS)


def test_the_inside_of_layers_and_the_embeddings_are_those_of_torch(
    plain: Encoder, torches: Encoder
) -> None:
    a, b = analyses(plain, torches, "pair")
    for layer in range(a.trace.n_layers):
        parts, others = (vars(x.model.layer(layer)) for x in (a, b))
        for name in parts.keys() - {"layer", "pre_norm", "notes"}:
            assert_close(parts[name], others[name], terms=INNER, steps=layer + 1)
    for name in ("token", "position", "segment", "sum", "norm", "output"):
        found = (getattr(x.model.embeddings, name) for x in (a, b))
        assert_close(*found, terms=a.model.hidden_states.shape[2])
    assert a.model.parameters == b.model.parameters and np.array_equal(
        a.model.positions, b.model.positions
    )
    assert_close(a.model.residuals.ffn, b.model.residuals.ffn, terms=INNER, steps=6)
    for kind in ("norms", "mixing", "alti", "value_zeroing"):
        one, other = (x.mixing.matrix(kind, 3) for x in (a, b))
        assert_close(one, other, terms=INNER, steps=4)


def test_heads_that_are_off_and_masked_tokens_are_those_of_torch(
    plain: Encoder, torches: Encoder
) -> None:
    a, b = analyses(plain, torches, "short")
    means = HeadMeans(np.full((6, 12, 32), 0.25, np.float32), texts=1, tokens=8)
    for ablation in ("zero", "mean", means):
        off = a.ablate([(2, 1), (4, 0)], ablation), b.ablate([(2, 1), (4, 0)], ablation)
        assert_same_run(*off)
        # Below the first head that is off nothing changes, to the last bit.
        assert np.array_equal(off[0].attention(1, 0), a.attention(1, 0))
        assert np.abs(off[0].attention(5, 0) - a.attention(5, 0)).max() > 1e-3
    assert_same_run(a.mask([2]), b.mask([2]))


def test_a_text_in_windows_is_that_of_torch(plain: Encoder, torches: Encoder) -> None:
    options: dict[str, Any] = {"truncation": False, "windows": (64, 16), "tagger": None}
    a, b = (run_text(encoder, WORDS * 6, None, **options) for encoder in (plain, torches))
    np.testing.assert_allclose(a.attention(3, 5), b.attention(3, 5), atol=WEIGHTS)
    assert_close(a.trace.logits, b.trace.logits, terms=INNER, steps=7)
    rows = slice(60, 70)
    assert_same_predictions(
        a.predictions(mode="masked", rows=rows), b.predictions(mode="masked", rows=rows)
    )


def test_gradients_come_from_torch_over_the_same_memory(plain: Encoder, torches: Encoder) -> None:
    a, b = analyses(plain, torches, "short")
    target = aw.target(position=2, token="cat", against="dog")
    one, other = (x.why.contributions(target, "decomposition") for x in (a, b))
    assert_close(one.values, other.values, terms=INNER, steps=12)
    assert isinstance(plain.network, TorchBert) and plain.network is plain.network
    ours, tensors = dict(plain.traced.named_parameters()), dict(plain.network.named_parameters())
    for name, tensor in tensors.items():
        assert np.shares_memory(tensor.detach().numpy(), ours[name]), name
    # Runs stay in numpy: a picture does not change because a gradient was asked for.
    assert isinstance(plain.traced, BertForPreTraining)
    assert np.array_equal(analyses(plain, torches, "short")[0].attention(3, 5), a.attention(3, 5))


def test_the_model_of_transformers_runs_once_it_was_asked_for() -> None:
    encoder = encoder_in(torch=False)
    before = run_text(encoder, "the cat sat", None, truncation=False, tagger=None)
    lock = encoder.lock
    with torch.no_grad():
        encoder.model.bert.encoder.layer[0].attention.self.query.weight.zero_()
    assert encoder.traced is encoder.network is encoder.model and encoder.lock is lock
    after = run_text(encoder, "the cat sat", None, truncation=False, tagger=None)
    assert np.ptp(after.attention(0, 5), axis=0).max() < 1e-6 < np.ptp(before.attention(0, 5))


def test_logits_that_were_dropped_come_again_after_the_model_was_asked_for() -> None:
    encoder = encoder_in(torch=False)
    run = run_text(encoder, "the cat sat", None, truncation=False, tagger=None)
    logits = run.trace.logits
    assert encoder.model is encoder.traced
    LogitsCache(0).add(run.trace._outputs)
    again = run.trace.logits
    assert again is not logits
    assert_close(again, logits, terms=INNER, steps=12)


def test_numbers_that_are_not_finite_are_refused_with_the_weight_that_has_them() -> None:
    encoder = encoder_in(torch=False)
    encoder.traced.bert.encoder.layer[2].output.dense.bias[7] = np.nan
    with pytest.raises(
        aw.AttnWidgetError, match=r"Layer 2 .* gave NaN.*layer\.2\.output\.dense\.bias"
    ):
        run_text(encoder, "the cat sat", None, truncation=False, tagger=None)


LIGHT = """
import sys
import attn_widget as aw
w = aw.show("the cat sat on the mat", "a pair", tagger=None)  # spaCy imports torch
a = w.analysis
a.predictions(mode="masked"), a.model.parameters, a.model.layer(2), a.model.embeddings, a.mask([2]), a.heads.patterns
a.ablate([(2, 1)]), a.mixing.matrix("alti", 3), a.model.next_sentence, a.model.residuals, a.mixing.decompose_output(2, 1)
for name in ("torch", "transformers", "sympy", "scipy.optimize", "sklearn", "networkx", "pandas"):
    assert name not in sys.modules, name
w.to_html(sys.argv[1], views=["attention", "tree", "predictions"])
assert "torch" not in sys.modules
"""

# A kernel without some packages and, in a browser (Pyodide), without threads: each question that needs one of them is
# answered with a sentence that says what to do, and the picture stays.
HIDDEN = """
import sys, threading

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def start(self):
    raise RuntimeError("can't start new thread")

import anywidget, numpy
page, browser, hidden = sys.argv[1], sys.argv[2] == "browser", {*sys.argv[3:]}
sys.meta_path.insert(0, Hidden())
if browser:
    sys.platform, threading.Thread.start = "emscripten", start
import attn_widget as aw

w = aw.show("the cat sat on the mat", tagger=None)
a, target = w.analysis, aw.target(position=2, token="cat")
torch = " run in a browser. Use a kernel on your machine: pip install attn-widget jupyterlab"
if not browser:
    torch = " which is not installed. Run: pip install torch transformers"
asked = {
    torch: [
        lambda: aw.show("the cat", model="bert-base-uncased"),
        lambda: aw.analyze("the cat", model="bert-base-uncased"),
        lambda: aw.load("bert-base-uncased"),
        lambda: a.why.contributions(target),
        lambda: a.why.head_effects(target),
        lambda: a.qk_attribution(1, 3, 3, 2),
        lambda: aw.similarity("a cat", "a dog"),
        lambda: aw.profile(["the cat sat"]),
        lambda: aw.load().model,
    ],
}
if "scipy" in hidden:
    asked["needs SciPy, which is not installed. Run: %pip install scipy"] = [lambda: a.heads.flow(1)]
    assert a.heads.roles().labels.size == 72
    assert [w.text for w in a.words] == ["the", "cat", "sat", "on", "the", "mat"]
    assert aw.compare("the cat sat", "the dog sat").summary().startswith("heads that differ")
    assert "syntax" in a.heads.specialization.reasons and "self" in a.heads.specialization.raw
before = w.first_paint
for said, questions in asked.items():
    for number, ask in enumerate(questions):
        try:
            ask()
        except aw.AttnWidgetError as error:
            assert said in str(error), (said, number, str(error))
        else:
            raise AssertionError((said, number))
needs = {"targets": torch, "flow": "scipy"}
for kind, said in needs.items() if browser else [("targets", torch)]:
    reply, _ = w._slice({"kind": kind, "token": 1}, [])
    assert not reply["ok"] and reply["hint"].endswith(said.split()[-1]), (kind, reply)
reply, _ = w._slice({"kind": "specialization"}, [])
assert reply["ok"], reply
reply, buffers = w._slice({"kind": "weights", "layer": 1, "head": 2}, [])
assert reply["ok"] and buffers and w.first_paint is before, reply
assert (w.status, w.error) == ("ready", {}), w.error
w.run("the dog sat")
assert w.text == "the dog sat" and w.status == "ready" and w.first_paint != before
w.to_html(page)
if not browser:
    aw.show(aw.compare("the cat sat", "the dog sat"))
"""
LACKS = {
    "no torch": ("kernel", "torch", "transformers"),
    "browser": (
        *("browser", "torch", "transformers", "scipy", "sklearn", "regex", "tokenizers"),
        *("safetensors", "spacy", "pandas", "huggingface_hub"),
    ),
}


def run(code: str, *arguments: Any) -> None:
    command = [sys.executable, "-c", code, *(str(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_picture_does_not_import_torch(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(LIGHT, page)
    assert page.stat().st_size > 400_000


@pytest.mark.parametrize("lacks", LACKS.values(), ids=LACKS)
def test_a_kernel_that_lacks_packages_says_what_to_do_and_keeps_its_picture(
    tmp_path: Path, lacks: tuple[str, ...]
) -> None:
    page = tmp_path / "page.html"
    run(HIDDEN, page, *lacks)
    assert page.stat().st_size > 400_000
