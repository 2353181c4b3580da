"""Does the tagger speak this text's language? A light check that says what it cannot tell.

Three signs, in this order: the script of the letters; function words of the tagger's language
against those of other languages; the share of words that the pipeline's vocabulary does not know.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence, Set
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from attn_widget.host.pattern import Pattern

# Languages in Latin script whose function words are looked for.
LATIN = (
    *(
        "en",
        "de",
        "fr",
        "es",
        "it",
        "pt",
        "nl",
        "sv",
        "da",
        "pl",
        "tr",
        "id",
        "vi",
        "fi",
        "cs",
        "ro",
    ),
    "hu",
)
LANGUAGES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
    "pt": "Portuguese", "nl": "Dutch", "sv": "Swedish", "da": "Danish or Norwegian",
    "pl": "Polish", "tr": "Turkish", "id": "Indonesian or Malay", "vi": "Vietnamese",
    "fi": "Finnish", "cs": "Czech", "ro": "Romanian", "hu": "Hungarian", "ru": "Russian",
    "uk": "Ukrainian", "mk": "Macedonian", "bg": "Bulgarian", "el": "Greek", "zh": "Chinese",
    "ja": "Japanese", "ko": "Korean", "he": "Hebrew", "ar": "Arabic", "fa": "Persian",
    "ur": "Urdu", "th": "Thai", "hi": "Hindi", "ta": "Tamil", "ka": "Georgian", "hy": "Armenian",
}  # fmt: skip
_SCRIPTS = {
    "ru": "Cyrillic", "uk": "Cyrillic", "mk": "Cyrillic", "bg": "Cyrillic", "el": "Greek",
    "zh": "Han", "ja": "Han Hiragana Katakana", "ko": "Hangul Han", "he": "Hebrew",
    "ar": "Arabic", "fa": "Arabic", "ur": "Arabic", "th": "Thai", "hi": "Devanagari",
    "ta": "Tamil", "ka": "Georgian", "hy": "Armenian",
    **dict.fromkeys(LATIN, "Latin"),
}  # fmt: skip
_LETTER = Pattern(r"(?V1)[\p{L}--[\p{Common}\p{Inherited}]]")
_LATIN_WORD = Pattern(r"\p{Latin}[\p{Latin}\p{M}]*(?:'\p{Latin}[\p{Latin}\p{M}]*)*")

FEWEST_TELLING = 3  # words in small letters, below which unknown words tell nothing
# Over 400 paragraphs of English Wikipedia, 4% of a paragraph's words are unknown to en_core_web_sm
# in the median and 38% at most; in one sentence of 14 other languages, 33% to 100%.
SOME_UNKNOWN = 0.2
MAX_UNKNOWN = 0.5
FEW_FUNCTION_WORDS = 0.15  # English prose has 0.35 to 0.5


class Verdict(NamedTuple):
    """Verdict on a tagger's tags of a text, and the note that goes with it."""

    spoken: bool  # False: no tag of this tagger means anything on this text
    note: str | None = None  # why not, or what remains unknown


def in_script(word: str, language: str | None) -> bool:
    """True if at least half of a word's letters are in a script of the language.

    True for a word without letters, and for a language whose scripts are not known here.

    >>> in_script("cat", "en"), in_script("кот", "en"), in_script("42", "en")
    (True, False, True)
    """
    own = _letters_of(language)
    letters = _LETTER.findall(word)
    return own is None or 2 * len(own.findall("".join(letters))) >= len(letters)


@cache
def _letters_of(language: str | None) -> Pattern | None:
    scripts = _SCRIPTS.get(language or "")
    if scripts is None:
        return None
    return Pattern("[" + "".join(rf"\p{{{script}}}" for script in scripts.split()) + "]")


@cache
def function_words(code: str) -> Set[str]:
    """Frequent words of a language, out of spaCy; empty without spaCy."""
    spacy = find_spec("spacy")
    if spacy is None or spacy.origin is None:
        return frozenset()
    # The list alone: the language's package would bring its tokenizer, and takes half a second.
    path = Path(spacy.origin).parent / "lang" / code / "stop_words.py"
    spec = spec_from_file_location(f"stop_words_{code}", path)
    assert spec is not None and spec.loader is not None
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    return frozenset(module.STOP_WORDS)


def speaks(text: str, language: str | None, lexicon: Set[str] = frozenset()) -> Verdict:
    """Judge if a tagger made for `language` can be expected to tag `text` rightly.

    ``language``: ISO 639-1 code of the tagger's language; None when it did not say: nothing is checked.
    ``lexicon``: lower-case words that the tagger's pipeline knows; empty when that is unknown.

    Notes
    -----
    What it cannot tell: a language whose script and function words are not in the tables; languages
    that share script and words (Danish and Norwegian); a few foreign words in a longer text; a text
    of fewer than three words in small letters, about which it only voices a doubt.

    Examples
    --------
    >>> speaks("The cat sat on the mat.", "en").spoken
    True
    >>> speaks("Der Hund schläft unter dem Baum.", "en", frozenset({"hund"}))[0]
    False
    """
    if language is None:
        return Verdict(True)
    name = LANGUAGES.get(language, f"language {language!r}")
    untagged = f"the tagger speaks {name} only, so that no word has a tag."
    if not in_script(text, language):
        return Verdict(
            False,
            f"Most letters of the text are in a script that {name} is not written in; {untagged}",
        )
    own = function_words(language) if language in LATIN else None
    written = _LATIN_WORD.findall(unicodedata.normalize("NFKC", text).replace("’", "'"))
    if own is None or not written:
        return Verdict(True)
    words = [word.lower() for word in written]
    ours = sum(_is_in(word, own) for word in words)
    theirs, other = max(
        (
            len({word for word in words if len(word) > 1 and _is_in(word, function_words(code))}),
            code,
        )
        for code in LATIN
        if code != language
    )
    # Names are unknown in every language: words in capitals count only where there are no others.
    telling = [word for word in written if word.islower()]
    enough = len(telling) >= FEWEST_TELLING
    unknown = _unknown(telling if enough else written, lexicon)
    counts = f"of its {len(words)} words, {ours} are {name} function words"
    looks_foreign = theirs >= 2 and theirs > ours
    if (looks_foreign and unknown >= SOME_UNKNOWN) or (theirs >= 3 and not ours):
        return Verdict(
            False,
            f"The text does not look {name}: {counts} and {theirs} are {LANGUAGES[other]} ones; "
            f"{untagged}",
        )
    if looks_foreign and not ours:
        return Verdict(
            True,
            f"The text could be {LANGUAGES[other]}; the tags are right only if it is {name}.",
        )
    if not lexicon or unknown < MAX_UNKNOWN or ours >= FEW_FUNCTION_WORDS * len(words):
        return Verdict(True)
    if not enough:
        return Verdict(
            True,
            "The text is too short to tell its language, and most of its words are unknown to the "
            f"tagger; the tags are right only if it is {name}.",
        )
    return Verdict(
        False,
        f"The text does not look {name}: {counts}, and the tagger does not know {unknown:.0%} of "
        f"those in small letters; {untagged}",
    )


def _is_in(word: str, words: Set[str]) -> bool:
    """Contractions count by their first part: "wasn't" by "wasn", "l'homme" by "l"."""
    return word in words or word.partition("'")[0] in words


def _unknown(written: Sequence[str], lexicon: Set[str]) -> float:
    """Share of words that are not in the lexicon."""
    return 1 - sum(_is_in(word.lower(), lexicon) for word in written) / len(written)
