"""Fine-tuning by `transformers.Trainer`: our batches, loss and rates, and a callback for the rest.

`Trainer` runs the loop; `Progress` moves the bar, scores each epoch, stops early and writes checkpoints.
"""

from __future__ import annotations

import copy
import math
import random
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from torch.nn import functional
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Sampler

from attn_widget.errors import InputError
from attn_widget.features.tasks.batches import Examples, shuffled
from attn_widget.features.tasks.checkpoint import Store
from attn_widget.features.tasks.metrics import WORST, rank
from attn_widget.features.tasks.passes import figures, precision, predict
from attn_widget.features.tasks.state import State

LARGEST_GRADIENT = 1.0  # norm of all gradients together, as in Devlin et al. (2019)
BETAS = (0.9, 0.999)
SAVE_EVERY = 60.0  # seconds of training that a kill may cost
SMOOTHING = 0.9  # share of the earlier batches in the loss behind the bar


@dataclass(frozen=True)
class Settings:
    """Checked options of `fit_classifier`."""

    head: str
    pooling: str | None  # None: the head has none
    lr_encoder: float
    lr_head: float
    weight_decay: float
    dropout: float | None  # None: the head's own
    warmup: float
    epochs: int
    batch_size: int
    patience: int
    max_length: int
    truncation: bool
    seed: int


@dataclass(frozen=True)
class Labelled:
    """Tokenized texts with their classes, int64 [n]."""

    examples: Examples
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


def rate_share(batch: int, n_batches: int, warmup: float) -> float:
    """Share of the full rates in a batch: a linear rise, then a linear fall to 0 after the last.

    ``batch``: 0 is the first of the training. ``n_batches``: of all epochs. ``warmup``: share of the batches in
    which the rates rise, 0 to below 1.

    >>> [round(rate_share(i, 10, 0.2), 3) for i in range(10)]
    [0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]
    >>> rate_share(0, 3, 0.0)
    1.0
    """
    rising = warmup * n_batches
    rise = (batch + 1) / rising if rising else 1.0
    return min(1.0, rise, (n_batches - batch) / (n_batches - rising))


def build_optimizer(model: Any, fresh: frozenset[str], settings: Settings) -> torch.optim.AdamW:
    """AdamW; ``fresh`` parameters learn at ``lr_head``, and no bias or LayerNorm decays."""
    groups: list[dict[str, Any]] = []
    for new in (False, True):
        for decays in (True, False):
            chosen = [
                p
                for name, p in model.named_parameters()
                if (name in fresh) == new and (p.ndim >= 2) == decays
            ]
            rate = settings.lr_head if new else settings.lr_encoder
            decay = settings.weight_decay if decays else 0.0
            groups.append({"params": chosen, "lr": rate, "initial_lr": rate, "weight_decay": decay})
    return torch.optim.AdamW(groups, betas=BETAS, fused=True)


def fine_tune(
    model: Any,
    fresh: frozenset[str],
    train: Labelled,
    validation: Labelled | None,
    settings: Settings,
    store: Store | None,
    *,
    progress: bool,
) -> State:
    """Train from the first batch, or from where a checkpoint left it; the model gets the best epoch's weights.

    ``model``: a sequence classifier; it is trained in place. ``fresh``: its parameters that learn at ``lr_head``.
    ``validation``: decides when to stop and which epoch's weights are kept. ``store``: where checkpoints go.
    ``progress``: show a bar.
    """
    from tqdm.auto import tqdm

    batches = Batches(train.examples.lengths, settings)
    optimizer = build_optimizer(model, fresh, settings)
    state = None if store is None else store.restore(model, optimizer)
    resumed = None if store is None or state is None else store.found
    if state is None:
        state = State(0, 0, no_logits(model, train), [])
    if state.finished:
        return state
    bar = tqdm(
        total=settings.epochs * len(batches),
        initial=state.epoch * len(batches) + state.step,
        desc=f"fit_classifier ({settings.head})",
        unit="batch",
        disable=not progress,
    )
    with bar, tempfile.TemporaryDirectory() as folder, random_numbers_kept():
        callback = Progress(model, batches, train, validation, settings, store, state, bar)
        if not callback.over():
            trainer = ClassifierTrainer(optimizer, callback, folder)
            trainer.train(resume_from_checkpoint=None if resumed is None else str(resumed))
        callback.keep_best()
    return state


def no_logits(model: Any, train: Labelled) -> NDArray[np.float32]:
    return np.full((len(train), model.config.num_labels), np.nan, dtype=np.float32)


@contextmanager
def random_numbers_kept() -> Generator[None]:
    """The user's own random numbers stay as they are: `Trainer` seeds those of Python, numpy and torch."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


class Batches(Sampler[list[int]]):
    """Indices of the texts of each batch of ``epoch``, in an order that the seed decides."""

    def __init__(self, lengths: Sequence[int], settings: Settings) -> None:
        self.lengths = lengths
        self.size, self.seed = settings.batch_size, settings.seed
        self.epoch = 0

    def __len__(self) -> int:
        return math.ceil(len(self.lengths) / self.size)

    def __iter__(self) -> Iterator[list[int]]:
        yield from shuffled(self.lengths, self.size, (self.seed, self.epoch))


class ClassifierTrainer(transformers.Trainer):
    """`Trainer` with batches of like lengths, two learning rates, and dropout that can be redone."""

    def __init__(self, optimizer: torch.optim.Optimizer, progress: Progress, folder: str) -> None:
        self.progress = progress
        model, settings, state = progress.model, progress.settings, progress.state
        per_epoch = len(progress.batches)
        done, total = state.epoch * per_epoch + state.step, settings.epochs * per_epoch
        schedule = LambdaLR(
            optimizer, lambda batch: rate_share(batch, total, settings.warmup), done - 1
        )
        arguments = transformers.TrainingArguments(
            folder,  # nothing is written there: `Progress` keeps the checkpoints
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch_size,
            max_grad_norm=LARGEST_GRADIENT,
            seed=settings.seed % 2**32,  # dropout has seeds of its own
            use_cpu=model.device.type == "cpu",
            disable_tqdm=True,
            logging_strategy="no",
            save_strategy="no",
            report_to="none",
        )
        super().__init__(model, arguments, callbacks=[progress], optimizers=(optimizer, schedule))
        self.remove_callback(transformers.PrinterCallback)

    def get_train_dataloader(self) -> DataLoader[Any]:
        progress = self.progress
        indices: Any = range(len(progress.train))
        return DataLoader(indices, batch_sampler=progress.batches, collate_fn=self._collate)

    def _collate(self, indices: list[int]) -> dict[str, torch.Tensor]:
        train = self.progress.train
        return {
            "indices": torch.tensor(indices),
            "classes": torch.from_numpy(train.labels[indices]),
            **train.examples.batch(indices, torch.device("cpu")),
        }

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], *_options: Any, **_names: Any
    ) -> torch.Tensor:
        """Mean cross-entropy of a batch; its dropout depends on the seed and its place alone."""
        place, seed = self.progress.state, self.progress.settings.seed
        indices, labels = inputs.pop("indices"), inputs.pop("classes")
        sequence = np.random.SeedSequence((seed, place.epoch, place.step))
        torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0]) >> 1)
        with precision(model):
            logits = model(**inputs).logits
        loss = functional.cross_entropy(logits.float(), labels)
        if not torch.isfinite(loss):
            raise InputError(
                f"The loss is {float(loss.detach())} in epoch {place.epoch + 1}, batch {place.step + 1}: "
                "training has diverged.",
                "Lower lr_encoder or lr_head, and see that the encoder's own weights are finite.",
            )
        place.logits[indices.cpu().numpy()] = logits.detach().float().cpu().numpy()
        self.progress.loss = float(loss.detach())
        return loss

    def floating_point_ops(self, inputs: dict[str, Any]) -> int:
        """Not counted: nothing reads it."""
        return 0


@dataclass(eq=False, repr=False)
class Progress(transformers.TrainerCallback):
    """The bar, the record of each epoch, when to stop, and checkpoints."""

    model: Any
    batches: Batches
    train: Labelled
    validation: Labelled | None
    settings: Settings
    store: Store | None
    state: State
    bar: Any
    loss: float = math.nan  # of the latest batch
    saved: float = field(default_factory=time.monotonic)
    _best_weights: dict[str, torch.Tensor] | None = None
    _recent: float | None = None  # loss, smoothed

    def over(self) -> bool:
        """All epochs done, or none of the last ``patience`` better than the one before them."""
        state = self.state
        waited = state.epoch - state.best
        stopped = self.validation is not None and waited >= self.settings.patience
        return state.epoch >= self.settings.epochs or (state.epoch > 0 and stopped)

    def on_train_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        if self.store is not None:
            # `Trainer` reads the file of weights without the renaming that `from_pretrained` knows
            self.store.restore_weights(self.model)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        self.batches.epoch = self.state.epoch
        self.saved = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        place = self.state
        recent = self.loss if self._recent is None else self._recent
        self._recent = SMOOTHING * recent + (1 - SMOOTHING) * self.loss
        place.step += 1
        self.bar.set_postfix(self._shown(), refresh=False)
        self.bar.update()
        last = place.step == len(self.batches)
        if self.store is not None and not last and time.monotonic() - self.saved >= SAVE_EVERY:
            self.store.save(self.model, parts["optimizer"], place, state)
            self.saved = time.monotonic()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        place, settings, per_epoch = self.state, self.settings, len(self.batches)
        share = rate_share(
            (place.epoch + 1) * per_epoch - 1, settings.epochs * per_epoch, settings.warmup
        )
        record: dict[str, Any] = {
            "epoch": place.epoch + 1,
            "lr_encoder": share * settings.lr_encoder,
            "lr_head": share * settings.lr_head,
            "train": figures(self.train.labels, place.logits),
            "validation": None,
        }
        if self.validation is not None:
            logits = predict(self.model, self.validation.examples, fast=True)
            record["validation"] = figures(self.validation.labels, logits)
        place.history.append(record)
        place.epoch, place.step = place.epoch + 1, 0
        place.logits = no_logits(self.model, self.train)
        if self.validation is None:
            place.best = place.epoch
        elif self._is_best():
            place.best = place.epoch
            self._best_weights = copy.deepcopy(self.model.state_dict())
            if self.store is not None:
                self.store.save_best(self.model, place.epoch)
        if self.store is not None and not self.over():
            self.store.save(self.model, parts["optimizer"], place, state)
        control.should_training_stop = self.over()
        self.bar.set_postfix(self._shown())

    def keep_best(self) -> None:
        """The best epoch's weights, in the model and in the checkpoint."""
        state = self.state
        state.finished = True
        if state.best != state.epoch:
            if self._best_weights is not None:
                self.model.load_state_dict(self._best_weights)
            else:  # it was reached before the kill
                assert self.store is not None
                self.store.restore_best(self.model, state.best)
        if self.store is not None:
            self.store.save(self.model, None, state, None)

    def _is_best(self) -> bool:
        return rank(self.state.history[-1]) > max(map(rank, self.state.history[:-1]), default=WORST)

    def _shown(self) -> dict[str, str]:
        """Text behind the progress bar."""
        shown = {"epoch": f"{min(self.state.epoch + 1, self.settings.epochs)}"}
        if self._recent is not None:
            shown["loss"] = f"{self._recent:.3f}"
        if self.state.history and self.validation is not None:
            shown["validation loss"] = f"{self.state.history[-1]['validation']['loss']:.3f}"
        return shown
