"""Sentences of texts with line breaks, lists, tables and quoted speech."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from attn_widget.language import segment
from attn_widget.language.lines import unit_starts
from attn_widget.language.segment import sentence_starts, tile

GOLDEN = Path(__file__).parents[1] / "golden"
PROSE = (
    "The model was trained for 3 days on two cores, and then measured. Dr. Smith met Angela Merkel in "
    "Berlin. There she said that nothing of this kind had been seen before, at least not by her."
)
SENTENCES = [
    "The model was trained for 3 days on two cores, and then measured.",
    "Dr. Smith met Angela Merkel in Berlin.",
    "There she said that nothing of this kind had been seen before, at least not by her.",
]


CASES = [
    ["Methods", "\n\n", "We trained it for 3 days"],
    ["Methods", "\n", "We trained it for 3 days on the texts of four books."],
    ["# Methods", "\n", "We trained it."],
    ["Methods\n=======", "\n", "we trained it."],
    ["apples", "\n", "pears", "\n", "plums", "\n", "cherries"],
    ["- apples and pears", "\n", "- plums and cherries", "\n", "- nothing"],
    ["• eins", "\r\n", "• zwei", "\r\n", "• drei"],
    ["1. Wash the rice", "\n", "2. Boil it", "\n", "3. Serve"],
    ["1. Wash the rice.", " ", "2. Boil it.", " ", "3. Serve."],
    ["a) Wash the rice.", "\n", "b) Boil it.", "\n", "(c) Serve."],
    ["I. First.", " ", "II. Second.", " ", "III. Third."],
    ["2024-01-01 12:00:00 INFO Server started on port 8080", "\n", "2024-01-01 12:00:07 WARN Disk almost full: 91% used"],
    ["INFO start", "\n", "WARN bad", "\n", "INFO end"],
    ["| name | age of the person in whole years |", "\n", "| anna | 3, which is not much for a person |"],
    ["name\tage", "\n", "anna\t3"],
    ["Roses are red,", "\n", "Violets are blue."],
    ["> He wrote this.", "\n", "I answered that."],
    ["“Stop!” she cried.", " ", "“Why?” he asked."],
    ["He said “Go.”", " ", "Then he left."],
    ["„Geh!“ sagte er.", " ", "Dann ging er."],
    ["« Va. » dit-il.", " ", "Puis il partit."],
    ["これは「はい。」と言った。", "次の日。"],
    ["他说：“好。”", "然后走了。"],
    ["—Go now.", "\n", "—Never!"],
    ["पहला वाक्य।", " ", "दूसरा वाक्य।"],
    ["كيف حالك؟", " ", "نعم."],
    ["第一行文字", "\n", "第二行文字"],
    ["It cost 2.", " ", "He paid."],
    ["Traceback of the most recent call, which was the last one:", "\n", "    at line 5 of the file that the program has read"],
]  # fmt: skip


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in tile(text, sentence_starts(text))]


def flat(parts: list[str]) -> list[str]:
    return [" ".join(part.split()) for part in parts]


needs_nupunkt = pytest.mark.skipif(not segment.has_nupunkt(), reason="no release for Python 3.10")


@pytest.mark.parametrize(
    "parts",
    CASES,
)
@needs_nupunkt
def test_sentences_end_where_a_reader_ends_them(parts: list[str]) -> None:
    text = "".join(parts)
    assert sentences(text) == [part.strip() for part in parts if part.strip()]


@pytest.mark.parametrize("width", [48, 60, 72, 100])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\u2028"])
@needs_nupunkt
def test_a_wrapped_text_has_the_sentences_of_the_text(width: int, newline: str) -> None:
    wrapped = newline.join(textwrap.wrap(PROSE, width))
    assert flat(sentences(wrapped)) == SENTENCES
    twice = wrapped + newline * 2 + wrapped
    assert flat(sentences(twice)) == SENTENCES * 2
    quoted = newline.join(textwrap.wrap(PROSE, width, initial_indent="- ", subsequent_indent="  "))
    assert flat(sentences(quoted)) == ["- " + SENTENCES[0], *SENTENCES[1:]]


@needs_nupunkt
def test_wrapped_chinese_goes_on() -> None:
    text = "我们在这里写一段很长的文字用来检查换行是否会把一个句子分成两个部分所以它必须超过一行的宽度。"
    wrapped = "\n".join(textwrap.wrap(text, 24))
    assert wrapped.count("\n") >= 1 and len(sentences(wrapped)) == 1


def test_breaks_are_cut_without_nupunkt_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "has_nupunkt", lambda: False)
    assert sentences("Methods\n\nWe trained it. It worked.") == [
        "Methods",
        "We trained it.",
        "It worked.",
    ]
    assert sentences("1. Wash. 2. Boil. 3. Serve.") == ["1. Wash.", "2. Boil.", "3. Serve."]


@pytest.mark.parametrize(
    "text", ["", "\n", "\n\n a", "a\n", "a\r\n\r\n\r\nb", "\u2029a\u0085b\x0bc"]
)
def test_units_tile_any_text(text: str) -> None:
    starts = unit_starts(text)
    assert starts[0] == 0 and starts == sorted(set(starts)) and starts[-1] <= len(text)
    assert "".join(text[a:b] for a, b in tile(text, sentence_starts(text))) == (
        text if text.strip() else ""
    )


def spans_of(text: str) -> list[list[int]]:
    return [[*span] for span in tile(text, sentence_starts(text))]


def test_the_page_finds_the_same_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """js/tests/features/engine/engine-sentences.test.ts reads the file; `python -m tests.golden.make_sentences` writes it."""
    monkeypatch.setattr(segment, "has_nupunkt", lambda: False)
    golden = json.loads((GOLDEN / "sentences.json").read_text("utf-8"))
    assert len(golden) > 40
    assert golden == [{"text": one["text"], "spans": spans_of(one["text"])} for one in golden]
