"""The RoBERTa family from end to end, on a small one with a real byte-level tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.protocol.answer import answer
from tests.close import assert_close
from tests.roberta import roberta_folder
from training import roberta

TEXT = "The value of the attribute is evaluated. A function definition is an executable statement."
PAIR = "It raises an exception."
HARD = "naïve café 🙂 日本語 the\tend"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return roberta_folder(tmp_path_factory)


@pytest.fixture(scope="module")
def analysis(folder: Path) -> Analysis:
    return aw.analyze(TEXT, model=folder, tagger=None, progress=False)


@pytest.fixture(scope="module")
def pair(folder: Path) -> Analysis:
    return aw.analyze(TEXT, PAIR, model=str(folder), tagger=None, progress=False)


@pytest.fixture(scope="module")
def hard(folder: Path) -> Analysis:
    return aw.analyze(HARD, model=folder, tagger=None, progress=False)


@pytest.fixture(scope="module")
def plain(folder: Path) -> tuple[Any, Any]:
    """The same folder as transformers loads it."""
    return AutoModelForMaskedLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(
        folder
    )


def test_training_has_lowered_the_loss(folder: Path) -> None:
    losses = np.load(folder / "losses.npy")
    assert len(losses) == roberta.STEPS
    assert losses[-20:].mean() < losses[:20].mean() - 1  # nats


def test_a_few_steps_give_the_same_model_twice(tmp_path: Path) -> None:
    first, again = (roberta.train(tmp_path / name, steps=2) for name in ("a", "b"))
    other = roberta.train(tmp_path / "c", steps=2, seed=1)
    assert first == again != other
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b")]
    assert weights[0] == weights[1]


def test_a_folder_loads_with_its_masked_lm_head_and_its_reserved_positions(folder: Path) -> None:
    encoder = aw.load(folder, progress=False)
    assert (encoder.family.name, encoder.has_lm, encoder.classifier) == ("roberta", True, None)
    assert encoder.max_length == 512 and encoder.model.config.max_position_embeddings == 514
    assert not encoder.takes_segments
    assert encoder.tokenizer.mask_token == "<mask>"


def test_predictions_are_those_of_transformers(analysis: Analysis, plain: Any) -> None:
    model, tokenizer = plain
    with torch.no_grad():
        logits = model(**tokenizer(TEXT, return_tensors="pt")).logits[0]
    assert_close(analysis.trace.logits, logits, terms=384, steps=4 * analysis.trace.n_layers + 2)
    found = analysis.predictions(top_k=5)
    best = logits.softmax(-1).topk(5)
    assert_close(found.probabilities, best.values, terms=96, steps=analysis.trace.n_layers, size=1)
    np.testing.assert_array_equal(found.ids[:, 0], best.indices[:, 0])


def test_a_mask_that_the_user_wrote_is_predicted_in_context(folder: Path, plain: Any) -> None:
    model, tokenizer = plain
    text = "The value of the<mask> is evaluated."
    found = aw.analyze(text, model=folder, tagger=None, progress=False)
    place = [token.text for token in found.tokens].index("<mask>")
    assert not found.tokens[place].special
    with torch.no_grad():
        logits = model(**tokenizer(text, return_tensors="pt")).logits[0, place]
    guesses = found.predictions(top_k=3).ids[place]
    np.testing.assert_array_equal(guesses, logits.topk(3).indices)


def test_masked_predictions_put_the_mask_in_each_place(analysis: Analysis, plain: Any) -> None:
    model, tokenizer = plain
    ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    copy = ids.clone()
    copy[0, 2] = tokenizer.mask_token_id
    with torch.no_grad():
        expected = model(input_ids=copy).logits[0, 2].softmax(-1).topk(5)
    found = analysis.predictions(top_k=5, mode="masked", rows=slice(2, 3))
    assert_close(
        found.probabilities[0], expected.values, terms=96, steps=analysis.trace.n_layers, size=1
    )


def test_attention_is_that_of_the_eager_model(analysis: Analysis, folder: Path) -> None:
    model = AutoModelForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        expected = model(**tokenizer(TEXT, return_tensors="pt"), output_attentions=True).attentions
    for layer, weights in enumerate(expected):
        for head in range(analysis.trace.n_heads):
            assert_close(
                analysis.attention(layer, head),
                weights[0, head],
                terms=96,
                steps=analysis.trace.n_layers,
                size=1,
            )


def test_byte_level_tokens_keep_their_marks_and_their_place_in_the_text(
    analysis: Analysis,
) -> None:
    first, *inner, last = analysis.tokens
    assert (first.text, last.text, first.special, last.special) == ("<s>", "</s>", True, True)
    assert any(token.text.startswith("Ġ") for token in inner)
    for token in inner:
        assert not token.special
        # The mark Ġ is the space before a word, which is no part of the word's place.
        assert TEXT[token.start : token.end] == token.surface == token.text.removeprefix("Ġ")


def test_letters_of_several_bytes_stay_in_their_place(hard: Analysis) -> None:
    inner = [token for token in hard.tokens if not token.special]
    covered = {i for token in inner for i in range(token.start, token.end)}
    visible = {i for i, letter in enumerate(HARD) if not letter.isspace()}
    assert visible <= covered  # the emoji and each Han character among them
    emoji = [token for token in inner if token.start <= HARD.index("🙂") < token.end]
    assert len(emoji) > 1 and {token.surface for token in emoji} == {"🙂"}
    words = [word.text for word in hard.words]
    assert {"naïve", "café", "🙂", "the", "end"} <= set(words)


def test_pieces_are_merged_into_the_words_of_the_text(folder: Path) -> None:
    found = aw.analyze("The zigzagging platypus hums.", model=folder, tagger=None, progress=False)
    words = found.view(words=True, special=False)
    merged = [token.text for token in words.tokens if token.word is not None]
    assert merged == ["The", "zigzagging", "platypus", "hums", "."]
    assert words.trace.n_tokens < found.trace.n_tokens - 2
    assert_close(words.attention(0, 0).sum(axis=1), 1, terms=found.trace.n_tokens)


def test_a_pair_stands_between_two_separators_and_has_no_segments(pair: Analysis) -> None:
    specials = [token.text for token in pair.tokens if token.special]
    assert specials == ["<s>", "</s>", "</s>", "</s>"]
    places = [i for i, token in enumerate(pair.tokens) if token.special]
    assert places[2] == places[1] + 1
    inner = [token.segment for token in pair.tokens if not token.special]
    assert inner == sorted(inner) and set(inner) == {0, 1}  # of which text it is
    second = [token for token in pair.tokens if token.segment == 1 and not token.special]
    assert PAIR.startswith(second[0].surface) and second[0].start == 0
    assert pair.run is not None
    assert "token_type_ids" not in pair.run.encoding.inputs  # the model is not told


def test_inside_has_no_segment_embedding_and_positions_after_the_padding(
    pair: Analysis, folder: Path
) -> None:
    parts = pair.model.embeddings
    encoder = aw.load(folder, progress=False)
    table = encoder.model.get_submodule("roberta.embeddings.position_embeddings").weight
    first = encoder.tokenizer.pad_token_id + 1
    np.testing.assert_array_equal(
        parts.position, table[first : first + pair.trace.n_tokens].detach().numpy()
    )
    words = encoder.model.get_input_embeddings().weight.detach().numpy()
    np.testing.assert_array_equal(parts.token, words[[token.id for token in pair.tokens]])
    # Its one segment embedding is added to both texts alike, and Inside says so.
    assert parts.segment is not None and (parts.segment == parts.segment[0]).all()
    assert_close(parts.sum, parts.token + parts.position + parts.segment, terms=3)
    reply, _ = answer(pair, {"kind": "architecture"})
    assert "There are no segments" in " ".join(reply["data"]["notes"])


def test_sentences_and_the_tree_are_of_this_text(analysis: Analysis) -> None:
    assert list(analysis.sentences.texts) == TEXT.replace(". A", ".\nA").splitlines()
    mass = analysis.sentences.matrix("mass")
    assert mass.shape == (2, 2) and (mass > 0).all()
    tree = analysis.heads.tree(1, layer=1, head=2, special=False)
    assert tree.token == 1
    special = {i for i, token in enumerate(analysis.tokens) if token.special}
    assert {child.token for child in tree.children}.isdisjoint(special)


def test_there_is_no_next_sentence_and_the_first_token_is_the_summary(
    analysis: Analysis, pair: Analysis
) -> None:
    with pytest.raises(NotAvailableError, match="no next-sentence head"):
        _ = pair.model.next_sentence
    assert not np.isnan(analysis.heads.specialization.raw["cls"]).any()  # <s>
    looks = analysis.model.first_token()
    assert looks.layers == (0, 1, 2)
    assert list(looks.positions) == [word.text for word in analysis.words]


@pytest.fixture
def widget(folder: Path) -> Iterator[aw.AttentionWidget]:
    found = aw.show(HARD, model=folder, tagger=None, progress=False)
    yield found
    found.close()


def test_a_widget_shows_it_runs_other_texts_and_masks_tokens(widget: aw.AttentionWidget) -> None:
    widget.run(TEXT, PAIR)
    assert widget.text_pair == PAIR and widget.status == "ready"
    widget.masked = [3]
    assert widget.analysis.tokens[3].text == "<mask>"
    assert widget.analysis.tokens[3].surface == widget.analysis.model.masked[0].text.removeprefix(
        "Ġ"
    )
