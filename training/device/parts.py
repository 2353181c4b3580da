"""Packed corpora and weights as compressed parts that travel in several journeys, and back.

Run: ``python -m training.device.parts --data RUN/data --weights attn_widget/mini --out PARTS``. It writes folders ``PARTS/1``,
``PARTS/2``, ... of at most 58 MiB, each with the ``manifest.json`` of all. `unpack` needs every folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import shutil
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from training.corpus import Corpus, Mixture
from training.settings import Settings

FOLDER_BYTES = 58 << 20
CHUNK_BYTES = 16 << 20  # before compression: so large a piece, so that cores share the work
HELD = "held-"  # prefix of the splits that are evaluated on
WEIGHTS = "model.safetensors"


def compress(content: bytes) -> bytes:
    # most of it is numbers of two bytes each
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lp": 1, "pb": 1}]
    return lzma.compress(content, filters=filters)


def files_of(data: Path, splits: list[str], weights: Path) -> dict[str, bytes]:
    """Content to pack, by file name: tokens, lengths of sentences and names of each split, and the weights."""
    whole = {WEIGHTS: (weights / WEIGHTS).read_bytes()}
    for split in splits:
        corpus = Corpus.open(data, split)
        whole[f"{split}.tokens"] = corpus.tokens.tobytes()
        if not split.startswith(HELD):
            whole[f"{split}.lengths"] = np.diff(corpus.sentences).astype(np.uint16).tobytes()
            whole[f"{split}.names"] = corpus.names.tobytes()
    return whole


def write_parts(files: dict[str, bytes], out: Path) -> list[Path]:
    """Write the folders; returns them."""
    pieces = {
        f"{name}.{number}": content[start : start + CHUNK_BYTES]
        for name, content in files.items()
        for number, start in enumerate(range(0, max(1, len(content)), CHUNK_BYTES))
    }
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        packed = dict(zip(pieces, pool.map(compress, pieces.values()), strict=True))
    manifest = {name: hashlib.sha256(content).hexdigest() for name, content in pieces.items()}
    shutil.rmtree(out, ignore_errors=True)
    folders: list[Path] = []
    left = 0
    for name, content in packed.items():
        if len(content) > left:
            folders.append(out / str(len(folders) + 1))
            folders[-1].mkdir(parents=True)
            (folders[-1] / "manifest.json").write_text(json.dumps(manifest, indent=1))
            left = FOLDER_BYTES
        (folders[-1] / f"{name}.xz").write_bytes(content)
        left -= len(content)
    return folders


def _read(item: tuple[Path, str]) -> bytes:
    file, digest = item
    content = lzma.decompress(file.read_bytes())
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(
            f"{file} is damaged: its content does not match the manifest. Send it again."
        )
    return content


def unpack(parts: Path) -> dict[str, bytes]:
    """The content of all files by name, of everything that was packed into subfolders of ``parts``.

    Raises
    ------
    FileNotFoundError
        If a folder or a file of the manifest has not arrived.
    ValueError
        If a file's content is not that of the manifest.
    """
    files = {file.stem: file for file in parts.glob("*/*.xz")}
    manifests = sorted(parts.glob("*/manifest.json"))
    if not manifests:
        raise FileNotFoundError(f"no parts in {parts}: expected folders 1, 2, ... by `write_parts`")
    manifest: dict[str, str] = {}
    for file in manifests:
        manifest |= json.loads(file.read_text())
    if missing := sorted(set(manifest) - set(files)):
        raise FileNotFoundError(
            f"{len(missing)} of {len(manifest)} files have not arrived in {parts}, such as "
            f"{missing[0]}.xz: send the folders that are missing, then begin again."
        )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        read = pool.map(_read, [(files[name], digest) for name, digest in manifest.items()])
        whole: defaultdict[str, bytes] = defaultdict(bytes)
        for name, content in zip(manifest, read, strict=True):  # chunks of a file follow each other
            whole[name.rpartition(".")[0]] += content
    return dict(whole)


def mixture_of(files: dict[str, bytes], settings: Settings) -> Mixture:
    """The corpora that ``settings`` gives a share."""

    def array(name: str) -> np.ndarray:
        return np.frombuffer(files[name], np.uint16)

    def corpus(split: str) -> Corpus:
        lengths = array(f"{split}.lengths").astype(np.int64)
        sentences = np.concatenate([[0], np.cumsum(lengths)])
        nothing = np.zeros(0, np.int64)  # training does not read where paragraphs begin
        return Corpus(array(f"{split}.tokens"), sentences, nothing, array(f"{split}.names"))

    return Mixture.from_settings(settings, corpus)


def held_of(files: dict[str, bytes]) -> dict[str, np.ndarray]:
    """The tokens to evaluate on, by name; uint16."""
    return {
        name.removeprefix(HELD).removesuffix(".tokens"): np.frombuffer(content, np.uint16)
        for name, content in files.items()
        if name.startswith(HELD)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="what `training.prepare` wrote")
    parser.add_argument("--weights", type=Path, required=True, help="an exported folder")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    splits = sorted(file.stem for file in arguments.data.glob("*.tokens"))
    for folder in write_parts(files_of(arguments.data, splits, arguments.weights), arguments.out):
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{folder}  {size / 2**20:.1f} MiB  {len(list(folder.iterdir()))} files")


if __name__ == "__main__":
    main()
