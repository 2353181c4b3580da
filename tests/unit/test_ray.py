"""The engine of Ray: a real one on this machine, started once; the same bits as the local engine."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from attn_widget import profile
from attn_widget.corpus import Profile
from attn_widget.corpus.engines.cluster import connected
from attn_widget.corpus.reading import chunks
from attn_widget.errors import InputError
from tests.unit import tiny_models

ray = pytest.importorskip("ray")
WORDS = [
    "the",
    "cat",
    "dog",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "saw",
    "red",
    "house",
    "when",
    "it",
    "rained",
    "in",
    "Paris",
    "because",
    "she",
    "ran",
]


def corpus(n: int, seed: int = 3) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(2, 9))) + "." for _ in range(n)]


TEXTS = corpus(1100)  # three chunks


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    for part in tiny_models.build("bert"):
        part.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def here(model: str) -> Profile:
    return profile(TEXTS, model=model, tagger=None, progress=False)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with connected(None, 2):
        yield


def assert_same(one: Profile, other: Profile, model: str) -> None:
    for key in one.keys:
        for a, b in (
            (one.mean[key], other.mean[key]),
            (one.sd[key], other.sd[key]),
            (one.count[key], other.count[key]),
            *zip(one.interval[key], other.interval[key], strict=True),
        ):
            assert np.array_equal(a, b, equal_nan=True), key
    assert one.patterns.equals(other.patterns)
    for by in ("link", "previous", "same word", "sample"):
        found = [p.examples(1, 3, by=by, k=4, model=m) for p, m in ((one, None), (other, model))]
        assert found[0].equals(found[1]), by


@pytest.mark.usefixtures("cluster")
def test_one_killed_worker_and_a_file_of_texts_give_the_same_bits(
    here: Profile, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, another number of workers, another order of chunks, and a worker that is killed at random."""
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS))
    stop = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while not stop.wait(0.05):
            if list((tmp_path / "work").glob("part-*")):
                workers = [p for p in psutil.process_iter(["cmdline"]) if _is_worker(p)]
                if workers:
                    os.kill(workers[0].pid, signal.SIGKILL)
                    killed.append(workers[0].pid)
                    return

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        found = profile(
            path, engine="ray", workers=2, model=model, tagger=None, progress=False,
            folder=tmp_path / "work",
        )  # fmt: skip
    finally:
        stop.set()
        thread.join()
    assert killed
    assert found.n_texts == len(TEXTS) and found.total_tokens == here.total_tokens
    assert_same(here, found, model)
    found.save(tmp_path / "sums.parquet")
    assert_same(here, Profile.load(tmp_path / "sums.parquet"), model)

    # The driver again: nothing is read a second time; nor by the local engine, whose chunks are the same.
    before = {part.name: part.stat().st_mtime_ns for part in (tmp_path / "work").glob("part-*")}
    assert len(before) == 3
    again = profile(
        path, engine="ray", workers=1, model=model, tagger=None, progress=False,
        folder=tmp_path / "work",
    )  # fmt: skip
    for key in found.keys:
        assert np.array_equal(again.mean[key], found.mean[key], equal_nan=True), key
    monkeypatch.setattr("attn_widget.corpus.engines.local.read_chunk", None)
    profile(path, model=model, tagger=None, progress=False, folder=tmp_path / "work")
    after = {part.name: part.stat().st_mtime_ns for part in (tmp_path / "work").glob("part-*")}
    assert after == before
    with pytest.raises(InputError, match="not of this run"):
        profile(
            path,
            engine="ray",
            model=model,
            progress=False,
            folder=tmp_path / "work",
            truncation=True,
        )


def _is_worker(process: Any) -> bool:
    try:
        return "MapWorker" in " ".join(process.info["cmdline"] or []) and process.is_running()
    except psutil.Error:
        return False


@pytest.mark.usefixtures("cluster")
def test_what_fails_is_listed_and_loses_nothing(model: str, tmp_path: Path) -> None:
    bad, good = tmp_path / "a.txt", tmp_path / "b.jsonl"
    bad.write_bytes(b"The cat.\n" + "Zwölf.\n".encode("latin-1") + b"dog " * 300 + b"\nThe dog.\n")
    good.write_text('{"text": "The mat."}\n{"text": 5}\n')
    given = {"model": model, "tagger": None, "progress": False}
    found = profile(str(tmp_path / "*.*"), engine="ray", workers=1, **given)
    assert found.n_texts == 3 and repr(found).count("3 of 4 texts") == 1
    failed = sorted(found.failed, key=lambda one: one["source"])
    assert [one["source"] for one in failed] == [f"{bad}, line 2", f"{good}, row 1", "text 1"]
    assert failed[2]["index"] == 1 and "302 tokens" in failed[2]["reason"]
    wanted = profile(["The cat.", "The dog.", "The mat."], **given)
    for key in found.keys:
        np.testing.assert_allclose(found.mean[key], wanted.mean[key], rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"texts": "nowhere/*.txt"}, "No file matches"),
        ({"texts": []}, "texts is empty"),
        ({"address": "127.0.0.1:9", "folder": "x"}, "No cluster answers"),
        ({"address": "nonsense", "folder": "x"}, "address is 'nonsense'"),
        ({"address": "auto"}, "A cluster needs folder="),
        ({"workers": 0}, "workers is 0"),
        ({"engine": "local", "workers": 2}, "options of engine='ray'"),
    ],
)
def test_what_cannot_work_is_said_before_work_begins(
    options: dict[str, Any], match: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"texts": ["The cat."], "engine": "ray", "model": model, "progress": False, **options}
    started = time.monotonic()
    with pytest.raises(InputError, match=match):
        profile(**given)
    assert time.monotonic() - started < 60


def test_chunks_depend_on_the_texts_alone() -> None:
    long = ["a" * 50_000, "b" * 20_000, "c", "d" * 90_000, "e"]
    assert [[text[0] for text in chunk] for chunk in chunks.chunks_of(long)] == [
        ["a"], ["b", "c"], ["d"], ["e"]
    ]  # fmt: skip
