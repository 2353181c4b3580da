"""Every token's characters lie inside its word's, and its tag is its word's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from attn_widget.language import Language, annotate
from attn_widget.language.align import Part, align
from attn_widget.language.words import split_words
from attn_widget.model.tokens import Token
from tests.hard_texts import HARD_TEXTS
from tests.unit.needs import needs_spacy

KINDS = ("wordpiece", "byte-level", "unigram", "sentencepiece-bpe")
PROSE = (
    "The first officials of the town did not know that the café was closed. It was 5% naive. " * 4
)


def train(kind: str, texts: Sequence[str] = (PROSE, *HARD_TEXTS)) -> Tokenizer:
    """A small tokenizer of one kind; `PROSE` gives it pieces of more than one character."""
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=300, special_tokens=["[UNK]", "[MASK]"], show_progress=False
        )
    elif kind == "byte-level":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["[MASK]"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    elif kind == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=700,
            unk_token="<unk>",
            special_tokens=["<unk>", "[MASK]"],
            show_progress=False,
        )
    else:
        # Pieces may cross white space, so that one token bridges two words ("of the").
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Replace(" ", "▁")]
        )
        trainer = trainers.BpeTrainer(
            vocab_size=700, special_tokens=["<unk>", "[MASK]"], show_progress=False
        )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def tokens_of(tokenizer: Tokenizer, text: str, segment: int = 0) -> list[Token]:
    encoding = tokenizer.encode(text, add_special_tokens=False)
    return [
        Token(piece, number, start, end, text[start:end], segment=segment)
        for piece, number, (start, end) in zip(
            encoding.tokens, encoding.ids, encoding.offsets, strict=True
        )
    ]


def check(language: Language, *texts: str) -> None:
    """The whole promise of `annotate`, for every token and every word."""
    n_visible = 0
    for k, token in enumerate(language.tokens):
        visible = {
            at for at in range(token.start, token.end) if not texts[token.segment][at].isspace()
        }
        if not visible:
            assert token.word is None or language.words[token.word].pos == token.pos
            continue
        n_visible += 1
        assert token.word is not None and token.sentence is not None
        word = language.words[token.word]
        assert visible <= set(range(word.start, word.end))
        assert (token.pos, token.entity, token.segment) == (word.pos, word.entity, word.segment)
        assert word.tokens[0] <= k < word.tokens[1]
        sentence = language.sentences[token.sentence]
        assert sentence.start <= min(visible) < sentence.end
        assert sentence.tokens[0] <= k < sentence.tokens[1]
    for word in language.words:
        assert texts[word.segment][word.start : word.end] == word.text == word.text.strip() != ""
        assert any(token.word == language.words.index(word) for token in language.tokens)
    for one, other in pairwise(language.words):
        assert (one.segment, one.end) <= (other.segment, other.start) or one.segment < other.segment
        assert one.tokens[1] <= other.tokens[0]
    for one, other in pairwise(language.sentences):
        assert one.segment < other.segment or one.end <= other.start
    if n_visible:
        assert language.words and language.sentences


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train(request.param)


def test_there_are_sixty_different_hard_texts() -> None:
    assert len(set(HARD_TEXTS)) == 60


def test_every_token_lies_in_its_word_and_has_its_tag(tokenizer: Tokenizer) -> None:
    for text in HARD_TEXTS:
        check(annotate(tokens_of(tokenizer, text), text), text)


def test_the_same_holds_without_a_tagger(tokenizer: Tokenizer) -> None:
    for text in HARD_TEXTS:
        language = annotate(tokens_of(tokenizer, text), text, tagger=None)
        check(language, text)
        assert language.no_tags and all(token.pos is None for token in language.tokens)


def test_each_text_of_a_pair_is_tagged_by_itself(tokenizer: Tokenizer) -> None:
    for text, pair in zip(HARD_TEXTS, HARD_TEXTS[7:], strict=False):
        tokens = [*tokens_of(tokenizer, text), *tokens_of(tokenizer, pair, 1)]
        language = annotate(tokens, text, pair)
        check(language, text, pair)
        alone = annotate(tokens_of(tokenizer, pair, 1), "", pair)
        assert [token.pos for token in language.tokens if token.segment] == [
            token.pos for token in alone.tokens
        ]


@needs_spacy
@pytest.mark.parametrize("kind", ["wordpiece", "byte-level", "unigram"])
def test_tags_of_plain_words_are_those_of_spacy(kind: str) -> None:
    text = "The first officials of the town did not know that the café was closed."
    language = annotate(tokens_of(train(kind), text), text)
    assert [word.text for word in language.words] == [*text[:-1].split(), "."]
    tags = " ".join(str(word.pos) for word in language.words)
    assert tags == "DET ADJ NOUN ADP DET NOUN AUX PART VERB SCONJ DET NOUN AUX VERB PUNCT"


def test_pieces_of_one_emoji_share_a_word() -> None:
    text = "it was 😀!"
    language = annotate(tokens_of(train("byte-level", [PROSE]), text), text, tagger=None)
    words = [token.word for token in language.tokens if token.surface == "😀"]
    assert words == [2] * 4


def test_a_ligature_that_nfkc_opens_stays_in_its_word() -> None:
    text = "the ﬁrst"
    language = annotate(tokens_of(train("unigram"), text), text)
    assert [word.text for word in language.words] == ["the", "ﬁrst"]


def test_a_token_that_bridges_words_makes_them_one() -> None:
    text = "of the town"
    tokens = [Token("of▁the", 1, 0, 6, "of the"), Token("▁town", 2, 6, 11, " town")]
    language = annotate(
        tokens, text, tagger=lambda _: [(0, 2, "ADP"), (3, 6, "DET"), (7, 11, "NOUN")]
    )
    assert [(word.text, word.pos) for word in language.words] == [
        ("of the", "DET"),
        ("town", "NOUN"),
    ]


def test_the_first_part_wins_a_tie() -> None:
    words, _ = align("abcd", [Part(0, 2, "ADP"), Part(2, 4, "DET")], [(0, 4)])
    assert words == [Part(0, 4, "ADP")]


@needs_spacy
def test_a_special_token_has_no_word_no_sentence_and_no_tag() -> None:
    tokens = [
        Token("[CLS]", 1, 0, 0, "[CLS]", special=True),
        Token("cats", 2, 0, 4, "cats"),
        Token("[SEP]", 3, 0, 0, "[SEP]", special=True),
    ]
    first, cats, last = annotate(tokens, "cats sleep").tokens
    assert (first, last) == (tokens[0], tokens[2])
    assert (cats.word, cats.sentence, cats.pos) == (0, 0, "NOUN")


def test_words_and_sentences_beyond_a_truncated_text_are_left_out() -> None:
    text = "Cats purr. " * 500
    language = annotate([Token("cats", 2, 0, 4, "Cats"), Token("purr", 3, 5, 9, "purr")], text)
    assert [word.text for word in language.words] == ["Cats", "purr"]
    assert [(s.text, s.tokens) for s in language.sentences] == [("Cats purr.", (0, 2))]


@needs_spacy
def test_a_mask_in_the_text_has_no_tag() -> None:
    text = "The [MASK] sleeps."
    tokens = [
        Token("the", 1, 0, 3, "The"),
        Token("[MASK]", 2, 4, 10, "[MASK]"),
        Token("sleeps", 3, 11, 17, "sleeps"),
        Token(".", 4, 17, 18, "."),
    ]
    language = annotate(tokens, text)
    assert [token.word for token in language.tokens] == [0, 1, 2, 3]
    assert language.tokens[0].pos == "DET" and language.tokens[1].pos is None


@st.composite
def _texts_parts_spans(draw: st.DrawFn) -> tuple[str, list[Part], list[tuple[int, int]]]:
    text = draw(st.text(alphabet="ab .'-\u0301\u200d\n猫😀", min_size=1, max_size=30))
    cut = st.lists(st.integers(0, len(text)), max_size=8)
    places = sorted(set(draw(cut)))
    parts = [
        Part(a, b, draw(st.sampled_from(["NOUN", "VERB", None])))
        for a, b in pairwise(places)
        if draw(st.booleans())
    ]
    ends = sorted(set(draw(cut)) | {len(text)})
    return text, parts, list(pairwise([0, *ends]))


@settings(max_examples=300)
@given(_texts_parts_spans())
def test_any_words_and_any_tokens_align(
    case: tuple[str, list[Part], list[tuple[int, int]]],
) -> None:
    text, parts, spans = case
    words, token_word = align(text, parts, spans)
    for (start, end), word in zip(spans, token_word, strict=True):
        visible = [at for at in range(start, end) if not text[at].isspace()]
        if visible:
            assert word is not None
            assert words[word].start <= visible[0] and visible[-1] < words[word].end
    assert all(one.end <= other.start for one, other in pairwise(words))
    assert {word for word in token_word if word is not None} == set(range(len(words)))


@given(st.text(max_size=40))
def test_split_words_covers_all_but_white_space(text: str) -> None:
    covered = [at for start, end in split_words(text) for at in range(start, end)]
    assert covered == sorted(set(covered))
    assert all(text[at].isspace() for at in set(range(len(text))) - set(covered))
