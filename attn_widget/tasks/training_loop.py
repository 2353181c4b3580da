"""The training loop: AdamW at two learning rates, batch by batch, resumable at any of them."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from attn_widget.errors import InputError
from attn_widget.tasks.batches import Examples, by_length, shuffled
from attn_widget.tasks.metrics import WORST, rank, score
from attn_widget.tasks.state import State

if TYPE_CHECKING:
    from attn_widget.tasks.checkpoint import Store

LARGEST_GRADIENT = 1.0  # norm of all gradients together, as in Devlin et al. (2019)
BETAS = (0.9, 0.999)
SAVE_EVERY = 60.0  # seconds of training that a kill may cost
TEXTS_AT_ONCE = 64  # of a pass without gradients
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


# DeBERTa masks its scores with the least float32, which is none of bfloat16.
FLOAT32_ONLY = frozenset({"deberta"})


@contextmanager
def precision(model: Any) -> Generator[None]:
    """bfloat16 autocast where the hardware multiplies it and the model can; float32 elsewhere."""
    # A text CNN holds its encoder as a model of its own.
    configs = (getattr(module, "config", None) for module in model.modules())
    families = {getattr(config, "model_type", "") for config in configs}
    able = has_bfloat16(model.device) and not families & FLOAT32_ONLY
    with torch.autocast(model.device.type, torch.bfloat16, enabled=able):
        yield


def has_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 is faster than float32: CUDA that has it, CPUs with AMX or AVX512-BF16."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        return False
    # no public name tells; where bfloat16 is emulated it is slower than float32
    names = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in names)


def rate_share(batch: int, n_batches: int, warmup: float) -> float:
    """Share of the full rates in a batch: a linear rise, then a linear fall to 0 after the last.

    Parameters
    ----------
    batch : int
        0 is the first of the training.
    n_batches : int
        Of all epochs.
    warmup : float
        Share of the batches in which the rates rise, 0 to below 1.

    Examples
    --------
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
            groups.append({"params": chosen, "lr": rate, "base_lr": rate, "weight_decay": decay})
    return torch.optim.AdamW(groups, betas=BETAS, fused=True)


def predict(
    model: Any, examples: Examples, batch_size: int = TEXTS_AT_ONCE, *, fast: bool = False
) -> NDArray[np.float32]:
    """Logits of every text, float32 [n, classes], with dropout off and without gradients.

    ``fast`` computes them as training does (`precision`), to fewer digits where that is bfloat16.
    """
    found = np.empty((len(examples), model.config.num_labels), dtype=np.float32)
    was_training = model.training
    model.eval()
    computed = precision(model) if fast else nullcontext()
    with torch.inference_mode(), computed:
        for indices in by_length(examples.lengths, batch_size):
            logits = model(**examples.batch(indices, model.device)).logits
            found[indices] = logits.float().cpu().numpy()
    model.train(was_training)
    return found


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """By row, float32."""
    return torch.from_numpy(logits).softmax(1).numpy()


def figures(labels: NDArray[np.int64], logits: NDArray[np.float32]) -> dict[str, Any]:
    """Loss and the four metrics."""
    loss = functional.cross_entropy(torch.from_numpy(logits).double(), torch.from_numpy(labels))
    return {"loss": float(loss), **asdict(score(labels, softmax(logits)))}


class Training:
    """One fine-tuning, from its first batch or from where a checkpoint left it.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        A sequence classifier; it is trained in place.
    fresh : frozenset of str
        Its parameters that learn at ``lr_head``.
    train : Labelled
    validation : Labelled or None
        Decides when to stop and which epoch's weights are kept.
    settings : Settings
    store : Store or None
        Where checkpoints go.
    """

    def __init__(
        self,
        model: Any,
        fresh: frozenset[str],
        train: Labelled,
        validation: Labelled | None,
        settings: Settings,
        store: Store | None,
    ) -> None:
        self.model = model
        self.train = train
        self.validation = validation
        self.settings = settings
        self.store = store
        self.optimizer = build_optimizer(model, fresh, settings)
        self.state = State(0, 0, self._no_logits(), [])
        self._best_weights: dict[str, torch.Tensor] | None = None
        self._recent: float | None = None  # loss, smoothed

    def run(self, progress: bool) -> State:
        """Train to the end; afterwards the model has the weights of the best epoch."""
        from tqdm.auto import tqdm

        resumed = None if self.store is None else self.store.restore(self.model, self.optimizer)
        if resumed is not None:
            self.state = resumed
        state, settings = self.state, self.settings
        if state.finished:
            return state
        per_epoch = math.ceil(len(self.train) / settings.batch_size)
        bar = tqdm(
            total=settings.epochs * per_epoch,
            initial=state.epoch * per_epoch + state.step,
            desc=f"fit_classifier ({settings.head})",
            unit="batch",
            disable=not progress,
        )
        # The user's own random numbers stay as they are.
        devices = [self.model.device] if self.model.device.type == "cuda" else []
        with bar, torch.random.fork_rng(devices):
            while not self._over():
                self._epoch(bar)
            self._finish()
        return state

    def _over(self) -> bool:
        """All epochs done, or none of the last ``patience`` better than the one before them."""
        state = self.state
        waited = state.epoch - state.best
        stopped = self.validation is not None and waited >= self.settings.patience
        return state.epoch >= self.settings.epochs or (state.epoch > 0 and stopped)

    def _epoch(self, bar: Any) -> None:
        state, settings = self.state, self.settings
        batches = shuffled(
            self.train.examples.lengths, settings.batch_size, (settings.seed, state.epoch)
        )
        self.model.train()
        saved = time.monotonic()
        while state.step < len(batches):
            done = state.epoch * len(batches) + state.step
            share = rate_share(done, settings.epochs * len(batches), settings.warmup)
            for group in self.optimizer.param_groups:
                group["lr"] = share * group["base_lr"]
            loss = self._step(batches[state.step])
            recent = loss if self._recent is None else self._recent
            self._recent = SMOOTHING * recent + (1 - SMOOTHING) * loss
            state.step += 1
            bar.set_postfix(self._shown(), refresh=False)
            bar.update()
            last = state.step == len(batches)
            if self.store is not None and not last and time.monotonic() - saved >= SAVE_EVERY:
                self.store.save(self.model, self.optimizer, state)
                saved = time.monotonic()
        self._end_epoch()
        bar.set_postfix(self._shown())

    def _step(self, indices: Sequence[int]) -> float:
        """One batch; its dropout depends on the seed and its place alone, so that it can be redone."""
        state, settings, device = self.state, self.settings, self.model.device
        place = np.random.SeedSequence((settings.seed, state.epoch, state.step))
        torch.manual_seed(int(place.generate_state(1, np.uint64)[0]) >> 1)
        labels = torch.from_numpy(self.train.labels[indices]).to(device)
        with precision(self.model):
            logits = self.model(**self.train.examples.batch(indices, device)).logits
        loss = functional.cross_entropy(logits.float(), labels)
        if not torch.isfinite(loss):
            raise InputError(
                f"The loss is {float(loss.detach())} in epoch {state.epoch + 1}, batch {state.step + 1}: "
                "training has diverged.",
                "Lower lr_encoder or lr_head, and see that the encoder's own weights are finite.",
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), LARGEST_GRADIENT)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        state.logits[indices] = logits.detach().float().cpu().numpy()
        return float(loss.detach())

    def _end_epoch(self) -> None:
        state = self.state
        record: dict[str, Any] = {
            "epoch": state.epoch + 1,
            "lr_encoder": self.optimizer.param_groups[0]["lr"],
            "lr_head": self.optimizer.param_groups[2]["lr"],
            "train": figures(self.train.labels, state.logits),
            "validation": None,
        }
        if self.validation is not None:
            logits = predict(self.model, self.validation.examples, fast=True)
            record["validation"] = figures(self.validation.labels, logits)
        state.history.append(record)
        state.epoch, state.step, state.logits = state.epoch + 1, 0, self._no_logits()
        if self.validation is None:
            state.best = state.epoch
        elif self._is_best():
            state.best = state.epoch
            self._best_weights = copy.deepcopy(self.model.state_dict())
            if self.store is not None:
                self.store.save_best(self.model, state.epoch)
        if self.store is not None and not self._over():
            self.store.save(self.model, self.optimizer, state)

    def _is_best(self) -> bool:
        return rank(self.state.history[-1]) > max(map(rank, self.state.history[:-1]), default=WORST)

    def _finish(self) -> None:
        """The best epoch's weights, in the model and in the checkpoint."""
        self.state.finished = True
        if self.state.best != self.state.epoch:
            if self._best_weights is not None:
                self.model.load_state_dict(self._best_weights)
            else:  # it was reached before the kill
                assert self.store is not None
                self.store.restore_best(self.model, self.state.best)
        if self.store is not None:
            self.store.save(self.model, None, self.state)

    def _no_logits(self) -> NDArray[np.float32]:
        shape = (len(self.train), self.model.config.num_labels)
        return np.full(shape, np.nan, dtype=np.float32)

    def _shown(self) -> dict[str, str]:
        """Text behind the progress bar."""
        shown = {"epoch": f"{min(self.state.epoch + 1, self.settings.epochs)}"}
        if self._recent is not None:
            shown["loss"] = f"{self._recent:.3f}"
        if self.state.history and self.validation is not None:
            shown["validation loss"] = f"{self.state.history[-1]['validation']['loss']:.3f}"
        return shown
