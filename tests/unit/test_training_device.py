"""The kit that trains on one GPU, with a tiny model on the CPU: the same losses as `training.train`, parts, clock, resuming."""

from __future__ import annotations

import itertools
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from transformers import BertForPreTraining

import attn_widget as aw
from tests.close import assert_close
from tests.unit.test_training import BASE, paragraphs
from training.data import CLS, IGNORED, SEP, Batch
from training.device import decoder, loop, text
from training.device.decoder import rows_of
from training.device.flat import Flat, exported_name, mask
from training.device.packed import MOST, ROW, Packed, fill
from training.device.parts import files_of, held_of, mixture_of, unpack, write_parts
from training.export import half_weights
from training.loss import compute
from training.model import build_model
from training.prepare import load_tokenizer
from training.prepare import pack as prepare
from training.resting import rested
from training.settings import Settings, read_settings

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}
SETTINGS = [
    f"model.base={json.dumps(BASE)}",
    *("model.pretrained=false", "model.layers=4", "model.heads=2", "model.width=32"),
    *(f"{part}.books=0" for part in ("running", "alone")),
    *(f"{part}.dialogues=0" for part in ("running", "alone", "named")),
    *(f"alone.{split}=0" for split in ("tatoeba", "examples", "proverbs")),
    *("batch.names=0", "batch.length=64", "batch.long_length=128"),
]


@pytest.fixture(scope="module")
def settings() -> Settings:
    return read_settings(overrides=SETTINGS)


@pytest.fixture(scope="module")
def model(settings: Settings) -> BertForPreTraining:
    torch.manual_seed(0)
    made = build_model(settings["model"]).eval()
    with torch.no_grad():  # large enough for the copying penalty and for heads that rest
        for name, weight in made.bert.encoder.named_parameters():
            if name.endswith("query.weight"):
                weight.mul_(40)
    return made


@pytest.fixture(scope="module")
def parts(
    tmp_path_factory: pytest.TempPathFactory, settings: Settings, model: BertForPreTraining
) -> Path:
    """Two corpora, packed into parts with the weights of `model`."""
    folder = tmp_path_factory.mktemp("device")
    tokenizer = load_tokenizer(BASE)
    prepare(iter(paragraphs(0, 60)), tokenizer, folder, "wikipedia")
    prepare(iter(paragraphs(1, 6)), tokenizer, folder, "held-wikipedia")
    (folder / "model.safetensors").write_bytes(save(half_weights(model)))
    write_parts(files_of(folder, ["wikipedia", "held-wikipedia"], folder), folder / "parts")
    return folder / "parts"


def test_flat_losses_are_those_of_training_on_each_sequence_alone(
    parts: Path,
    settings: Settings,
    model: BertForPreTraining,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("training.loss", "training.device.flat"):  # an untrained model hardly copies
        monkeypatch.setattr(f"{module}.TOLERATED", 0.0)
    monkeypatch.setattr("training.corpus.N_FREQUENT", 10)  # of the few dozen words of the text
    packed = Packed.empty(6)
    fill(mixture_of(unpack(parts), settings), settings["batch"], (0, 1), packed)
    torch.manual_seed(1)
    arrays = [torch.from_numpy(array) for array in packed.arrays()]
    step = mask(arrays, 0.25, model.config.vocab_size, torch.rand(3, 6 * ROW))
    flat = Flat(model.config.vocab_size, 32, 2, 4)
    own = model.state_dict()
    flat.load_state_dict({name: own[exported_name(name)] for name in flat.state_dict()})
    figures = flat(step, 2 * ROW, 64, False)
    state, _ = flat.layers[0](flat.embed(step), step, flat.attend, False)
    _, share = flat.layers[1](state, step, flat.attend, True)

    sums = {"mlm_sum": 0.0, "copied_sum": 0.0}
    follows: list[float] = []
    model.set_attn_implementation("eager")
    kept: list[torch.Tensor] = []
    inner = model.get_submodule("bert.encoder.layer.1.attention.self")
    inner.register_forward_hook(lambda _, __, output: kept.append(output[1].detach()))
    rests, n_words = torch.zeros(2), 0
    starts = np.unique(packed.starts)
    assert len(starts) > 10
    for begin, end in itertools.pairwise(starts):
        part = slice(int(begin), int(end))
        if (step.original[part] == 0).all():  # padding
            continue
        following = step.next_labels[begin][None]
        batch = Batch(
            step.ids[part][None],
            step.types[part][None],
            None,
            step.labels[part][None],
            None if following == IGNORED else following,
            step.copyable[part][None] if step.copyable[part].any() else None,
        )
        outcome = compute(model, batch)
        sums["mlm_sum"] += float(outcome.mlm_sum.detach())
        if outcome.copied_sum is not None:
            sums["copied_sum"] += float(outcome.copied_sum.detach())
        if outcome.nsp is not None:
            follows.append(float(outcome.nsp.detach()))
        special = (batch.input_ids == CLS) | (batch.input_ids == SEP)
        rests += rested(kept.pop(), special, ~special) * int((~special).sum())
        n_words += int((~special).sum())
    count = int(figures["n_chosen"])
    assert count == int((step.labels != IGNORED).sum()) < 2 * ROW
    run = {"terms": 64, "steps": 4 * 2}  # two layers, whose feed-forward part is 64 wide
    for name in ("mlm_sum", "copied_sum"):
        assert_close(float(figures[name].detach()), sums[name], **run)
    assert sums["copied_sum"] > 0
    assert_close(float(figures["next"].detach()), np.mean(follows), **run)
    assert_close(share.detach(), rests / n_words, **run, size=1)


def test_what_a_step_holds_depends_on_seed_and_step_alone(parts: Path, settings: Settings) -> None:
    mixture = mixture_of(unpack(parts), settings)
    first, again, other = (Packed.empty(4) for _ in range(3))
    for packed, step in ((first, 5), (again, 5), (other, 6)):
        fill(mixture, settings["batch"], (0, step), packed)
    for a, b in zip(first.arrays(), again.arrays(), strict=True):
        assert (a == b).all()
    assert (first.ids != other.ids).any()
    starts = first.starts[first.starts < 4 * ROW]
    assert (first.places.ravel()[starts] == 0).all() and len(starts) <= 4 * MOST
    assert (first.places == 0).sum() == len(starts)


def test_a_part_that_is_missing_or_damaged_is_named(parts: Path, tmp_path: Path) -> None:
    copy = tmp_path / "parts"
    (copy / "1").mkdir(parents=True)
    for file in (parts / "1").iterdir():
        (copy / "1" / file.name).write_bytes(file.read_bytes())
    assert set(held_of(unpack(copy))) == {"wikipedia"}
    tokens = copy / "1" / "wikipedia.tokens.0.xz"
    kept = tokens.read_bytes()
    tokens.unlink()
    with pytest.raises(FileNotFoundError, match=r"1 of \d+ files .* wikipedia\.tokens\.0\.xz"):
        unpack(copy)
    content = bytearray(lzma.decompress(kept))
    content[0] ^= 1
    tokens.write_bytes(lzma.compress(bytes(content)))
    with pytest.raises(ValueError, match=r"wikipedia\.tokens\.0\.xz is damaged"):
        unpack(copy)


def command(parts: Path, folder: Path, seconds: float) -> list[str]:
    overrides = [*SETTINGS, "batch.step_tokens=1024", "train.muon_lr=5e-3", "train.peak_lr=5e-3"]
    return [
        *(sys.executable, "-m", "training.device.run", "--parts", str(parts)),
        *("--out", str(folder / "out"), "--work", str(folder / "work")),
        *("--seconds", str(seconds), "--reserve", "3", "--every", "2"),
        *("--workers", "2", "--device", "cpu", "--no-compile", "--log-steps", "5"),
        *(word for override in overrides for word in ("--set", override)),
    ]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_dry_run_learns_is_killed_goes_on_and_ends_by_the_clock(
    parts: Path, tmp_path: Path
) -> None:
    begun = subprocess.Popen(
        command(parts, tmp_path, 600), cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL
    )
    checkpoint = tmp_path / "work" / "checkpoint.pt"
    deadline = time.monotonic() + 500
    steps = 0
    while steps < 20:
        assert begun.poll() is None and time.monotonic() < deadline
        time.sleep(0.2)
        if checkpoint.exists():
            steps = torch.load(checkpoint, weights_only=True)["position"][0]
    workers = children_of(begun.pid)
    assert len(workers) == 2
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline  # they end with the run
        time.sleep(0.2)
    killed_at = torch.load(checkpoint, weights_only=True)["position"][0]
    done = subprocess.run(
        command(parts, tmp_path, 20), cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert f"going on from step {killed_at}," in done.stdout
    out = tmp_path / "out"
    assert sorted(file.name for file in out.iterdir()) == [
        *("curve.jsonl", "evaluation.json", "model.safetensors.0", "run.json")
    ]
    figures = json.loads((out / "evaluation.json").read_text())
    before, after = (figures[name]["wikipedia"] for name in ("before", "after"))
    assert after["loss"] < before["loss"] - 0.2
    weights = load((out / "model.safetensors.0").read_bytes())
    facts = json.loads((out / "run.json").read_text())
    assert facts["step"] >= killed_at and len(weights) == 4 * 16 + 14


def test_a_pass_reads_every_row_once_and_the_next_one_in_another_order() -> None:
    total, n_rows = 20 * ROW + 7, 8
    a_pass = (total - ROW - 1) // ROW
    starts = np.concatenate([rows_of(step, n_rows, total, 0) for step in range(10)])
    for passed in (starts[:a_pass], starts[a_pass : 2 * a_pass]):
        assert sorted(np.diff(np.sort(passed))) == [ROW] * (a_pass - 1)
        assert passed.min() >= 0 and passed.max() + ROW + 1 <= total
    assert (starts[:a_pass] != starts[a_pass : 2 * a_pass]).any()


def test_a_tiny_decoder_learns_by_the_clock_and_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, name in enumerate(("text", "held")):
        (tmp_path / name).write_text("\n".join(paragraphs(seed, 300 // (1 + 5 * seed))))

    def call(module: ModuleType, *words: object) -> None:
        monkeypatch.setattr(sys, "argv", [str(module.__file__), *map(str, words)])
        module.main()

    data, parts, out, model = (tmp_path / name for name in ("data", "parts", "out", "model"))
    sets = ["--set", "wikipedia", tmp_path / "text", "--held", "wikipedia", tmp_path / "held"]
    call(text, "--out", data, "--vocabulary", 400, *sets)
    call(decoder, "pack", "--data", data, "--out", parts)
    changes = ["model.layers=2", "model.heads=2", "model.width=32", "batch.step_tokens=1024"]
    changes += ["train.muon_lr=1e-2", "train.peak_lr=1e-2"]
    overrides = [word for change in changes for word in ("--set", change)]
    options = ["--device", "cpu", "--no-compile", "--log-steps", 5, "--every", 2, "--reserve", 3]
    place = ["--parts", parts, "--out", out, "--work", tmp_path / "work"]
    # Its clock begins with its process, where importing torch takes all of it on a busy machine.
    monkeypatch.setattr(loop, "BEGUN", time.monotonic())
    call(decoder, "train", *place, "--seconds", 12, *options, *overrides)
    figures = json.loads((out / "evaluation.json").read_text())
    before, after = (figures[name]["wikipedia"] for name in ("before", "after"))
    assert after["loss"] < before["loss"] - 0.5

    call(decoder, "join", out, "--data", data, "--folder", model)
    analysis = aw.analyze("The river runs through the town", model=model, progress=False)
    assert analysis.run is not None and analysis.run.encoder.family.name == "llama"
    assert analysis.tokens[0].special
    weights = load((out / "model.safetensors.0").read_bytes())
    own = analysis.run.encoder.model.state_dict()
    for name, value in weights.items():
        assert (own[name].half() == value).all()
