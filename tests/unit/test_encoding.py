"""Where every token lies in its text, and which texts are refused."""

from __future__ import annotations

import time
from typing import Any

import pytest

import attn_widget as aw
from attn_widget.errors import (
    InputError,
    InputTypeError,
    TooLongError,
)
from attn_widget.model.encoder import Encoder
from tests.hard_texts import HARD_TEXTS
from tests.unit import tiny_models


@pytest.fixture(scope="module")
def mini() -> Encoder:
    return aw.load(progress=False)


@pytest.fixture(scope="module", params=["bert", "roberta", "modernbert", "xlm-roberta"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    """One of each kind of tokenizer."""
    return aw.load(tiny_models.build(request.param))


def test_special_tokens_are_those_that_the_tokenizer_adds(mini: Encoder) -> None:
    encoding = mini.encode("Cats say [MASK] and [SEP].", "So do dogs.")
    special = [token.text for token in encoding.tokens if token.special]
    assert special == ["[CLS]", "[SEP]", "[SEP]"]
    assert [t.surface for t in encoding.tokens if t.text == "[MASK]"] == ["[MASK]"]
    assert [t.segment for t in encoding.tokens] == encoding.inputs["token_type_ids"][0].tolist()
    assert [t.id for t in encoding.tokens] == encoding.inputs["input_ids"][0].tolist()


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_every_token_lies_in_its_text(encoder: Encoder, text: str) -> None:
    if text.isspace():
        pytest.skip("white space alone is refused, in a test of its own")
    try:
        encoding = encoder.encode("First, " + text, text, truncation=True)
    except InputError as error:
        pytest.fail(str(error))
    sources = ("First, " + text, text)
    reached = [0, 0]
    for token in encoding.tokens:
        if token.special:
            assert (token.start, token.end, token.surface) == (0, 0, token.text)
            continue
        source = sources[token.segment]
        assert 0 <= token.start <= token.end <= len(source)
        assert token.surface == source[token.start : token.end]
        assert token.surface == token.surface.strip() or token.surface.isspace()
        assert token.start >= reached[token.segment] - 1  # pieces of one character share its span
        reached[token.segment] = max(reached[token.segment], token.start)


def test_byte_level_tokens_begin_at_their_word_and_pieces_of_an_emoji_share_it() -> None:
    for family in ("roberta", "modernbert"):
        encoder = aw.load(tiny_models.build(family))
        text = "the cat 😀 sat"
        tokens = [t for t in encoder.encode(text).tokens if not t.special]
        pieces = [t for t in tokens if t.start == 8 and t.end > 8]
        assert len(pieces) > 1 and {(t.end, t.surface) for t in pieces} == {(9, "😀")}
        assert next(t for t in tokens if t.start == 4).surface.startswith("c")


def test_the_second_segment_is_segment_one_without_segment_embeddings_too() -> None:
    encoder = aw.load(tiny_models.build("roberta"))
    encoding = encoder.encode("the cat", "a dog")
    assert "token_type_ids" not in encoding.inputs
    assert {t.segment for t in encoding.tokens if "do" in t.surface} == {1}
    assert [t.segment for t in encoding.tokens if t.special] == [0, 0, 0, 1]


def test_a_text_that_is_too_long_is_refused_or_cut(mini: Encoder) -> None:
    text = "word " * 600
    with pytest.raises(TooLongError, match=r"602 tokens.*at most 512.*truncation=True"):
        mini.encode(text)
    encoding = mini.encode(text, truncation=True)
    assert encoding.n_tokens == 512
    assert encoding.truncated == {"limit": 512, "length": 602}
    assert mini.encode("short").truncated is None
    pair = mini.encode("word " * 400, "dog " * 300, truncation=True)
    assert pair.n_tokens == 512
    assert {t.segment for t in pair.tokens} == {0, 1}


def test_a_hundred_thousand_characters_are_answered_soon(mini: Encoder) -> None:
    text = ("the cat sat on the mat. " * 4200)[:100_000]
    start = time.process_time()
    with pytest.raises(TooLongError):
        mini.encode(text)
    with pytest.raises(TooLongError):
        mini.encode("x" * 100_000 + " " + text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [("", InputError, "text is empty"), (" \t\n\u00a0", InputError, "text holds only white space"),
     ("a\ud800b", InputError, r"text has a lone surrogate, U\+D800, at character 1"),
     ("\x00\x07", InputError, "nothing of text: it holds only control or invisible"),
     (["a", "b"], InputTypeError, r"list of 2.*profile"), (None, InputTypeError, "NoneType"),
     (b"bytes", InputTypeError, "bytes")],
)  # fmt: skip
def test_bad_texts_are_refused_in_words(
    mini: Encoder, text: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        mini.encode(text)
    if text is not None:
        with pytest.raises(error, match=words.replace("text", "text_pair")):
            mini.encode("fine", text)
    assert mini.encode("still fine").n_tokens == 4


@pytest.mark.parametrize("text", ["a\x00b", "</script><b>x</b>", "שלום עולם", "👨‍👩‍👧‍👦", "[CLS]"])
def test_odd_but_possible_texts_are_read(mini: Encoder, text: str) -> None:
    assert any(not token.special for token in mini.encode(text).tokens)


def test_a_tokenizer_of_another_model_is_noticed() -> None:
    model, _ = tiny_models.build("bert")
    encoder = aw.load((model, aw.load(progress=False).tokenizer))
    with pytest.raises(InputError, match="embeddings for ids 0 to 511 only"):
        encoder.encode("photosynthesis")


def test_token_texts_cover_ids_without_an_entry(encoder: Encoder) -> None:
    assert encoder.token_texts([511]) == ["[511]"]
    ids = [token.id for token in encoder.encode("the cat").tokens]
    assert encoder.token_texts(ids) == [t.text for t in encoder.encode("the cat").tokens]
