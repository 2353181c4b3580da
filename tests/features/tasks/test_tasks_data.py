"""Where the rated sentences come from, and what is made of them."""

from __future__ import annotations

import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features import tasks
from attn_widget.features.tasks.data import archive, rated, splits
from attn_widget.features.tasks.data.rated import stars
from tests.features.tasks.rated_data import archive_problem, need_archive

LOADERS = {
    "amazon": tasks.load_amazon,
    "films": tasks.load_films,
    "tweets": tasks.load_tweets,
    "editorials": tasks.load_editorials,
}
SIZES = {"amazon": (3708, 300), "films": (10605, 10605), "tweets": (4200, 4200)}
SIZES["editorials"] = (5190, 498)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An index of packages of our own that pip is configured for; yields where its archive stands."""
    archive_problem()  # the true index is asked before it is out of sight
    shelf = tmp_path / "index"
    page = shelf / "simple" / "vadersentiment"
    page.mkdir(parents=True)
    (page / "index.html").write_text(f'<a href="../../{archive.ARCHIVE}">{archive.ARCHIVE}</a>')
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=shelf))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    yield shelf / archive.ARCHIVE
    server.shutdown()
    thread.join()
    server.server_close()


def test_two_processes_fetch_at_once_and_later_ones_need_no_index(
    index: Path, tmp_path: Path
) -> None:
    need_archive()
    if find_spec("setuptools") is None:
        pytest.skip("pip would have to fetch setuptools too")
    shutil.copy(archive.cache_folder() / archive.ARCHIVE, index)
    cache = tmp_path / "not" / "yet" / "there"
    code = "from attn_widget.features.tasks.data.archive import archive; print(len(archive()))"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, archive.CACHE_VARIABLE: str(cache)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    assert {run.communicate(timeout=200)[0].strip() for run in runs} == {str(index.stat().st_size)}
    index.unlink()
    assert [path.name for path in cache.iterdir()] == [archive.ARCHIVE]
    assert len(tasks.rated_sentences("tweets", cache=cache)) == 4200


def test_another_archive_under_the_same_name_is_refused(index: Path, tmp_path: Path) -> None:
    index.write_bytes(b"not what was published")
    with pytest.raises(NotAvailableError, match=f"not the published file .sha256 {archive.SHA256}"):
        tasks.load_amazon(cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_half_written_cache_is_never_read(index: Path, tmp_path: Path) -> None:
    (tmp_path / archive.ARCHIVE).write_bytes(b"\x1f\x8b half of it")
    index.write_bytes(b"not what was published")
    with pytest.raises(NotAvailableError, match=r"could not be fetched.*is not the published one"):
        tasks.load_amazon(cache=tmp_path)


def test_without_a_network_the_error_says_which_file_to_put_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # nobody listens there
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(NotAvailableError) as caught:
        tasks.load_amazon(cache=tmp_path)
    assert f"Put {archive.ARCHIVE} into {str(tmp_path)!r}" in caught.value.hint


def test_a_cache_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(NotAvailableError, match="cannot be used"):
        tasks.load_amazon(cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device: 'x'", "the disk is full"),
        ("python: No module named pip", "pip is not installed"),
        ("WARNING: a\nERROR: No matching distribution\nhint", "'ERROR: No matching distribution'"),
        ("", "pip gave no reason"),
    ],
)
def test_what_pip_says_becomes_one_sentence(said: str, reason: str) -> None:
    assert reason in archive._reason(said)


def test_the_cache_is_the_argument_or_the_variable_or_the_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(archive.CACHE_VARIABLE, "/some/where")
    assert archive.cache_folder("/else/where") == Path("/else/where")
    assert archive.cache_folder() == Path("/some/where")
    monkeypatch.delenv(archive.CACHE_VARIABLE)
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
        assert archive.cache_folder() == Path("/caches/attn_widget")


@pytest.mark.parametrize("name", SIZES)
def test_every_sentence_of_a_source_is_read(name: str) -> None:
    need_archive()
    found = tasks.rated_sentences(name)
    assert (len(found), len(set(found.groups))) == SIZES[name]
    assert np.abs(found.scores).max() <= 4
    assert all(text == text.strip() != "" for text in found.texts)


def test_texts_keep_their_letters_and_ids_their_reviews() -> None:
    need_archive()
    films = tasks.rated_sentences("films")
    assert films.ids[92] == "93"
    assert "the clichés disappear" in films.texts[92]
    amazon = tasks.rated_sentences("amazon")
    assert (amazon.ids[2], amazon.groups[2], amazon.scores[2]) == ("1_3", "1", -0.2)
    assert amazon.texts[2] == "does your apex dvd player only play dvd audio without video?"


def test_a_file_with_a_mark_and_any_line_ends_is_read() -> None:
    found = rated.parse("made up", "\ufeff1_1\t-0.5\t Hé! \r\n1_2\t4\tyes\n".encode())
    assert found.ids == ("1_1", "1_2")
    assert found.groups == ("1", "1")
    assert found.texts == ("Hé!", "yes")
    assert found.scores.tolist() == [-0.5, 4.0]


@pytest.mark.parametrize("data", [b"1\t0.5", b"1\t0.5\t ", b"1\t0\ta\n\n2\t0\tb", b""])
def test_a_damaged_line_is_named(data: bytes) -> None:
    with pytest.raises(InputError, match=r"line \d"):
        rated.parse("amazon", data)
    with pytest.raises(InputError, match="twice"):
        rated.parse("amazon", b"1\t0\ta\n1\t0\tb")


@given(st.floats(-4, 4))
def test_stars_mirror_and_three_join_five(score: float) -> None:
    five = int(stars([score])[0])
    assert int(stars([-score])[0]) == 4 - five
    assert int(stars([score], 3)[0]) == [0, 0, 1, 2, 2][five]


@given(st.lists(st.floats(-4, 4), min_size=2))
def test_a_higher_rating_has_no_fewer_stars(scores: list[float]) -> None:
    assert (np.diff(stars(sorted(scores))) >= 0).all()


def test_a_rating_on_a_cut_goes_to_the_middle() -> None:
    assert stars([-1.81, -1.8, -0.61, -0.6, 0.6, 0.61, 1.8, 1.81]).tolist() == [
        0, 1, 1, 2, 2, 3, 3, 4,
    ]  # fmt: skip


@pytest.mark.parametrize("score", [4.01, float("nan"), float("-inf")])
def test_a_rating_off_the_scale_is_refused(score: float) -> None:
    with pytest.raises(InputError, match="expected -4 to 4"):
        stars([0, score])


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("classes", [5, 3])
def test_splits_share_nothing_and_have_equal_classes(name: str, classes: int) -> None:
    need_archive()
    found = LOADERS[name](classes=classes, seed=1)
    rows = tasks.rated_sentences(name)
    group = dict(zip(zip(rows.texts, rows.scores, strict=True), rows.groups, strict=True))
    reviews: list[set[str]] = []
    keys: list[set[str]] = []
    for split in found.splits.values():
        assert len(set(np.bincount(split.labels, minlength=classes).tolist())) == 1
        assert split.scores is not None
        np.testing.assert_array_equal(stars(split.scores, classes), split.labels)
        pairs = zip(split.texts, split.scores, strict=True)
        reviews.append({group[pair] for pair in pairs})
        keys.append({splits.sentence_key(text) for text in split.texts})
    for parts in (reviews, keys):
        assert sum(map(len, parts)) == len(set.union(*parts))
    used = sum(map(len, found.splits.values()))
    assert used + sum(found.left_out.values()) == len(rows)
    for split, share in (("train", 0.7), ("test", 0.2), ("validation", 0.1)):
        assert abs(len(found.splits[split]) - share * used) <= classes


def test_little_is_left_out_for_the_sake_of_reviews() -> None:
    need_archive()
    for classes in (5, 3):
        found = tasks.load_amazon(classes=classes)
        rarest = np.bincount(stars(tasks.rated_sentences("amazon").scores, classes)).min()
        assert sum(map(len, found.splits.values())) > 0.97 * classes * rarest


def test_variants_of_a_tweet_stay_together() -> None:
    need_archive()
    texts = tasks.rated_sentences("tweets").texts
    groups = splits.join_groups(texts, range(len(texts)))
    made_up = [groups[k] for k in (*range(1423, 1486), *range(1838, 1868))]
    assert len(set(made_up)) < len(made_up) / 5
    interviews = {g for g, text in zip(groups, texts, strict=True) if "good phone int" in text}
    assert len(interviews) == 1


def test_a_seed_gives_the_same_splits_on_every_machine() -> None:
    need_archive()
    found = tasks.load_amazon(classes=3, seed=0)
    digest = hashlib.sha256("\n".join(found.test.texts).encode()).hexdigest()
    assert digest == "f4d9d836155e7c2a16d2ee95dceecc42f00d6fabdf0670a231a62ee2e357d031"
    assert tasks.load_amazon(classes=3, seed=1).test.texts != found.test.texts


@pytest.mark.parametrize("classes", [4, True, "5", None])
def test_another_number_of_classes_is_refused_before_anything_is_fetched(classes: object) -> None:
    with pytest.raises(InputError, match="expected 5 or 3"):
        tasks.load_films(classes=classes, cache="/dev/null")


def test_other_wrong_arguments_are_said() -> None:
    with pytest.raises(InputTypeError, match="seed is a float, expected an int"):
        tasks.load_films(seed=0.5, cache="/dev/null")
    with pytest.raises(InputError, match="expected one of"):
        tasks.rated_sentences("books")


@st.composite
def grouped(draw: st.DrawFn) -> tuple[np.ndarray, list[int]]:
    n = draw(st.integers(30, 120))
    labels = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    groups = draw(st.lists(st.integers(0, n // 2), min_size=n, max_size=n))
    return np.array([*labels, 0, 1, 2]), [*groups, n, n + 1, n + 2]


@given(grouped(), st.integers(0, 3))
def test_groups_are_shared_out_whole(data: tuple[np.ndarray, list[int]], seed: int) -> None:
    labels, groups = data
    placed = splits.assign(labels, groups, tuple(splits.SHARES), seed)
    rows = sorted(row for part in placed.values() for row in part)
    assert rows == list(range(len(labels)))
    found = [{groups[row] for row in part} for part in placed.values()]
    assert sum(map(len, found)) == len(set(groups))
    try:
        kept = splits.equal_classes(labels, placed, ("a", "b", "c"))
    except InputError:
        assert any(len(set(labels[part].tolist())) < 3 for part in placed.values())
        return
    for name, part in kept.items():
        assert len(set(np.bincount(labels[part], minlength=3).tolist())) == 1
        assert set(part) <= set(placed[name])


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(0, 8)), max_size=30))
def test_joined_groups_are_the_connected_parts(rows: list[tuple[str, int]]) -> None:
    import networkx

    texts, groups = [text for text, _ in rows], [group for _, group in rows]
    found = splits.join_groups(texts, groups)
    graph = networkx.Graph([(f"text {text}", group) for text, group in rows])
    parts = {
        node: k for k, part in enumerate(networkx.connected_components(graph)) for node in part
    }
    ours = [[a == b for a in found] for b in found]
    assert ours == [[parts[a] == parts[b] for a in groups] for b in groups]
