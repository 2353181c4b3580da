"""profile(): the figures of one text at a time, summed up, kept and found again."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attn_widget.analysis.texts import analyze
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, TooLongError
from attn_widget.features.corpus.engines import local
from attn_widget.features.corpus.engines.folder import Folder
from attn_widget.features.corpus.engines.local import ProfileError
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.reading import chunks
from attn_widget.features.corpus.reading.blocks import KEYS
from attn_widget.features.corpus.run import profile
from attn_widget.features.corpus.storage import Rows
from attn_widget.host import installed
from attn_widget.model.loading import load
from tests.close import assert_close
from tests.unit.needs import needs_spacy

TEXTS = [
    "The cat sat on the mat, and the dog saw it.",
    "Angela Merkel left Berlin on Monday.",
    "Why?",
    "It rains in Paris; nobody goes out, and the streets are empty until the morning comes.",
    "我喜欢猫。",
]


@pytest.fixture(scope="module")
def done() -> Profile:
    return profile(TEXTS, progress=False)


def test_figures_are_those_of_each_text_alone(done: Profile) -> None:
    assert done.index.tolist() == [0, 1, 2, 3, 4] and done.figures.shape == (5, len(KEYS), 6, 12)
    for k in (0, 2, 4):
        alone = analyze(TEXTS[k], progress=False)
        assert alone.trace.n_tokens == done.n_tokens[k]
        figures = {
            **alone.metrics.as_dict(),
            **alone.heads.specialization.raw,
            **alone.heads.patterns.as_dict(),
        }
        for place, key in enumerate(KEYS):
            size = [1, *np.ravel(figures[key])]  # the weights, and what is made of them
            assert_close(done.figures[k, place], figures[key], terms=384, steps=6, size=size)


def test_the_order_of_the_texts_does_not_matter(done: Profile) -> None:
    turned = profile(TEXTS[::-1], progress=False)
    assert np.array_equal(turned.figures[::-1], done.figures, equal_nan=True)


@needs_spacy
def test_what_is_na_on_a_text_is_left_out_and_counted(done: Profile) -> None:
    count = {key: int(done.count[key][0, 0]) for key in KEYS}
    assert count["confidence_max"] == count["self"] == 5
    assert count["entities"] == 2  # Merkel and Berlin, Paris
    assert count["syntax"] == 4 and count["long_range"] == 4
    assert np.isfinite(done.mean["entities"]).all() and np.isfinite(done.sd["entities"]).all()


def test_the_table_has_a_row_for_each_figure_of_each_head(done: Profile) -> None:
    table = done.to_dataframe()
    assert len(table) == len(KEYS) * 72
    assert list(table) == ["key", "layer", "head", "mean", "sd", "low", "high", "count"]
    row = table[(table.key == "cls") & (table.layer == 3) & (table["head"] == 7)].iloc[0]
    assert row["mean"] == done.mean["cls"][3, 7] and np.isnan(row["high"])
    assert done.interval_note == "no intervals: 5 texts, and an interval takes 8 different ones"


def test_roles_are_those_of_the_mean_heads(done: Profile) -> None:
    roles = done.roles()
    assert roles.labels.shape == (6, 12) and roles.seed == done.seed
    assert np.array_equal(roles.labels, done.roles(seed=0).labels)


def test_a_saved_profile_comes_back_whole(done: Profile, tmp_path: Path) -> None:
    done.save(tmp_path / "heads.parquet")
    again = Profile.load(tmp_path / "heads.parquet")
    assert np.array_equal(again.figures, done.figures, equal_nan=True)
    assert again.index.tolist() == done.index.tolist() and again.seed == done.seed
    assert again.n_tokens.tolist() == done.n_tokens.tolist()
    assert again.keys == done.keys and repr(again) == repr(done)
    assert np.array_equal(again.interval["self"][0], done.interval["self"][0], equal_nan=True)
    assert [path.name for path in tmp_path.iterdir()] == ["heads.parquet"]


def test_the_repr_is_short(done: Profile) -> None:
    assert repr(done) == (
        f"<Profile of attn_widget/mini: 5 texts, {done.n_tokens.sum()} tokens, 6 layers x 12 heads>"
    )


def test_an_interrupted_profile_goes_on_where_it_was(
    done: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_TEXTS", 2)
    real, read = local.read_chunk, []

    def tired(encoder: Any, texts: list[str], *rest: Any) -> Any:
        if len(read) == 4:
            raise KeyboardInterrupt
        read.extend(texts)
        return real(encoder, texts, *rest)

    wanted = profile(TEXTS, progress=False)
    monkeypatch.setattr(local, "read_chunk", tired)
    with pytest.raises(KeyboardInterrupt):
        profile(TEXTS, progress=False, folder=tmp_path / "work")
    assert read == TEXTS[:4]
    monkeypatch.setattr(local, "read_chunk", lambda *given: read.extend(given[1]) or real(*given))
    found = profile(TEXTS, progress=False, folder=tmp_path / "work")
    assert read == TEXTS
    assert np.array_equal(found.figures, wanted.figures, equal_nan=True)
    assert found.patterns.equals(wanted.patterns)
    profile(TEXTS, progress=False, resume=tmp_path / "work")
    assert len(read) == len(TEXTS)
    profile([*TEXTS, "More."], progress=False, folder=tmp_path / "work")
    assert read[len(TEXTS) :] == [TEXTS[4], "More."]  # the chunk that has grown, alone


@needs_spacy
def test_the_work_of_another_run_is_not_mixed_in(tmp_path: Path) -> None:
    profile(TEXTS[:1], progress=False, folder=tmp_path)
    for other in ({"tagger": None}, {"truncation": True}):
        with pytest.raises(InputError, match="not of this run"):
            profile(TEXTS[:1], **other, progress=False, folder=tmp_path)


def test_a_part_that_is_damaged_is_read_again(done: Profile, tmp_path: Path) -> None:
    profile(TEXTS, progress=False, folder=tmp_path)
    (part,) = tmp_path.glob("part-*.parquet")
    part.write_bytes(part.read_bytes()[:100])
    with pytest.warns(UserWarning, match="Its texts are read again"):
        found = profile(TEXTS, progress=False, folder=tmp_path)
    assert np.array_equal(found.figures, done.figures, equal_nan=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [part.name, "settings.json"]


def test_a_full_disk_keeps_what_was_finished(
    done: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_TEXTS", 2)
    real = Folder._write

    def full(self: Folder, name: str, data: bytes) -> None:
        if len(list(tmp_path.glob("part-*"))) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, name, data)

    monkeypatch.setattr(Folder, "_write", full)
    with pytest.raises(InputError, match=r"No space left on device.*make room"):
        profile(TEXTS, progress=False, folder=tmp_path)
    assert len(list(tmp_path.glob("part-*"))) == 1
    monkeypatch.setattr(Folder, "_write", real)
    found = profile(TEXTS, progress=False, folder=tmp_path)
    assert found.n_texts == len(TEXTS) and len(list(tmp_path.glob("part-*"))) == 3


def test_failed_texts_are_listed_and_tried_again(tmp_path: Path) -> None:
    texts = [TEXTS[0], "", "Why?", "dog " * 600]
    found = profile(texts, progress=False, failures="list", tagger=None, folder=tmp_path)
    assert found.index.tolist() == [0, 2] and repr(found).count("2 of 4 texts") == 1
    assert [(one["index"], one["source"]) for one in found.failed] == [(1, "text 1"), (3, "text 3")]
    assert "empty" in found.failed[0]["reason"] and "602 tokens" in found.failed[1]["reason"]
    assert list(tmp_path.glob("part-*")) == []
    with pytest.raises(InputError, match="No text could be read"):
        profile([""], progress=False, failures="list")


def test_a_text_that_fails_on_the_way_is_named_and_the_others_are_kept() -> None:
    def nervous(text: str) -> list[tuple[int, int, str]]:
        if text == "Why?":
            raise ValueError("no questions")
        return [(0, len(text), "X")]

    with pytest.raises(ProfileError, match="Text 2, 'Why\\?', stopped the profile") as caught:
        profile(TEXTS, progress=False, tagger=nervous)
    error = caught.value
    assert "no questions" in error.message and error.index == 2
    assert error.profile is not None and error.profile.index.tolist() == [0, 1, 3, 4]
    assert "4 of 5 texts" in repr(error.profile)


@pytest.mark.parametrize(
    ("texts", "kind", "complaint"),
    [
        ("one text", InputError, "No file matches 'one text'"),
        (5, InputTypeError, "texts is a int"),
        ([], InputError, "texts is empty"),
        (["fine", ""], InputError, "Text 1 of 2: text is empty"),
        (["fine", 7], InputTypeError, "Text 1 of 2: text is a int"),
        (["fine", "dog " * 600], TooLongError, "Text 1 of 2: The text has 602 tokens"),
    ],
)
def test_what_cannot_be_read_is_named_before_the_work_begins(
    texts: Any, kind: type[Exception], complaint: str
) -> None:
    with pytest.raises(kind, match=complaint):
        profile(texts, progress=False)


def test_truncation_reads_the_beginning_of_a_long_text() -> None:
    found = profile(["dog " * 600], truncation=True, tagger=None, progress=False)
    assert found.n_tokens.tolist() == [load(progress=False).max_length]
    assert np.isnan(found.interval["self"][0]).all()


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match="engine is 'cluster'"):
        profile(TEXTS, engine="cluster")  # type: ignore[arg-type]  # refused at run time


def test_files_that_are_no_profiles_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Profile.load(tmp_path / "nowhere.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(InputError, match="cannot be read"):
        Profile.load(tmp_path / "text.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="not a profile"):
        Profile.load(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="is a file"):
        profile(TEXTS, progress=False, resume=tmp_path / "other.parquet")


def test_without_pyarrow_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Rows(np.array([0]), np.array([4]), np.zeros((1, len(KEYS), 1, 2), np.float32))
    monkeypatch.setattr(installed, "find_spec", lambda name: None)
    with pytest.raises(NotAvailableError, match="need pyarrow"):
        Profile(rows, {"keys": list(KEYS), "model": "m"}).save(tmp_path / "p.parquet")
