"""Checkpoints: weights, tokenizer, optimizer and place, together or not at all, and no pickle.

A checkpoint folder holds ``checkpoint.json`` (what the training depends on), one ``epoch-<e>-batch-<b>``
(where it stands) and, until the end, ``best-<e>`` (the best epoch so far). Each of the latter is a
folder that `transformers` loads.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from attn_widget.checks import first_line
from attn_widget.errors import InputError, ModelLoadError
from attn_widget.features.tasks.state import State
from attn_widget.host.store import (
    LEFT_OVER,
    LOCK,
    check_identity,
    check_sums,
    read_json,
    write_folder,
    write_json,
)
from attn_widget.model.checkpoint import quiet

if TYPE_CHECKING:
    from transformers import TrainerState

FORMAT = 3  # 1: rates that fell by steps; 2: without the state of `Trainer`
IDENTITY = "checkpoint.json"
STATE = "state.json"
TENSORS = "state.safetensors"
WEIGHTS = "model.safetensors"
TRAINER = "trainer_state.json"  # by which `Trainer` finds its place
RECORD = "fit.json"  # of a saved classifier
TOKENIZER = "tokenizer.json"  # every fast tokenizer writes it
PLACE = re.compile(r"epoch-(\d+)-batch-(\d+)")
BEGIN_AGAIN = "Pass resume=False to begin again in this folder, or restore the file."
OURS = re.compile(rf"epoch-\d+-batch-\d+|best-\d+|{LEFT_OVER.pattern}")


class Store:
    """A checkpoint folder of one training. The caller holds its lock (`locked`).

    ``identity``: what the training depends on, as JSON; a checkpoint of another identity is refused. ``tokenizer``:
    saved next to the weights, each time. ``resume``: False: what the folder holds of an earlier training is
    removed. Raises `InputError`: the folder holds something else, or a training of other data or settings. Raises
    `ModelLoadError`: its checkpoint lacks the tokenizer or another file.
    """

    def __init__(
        self, folder: Path, identity: dict[str, Any], tokenizer: Any, *, resume: bool
    ) -> None:
        self.folder = folder
        self.tokenizer = tokenizer
        file = folder / IDENTITY
        if not file.is_file():
            _remove(folder, keep=(), of=LEFT_OVER)
            if any(path.name != LOCK for path in folder.iterdir()):
                raise InputError(
                    f"The folder {str(folder)!r} is not empty and holds no checkpoint of "
                    "fit_classifier.",
                    "Give an empty folder, or one that does not exist yet.",
                )
        elif resume:
            _check_training(folder, read_json(file, BEGIN_AGAIN), identity)
        else:
            _remove(folder, keep=())
            file.unlink()
        try:
            write_json(file, {**identity, "format": FORMAT})
        except OSError as error:
            raise InputError(
                f"checkpoint={str(folder)!r} cannot be written: {error.strerror or error}.",
                "Give a folder that you may write to.",
            ) from error
        self.found = _newest(folder)
        if self.found is not None:
            for name in (STATE, TENSORS, "config.json", WEIGHTS):
                _need(self.found, name)
            need_tokenizer(self.found)
            check_sums(self.found, BEGIN_AGAIN)

    def restore(self, model: Any, optimizer: torch.optim.Optimizer) -> State | None:
        """Load the newest checkpoint into both; None when there is none."""
        if self.found is None:
            return None
        data = read_json(self.found / STATE, BEGIN_AGAIN)
        tensors = load_file(self.found / TENSORS)
        self.restore_weights(model)
        if not data["finished"]:
            _need(self.found, TRAINER)
            parameters = dict(model.named_parameters())
            for full_name, value in tensors.items():
                key, _, name = full_name.partition("/")
                if name:
                    parameter = parameters[name]
                    # AdamW is fused: its count of steps is stored with the parameter too
                    optimizer.state[parameter][key] = value.to(parameter.device)
        return State(**data, logits=tensors["logits"].numpy())

    def restore_weights(self, model: Any) -> None:
        """Load the newest checkpoint's weights, where there is one."""
        if self.found is not None:
            _load_weights(model, self.found)

    def restore_best(self, model: Any, epoch: int) -> None:
        """Load the weights that `save_best` kept."""
        best = self.folder / f"best-{epoch}"
        check_sums(best, BEGIN_AGAIN)
        _load_weights(model, best)

    def save_best(self, model: Any, epoch: int) -> None:
        """Keep the weights of the best epoch so far; the ones before it go with the next `save`."""
        self._write(f"best-{epoch}", lambda folder: save_model(folder, model, self.tokenizer))

    def save(self, model: Any, optimizer: Any, state: State, place: TrainerState | None) -> None:
        """Keep where training stands; ``optimizer`` and ``place`` are None when it is over."""
        tensors = {"logits": torch.from_numpy(state.logits)}
        if optimizer is not None:
            for name, parameter in model.named_parameters():
                held = optimizer.state[parameter]
                tensors.update({f"{key}/{name}": value for key, value in held.items()})
        data = {name: value for name, value in vars(state).items() if name != "logits"}

        def write(folder: Path) -> None:
            save_model(folder, model, self.tokenizer)
            save_file(tensors, folder / TENSORS)
            write_json(folder / STATE, data)
            if place is not None:
                place.save_to_json(str(folder / TRAINER))

        name = f"epoch-{state.epoch}-batch-{state.step}"
        self._write(name, write)
        # A batch's end and its epoch's end have different names, so the old one stays until here.
        _remove(self.folder, keep=(name,) if state.finished else (name, f"best-{state.best}"))

    def _write(self, name: str, fill: Callable[[Path], None]) -> None:
        try:
            write_folder(self.folder / name, fill)
        except (OSError, SafetensorError) as error:
            raise InputError(
                f"The checkpoint in {str(self.folder)!r} cannot be written: {first_line(error)}.",
                "The previous one is intact: free some disk space and call again.",
            ) from error


def save_model(folder: Path, model: Any, tokenizer: Any) -> None:
    """Weights, configuration and tokenizer, as `from_pretrained` reads them."""
    with quiet("", progress=False):
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def write_model(target: Path, model: Any, tokenizer: Any, record: dict[str, Any]) -> Path:
    """A classifier's folder, whole or not at all; an earlier classifier there is replaced."""
    if target.is_dir() and any(target.iterdir()) and not (target / RECORD).is_file():
        raise InputError(
            f"The folder {str(target)!r} is not empty and holds no fitted classifier.",
            "Give an empty folder, or one that does not exist yet.",
        )

    def fill(folder: Path) -> None:
        save_model(folder, model, tokenizer)
        write_json(folder / RECORD, record)

    try:
        write_folder(target, fill)
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"{str(target)!r} cannot be written: {getattr(error, 'strerror', None) or error}.",
            "Give a folder whose parent exists and is writable.",
        ) from error
    return target


def need_tokenizer(folder: Path) -> None:
    """Refuse a folder of weights without their tokenizer."""
    if not (folder / TOKENIZER).is_file():
        raise ModelLoadError(
            f"The folder {str(folder)!r} has no {TOKENIZER}: without the tokenizer that the weights "
            "were trained with they cannot be used.",
            "Put it there (tokenizer.save_pretrained(folder)), or train again.",
        )


def _load_weights(model: Any, folder: Path) -> None:
    with quiet("", progress=False):
        saved, info = type(model).from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, output_loading_info=True
        )
    if missing := sorted(map(str, (*info["missing_keys"], *info["mismatched_keys"]))):
        raise ModelLoadError(
            f"The folder {str(folder)!r} is damaged: it lacks weights ({len(missing)}, among them {missing[0]}).",
            BEGIN_AGAIN,
        )
    model.load_state_dict(saved.state_dict())


def _check_training(folder: Path, stored: dict[str, Any], identity: dict[str, Any]) -> None:
    if stored.get("format") != FORMAT:
        raise InputError(
            f"The checkpoint in {str(folder)!r} has format {stored.get('format')!r}; this version "
            f"reads {FORMAT}.",
            "Give another folder, or resume=False to begin again in this one.",
        )
    check_identity(
        stored,
        identity,
        f"The checkpoint in {str(folder)!r} is of another training",
        "Give another folder, the same data and settings, or resume=False to begin again in this one.",
    )


def _newest(folder: Path) -> Path | None:
    places = {
        (int(match[1]), int(match[2])): path
        for path in folder.iterdir()
        if (match := PLACE.fullmatch(path.name))
    }
    return places[max(places)] if places else None


def _remove(folder: Path, keep: tuple[str, ...], of: re.Pattern[str] = OURS) -> None:
    for path in folder.iterdir():
        if of.fullmatch(path.name) and path.name not in keep:
            if path.is_file():
                path.unlink()
            else:
                shutil.rmtree(path, ignore_errors=True)


def _need(folder: Path, name: str) -> None:
    if not (folder / name).is_file():
        raise ModelLoadError(
            f"The checkpoint {str(folder)!r} has no {name}.",
            "Pass resume=False to begin again in this folder.",
        )
