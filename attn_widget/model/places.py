"""Where a model is: a folder, the local cache, the hub, or in this package."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attn_widget.checks import shown, stands_at
from attn_widget.errors import ModelLoadError
from attn_widget.host.json_file import parsed_object

MINI = Path(__file__).parents[1] / "mini"
EMBEDDED = "attn_widget/mini"  # the name of the model in it
CONFIG, ADAPTER = "config.json", "adapter_config.json"  # of a model; of PEFT
CHECKPOINT = re.compile(r"checkpoint-(\d+)")  # of `Trainer`
HUB_TIMEOUT = 5.0  # seconds to wait for the hub's first answer
OFFLINE_HINT = "The embedded model needs no network: load() or model=None."
ENCODERS_HINT = (
    "Use a BERT-family encoder such as bert-base-uncased, roberta-base or ModernBERT-base. "
    + OFFLINE_HINT
)


@dataclass(frozen=True)
class Place:
    """Where a checkpoint lies.

    Attributes
    ----------
    path : str
        A folder or a hub name: what `from_pretrained` takes.
    name : str
        What it is called on screen.
    is_folder : bool
    revision : str or None
        Branch, tag or commit on the hub.
    """

    path: str
    name: str
    is_folder: bool
    revision: str | None = None


def locate(model: str | Path | None, revision: str | None = None) -> Place:
    """The folder or hub name that ``model`` means; None is the embedded model.

    Raises
    ------
    ModelLoadError
        A path that is no folder, or a str that is neither a folder nor a possible hub name.
    """
    if model is None:
        if not (MINI / "model.safetensors").is_file():
            raise ModelLoadError(
                "The embedded model is missing from the installed package.",
                "Install attn_widget again, or name another model.",
            )
        return Place(str(MINI), EMBEDDED, True)
    text = str(model)
    folder = Path(text).expanduser()
    if text and stands_at(folder) == "folder":
        return _in_folder(folder.resolve())
    if isinstance(model, Path) or text.startswith((".", "/", "~")) or "\\" in text:
        what = "is a file" if stands_at(folder) else "does not exist"
        raise ModelLoadError(
            f"The folder {shorten(text)!r} {what}.",
            "Give the folder that save_pretrained() wrote, a hub name, or None.",
        )
    if not is_hub_name(text):
        raise ModelLoadError(
            f"{shorten(text)!r} is neither a folder nor a hub name such as 'bert-base-uncased'.",
            OFFLINE_HINT,
        )
    return Place(text, text, False, revision)


def _in_folder(folder: Path) -> Place:
    """The model in a folder: its own, or the newest checkpoint that `Trainer` wrote below it.

    Raises
    ------
    ModelLoadError
        An adapter without its model.
    """
    name = folder.name
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
            + (f" ({shown(base)})." if isinstance(base, str) else "."),
            "Load both, peft.PeftModel.from_pretrained(base_model, folder), and pass (model, tokenizer).",
        )
    return Place(str(folder), name, True)


def stamp_of(folder: str | Path) -> tuple[Any, ...]:
    """Name, size, time and inode of each file: equal as long as none is written again. Empty where there is no folder."""
    try:
        with os.scandir(folder) as entries:
            files = [(entry.name, entry.stat()) for entry in entries if entry.is_file()]
    except (OSError, ValueError):
        return ()  # a hub name; where a folder cannot be read, loading it names the failure
    return tuple(sorted((name, at.st_size, at.st_mtime_ns, at.st_ino) for name, at in files))


def is_hub_name(text: str) -> bool:
    """Whether the hub can have a model of this name."""
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
            f"{place.name!r} has no config.json, so it is not a transformers model.", ENCODERS_HINT
        ) from error
    except Exception as error:  # each HTTP library has its own; all mean that nothing came back
        raise ModelLoadError(
            f"{place.name!r} is not in the local cache, and the hub cannot be reached.",
            "Check the name and the network, or give a folder. " + OFFLINE_HINT,
        ) from error
