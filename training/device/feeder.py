"""Processes that fill steps ahead of the device, in memory that they share with it."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np
import torch

from training.corpus import Mixture
from training.device.packed import Packed, fill
from training.settings import Settings

AHEAD = 3  # steps that each process may be ahead


class Feeder:
    """Iterates over the steps from ``first`` on: each step the arrays of `Packed`, as tensors that are valid until the next.

    Worker w of W fills the steps w, w + W, ...: what a step holds does not depend on the number of workers.
    """

    def __init__(
        self, mixture: Mixture, settings: Settings, rows: int, first: int, workers: int
    ) -> None:
        _ = mixture.is_frequent, mixture.is_name  # once, before the workers get their copies
        for split in mixture.shares["named"]:
            _ = mixture.parts[split].naming
        context = multiprocessing.get_context("fork")
        self._slots = [[shared(rows) for _ in range(AHEAD)] for _ in range(workers)]
        self._free = [context.Semaphore(AHEAD) for _ in range(workers)]
        self._full = [context.Semaphore(0) for _ in range(workers)]
        self._steps = itertools.count()
        self._last: int | None = None
        seed = settings["train"]["seed"]
        self._workers = [
            context.Process(
                target=work,
                args=(mixture, settings["batch"], seed, first + number, workers),
                kwargs={"slots": slots, "free": free, "full": full},
                daemon=True,
            )
            for number, (slots, free, full) in enumerate(
                zip(self._slots, self._free, self._full, strict=True)
            )
        ]
        for worker in self._workers:
            worker.start()

    def __iter__(self) -> Feeder:
        return self

    def __next__(self) -> list[torch.Tensor]:
        if self._last is not None:
            self._free[self._last].release()
        step = next(self._steps)
        self._last = worker = step % len(self._workers)
        while not self._full[worker].acquire(timeout=5):
            if not self._workers[worker].is_alive():
                raise RuntimeError(f"worker {worker}, which fills step {step}, has ended")
        slot = self._slots[worker][step // len(self._workers) % AHEAD]
        return [torch.from_numpy(array) for array in slot.arrays()]

    def close(self) -> None:
        for worker in self._workers:
            worker.terminate()


def shared(rows: int) -> Packed:
    """A `Packed` in memory that processes share."""
    arrays: list[np.ndarray] = []
    for shape, dtype in Packed.layout(rows):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        arrays.append(np.frombuffer(RawArray("b", size), dtype).reshape(shape))
    return Packed(*arrays)


def work(
    mixture: Mixture,
    settings: dict[str, Any],
    seed: int,
    step: int,
    stride: int,
    *,
    slots: list[Packed],
    free: Any,
    full: Any,
) -> None:
    torch.set_num_threads(1)
    parent = os.getppid()
    for slot in itertools.cycle(slots):
        while not free.acquire(timeout=2):
            if os.getppid() != parent:  # it was killed
                return
        fill(mixture, settings, (seed, step), slot)
        full.release()
        step += stride
