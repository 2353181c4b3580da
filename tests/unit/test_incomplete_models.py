"""Models of which something is missing or left out: refused, never filled up with random weights."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import attn_widget as aw
from attn_widget.errors import ModelLoadError
from attn_widget.features import tasks
from attn_widget.host import store
from attn_widget.model import gguf, places
from tests.unit import tiny_models

needs_gguf = pytest.mark.skipif(
    find_spec("gguf") is None,
    reason="gguf is not installed: pip install gguf",
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTN_WIDGET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gguf"


def made(tmp_path: Path, **changes: Any) -> tuple[Path, Any, Any]:
    from tests.unit.made_gguf import write_gguf

    file = tmp_path / "tiny.gguf"
    return file, *write_gguf(file, **changes)


def kept_folder(cache: Path) -> Path:
    (folder,) = (path for path in cache.iterdir() if path.is_dir())
    return folder


@needs_gguf
def test_a_whole_gguf_file_opens_with_the_weights_of_its_model(tmp_path: Path, cache: Path) -> None:
    file, model, _ = made(tmp_path)
    weights = aw.load(file, progress=False).model.state_dict()
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(weights[name], held) for name, held in model.state_dict().items())
    assert cache.is_dir()


@needs_gguf
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"without": ["blk.1.attn_q.weight"]}, r"lacks tensors .*layers\.1\.self_attn\.q_proj"),
        ({"without": ["output_norm.weight"]}, r"lacks tensors .*model\.norm\.weight"),
        ({"block_count": 2}, "of 3 blocks, and its block_count is 2"),
        ({"block_count": 4}, "of 3 blocks, and its block_count is 4"),
        ({"more": {"blk.0.attn_q.bias": np.ones(32, np.float32)}}, r"blk\.0\.attn_q\.bias"),
        ({"more": {"rope_freqs.weight": np.full(4, 8, np.float32)}}, r"rope_freqs\.weight"),
        ({"rope_factor": 4.0}, r"llama\.rope\.scaling\.factor"),
    ],
)
def test_a_gguf_file_that_is_not_all_of_a_model_is_refused(
    changes: dict[str, Any], reason: str, tmp_path: Path, cache: Path
) -> None:
    file, _, _ = made(tmp_path, **changes)
    with pytest.raises(ModelLoadError, match=reason):
        aw.load(file, progress=False)
    assert not [path for path in cache.iterdir() if path.is_dir()]


@needs_gguf
def test_a_header_that_names_more_than_the_file_holds_is_refused_at_once(
    tmp_path: Path, cache: Path
) -> None:
    from gguf import GGUFReader

    file, _, _ = made(tmp_path)
    whole = file.read_bytes()
    reader = GGUFReader(file)
    ends = reader.fields["tokenizer.ggml.token_type"]
    at = ends.offset + sum(int(part.nbytes) for part in ends.parts[:4])
    count = int(ends.parts[4][0])
    assert whole[at : at + 8] == count.to_bytes(8, "little")
    for where in (
        at,
        8,
        16,
    ):  # the length of an array of numbers, the counts of tensors and of fields
        damaged = bytearray(whole)
        damaged[where : where + 8] = (2**60).to_bytes(8, "little")
        file.write_bytes(damaged)
        with pytest.raises(ModelLoadError, match=r"cannot be read .* cut off"):
            aw.load(file, progress=False)


@needs_gguf
def test_what_changes_nothing_in_a_gguf_file_is_no_reason(tmp_path: Path, cache: Path) -> None:
    neutral = {"blk.0.attn_q.bias": np.zeros(32), "rope_freqs.weight": np.ones(4)}
    more = {name: values.astype(np.float32) for name, values in neutral.items()}
    file, _, _ = made(tmp_path, more=more, rope_factor=1.0)
    assert aw.load(file, progress=False).n_layers == 3


@needs_gguf
@pytest.mark.parametrize("damage", ["a bit", "a lost file", "lost sums", "an earlier version"])
def test_a_damaged_conversion_is_made_again(damage: str, tmp_path: Path, cache: Path) -> None:
    file, model, _ = made(tmp_path)
    aw.load(file, progress=False)
    folder = kept_folder(cache)
    weights = folder / "model.safetensors"
    if damage == "a bit":
        content = bytearray(weights.read_bytes())
        content[-2] ^= 1
        weights.write_bytes(content)
    else:
        lost = {"lost sums": store.SUMS, "an earlier version": gguf.RECORD}
        (folder / lost.get(damage, "config.json")).unlink()
    aw.unload()
    with pytest.warns(UserWarning, match="converted again"):
        again = aw.load(file, progress=False).model.state_dict()
    assert all(torch.equal(again[name], held) for name, held in model.state_dict().items())
    store.check_sums(folder, "")


@needs_gguf
def test_a_full_disk_is_named_and_what_a_killed_call_left_is_removed(
    tmp_path: Path, cache: Path
) -> None:
    file, _, _ = made(tmp_path)
    left = cache / ".12345678.part"
    left.mkdir(parents=True)
    (left / "model.safetensors").write_bytes(b"\0" * 1000)
    code = (  # a limit of the process on the size of a file stands for a full disk
        "import resource, signal, sys, attn_widget as aw\n"
        "from attn_widget.errors import ModelLoadError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "try:\n"
        "    aw.load(sys.argv[1], progress=False)\n"
        "except ModelLoadError as error:\n"
        "    print('refused:', error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False
    )
    if "No module named 'resource'" in run.stderr:
        pytest.skip("no limits of this kind here")
    assert "refused: The conversion of 'tiny.gguf' cannot be kept" in run.stdout, run.stderr
    assert "ATTN_WIDGET_CACHE" in run.stdout
    assert [path.name for path in cache.iterdir()] == []


@needs_gguf
def test_a_conversion_waits_for_another_one(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, _, _ = made(tmp_path)
    asked, released = threading.Event(), threading.Event()

    def sleep(_seconds: float) -> None:
        asked.set()
        released.wait()

    monkeypatch.setattr(store.time, "sleep", sleep)
    with ThreadPoolExecutor() as pool:
        with store.locked(cache, "cache"):
            other = pool.submit(gguf.converted, file)
            asked.wait()
            assert not [path for path in cache.iterdir() if path.is_dir()]
        released.set()
        assert other.result() == kept_folder(cache)


def saved(folder: Path, family: str, head: str = "ForMaskedLM", **config: Any) -> Path:
    for part in tiny_models.build(family, head):
        part.save_pretrained(folder)
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return folder


@pytest.mark.parametrize(
    ("family", "config", "named"),
    [
        ("bert", {"num_hidden_layers": 1}, r"encoder\.layer\.1"),
        ("gpt2", {"n_layer": 1}, r"h\.1"),
        ("llama", {"num_hidden_layers": 2}, r"layers\.2"),
        ("t5", {"num_layers": 1}, r"encoder\.block\.1"),
        ("qwen2", {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, r"_proj\.bias"),
    ],
)
def test_weights_that_the_config_leaves_out_are_named(
    family: str, config: dict[str, Any], named: str, tmp_path: Path
) -> None:
    folder = saved(tmp_path / "model", family, **config)
    with pytest.raises(ModelLoadError, match=rf"weights that its config leaves out .*{named}"):
        aw.load(folder, progress=False)


def test_weights_that_a_checkpoint_lacks_are_named_on_every_road(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(tmp_path / "models--a--b" / "snapshots" / "0", "bert")
    lost = lose_a_weight(folder, "layer.1.attention.self.query.weight")
    with pytest.raises(ModelLoadError, match=rf"lacks weights .*{lost}.*Save the model again"):
        aw.load(folder, progress=False)
    # A name on the hub, whose files lie in the hub's own cache.
    place = places.Place(str(folder), "a/b", False)
    monkeypatch.setattr("attn_widget.model.loading.locate", lambda *_: place)
    for module in ("places", "checkpoint"):
        monkeypatch.setattr(
            f"attn_widget.model.{module}.cached_config", lambda _: str(folder / "config.json")
        )
    cached = str(tmp_path / "models--a--b")
    with pytest.raises(ModelLoadError, match=f"lacks weights .*Delete this folder.*: {cached}"):
        aw.load("a/b", progress=False)


def test_a_classifier_that_lacks_weights_is_refused_also_without_its_sums(tmp_path: Path) -> None:
    model = tiny_models.build("bert")
    texts = ["a good cat", "a bad dog"]
    train: dict[str, Any] = {"epochs": 1, "progress": False}
    fitted = tasks.fit_classifier(model, texts, [0, 1], checkpoint=tmp_path / "c", **train)
    (kept,) = (path for path in (tmp_path / "c").iterdir() if path.is_dir())
    (kept / store.SUMS).unlink()
    lose_a_weight(kept, ".output.dense.weight")
    with pytest.raises(ModelLoadError, match="it lacks weights"):
        tasks.fit_classifier(model, texts, [0, 1], checkpoint=tmp_path / "c", **train)
    folder = fitted.save(tmp_path / "saved")
    lose_a_weight(folder, "classifier.weight")
    with pytest.raises(ModelLoadError, match="does not classify"):
        tasks.load_classifier(folder)


def lose_a_weight(folder: Path, ending: str) -> str:
    """Take one weight out of a folder; its name."""
    weights = load_file(folder / "model.safetensors")
    lost = next(name for name in weights if name.endswith(ending))
    del weights[lost]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return lost
