"""Taggers: whose words are used, what is refused, and which languages are noticed."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest
import spacy

from attn_widget.errors import InputError, InputTypeError
from attn_widget.language import TaggedWord, annotate, key_sets, segment, taggers
from attn_widget.language.identify import speaks
from attn_widget.language.segment import sentence_starts, tile
from attn_widget.language.words import split_words
from attn_widget.model.tokens import Token

# The name `attn_widget.language.annotate` is the function's; its module stands in sys.modules.
annotation = sys.modules[annotate.__module__]


def tokenize(text: str) -> list[Token]:
    """One token per word, between two special ones."""
    words = [
        Token(text[start:end], 7, start, end, text[start:end]) for start, end in split_words(text)
    ]
    mark = Token("[CLS]", 1, 0, 0, "[CLS]", special=True)
    return [mark, *words, mark]


def pos_of(text: str, **options: Any) -> dict[str, str | None]:
    return {word.text: word.pos for word in annotate(tokenize(text), text, **options).words}


def test_the_default_tagger_is_spacys_small_english_one() -> None:
    language = annotate(tokenize("Angela Merkel left Berlin."), "Angela Merkel left Berlin.")
    assert language.tagger_name is not None and "en_core_web_sm" in language.tagger_name
    assert [(word.text, word.pos, word.entity) for word in language.words] == [
        ("Angela", "PROPN", "PERSON"),
        ("Merkel", "PROPN", "PERSON"),
        ("left", "VERB", None),
        ("Berlin", "PROPN", "GPE"),
        (".", "PUNCT", None),
    ]
    assert language.notes == () and language.no_tags is None and language.no_entities is None


def test_the_default_tagger_is_loaded_once_by_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taggers, "_default", None)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(taggers.resolve("auto")[0])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and found[0] is not None and len({id(tagger) for tagger in found}) == 1


def test_threads_can_share_the_tagger() -> None:
    texts = [f"Anna saw {k} dogs in Paris." for k in range(12)]
    expected = [annotate(tokenize(text), text).words for text in texts]
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = annotate(tokenize(texts[k]), texts[k]).words

    threads = [threading.Thread(target=work, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[k] for k in range(12)] == expected


def test_without_an_installed_tagger_there_are_words_and_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(taggers, "_default", None)
    monkeypatch.setattr(taggers, "SPACY_PACKAGES", ("no_such_pipeline",))
    language = annotate(tokenize("It works."), "It works.")
    assert [word.text for word in language.words] == ["It", "works", "."]
    assert language.tagger_name is None and language.no_tags == language.no_entities
    assert "attn-widget[linguistics]" in language.notes[0]


def test_a_pipeline_that_does_not_load_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "broken_pipeline.py").write_text(
        "def load(**_):\n    raise OSError('wrong version')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(taggers, "_default", None)
    monkeypatch.setattr(taggers, "SPACY_PACKAGES", ("broken_pipeline",))
    (note,) = annotate(tokenize("It works."), "It works.").notes
    assert "broken_pipeline" in note and "wrong version" in note


def test_a_users_pipeline_is_used_and_says_what_it_lacks() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    text = "It works. It does."
    language = annotate(tokenize(text), text, tagger=nlp, segmenter="tagger")
    assert [sentence.text for sentence in language.sentences] == ["It works.", "It does."]
    assert language.no_tags == "The tagger gave no part of speech."
    assert language.no_entities and all(word.pos is None for word in language.words)


def test_a_users_pipeline_finds_entities_by_its_own_rules() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "TOOL", "pattern": "hammer"}])
    text = "a hammer and a saw"
    language = annotate(tokenize(text), text, tagger=nlp)
    assert [word.text for word in language.words if word.entity == "TOOL"] == ["hammer"]
    nothing = annotate(tokenize("a saw"), "a saw", tagger=nlp)
    assert nothing.no_entities == "The tagger found no named entity in this text."


def test_a_function_is_a_tagger() -> None:
    def verbs_only(text: str) -> list[tuple[Any, ...]]:
        return [(3, 8, "VERB")]

    assert pos_of("it works well", tagger=verbs_only) == {"it": None, "works": "VERB", "well": None}


def test_a_tagger_that_returns_no_word_leaves_all_without_a_tag() -> None:
    language = annotate(tokenize("it works"), "it works", tagger=lambda text: [])
    assert [word.pos for word in language.words] == [None, None]
    assert language.no_tags == "The tagger gave no part of speech."


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([(0, 2, "PRON"), (1, 8, "VERB")], "overlapping word 0"),
        ([(3, 8, "VERB"), (0, 2, "PRON")], "before word 0"),
        ([(0, 20, "NOUN")], "outside the text of 8 code points"),
        ([(-2, 2, "NOUN")], "outside the text"),
        ([(3, 3, "NOUN")], "empty"),
        ([(8, 3, "NOUN")], "empty"),
        ([(0, 2, "NNP")], "not a universal part of speech"),
        ([(0, 2, "NOUN", 5)], "not an entity"),
        ([(0.5, 2, "NOUN")], "as word 0"),
        ([(0,)], "as word 0"),
        (["it", "works"], "as word 0"),
        ("it works", "returned 'it works'"),
        (None, "returned None"),
    ],
)
def test_impossible_words_are_refused_by_name(words: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=r"tagger .*returned") as caught:
        annotate(tokenize("it works"), "it works", tagger=lambda text: words)
    assert complaint in str(caught.value)


def test_a_tagger_that_fails_is_named_with_its_error() -> None:
    def broken(text: str) -> list[TaggedWord]:
        raise KeyError("no such tag")

    with pytest.raises(InputError, match="broken failed on the text 'it works': KeyError"):
        annotate(tokenize("it works"), "it works", tagger=broken)


@pytest.mark.parametrize("tagger", ["en_core_web_sm", 5, ["auto"]])
def test_what_cannot_tag_is_refused(tagger: Any) -> None:
    with pytest.raises(InputTypeError, match="not a tagger"):
        annotate(tokenize("it works"), "it works", tagger=tagger)


def test_sentences_of_a_tagger_that_has_none_are_refused() -> None:
    with pytest.raises(InputError, match="does not divide sentences"):
        annotate(tokenize("a"), "a", tagger=lambda text: [(0, 1, "DET")], segmenter="tagger")
    with pytest.raises(InputError, match="Sentences are not divided"):
        annotate(tokenize("a"), "a", tagger=None, segmenter="tagger")


def test_tokens_of_another_text_are_refused() -> None:
    with pytest.raises(InputError, match="reach to code point 8 of a text of 2"):
        annotate(tokenize("it works"), "it")


@pytest.mark.parametrize(
    "text",
    [
        "我喜欢吃苹果。你呢？",
        "Привет, мир! Как дела?",
        "مرحبا بالعالم، كيف حالك؟",
        "Der Hund schläft unter dem großen Baum und träumt von Katzen.",
        "Le chat dort sous la table et il ne veut pas sortir.",
        "El perro grande corre por la calle con su amigo.",
        "Il gatto dorme sul tavolo e non vuole uscire.",
        "O gato dorme em cima da mesa e não quer sair.",
        "De kat slaapt op de tafel en wil niet naar buiten.",
        "Kot śpi na stole i nie chce wyjść na dwór.",
        "Kedi masanın üstünde uyuyor ve dışarı çıkmak istemiyor.",
        "Paka amelala juu ya meza na hataki kutoka nje",
        "Lorem ipsum dolor sit amet consectetur adipiscing elit",
    ],
)
def test_a_language_that_the_tagger_does_not_speak_is_noticed_and_said(text: str) -> None:
    language = annotate(tokenize(text), text)
    assert (
        {word.pos for word in language.words} == {word.entity for word in language.words} == {None}
    )
    assert len(language.notes) == 1 and "English" in language.notes[0]
    assert language.no_tags == language.no_entities == language.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "hello world",
        "Stocks plunge amid inflation fears",
        "Barack Obama met Angela Merkel in Berlin.",
        "The patient presented with pneumoperitoneum secondary to diverticulitis.",
        "colorless green ideas sleep furiously",
        "'Twas brillig, and the slithy toves did gyre and gimble in the wabe",
        "El Niño and La Niña change the weather.",
        "lol omg u r gr8 thx m8",
    ],
)
def test_english_is_not_doubted(text: str) -> None:
    language = annotate(tokenize(text), text)
    assert language.notes == () and language.no_tags is None


def test_a_short_foreign_text_raises_a_doubt() -> None:
    (note,) = annotate(tokenize("Guten Morgen"), "Guten Morgen").notes
    assert "too short to tell" in note


def test_foreign_words_in_an_english_text_have_no_tag() -> None:
    text = "The word кошка means cat."
    tags = pos_of(text)
    assert tags["кошка"] is None and tags["cat"] == "NOUN"
    assert annotate(tokenize(text), text).notes[0].startswith("1 of 6 words have no tag")


def test_the_language_of_a_pipeline_decides() -> None:
    assert speaks("Привет, мир!", "ru").spoken and not speaks("Hello, world!", "ru").spoken
    assert speaks("Der Hund schläft unter dem Baum.", "de").spoken
    assert not speaks("The dog sleeps under the tree and the cat is not here.", "de").spoken
    assert speaks("anything", None).spoken


def test_sentences_of_other_scripts_end_at_their_own_marks() -> None:
    assert sentence_starts("我喜欢猫。你呢？好！") == [0, 5, 8]
    assert sentence_starts("كيف حالك؟ نعم") == [0, 9]
    assert tile(" \n ", [0]) == []


def test_without_nupunkt_the_tagger_or_full_stops_divide(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "It is 3.5 m. 😀 “Yes.” He left! Why? i do."
    monkeypatch.setattr(segment, "has_nupunkt", lambda: False)
    monkeypatch.setattr(annotation, "has_nupunkt", lambda: False)
    language = annotate(tokenize(text), text, tagger=None)
    assert language.segmenter == "full stops"
    found = [sentence.text for sentence in language.sentences]
    assert found == ["It is 3.5 m. 😀 “Yes.”", "He left!", "Why? i do."]
    assert annotate(tokenize("It is so."), "It is so.").segmenter == "tagger"


def test_key_sets_follow_the_tags() -> None:
    text = "The cat sleeps in Paris, today!"
    sets, reasons = key_sets(annotate(tokenize(text), text))
    surfaces = np.array([token.text for token in tokenize(text)])
    assert surfaces[sets["syntax"]].tolist() == ["The", "in"]
    assert surfaces[sets["semantics"]].tolist() == ["cat", "sleeps", "Paris", "today"]
    assert surfaces[sets["punctuation"]].tolist() == [",", "!"]
    assert surfaces[sets["entities"]].tolist() == ["Paris", "today"]
    assert reasons == {} and all(mask.dtype == np.bool_ for mask in sets.values())


def test_empty_key_sets_are_left_out_with_a_reason() -> None:
    sets, reasons = key_sets(annotate(tokenize("?!..."), "?!..."))
    assert set(sets) == {"punctuation"} and set(reasons) == {"syntax", "semantics", "entities"}
    sets, reasons = key_sets(annotate(tokenize("it works"), "it works", tagger=None))
    assert sets == {} and reasons["punctuation"] == "The text has no punctuation."
    assert reasons["syntax"] == reasons["entities"] == "No tagger was asked for (tagger=None)."


def test_symbols_are_not_punctuation() -> None:
    sets, _ = key_sets(annotate(tokenize("$ + % &"), "$ + % &", tagger=None))
    assert sets["punctuation"].tolist() == [False, False, False, True, True, False]
