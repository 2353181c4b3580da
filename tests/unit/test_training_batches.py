"""What one training batch holds: masking, neighbors, special tokens, the same at every call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from attn_widget.features.corpus.reading.targets import positional_targets
from training.corpus import Corpus
from training.data import (
    CLS,
    FIRST_WORD,
    IGNORED,
    MASK,
    PAD,
    SEP,
    build_batch,
    mask_tokens,
)
from training.heads import offset_hits
from training.masked import masked_sequences
from training.settings import read_settings

VOCABULARY = 30522
N_SENTENCES = 400


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Sentence ``k`` holds the ids 1000 + 20 k, 1001 + 20 k ...: every id tells its sentence."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    lengths = rng.integers(8, 20, N_SENTENCES)
    ids = [1000 + 20 * k + np.arange(length) for k, length in enumerate(lengths)]
    np.concatenate(ids).astype(np.uint16).tofile(folder / "train.tokens")
    np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64).tofile(folder / "train.sentences")
    np.array([0, N_SENTENCES], dtype=np.int64).tofile(folder / "train.paragraphs")
    np.arange(1000, 9000, 4, dtype=np.uint16).tofile(folder / "train.names")
    return Corpus.open(folder, "train")


def only(kind: str, **more: float) -> dict[str, float]:
    shares = dict.fromkeys(("single", "pair", "short", "long", "names"), 0.0) | {kind: 1.0}
    return {**read_settings()["batch"], "bare": 0.0, "curly": 0.0, **shares, **more}


def test_masking_is_fifteen_per_cent_as_eighty_ten_ten() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(FIRST_WORD, VOCABULARY, (500, 400))
    changed, labels = mask_tokens(ids, np.ones(ids.shape, bool), 0.15, VOCABULARY, rng)
    chosen = labels != IGNORED
    n = chosen.sum()
    # five standard errors of a share p among N draws
    assert abs(chosen.mean() - 0.15) < 5 * np.sqrt(0.15 * 0.85 / ids.size)
    for share, found in (
        (0.8, (changed == MASK)[chosen]),
        (0.1, (changed == ids)[chosen]),
        (0.1, ((changed != MASK) & (changed != ids))[chosen]),
    ):
        assert abs(found.mean() - share) < 5 * np.sqrt(share * (1 - share) / n)
    assert (changed == ids)[~chosen].all()
    assert (labels == ids)[chosen].all()
    assert changed.min() >= MASK


@pytest.mark.parametrize("kind", ["single", "pair", "short", "long", "names"])
def test_special_tokens_are_never_masked(corpus: Corpus, kind: str) -> None:
    batch = build_batch(corpus, only(kind, mask_rate=1.0), VOCABULARY, (0, 1, 2))
    labels, ids = batch.labels.numpy(), batch.input_ids.numpy()
    special = labels == IGNORED
    assert np.isin(ids[special], [PAD, CLS, SEP]).all()
    assert not np.isin(labels, [PAD, CLS, SEP]).any()
    assert (ids[:, 0] == CLS).all()
    padded = np.zeros(ids.shape, bool)
    if batch.attention_mask is not None:
        padded = batch.attention_mask.numpy() == 0
    assert (ids[padded] == PAD).all()
    ends = (~padded).sum(1) - 1
    assert (ids[np.arange(len(ids)), ends] == SEP).all()


def repeating(tmp_path: Path) -> Corpus:
    """Each sentence holds a frequent id thrice, a rare one twice and ten that are its own."""
    own = [range(3000 + 10 * k, 3010 + 10 * k) for k in range(400)]
    ids = [[1000, 2000 + k, 1000, *own[k], 1000, 2000 + k] for k in range(400)]
    np.array(ids, dtype=np.uint16).tofile(tmp_path / "train.tokens")
    np.arange(0, 15 * 401, 15, dtype=np.int64).tofile(tmp_path / "train.sentences")
    np.array([0, 400], dtype=np.int64).tofile(tmp_path / "train.paragraphs")
    np.array([], dtype=np.uint16).tofile(tmp_path / "train.names")
    return Corpus.open(tmp_path, "train")


def test_a_sentence_alone_has_no_rare_word_to_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.corpus.N_FREQUENT", 1)
    corpus = repeating(tmp_path)
    alone = 0
    for part in range(8):
        batch = build_batch(corpus, only("short", mask_rate=1.0), VOCABULARY, (0, 0, part))
        chosen = set(batch.labels[batch.labels != IGNORED].tolist())
        assert 1000 in chosen and not chosen.isdisjoint(range(3000, 7000))
        if batch.next_labels is None:
            alone += 1
            assert chosen.isdisjoint(range(2000, 2400))
            few = build_batch(corpus, only("short", mask_rate=0.3), VOCABULARY, (0, 0, part))
            assert few.copyable is not None
            copyable = few.input_ids[few.copyable]
            assert ((copyable >= 3000) & (copyable < 7000)).all() and len(copyable) > 100
            assert (few.labels[few.copyable] == IGNORED).all()
        else:
            assert not chosen.isdisjoint(range(2000, 2400))
            assert batch.copyable is None
    assert 0 < alone < 8
    running = build_batch(corpus, only("single", mask_rate=1.0), VOCABULARY, (0, 0, 0))
    assert not set(running.labels.flatten().tolist()).isdisjoint(range(2000, 2400))


WAS, THE, PARIS, FRANCE, ROME = 2001, 1996, 3000, 3001, 3002


def naming(folder: Path, names: list[int]) -> Corpus:
    """Sentences with no name, with two, with one of them twice, and one that says what a name is."""
    rest = [[4000 + 8 * k + i for i in range(6)] for k in range(300)]
    ids = [
        *([*own, 4000] for own in rest[:100]),
        *([PARIS, *own, ROME] for own in rest[100:200]),
        *([ROME, *own, PARIS, ROME] for own in rest[200:]),
        [PARIS, WAS, THE, *rest[0], FRANCE],
    ]
    np.concatenate(ids).astype(np.uint16).tofile(folder / "train.tokens")
    ends = np.cumsum([0, *map(len, ids)])
    ends.astype(np.int64).tofile(folder / "train.sentences")
    np.array([0, len(ids)], dtype=np.int64).tofile(folder / "train.paragraphs")
    np.array(names, dtype=np.uint16).tofile(folder / "train.names")
    return Corpus.open(folder, "train")


def test_one_name_of_a_sentence_is_asked_for_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.corpus.N_FREQUENT", 0)
    corpus = naming(tmp_path, [PARIS, FRANCE, ROME])
    asked: dict[int, int] = dict.fromkeys((PARIS, FRANCE, ROME), 0)
    defining = total = 0
    for part in range(6):
        batch = build_batch(corpus, only("names", mask_rate=0.0), VOCABULARY, (0, 0, part))
        assert batch.next_labels is None and batch.copyable is not None
        for ids, labels, copyable in zip(
            batch.input_ids, batch.labels, batch.copyable, strict=True
        ):
            (answer,) = set(labels[labels != IGNORED].tolist())
            assert (ids[labels != IGNORED] == MASK).all()
            seen = set(ids.tolist())
            assert answer not in seen and seen & {PARIS, FRANCE, ROME}
            assert not copyable[labels != IGNORED].any()
            asked[answer] += 1
            defining += WAS in seen
            total += 1
    assert min(asked.values()) > total / 10
    # half are drawn from the one sentence that says what a name is; its length differs from the others'
    assert 0.2 < defining / total < 0.8


def test_a_text_without_names_is_refused_in_words(tmp_path: Path) -> None:
    corpus = naming(tmp_path, [])
    with pytest.raises(ValueError, match=r"batch\.names=0"):
        build_batch(corpus, only("names"), VOCABULARY, (0, 0, 0))


def test_half_of_the_pairs_are_true_neighbors_and_say_so(corpus: Corpus) -> None:
    right = total = true = 0
    for part in range(40):
        batch = build_batch(corpus, only("pair", mask_rate=0.0), VOCABULARY, (3, 0, part))
        assert batch.next_labels is not None
        for ids, label in zip(batch.input_ids, batch.next_labels.tolist(), strict=True):
            first_end, second_end = (ids == SEP).nonzero()[:, 0].tolist()
            last = (int(ids[first_end - 1]) - 1000) // 20
            following = (int(ids[first_end + 1]) - 1000) // 20
            assert second_end == len(ids) - 1
            neighbors = following == (last + 1) % N_SENTENCES
            # a random draw hits the true neighbor once in N_SENTENCES
            right += neighbors == (label == 0)
            true += label == 0
            total += 1
    assert abs(true / total - 0.5) < 5 * np.sqrt(0.25 / total)
    assert right / total > 1 - 5 / N_SENTENCES


def test_the_second_segment_has_its_own_type(corpus: Corpus) -> None:
    batch = build_batch(corpus, only("pair", mask_rate=0.0), VOCABULARY, (0, 0, 0))
    for ids, types in zip(batch.input_ids, batch.token_type_ids, strict=True):
        boundary = int((ids == SEP).nonzero()[0, 0])
        assert (types[: boundary + 1] == 0).all()
        assert (types[boundary + 1 :] == 1).all()


def test_a_batch_depends_on_its_seed_alone(corpus: Corpus) -> None:
    settings = read_settings()["batch"]
    first, again, other = (
        build_batch(corpus, settings, VOCABULARY, seed)
        for seed in ((0, 7, 1), (0, 7, 1), (0, 7, 2))
    )
    assert torch.equal(first.input_ids, again.input_ids)
    assert torch.equal(first.labels, again.labels)
    assert not torch.equal(first.input_ids, other.input_ids)


def test_validation_is_masked_the_same_way_at_every_call(corpus: Corpus) -> None:
    ids, labels = masked_sequences(corpus.tokens, VOCABULARY)
    again, labels_again = masked_sequences(corpus.tokens, VOCABULARY)
    assert torch.equal(ids, again)
    assert torch.equal(labels, labels_again)
    assert ids.shape == (len(corpus.tokens) // 126, 128)


def test_pattern_targets_of_a_known_sentence() -> None:
    pieces = ["[CLS]", "the", "cat", "saw", "the", "dog", ".", "[SEP]"]
    ids = np.array([101, 1996, 4937, 2387, 1996, 3899, 1012, 102])
    targets = positional_targets(ids, pieces)
    assert np.argwhere(targets["same word"]).tolist() == [[1, 4], [4, 1]]
    assert np.argwhere(targets["previous"]).tolist() == [[i, i - 1] for i in range(2, 7)]
    assert np.argwhere(targets["next"]).tolist() == [[i, i + 1] for i in range(1, 6)]
    assert np.argwhere(targets["first token"]).tolist() == [[i, 0] for i in range(1, 7)]
    assert np.argwhere(targets["separator"]).tolist() == [[i, 7] for i in range(1, 7)]
    assert np.argwhere(targets["punctuation"]).tolist() == [[i, 6] for i in range(1, 6)]
    assert offset_hits(targets["next"]).max() == 5
