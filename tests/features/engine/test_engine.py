"""The engine of a page gives what the kernel gives; its packed weights are those of the model."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.analysis.opening import opening
from attn_widget.checks.rounding import rounding
from attn_widget.errors import NotAvailableError
from attn_widget.features.engine.live import packed
from attn_widget.features.engine.packing import MAGIC, pack_model
from attn_widget.features.engine.rounding import rounded
from tests.close import assert_close
from tests.engine_parity import Compared, Rounding, compare, parity_texts, run_engine
from tests.golden import make_engine, make_engine_source, make_openings
from tests.unit import tiny_models

# [CLS], one mark or a word and a mark, [SEP]: the model amplifies rounding there a hundredfold. Float32 activations
# between exact operations are off by as much; the kernel's own figures of "never ?" are 4e-5 from float64.
AMPLIFIED = (".", "b !", "never ?")


def allowed_of(found: Compared) -> Rounding:
    """What rounding explains: four sums of up to 1,536 terms follow on each other in each of six layers."""
    scores, states, logits = found.largest
    return Rounding(
        rounding(scores, 384, 24) / 2,  # of a score's error a weight takes at most half
        rounding(states, 1536, 24),
        rounding(logits, 384, 26),
    )


@pytest.mark.parametrize("relaxed", [False, True])
def test_texts_of_every_length_give_the_kernels_figures(tmp_path: Path, relaxed: bool) -> None:
    texts = parity_texts(30)  # 300 are compared by `python -m benchmarks.engine parity`
    found = compare(texts[:10] if relaxed else texts, tmp_path, relaxed=relaxed)
    kernel, allowed = found.kernel, allowed_of(found)
    assert kernel.tokens == 0
    assert kernel.order == 0
    assert kernel.attention <= allowed.attention
    assert kernel.hidden_states <= allowed.hidden_states
    assert kernel.projections <= allowed.hidden_states
    assert kernel.logits <= allowed.logits
    assert kernel.next_sentence <= allowed.logits
    engine = found.worst(0)  # from float64
    assert engine.attention <= allowed.attention
    assert engine.hidden_states <= allowed.hidden_states
    assert engine.logits <= allowed.logits


def test_texts_that_amplify_rounding_are_as_exact_as_float32_allows(tmp_path: Path) -> None:
    found = compare(list(AMPLIFIED), tmp_path)
    engine, allowed = found.worst(0), allowed_of(found)  # from float64
    assert engine.attention <= allowed.attention
    assert engine.hidden_states <= allowed.hidden_states
    assert engine.logits <= allowed.logits
    assert found.kernel.relative <= 1e-4
    assert found.kernel.order == 0


@pytest.mark.parametrize(
    ("family", "changes"),
    [("distilbert", {}), ("bert", {"hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4})],
)  # fmt: skip
@pytest.mark.parametrize("pair", [None, "a dog sat"])
def test_models_of_other_layouts_and_sizes_give_what_transformers_gives(
    tmp_path: Path, family: str, changes: dict[str, int], pair: str | None
) -> None:
    model, tokenizer = tiny_models.build(family, "ForMaskedLM", **changes)
    encoder = aw.load((model, tokenizer), progress=False)
    (tmp_path / "model.bin").write_bytes(packed(encoder))
    text = "The cat sat on the mat."
    [answer] = run_engine(tmp_path, texts=[text] if pair is None else [[text, pair]])
    inputs = encoder.encode(text, pair).inputs
    assert answer["ids"] == inputs["input_ids"][0].tolist()
    plain = rounded(encoder).model.double()  # which does not round as both do
    plain.set_attn_implementation("eager")
    with torch.inference_mode():
        found = plain(**inputs, output_attentions=True, output_hidden_states=True)
    n = len(answer["ids"])
    values = np.fromfile(tmp_path / "0.bin", dtype="<f4")
    expected = [torch.cat(found.attentions), torch.cat(found.hidden_states)]
    a = aw.analyze(text, pair, model=encoder, tagger=None, progress=False)
    scores = [
        a.scores(layer, head)
        for layer in range(a.trace.n_layers)
        for head in range(a.trace.n_heads)
    ]
    # Of a score's error a weight takes at most half.
    for one, size in zip(expected, (np.abs(scores).max() / 2, expected[1]), strict=True):
        own, values = np.split(values, [one.numel()])
        assert_close(own, one.reshape(-1), terms=96, steps=4 * 3, size=size)
    logits = found.logits[0, [0, n // 2, n - 1]].reshape(-1)
    assert_close(values[-len(logits) :], logits, terms=96, steps=4 * 3 + 2)


def test_two_thousand_hard_lines_give_the_tokenizers_ids_and_offsets(tmp_path: Path) -> None:
    lines = make_engine.lines(2000, seed=1)
    answers = run_engine(tmp_path, lines=lines)
    wrong = [
        expected["text"]
        for expected, answer in zip(make_engine.tokenized(lines), answers, strict=True)
        if answer
        != {"ids": expected["ids"], "offsets": [list(pair) for pair in expected["offsets"]]}
    ]
    assert wrong == []


def test_the_page_is_tested_with_the_file_and_the_lines_of_today(tmp_path: Path) -> None:
    make_engine.write_model(tmp_path)
    then = json.loads(make_engine.PATH.read_text())
    assert base64.b64encode(pack_model(tmp_path)).decode() == then["file"]
    lines = make_engine.tokenized([entry["text"] for entry in then["lines"]])
    assert json.loads(json.dumps(lines)) == then["lines"]


def test_a_typed_text_opens_where_the_kernel_opens_it(tmp_path: Path) -> None:
    then = json.loads(make_openings.PATH.read_text(encoding="utf-8"))
    look = "run python -m tests.golden.make_openings, and look at the difference"
    assert json.loads(json.dumps(make_openings.golden())) == then, look
    lines = make_openings.KINDS.read_text(encoding="utf-8").splitlines()
    texts = [*(line.split(" ||| ") for line in lines), *([text] for text in parity_texts(20))]
    encoder = aw.load(progress=False)
    for text, found in zip(texts, run_engine(tmp_path, openings=texts), strict=True):
        expected = asdict(opening(aw.analyze(*text, model=encoder, tagger=None, progress=False)))
        assert {name: found[name] for name in expected} == expected, text


def test_the_source_is_tested_with_the_slices_of_today() -> None:
    then = json.loads(make_engine_source.PATH.read_text())
    now = json.loads(json.dumps(make_engine_source.golden()))
    look = "run python -m tests.golden.make_engine_source, and look at the difference"
    assert len(now) == len(then), look
    for mine, theirs in zip(now, then, strict=True):
        assert mine.keys() == theirs.keys() and all(
            same(mine[key], theirs[key]) for key in ("meta", "arrays")
        ), look
        factor = magnified(theirs["slices"])
        for one, other in zip(mine["slices"], theirs["slices"], strict=True):
            kind = other["request"]["kind"]
            # Of exp(z), which is off by its own size times what z and the largest logit are off by.
            powers = 2 * abs(other["data"]["logit_max"]) if kind == "softmax" else 1.0
            of_z = kind in ("specialization", "roles")
            assert same(one, other, factor if of_z else 1.0, powers), (look, other["request"])


def magnified(slices: list[Any]) -> float:
    """Factor that z scores have over the figures of heads: the largest over its spread."""
    (found,) = (one for one in slices if one["request"]["kind"] == "specialization")
    raw = [
        np.array(array["data"], float)
        for name, array in found["arrays"].items()
        if name[:4] == "raw:"
    ]
    known = [figures for figures in raw if np.isfinite(figures).all() and figures.std() > 0]
    return max((np.abs(figures).max() / figures.std() for figures in known), default=1.0)


def same(now: object, then: object, size: float = 1.0, factor: float = 1.0) -> bool:
    """Equal, but for the last digits of numbers of a size, so many times."""
    if isinstance(now, float) and isinstance(then, (int, float)):
        allowed = factor * rounding(max(size, abs(then)), **tiny_models.BOTH_WAYS)
        return now == pytest.approx(then, rel=0, abs=allowed, nan_ok=True)
    if isinstance(now, list) and isinstance(then, list):
        size = max(
            [size, *(abs(one) for one in then if isinstance(one, float) and math.isfinite(one))]
        )
        return len(now) == len(then) and all(
            same(a, b, size, factor) for a, b in zip(now, then, strict=True)
        )
    if isinstance(now, dict) and isinstance(then, dict):
        return now.keys() == then.keys() and all(
            same(now[key], then[key], size, factor) for key in now
        )
    return now == then


def test_a_packed_file_is_laid_out_for_simd(tmp_path: Path) -> None:
    make_engine.write_model(tmp_path)
    file = pack_model(tmp_path)
    assert file.startswith(MAGIC)
    length = int.from_bytes(file[8:12], "little")
    header = json.loads(file[12 : 12 + length])
    assert (12 + length) % 16 == 0
    assert len(file) == 12 + length + header["bytes"]
    assert all(offset % 16 == 0 for offset in header["tensors"].values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_act": "relu"}, "bert with relu and WordPiece"),
        ({"model_type": "albert"}, "albert with gelu"),
        ({"num_attention_heads": 4}, "4 heads, 16 hidden"),
    ],
)
def test_a_model_of_another_layout_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    make_engine.write_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**make_engine.SETTINGS, **change}))
    with pytest.raises(NotAvailableError, match=message):
        pack_model(tmp_path)
