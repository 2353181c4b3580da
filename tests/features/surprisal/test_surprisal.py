"""Surprisal of words, against independent code, and where probabilities must sum to 1."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features.surprisal.figures import Rows, of_words
from attn_widget.features.surprisal.words import Word, words_of
from tests.unit import tiny_models
from tests.unit.needs import needs_smollm2

TEXTS = [
    "The cat sat on the mat, and the dog looked.",
    "She sells sea shells on the sea shore.",
    "A quick brown fox",
    "hello",
]


@pytest.fixture(scope="module", params=["gpt2", "llama", "qwen2", "gemma"])
def decoder(request: pytest.FixtureRequest) -> Any:
    return tiny_models.build(request.param)


def log_probabilities(model: Any, ids: list[int]) -> np.ndarray:
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].double().log_softmax(-1).numpy()


def plain(model: Any, tokenizer: Any, text: str) -> list[float]:
    """Pimentel and Meister's words, by character offsets, one probability after the other."""
    encoded = tokenizer(text, return_offsets_mapping=True)
    ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
    if tokenizer.bos_token_id is not None and ids[0] != tokenizer.bos_token_id:
        ids, offsets = [tokenizer.bos_token_id, *ids], [(0, 0), *offsets]
    logs = log_probabilities(model, ids)
    names = tokenizer.convert_ids_to_tokens(range(logs.shape[1]))
    marks = np.array([bool(name) and name[0] in "Ġ▁ĉĊċČč" for name in names])
    eos = {tokenizer.eos_token_id, model.generation_config.eos_token_id} - {None}
    boundary = marks | np.isin(np.arange(len(marks)), list(eos))

    def mass(row: int, of: np.ndarray) -> float:
        return float(np.log(np.exp(logs[row])[of].sum()))

    starts = [0, *(k + 1 for k, c in enumerate(text) if c == " ")]
    found: list[float] = []
    for start in starts:
        end = text.find(" ", start)
        end = len(text) if end < 0 else end
        some = [k for k, (a, b) in enumerate(offsets) if b > start and a < end and (a, b) != (0, 0)]
        if tokenizer.bos_token_id is None and some[0] == 0:
            found.append(math.nan)
            continue
        total = sum(logs[k - 1][ids[k]] for k in some)
        before = boundary if boundary[ids[some[0]]] else ~boundary
        total += mass(some[-1], boundary) - mass(some[0] - 1, before)
        found.append(-total / math.log(2))
    return found


def test_words_have_the_corrected_probability(decoder: tuple[Any, Any]) -> None:
    model, tokenizer = decoder
    table = aw.surprisals(TEXTS, model=decoder, progress=False)
    for k, text in enumerate(TEXTS):
        own = table[table.text_id == k]
        assert own.word.tolist() == text.split()
        np.testing.assert_allclose(own.surprisal, plain(model, tokenizer, text), atol=1e-5)
        assert (own.surprisal.dropna() >= 0).all()


def test_without_the_correction_it_is_the_sum_over_tokens(decoder: tuple[Any, Any]) -> None:
    model, tokenizer = decoder
    table = aw.surprisals(TEXTS[:1], model=decoder, correction=False, progress=False)
    ids = tokenizer(TEXTS[0])["input_ids"]
    bos = tokenizer.bos_token_id
    ids = ids if bos is None or ids[0] == bos else [bos, *ids]
    logs = log_probabilities(model, ids)
    total = -sum(logs[k - 1][ids[k]] for k in range(1, len(ids))) / math.log(2)
    if bos is None:  # the first word has no probability, and here it is one token
        assert math.isnan(table.surprisal[0]) and "NaN" in table.attrs["notes"][0]
    assert table.surprisal.sum() == pytest.approx(total, abs=1e-4)
    last = table.iloc[-1]
    at = len(ids) - len(last.tokens) - 1
    row = np.exp(logs[at])
    assert last.entropy == pytest.approx(-(row * np.log2(row)).sum(), abs=1e-5)


@needs_smollm2
def test_smollm2_has_the_corrected_probability() -> None:
    encoder = aw.load("smollm2", progress=False)
    table = aw.surprisals(TEXTS[:2], model=encoder, progress=False)
    for k in range(2):
        own = table[table.text_id == k]
        np.testing.assert_allclose(
            own.surprisal, plain(encoder.model, encoder.tokenizer, TEXTS[k]), atol=2e-5
        )


def test_all_next_words_and_the_end_have_the_probability_1() -> None:
    """A language of four tokens, " a", " b", "a", "b", and the end: every word of up to five tokens."""
    begins = np.array([True, True, False, False, True])
    longest = 5

    def logs(prefix: tuple[int, ...]) -> np.ndarray:
        drawn = np.random.default_rng([7, *prefix]).normal(size=5) * 2
        return drawn - np.log(np.exp(drawn).sum())

    def rows(prefix: tuple[int, ...]) -> Rows:
        """Of every token of a prefix, and after it."""
        at = [logs(prefix[:k]) for k in range(len(prefix) + 1)]
        own = [-at[k][token] for k, token in enumerate(prefix)] + [0.0]
        begin = [-np.log(np.exp(row)[begins].sum()) for row in at]
        on = [-np.log(np.exp(row)[~begins].sum()) for row in at]
        return Rows(np.array(own), np.zeros(len(at)), np.array(begin), np.array(on))

    for context, first in (((0, 2), (0, 1)), ((), (2, 3))):  # after a word, and at the beginning
        c, spaced = len(context), first == (0, 1)
        total, unfinished = 0.0, 0.0
        for length in range(1, longest + 1):
            for word in itertools.product(first, *[(2, 3)] * (length - 1)):
                expected = rows((*context, *word))
                bits = of_words(expected, [Word(0, 0, c, c + length)], [spaced])[0, 0]
                total += 2.0**-bits
                if length == longest:  # what goes on
                    goes_on = np.exp(-expected.goes_on[-1] + expected.begins[-1])
                    unfinished += 2.0**-bits * goes_on
        here = rows(context)
        end = math.exp(here.begins[-1]) * np.exp(logs(context))[4] if spaced else 0.0
        assert total + unfinished + end == pytest.approx(1, abs=1e-12)


def test_neither_company_nor_order_changes_a_bit() -> None:
    pair = tiny_models.build("llama")
    texts = [*TEXTS, "The dog looked at the bird in the old tree near our house.", "hello there"]
    all_of_them = aw.surprisals(texts, model=pair, progress=False)
    turned = aw.surprisals(texts[::-1], model=pair, progress=False)
    turned.text_id = len(texts) - 1 - turned.text_id
    turned = turned.sort_values(["text_id", "index"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(all_of_them, turned, check_exact=True)


def test_a_long_text_is_read_with_half_a_context_before_every_token() -> None:
    model, tokenizer = tiny_models.build("llama")
    encoder = aw.load((model, tokenizer), progress=False)
    limit = encoder.max_length
    text = " ".join(itertools.islice(itertools.cycle(TEXTS[0].split()), 2 * limit))
    table = aw.surprisals([text], model=encoder, correction=False, progress=False)
    ids = tokenizer(text)["input_ids"]
    ids = ids if ids[0] == tokenizer.bos_token_id else [tokenizer.bos_token_id, *ids]
    assert len(ids) > 1.5 * limit and table.attrs["stride"] == limit // 2
    starts = [*range(0, len(ids) - limit, limit // 2), len(ids) - limit]
    bits = np.full(len(ids), np.nan)
    for start in reversed(starts):  # the first window that has a token decides
        logs = log_probabilities(model, ids[start : start + limit])
        for k in range(1, limit):
            if start == 0 or k >= limit // 2:
                bits[start + k] = -logs[k - 1][ids[start + k]] / math.log(2)
    for start in starts[-1:]:
        logs = log_probabilities(model, ids[start : start + limit])
        for k in range(1, limit):
            if np.isnan(bits[start + k]):
                bits[start + k] = -logs[k - 1][ids[start + k]] / math.log(2)
    assert table.surprisal.sum() == pytest.approx(np.nansum(bits[1:]), rel=1e-6)


def test_a_masked_word_is_masked_as_a_whole() -> None:
    encoder = aw.load(progress=False)
    text = "The unbelievably big cat purrs."
    table = aw.surprisals([text], progress=False)
    model, tokenizer = encoder.model, encoder.tokenizer
    encoded = tokenizer(text, return_offsets_mapping=True)
    for row in table.itertuples():
        own = [
            k
            for k, (a, b) in enumerate(encoded["offset_mapping"])
            if a >= row.start and b <= row.end and b > a
        ]
        ids = torch.tensor([encoded["input_ids"]])
        ids[0, own] = tokenizer.mask_token_id
        with torch.no_grad():
            given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
            output = model(**given)
        logs = output[0][0].double().log_softmax(-1)
        total = sum(float(logs[k, encoded["input_ids"][k]]) for k in own)
        assert row.surprisal == pytest.approx(-total / math.log(2), abs=1e-4)
    assert "pseudo" in table.attrs["notes"][0]


@needs_smollm2
def test_of_scripts_without_spaces_the_tokens_are_the_words() -> None:
    table = aw.surprisals(["猫坐在垫子上。", "the cat"], model="smollm2", progress=False)
    chinese = table[table.text_id == 0]
    assert "".join(chinese.word) == "猫坐在垫子上。" and len(chinese) == 7
    assert table.attrs["notes"] == [
        "Some texts are in a script without spaces: their tokens are the words, without a correction."
    ]


def test_words_that_share_a_token_are_one() -> None:
    from attn_widget.model.tokens import Token

    text = "in New York now"
    tokens = [
        Token("in", 1, 0, 2, "in"),
        Token(" New York", 2, 3, 11, "New York"),
        Token(" now", 3, 12, 15, "now"),
    ]
    assert [text[w.start : w.end] for w in words_of(text, tokens)] == ["in", "New York", "now"]


def test_tables_keep_their_index_and_failures_are_listed() -> None:
    frame = pd.DataFrame({"s": ["a cat", None, "a dog", ""]}, index=["w", "x", "y", "z"])
    with pytest.warns(UserWarning, match="2 of 4 texts could not be read, text 1 first"):
        table = aw.surprisals(frame, column="s", progress=False)
    assert table.text_id.unique().tolist() == ["w", "y"]
    assert [one["text_id"] for one in table.attrs["failed"]] == ["x", "z"]
    with pytest.raises(InputError, match="text 1 stopped the work"):
        aw.surprisals(frame, column="s", failures="raise", progress=False)


def test_one_of_ten_thousand_texts_that_fails_loses_nothing() -> None:
    texts = [f"a cat {k % 7}" for k in range(10_000)]
    texts[6000] = " "
    with pytest.warns(UserWarning, match="1 of 10000 texts"):
        table = aw.surprisals(texts, model=tiny_models.build("gpt2"), progress=False)
    assert table.text_id.tolist() == [k for k in range(10_000) if k != 6000 for _ in range(3)]
    assert [one["index"] for one in table.attrs["failed"]] == [6000]
    again = aw.surprisals(texts[:7], model=tiny_models.build("gpt2"), progress=False)
    np.testing.assert_allclose(table.surprisal[:21], again.surprisal, atol=1e-5)


def test_one_word_is_a_text() -> None:
    table = aw.surprisals(["hello"], progress=False)
    assert table.word.tolist() == ["hello"] and table.surprisal[0] > 0


def test_it_goes_on_from_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"progress": False, "folder": tmp_path / "kept"}
    first = aw.surprisals(TEXTS, **options)
    from attn_widget.features.surprisal.read import Reader

    monkeypatch.setattr(Reader, "read", lambda *_: pytest.fail("read again"))
    again = aw.surprisals(TEXTS, **options)
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    monkeypatch.undo()
    (part,) = (tmp_path / "kept").glob("words-*.parquet")
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="read again"):
        mended = aw.surprisals(TEXTS, **options)
    pd.testing.assert_frame_equal(first, mended, check_exact=True)


def test_ray_gives_the_same_words(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    texts = [f"{text} {k}" for k in range(150) for text in TEXTS]
    pair = tiny_models.build("gpt2")
    here = aw.surprisals(texts, model=pair, progress=False)
    options: dict[str, Any] = {"engine": "ray", "workers": 2, "folder": tmp_path / "kept"}
    there = aw.surprisals(texts, model=pair, progress=False, **options)
    pd.testing.assert_frame_equal(here, there, check_exact=True)


def test_the_command_writes_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from attn_widget.features.surprisal.command import main

    texts = tmp_path / "texts.csv"
    texts.write_text("text\nThe cat sat.\nDogs run.\n")
    assert main([str(texts), "-o", str(tmp_path / "words.csv")]) == 0
    table = pd.read_csv(tmp_path / "words.csv")
    assert table.word.tolist() == ["The", "cat", "sat.", "Dogs", "run."]
    assert main([str(texts), "-o", str(tmp_path / "words.docx")]) == 2
    assert "expected one of .csv" in capsys.readouterr().err
    assert main([str(texts)]) == 0
    assert "surprisal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("texts", "options", "error", "says"),
    [
        ([], {}, InputError, "empty"),
        ([" "], {}, InputError, "No text could be read"),
        (3, {}, InputTypeError, "expected a list of str"),
        ("no such file", {}, InputError, "No file matches"),
        (["a"], {"column": "x"}, InputError, "column is for files"),
        (["a"], {"correction": 2}, InputTypeError, "correction"),
        (["a"], {"engine": "spark"}, InputError, "engine"),
        (["a"], {"failures": "skip"}, InputError, "failures"),
        (["a"], {"workers": 2}, InputError, "options of engine='ray'"),
    ],
)
def test_bad_input(texts: Any, options: dict[str, Any], error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        aw.surprisals(texts, progress=False, **options)


def test_a_model_without_a_head_predicts_no_words() -> None:
    model, tokenizer = tiny_models.build("bert")
    with pytest.raises(NotAvailableError, match="predicts no words"):
        aw.surprisals(["a"], model=(model.bert, tokenizer), progress=False)
