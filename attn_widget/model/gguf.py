"""GGUF files: read once, converted to a folder of `transformers` in the cache, and opened from there."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attn_widget.checks import first_line
from attn_widget.errors import ModelLoadError
from attn_widget.host.cache import CACHE_VARIABLE, cache_folder
from attn_widget.host.notice import tell
from attn_widget.host.store import write_folder
from attn_widget.model.config import check_config
from attn_widget.model.families import is_decoder

MAGIC = b"GGUF"
INSTALL_READER = "pip install gguf"
HASHED_AT_ONCE = 2**20


def converted(file: Path) -> Path:
    """Folder of ``file`` as `transformers` saves a model, float32: from the cache, else made now.

    Raises
    ------
    ModelLoadError
        No GGUF file, one that is cut off or of a kind that `transformers` does not read, no package ``gguf``, or no room in
        the cache.
    """
    with file.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            raise ModelLoadError(f"{str(file)!r} is no GGUF file: it does not begin with 'GGUF'.")
    folder = cache_folder() / "gguf" / f"{file.stem}-{_sum(file)[:16]}"
    if (folder / "config.json").is_file():
        return folder
    if find_spec("gguf") is None:
        raise ModelLoadError(
            f"{file.name!r} is a GGUF file, and the package gguf is not installed.",
            f"Run: {INSTALL_READER}",
        )
    tell(f"Converting {file.stem}")
    model, tokenizer = _read(file)

    def fill(part: Path) -> None:
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_folder(folder, fill)
    except OSError as error:
        raise ModelLoadError(
            f"The conversion of {file.name!r} cannot be kept in {str(folder.parent)!r}: "
            f"{error.strerror or error}.",
            f"Make room there, or name another folder: {CACHE_VARIABLE}.",
        ) from error
    return folder


def _read(file: Path) -> tuple[Any, Any]:
    """Model (float32) and tokenizer of a GGUF file."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    try:
        config = AutoConfig.from_pretrained(**where)
        check_config(config, file.stem)
        tokenizer = AutoTokenizer.from_pretrained(**where)
        cls: Any = AutoModelForCausalLM if is_decoder(config.model_type) else AutoModel
        with torch.inference_mode(False):
            model = cls.from_pretrained(**where, dtype=torch.float32)
            return _unquantized(model), tokenizer
    except (ModelLoadError, MemoryError):
        raise
    except Exception as error:  # of transformers, gguf and numpy, by what is wrong with the file
        reason = first_line(error)
        raise ModelLoadError(
            f"The GGUF file {file.name!r} cannot be read ({reason}).",
            "It may be cut off: get it again. Or give a folder that save_pretrained() wrote.",
        ) from error


def _unquantized(model: Any) -> Any:
    """The same weights in a new model: one that was read from GGUF counts as quantized, and is not saved."""
    settings = {k: v for k, v in model.config.to_dict().items() if k != "quantization_config"}
    plain = type(model)(type(model.config).from_dict(settings))
    plain.load_state_dict(model.state_dict())
    return plain


def _sum(file: Path) -> str:
    total = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(HASHED_AT_ONCE):
            total.update(block)
    return total.hexdigest()
