"""Files of kept work: damage is found, and one call at a time writes to a folder."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, ModelLoadError
from attn_widget.features import tasks
from attn_widget.features.corpus import resumable
from attn_widget.features.corpus.parquet_file import EMPTY, DamagedError
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.storage import read
from attn_widget.features.corpus.totals import Totals
from attn_widget.features.corpus.totals_file import write_totals
from attn_widget.host.store import LOCK, locked, read_json, write_folder, write_json
from tests.unit import tiny_models

# A text may hold what a checksum looks like.
TEXTS = ["the cat sat on the mat", "the dog looked at the bird", EMPTY.decode()]
PAIRS = [("the cat sat", "the dog sat"), ("he sells", "she sells"), ("a mat", "a dog")]


@pytest.fixture(scope="module")
def tiny() -> Any:
    return aw.load(tiny_models.build("bert"))


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def some_bits(data: bytes, count: int) -> list[int]:
    """Bits all over a file, most of them in its second half, which holds the descriptions."""
    draw = random.Random(len(data))
    return [draw.randrange(len(data) * (k % 2) * 4, len(data) * 8) for k in range(count)]


def fewer_rows(path: Path) -> None:
    """As another program would write it: the description stays."""
    pq.write_table(pq.read_table(path).slice(1), path)


def saved(tiny: Any, path: Path) -> None:
    aw.profile(TEXTS, model=tiny, tagger=None, progress=False).save(path)


def saved_totals(tiny: Any, path: Path) -> None:
    rows: Any = aw.profile(TEXTS, model=tiny, tagger=None, progress=False)
    totals = Totals(rows.figures.shape[1:], 0)
    totals.add(rows._each)
    write_totals(path, totals, {**rows.meta, "seed": 0})


@pytest.mark.parametrize("save", [saved, saved_totals])
def test_a_saved_profile_with_one_bit_changed_is_refused_by_name(
    save: Callable[[Any, Path], None], tiny: Any, tmp_path: Path
) -> None:
    path = tmp_path / "heads.parquet"
    save(tiny, path)
    whole = path.read_bytes()
    assert Profile.load(path).n_texts == len(TEXTS)
    for bit in some_bits(whole, 120):
        path.write_bytes(flipped(whole, bit))
        with pytest.raises(InputError, match=r"heads\.parquet"):
            Profile.load(path)
    path.write_bytes(whole)
    fewer_rows(path)
    with pytest.raises(DamagedError, match="its checksum is not that of its content"):
        Profile.load(path)


def profiled(tiny: Any, folder: Path) -> Any:
    return aw.profile(TEXTS, model=tiny, tagger=None, progress=False, folder=folder).figures


def compared(tiny: Any, folder: Path) -> Any:
    many: Any = aw.compare.many(PAIRS, model=tiny, progress=False, resume=folder)
    return many._figures


@pytest.mark.parametrize("keep", [profiled, compared])
def test_a_damaged_part_is_named_and_made_again(
    keep: Callable[[Any, Path], Any], tiny: Any, tmp_path: Path
) -> None:
    wanted = keep(tiny, tmp_path)
    (part,) = tmp_path.glob("part-*.parquet")
    whole = part.read_bytes()
    damages: list[Callable[[], Any]] = [
        *(lambda bit=bit: part.write_bytes(flipped(whole, bit)) for bit in some_bits(whole, 12)),
        lambda: part.write_bytes(whole[:100]),
        lambda: fewer_rows(part),
        lambda: part.write_bytes(b""),
    ]
    for damage in damages:
        damage()
        with pytest.warns(UserWarning, match=r"part-.*again"):
            found = keep(tiny, tmp_path)
        np.testing.assert_array_equal(found, wanted)
        (part,) = tmp_path.glob("part-*.parquet")
        assert part.read_bytes() == whole
    np.testing.assert_array_equal(keep(tiny, tmp_path), wanted)


def test_work_that_lies_there_twice_counts_once(tiny: Any, tmp_path: Path) -> None:
    wanted = compared(tiny, tmp_path)
    (part,) = tmp_path.glob("part-*.parquet")
    (tmp_path / "part-000007.parquet").write_bytes(part.read_bytes())
    (tmp_path / "part-000000 (copy).parquet").write_bytes(part.read_bytes())
    with pytest.warns(UserWarning, match="counts once"):
        found = compared(tiny, tmp_path)
    np.testing.assert_array_equal(found, wanted)


def test_a_part_under_the_name_of_another_one_is_made_again(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attn_widget.features.corpus.reading.chunks.CHUNK_TEXTS", 1)
    wanted = profiled(tiny, tmp_path)
    first, *others = sorted(tmp_path.glob("part-*.parquet"))
    assert len(others) == len(TEXTS) - 1
    others[0].write_bytes(first.read_bytes())
    with pytest.warns(UserWarning, match=rf"copy of {first.name}.*read again"):
        found = profiled(tiny, tmp_path)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(profiled(tiny, tmp_path), wanted)  # without a warning


def test_damaged_settings_are_named_and_written_again(tiny: Any, tmp_path: Path) -> None:
    wanted = profiled(tiny, tmp_path)
    settings = tmp_path / "settings.json"
    whole = settings.read_bytes()
    for damaged in (b"", b"[1]", b"{", b"\xff\xfe{}"):
        settings.write_bytes(damaged)
        with pytest.warns(UserWarning, match="settings.json .* is damaged"):
            np.testing.assert_array_equal(profiled(tiny, tmp_path), wanted)
        assert settings.read_bytes() == whole
    with pytest.raises(InputError, match="not of this run"):
        aw.profile(TEXTS, model=tiny, tagger=None, progress=False, truncation=True, folder=tmp_path)


def test_a_file_of_an_earlier_version_is_read(tiny: Any, tmp_path: Path) -> None:
    """Format 1 had no checksum."""
    path = tmp_path / "heads.parquet"
    saved(tiny, path)
    table = pq.read_table(path)
    meta = table.schema.metadata[b"attn_widget"].replace(b'"format": 2', b'"format": 1')
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({b"attn_widget": meta}), file)
    wanted, _ = read(path)
    path.write_bytes(file.getvalue())
    np.testing.assert_array_equal(read(path)[0].figures, wanted.figures)
    pq.write_table(
        table.replace_schema_metadata({b"attn_widget": table.schema.metadata[b"attn_widget"]}), path
    )
    with pytest.raises(DamagedError):  # of this version, and its checksum is gone
        read(path)


def test_a_damaged_checkpoint_is_refused_by_name(tiny: Any, tmp_path: Path) -> None:
    def train(**options: Any) -> Any:
        return tasks.fit_classifier(
            tiny,
            TEXTS[:2] * 4,
            [0, 1] * 4,
            epochs=1,
            checkpoint=tmp_path,
            progress=False,
            **options,
        )

    wanted = train().probabilities(TEXTS[:2])
    for name in ("model.safetensors", "state.safetensors", "state.json", "tokenizer.json"):
        (path,) = tmp_path.glob(f"epoch-*/{name}")
        whole = path.read_bytes()
        path.write_bytes(flipped(whole, len(whole) * 6))
        with pytest.raises(ModelLoadError, match=rf"is damaged: {name}"):
            train()
        path.write_bytes(whole)
    np.testing.assert_array_equal(train().probabilities(TEXTS[:2]), wanted)
    path.write_bytes(flipped(whole, len(whole) * 6))
    np.testing.assert_array_equal(train(resume=False).probabilities(TEXTS[:2]), wanted)


SCRIPT = """
import sys, time
from pathlib import Path
from attn_widget.host.store import locked
with locked(Path(sys.argv[1]), "resume"):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("how", ["resume", "checkpoint"])
def test_a_folder_in_use_is_refused_until_its_process_has_ended(
    how: str, tiny: Any, tmp_path: Path
) -> None:
    def work() -> Any:
        if how == "resume":
            return aw.compare.many(PAIRS, model=tiny, progress=False, resume=tmp_path)
        return tasks.fit_classifier(
            tiny, TEXTS[:2] * 4, [0, 1] * 4, epochs=1, checkpoint=tmp_path, progress=False
        )

    holder = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=rf"working in {how}=.* \(process {holder.pid}\)"):
            work()
    finally:
        holder.kill()
        holder.wait()
    assert work() is not None  # the lock of a killed process is free
    assert not (tmp_path / LOCK).exists()


def test_two_calls_at_once_make_every_pair_once(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resumable, "KEEP_EVERY", 0.0)  # a part for each pair
    pairs = [(f"the cat sat {'on ' * k}", "the dog sat") for k in range(12)]
    outcomes: list[Any] = []

    def work() -> None:
        try:
            outcomes.append(aw.compare.many(pairs, model=tiny, progress=False, resume=tmp_path))
        except InputError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = [one.index.tolist() for one in outcomes if not isinstance(one, InputError)]
    refused = [str(one) for one in outcomes if isinstance(one, InputError)]
    assert done and all(index == [*range(12)] for index in done)
    assert all("Another call is working" in message for message in refused)
    again = aw.compare.many(pairs, model=tiny, progress=False, resume=tmp_path)
    assert again.index.tolist() == [*range(12)] and len([*tmp_path.glob("part-*")]) == 12


def test_a_lock_is_taken_by_one_of_many(tmp_path: Path) -> None:
    """Also while others remove theirs."""
    inside: list[int] = []
    most: list[int] = []

    def enter() -> None:
        for _ in range(200):
            try:
                with locked(tmp_path, "resume"):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
            except InputError:
                pass

    threads = [threading.Thread(target=enter) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most and max(most) == 1 and not [*tmp_path.iterdir()]


def test_a_folder_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "model"
    write_folder(target, lambda part: write_json(part / "a.json", {"first": True}))
    rename = Path.rename

    def interrupted(self: Path, to: Path) -> Path:
        if to == target and not (self / "a.json").read_text().count("first"):
            raise KeyboardInterrupt
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_folder(target, lambda part: write_json(part / "a.json", {"second": True}))
    assert read_json(target / "a.json", "") == {"first": True}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
