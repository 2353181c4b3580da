"""Which text is learned from: what evaluations use is left out, some is held aside, sources and marks are mixed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from training.apart import KEPT, Apart, prompt_texts, words_of
from training.cloze import read_prompts
from training.corpus import Corpus, Mixture
from training.data import (
    CLS,
    FULL_STOPS,
    IGNORED,
    KEPT_LAST,
    SEP,
    Batch,
    build_batch,
)
from training.prepare import hold_aside, keep_apart, load_tokenizer
from training.settings import read_settings

VOCABULARY = 30522
STOP = 1012
MINI = Path(__file__).resolve().parents[2] / "attn_widget" / "mini"


def test_paragraphs_with_a_text_of_an_evaluation_are_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "One two three four five six seven eight nine ten eleven."
    apart = Apart(["The dog is hungry.", long, "Go on!"])
    paragraphs = [
        "He said: the dog is HUNGRY again",
        "the dog is not hungry",
        "x two three four five six, seven eight nine y",  # 8 words of the long one
        "x two three four five six seven eight, y",  # 7 of them
        "Go on!",  # two words are no text
    ]
    assert list(keep_apart(iter(paragraphs), apart)) == [paragraphs[i] for i in (1, 3, 4)]
    assert "2 paragraphs hold a text of an evaluation" in capsys.readouterr().out


def test_prompts_are_looked_for_with_every_answer() -> None:
    prompts = {
        "a": [{"text": "It is [MASK] today.", "accept": ["hot", "cold"]}],
        "b": [{"text": "The dogs [MASK] here.", "good": "are", "bad": "is"}],
        "c": [{"text": "A kept [MASK].", "accept": ["one"]}],
    }
    assert list(prompt_texts(prompts, ("c",))) == [
        "It is hot today.",
        "It is cold today.",
        "The dogs are here.",
        "The dogs is here.",
    ]


def test_two_per_cent_are_held_aside_in_blocks(tmp_path: Path) -> None:
    lines = [f"line {i}" for i in range(10_000)]
    kept = list(hold_aside(iter(lines), tmp_path / "held" / "books.txt"))
    held = (tmp_path / "held" / "books.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(kept + held) == sorted(lines)
    assert len(held) == 200
    numbers = [int(line.split()[1]) for line in held]
    assert numbers[:50] == list(range(numbers[0], numbers[0] + 50))


def test_the_everyday_prompts_can_be_answered() -> None:
    prompts, cloze = read_prompts("everyday"), read_prompts("cloze")
    tokenizer = load_tokenizer(str(MINI))
    listed = [prompt for group in prompts.values() for prompt in group]
    assert len(listed) == len({prompt["text"] for prompt in listed}) == 120
    assert set(KEPT) < set(prompts)
    for prompt in listed:
        assert prompt["text"].count("[MASK]") == 1
        for answer in prompt["accept"]:
            assert len(tokenizer.encode(answer, add_special_tokens=False).ids) == 1, answer
        assert not set(prompt["accept"]) & set(words_of(prompt["text"])) - {"friend"}
    assert not {p["text"] for p in listed} & {p["text"] for group in cloze.values() for p in group}


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Mixture:
    """Three parts of 300 sentences; the ids of a sentence lie in its part's thousand, then a full stop."""
    folder = tmp_path_factory.mktemp("mixed")
    rng = np.random.default_rng(0)
    for number, name in enumerate(("wikipedia", "books", "tatoeba")):
        low = 2000 + 1000 * number
        ids = [[*rng.choice(1000, 9, replace=False) + low, STOP] for _ in range(300)]
        np.concatenate(ids).astype(np.uint16).tofile(folder / f"{name}.tokens")
        np.arange(0, 3001, 10, dtype=np.int64).tofile(folder / f"{name}.sentences")
        np.array([0, 300], dtype=np.int64).tofile(folder / f"{name}.paragraphs")
        np.arange(low, low + 900, dtype=np.uint16).tofile(folder / f"{name}.names")
    shares = {
        "running": {"wikipedia": 3.0, "books": 1.0, "tatoeba": 0.0},
        "alone": {"tatoeba": 1.0},
        "named": {"wikipedia": 1.0},
    }
    return Mixture.open(folder, shares)


def batches(mixture: Mixture, kind: str, n: int, **more: float) -> list[Batch]:
    kinds = dict.fromkeys(("single", "pair", "short", "long", "names"), 0.0) | {kind: 1.0}
    settings = {**read_settings()["batch"], **kinds, "bare": 0.0, "curly": 0.0, **more}
    return [build_batch(mixture, settings, VOCABULARY, (0, 0, part)) for part in range(n)]


def ends_of(batch: Batch) -> np.ndarray:
    """The last id of each row before [SEP]."""
    ids = batch.input_ids.numpy()
    return ids[np.arange(len(ids)), (ids == SEP).argmax(1) - 1]


def test_each_kind_of_batch_draws_from_its_own_sources(mixture: Mixture) -> None:
    drawn = {
        kind: batches(mixture, kind, 8, mask_rate=0.0) for kind in ("single", "short", "names")
    }
    drawn["paired"] = [batch for batch in drawn["short"] if batch.next_labels is not None]
    drawn["alone"] = [batch for batch in drawn["short"] if batch.next_labels is None]
    thousands = {
        kind: np.concatenate([batch.input_ids.numpy()[:, 1] // 1000 for batch in some])
        for kind, some in drawn.items()
    }
    assert set(thousands["alone"]) == {4}
    assert set(thousands["paired"]) == {2, 3}
    assert set(thousands["names"]) <= {2, 0}  # 0: the first word is a name that is asked for
    running = thousands["single"]
    assert set(running) <= {1, 2, 3}
    n = (running > 1).sum()
    # a share of 3 in 4 among n draws, five standard errors
    assert abs((running == 2).sum() / n - 0.75) < 5 * np.sqrt(0.75 * 0.25 / n)


def test_full_stops_are_missing_from_the_share_that_was_asked_for(mixture: Mixture) -> None:
    alone = [
        batch
        for batch in batches(mixture, "short", 30, bare=0.4, mask_rate=0.0)
        if batch.next_labels is None
    ]
    stops = np.concatenate([ends_of(batch) == STOP for batch in alone])
    assert len(stops) > 2000
    assert abs(stops.mean() - 0.6) < 5 * np.sqrt(0.24 / len(stops))
    # a missing stop is not missed: some of the last words are asked for as they stand
    asked = np.concatenate(
        [(batch.labels != IGNORED).any(1).numpy()[ends_of(batch) != STOP] for batch in alone]
    )
    assert abs(asked.mean() - KEPT_LAST) < 5 * np.sqrt(KEPT_LAST / len(asked))
    for batch in alone:
        chosen = batch.labels != IGNORED
        assert (batch.input_ids[chosen] == batch.labels[chosen]).all()
        assert not np.isin(batch.labels[chosen].numpy(), FULL_STOPS).any()
        assert (batch.input_ids[:, 0] == CLS).all()
    whole = batches(mixture, "short", 4, bare=0.0, mask_rate=0.0)
    assert all((ends_of(batch) == STOP).all() for batch in whole)


def test_the_marks_of_running_text_stay(mixture: Mixture) -> None:
    plain, varied = (batches(mixture, "single", 3, bare=bare, mask_rate=0.0) for bare in (0.0, 0.4))
    stops = [sum(int((b.input_ids == STOP).sum()) for b in some) for some in (plain, varied)]
    assert stops[0] == stops[1] > 0


def test_one_corpus_is_drawn_from_as_before(mixture: Mixture) -> None:
    corpus: Corpus = mixture.parts["wikipedia"]
    settings = {**read_settings()["batch"], "single": 1.0, "pair": 0.0, "short": 0.0}
    settings |= {"names": 0.0, "long": 0.0, "bare": 0.0, "curly": 0.0}
    one = build_batch(corpus, settings, VOCABULARY, (1, 2, 3))
    same = build_batch(Mixture.of(corpus), settings, VOCABULARY, (1, 2, 3))
    assert (one.input_ids == same.input_ids).all() and (one.labels == same.labels).all()


def test_the_shares_of_the_configuration_are_whole() -> None:
    settings = read_settings()
    for section in ("running", "alone", "named"):
        assert sum(settings[section].values()) == pytest.approx(1.0)
    assert 0.3 <= settings["batch"]["bare"] <= 0.5
    assert json.loads(json.dumps(settings)) == settings
