"""ESM: residues as tokens, and the attention of the plain model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.features.why.proposals import proposals
from tests.close import assert_close
from tests.unit import tiny_models

# The vocabulary of ESM-2 (facebook/esm2_t6_8M_UR50D).
VOCABULARY = [
    "<cls>",
    "<pad>",
    "<eos>",
    "<unk>",
    "L",
    "A",
    "G",
    "V",
    "S",
    "E",
    "R",
    "T",
    "I",
    "D",
    "P",
    "K",
    "Q",
    "N",
    "F",
    "Y",
    "M",
    "H",
    "W",
    "C",
    "X",
    "B",
    "U",
    "Z",
    "O",
    ".",
    "-",
    "<null_1>",
    "<mask>",
]
INSULIN = "GIVEQCCTSICSLYQLENYCN"
RUN = tiny_models.RUN


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    path = tmp_path_factory.mktemp("esm") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY))
    torch.manual_seed(0)
    config = tf.EsmConfig(
        vocab_size=len(VOCABULARY),
        mask_token_id=VOCABULARY.index("<mask>"),
        pad_token_id=VOCABULARY.index("<pad>"),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        position_embedding_type="rotary",
        token_dropout=True,
        emb_layer_norm_before=False,
        initializer_range=tiny_models.SPREAD,
    )
    return tf.EsmForMaskedLM(config).eval(), tf.EsmTokenizer(str(path))


@pytest.mark.parametrize("text", [INSULIN, "GIV <mask> QC", "M K\nT", "mkt", "AXB-Z.", "A?C"])
def test_a_token_is_a_residue_with_its_place(pair: tuple[Any, Any], text: str) -> None:
    a = aw.analyze(text, model=pair, tagger=None, progress=False)
    ids = [token.id for token in a.tokens]
    if text != "mkt":  # three letters that it does not know
        assert ids == pair[1](text)["input_ids"]
    inner = a.tokens[1:-1]
    assert a.tokens[0].special and a.tokens[-1].special and not any(t.special for t in inner)
    assert "".join(text[t.start : t.end] for t in inner) == "".join(text.split())


def test_its_numbers_are_those_of_the_plain_model(pair: tuple[Any, Any]) -> None:
    a = aw.analyze(INSULIN, model=pair, tagger=None, progress=False)
    model, tokenizer = pair
    model.set_attn_implementation("eager")
    with torch.no_grad():
        plain = model(**tokenizer(INSULIN, return_tensors="pt"), output_attentions=True)
    for layer in range(3):
        weights = a.trace.layer_weights(layer)
        assert_close(weights, plain.attentions[layer][0], **RUN, size=1.0)
    assert_close(a.trace.logits, plain.logits[0], **RUN, size=plain.logits)
    assert a.trace.has_qkv and a.predictions(mode="masked").ids.shape[0] == a.trace.n_tokens


def test_why_explains_a_masked_residue(pair: tuple[Any, Any]) -> None:
    a = aw.analyze(INSULIN, model=pair, tagger=None, progress=False)
    (target,) = proposals(a)
    tested = a.why.faithfulness(target, ["decomposition", "occlusion", "alti"])
    assert tested.random.words == len(INSULIN) - 1  # every residue is a word; one is masked


def test_sums_close(pair: tuple[Any, Any]) -> None:
    a = aw.analyze(INSULIN, model=pair, tagger=None, progress=False)
    assert (
        a.why.contributions(aw.target(position=4, token="Q", against="E", masked=True)).gap <= 1e-5
    )
    for layer in range(3):
        assert a.mixing.decompose_output(layer, 5).gap <= 1e-5
    off = a.ablate([(1, 2)])
    effect = a.why.head_effects(aw.target(position=4, token="Q")).effects[1, 2]
    fall = a.trace.logits[4, 16] - off.trace.logits[4, 16]
    assert_close(effect, fall, **RUN, size=a.trace.logits)


def test_a_folder_of_esm_opens(pair: tuple[Any, Any], tmp_path: Path) -> None:
    for part in pair:
        part.save_pretrained(tmp_path)
    w = aw.show(INSULIN, model=tmp_path, tagger=None, progress=False)
    assert [token.text for token in w.analysis.tokens[1:4]] == ["G", "I", "V"]
    w.close()
