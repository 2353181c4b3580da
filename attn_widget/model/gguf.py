"""GGUF files: read once, converted to a folder of `transformers` in the cache, and opened from there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attn_widget.checks import first_line
from attn_widget.errors import InputError, ModelLoadError
from attn_widget.host.cache import CACHE_VARIABLE, cache_folder
from attn_widget.host.caller_warning import warn_caller
from attn_widget.host.notice import tell
from attn_widget.host.store import (
    LEFT_OVER,
    SUMS,
    check_sums,
    checksum,
    locked,
    read_json,
    remove_left_overs,
    write_folder,
    write_json,
)
from attn_widget.model.config import check_config
from attn_widget.model.families import is_decoder
from attn_widget.model.gguf_header import is_sound_header

MAGIC = b"GGUF"
INSTALL_READER = "pip install gguf"
RECORD = "conversion.json"  # which file a folder was made of, and by which rules
FORMAT = 2  # 1 had no record, and took files that lack tensors
BLOCK = re.compile(r"(?:^|\.)blk\.(\d+)\.")
EXPERTS = re.compile(r"_(exps|projs)\.")  # which `transformers` divides by rules of its own
OTHER_FILE = "Get the file again, or give a folder that save_pretrained() wrote."


def converted(file: Path) -> Path:
    """Folder of ``file`` as `transformers` saves a model, float32: from the cache, else made now.

    A folder in the cache is used only if its files are those that were written. One call at a time converts.

    Raises `ModelLoadError`: no GGUF file, one that is cut off, incomplete or of a kind that `transformers` does not
    read, no package ``gguf``, or no room in the cache.

    Warns
    -----
    UserWarning
        A folder in the cache is damaged, and is made again.
    """
    with file.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            raise ModelLoadError(f"{str(file)!r} is no GGUF file: it does not begin with 'GGUF'.")
    if not is_sound_header(file):
        raise _unreadable(file, "its header names more than it holds")
    total = checksum(file)
    record = {"format": FORMAT, "sha256": total}
    folder = cache_folder() / "gguf" / f"{file.stem}-{total[:16]}"
    _clean(folder.parent)
    if not folder.is_dir() or _damage(folder, record):
        try:
            with locked(folder.parent, CACHE_VARIABLE, wait=True):
                _convert(file, folder, record)
        except InputError as error:  # the folder of the lock cannot be made
            raise ModelLoadError(error.message, error.hint) from error
    return folder


def _clean(cache: Path) -> None:
    """Remove what killed calls left, unless another one is at work."""
    if cache.is_dir() and any(LEFT_OVER.fullmatch(path.name) for path in cache.iterdir()):
        with suppress(InputError), locked(cache, CACHE_VARIABLE):
            remove_left_overs(cache)


def _damage(folder: Path, record: Mapping[str, Any]) -> str:
    """Damage of a folder of the cache in one sentence; empty if it is as it was written for ``record``."""
    try:
        if read_json(folder / RECORD, "") != record:
            return f"{str(folder)!r} was converted by an earlier version."
        read_json(folder / SUMS, "")
        check_sums(folder, "")
    except ModelLoadError as error:
        return error.message
    return ""


def _convert(file: Path, folder: Path, record: Mapping[str, Any]) -> None:
    """Write the folder of ``file``; the caller holds the lock of the cache."""
    if folder.is_dir():
        if not (damage := _damage(folder, record)):
            return  # another call was first
        warn_caller(f"{damage} It is converted again.")
    if find_spec("gguf") is None:
        raise ModelLoadError(
            f"{file.name!r} is a GGUF file, and the package gguf is not installed.",
            f"Run: {INSTALL_READER}",
        )
    from safetensors import SafetensorError

    tell(f"Converting {file.stem}")
    model, tokenizer = _read(file)

    def fill(part: Path) -> None:
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)
        write_json(part / RECORD, record)

    try:
        write_folder(folder, fill)
    except (OSError, SafetensorError) as error:
        raise ModelLoadError(
            f"The conversion of {file.name!r} cannot be kept in {str(folder.parent)!r}: "
            f"{getattr(error, 'strerror', None) or first_line(error)}.",
            f"Make room there, or name another folder: {CACHE_VARIABLE}."
            + (f" Delete this folder, which is damaged: {folder}" if folder.exists() else ""),
        ) from error


def _read(file: Path) -> tuple[Any, Any]:
    """Model (float32) and tokenizer of a GGUF file."""
    import torch
    from transformers import (
        AutoConfig,
        AutoModel,
        AutoModelForCausalLM,
        AutoModelForSeq2SeqLM,
        AutoTokenizer,
    )

    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    try:
        config = AutoConfig.from_pretrained(**where)
        check_config(config, file.stem)
        tokenizer = AutoTokenizer.from_pretrained(**where)
        cls: Any = AutoModelForCausalLM if is_decoder(config.model_type) else AutoModel
        if getattr(config, "is_encoder_decoder", False):
            cls = AutoModelForSeq2SeqLM
        with torch.inference_mode(False):
            model, info = cls.from_pretrained(
                **where, dtype=torch.float32, output_loading_info=True
            )
            _check_complete(file, model, sorted(map(str, info["missing_keys"])))
            return _unquantized(model), tokenizer
    except (ModelLoadError, MemoryError):
        raise
    except Exception as error:  # of transformers, gguf and numpy, by what is wrong with the file
        raise _unreadable(file, first_line(error)) from error


def _unreadable(file: Path, reason: str) -> ModelLoadError:
    return ModelLoadError(
        f"The GGUF file {file.name!r} cannot be read ({reason}).",
        "It may be cut off: get it again. Or give a folder that save_pretrained() wrote.",
    )


def _check_complete(file: Path, model: Any, missing: list[str]) -> None:
    """Refuse a file that is not the whole of ``model``, or of which ``model`` leaves something out."""
    from gguf import GGUFReader, dequantize
    from transformers import modeling_gguf_pytorch_utils as reading

    reader: Any = GGUFReader(file)
    architecture = reader.get_field("general.architecture").contents()
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    blocks = {int(match[1]) for name in tensors if (match := BLOCK.search(name))}
    n_blocks, n_layers = max(blocks, default=-1) + 1, model.config.num_hidden_layers
    if n_blocks != n_layers:
        raise ModelLoadError(
            f"The GGUF file {file.name!r} has tensors of {n_blocks} blocks, and its block_count is {n_layers}.",
            OTHER_FILE,
        )
    if missing:
        raise ModelLoadError(
            f"The GGUF file {file.name!r} lacks tensors of its model ({len(missing)}, among them {missing[0]}).",
            OTHER_FILE,
        )
    processor = reading.TENSOR_PROCESSORS.get(architecture, reading.TensorProcessor)(config={})
    known = reading.get_gguf_hf_weights_map(model, processor)

    def is_read(name: str) -> bool:
        if name in known or name.removesuffix(".weight") in known or EXPERTS.search(name):
            return True
        neutral = {"rope_freqs.weight": 1}.get(name, 0 if name.endswith(".bias") else None)
        if neutral is None:
            return False
        return bool((dequantize(tensors[name].data, tensors[name].tensor_type) == neutral).all())

    left_out = [name for name in tensors if not is_read(name)]
    scaling = reader.get_field(f"{architecture}.rope.scaling.factor")
    rope = getattr(model.config, "rope_parameters", None) or {}
    if scaling is not None and scaling.contents() != 1 and rope.get("rope_type") == "default":
        left_out.append(scaling.name)
    if left_out:
        raise ModelLoadError(
            f"transformers leaves out what the GGUF file {file.name!r} holds ({len(left_out)}, among them "
            f"{left_out[0]}), so that another model would be shown.",
            "Give a folder that save_pretrained() wrote.",
        )


def _unquantized(model: Any) -> Any:
    """The same weights in a new model: one that was read from GGUF counts as quantized, and is not saved."""
    settings = {k: v for k, v in model.config.to_dict().items() if k != "quantization_config"}
    plain = type(model)(type(model.config).from_dict(settings))
    plain.load_state_dict(model.state_dict())
    return plain
