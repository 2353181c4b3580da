"""The masked words of held-out text, as `training.masked` chooses them, on the device."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from training.data import IGNORED
from training.device.flat import Flat, Step
from training.device.packed import MOST, ROW
from training.masked import LENGTH, masked_sequences

SHARE = ROW // LENGTH  # sequences of a row


def step_of(ids: torch.Tensor, labels: torch.Tensor, rows: int, device: torch.device) -> Step:
    """A step of at most ``rows`` rows from sequences of 128 tokens, padded to as many."""
    tokens = rows * ROW
    flat = torch.zeros(tokens, dtype=torch.int64)
    flat[: ids.numel()] = ids.flatten()
    own = torch.full((tokens,), IGNORED)
    own[: labels.numel()] = labels.flatten()
    places = torch.arange(tokens) % LENGTH
    starts = torch.full((rows * MOST + 1,), tokens, dtype=torch.int32)
    starts[: tokens // LENGTH] = torch.arange(0, tokens, LENGTH, dtype=torch.int32)
    nothing = torch.zeros(tokens, dtype=torch.int64)
    values = (flat, flat, own, places, nothing, torch.arange(tokens) - places)
    rest = (nothing.bool(), nothing + IGNORED, starts)
    return Step(*(value.to(device) for value in (*values, *rest)))


@torch.no_grad()
def evaluate(
    model: Flat, held: dict[str, np.ndarray], rows: int, limit: int | None
) -> dict[str, dict[str, float]]:
    """Loss (nats), top-1 and top-5 of each text; of ``limit`` tokens of it, or of all."""
    device = model.bias.device
    figures: dict[str, dict[str, float]] = {}
    for name, tokens in held.items():
        sequences = None if limit is None else max(1, limit // LENGTH)
        ids, labels = masked_sequences(tokens, len(model.bias), sequences)
        sums = torch.zeros(4, dtype=torch.float64)
        size = rows * SHARE
        for some_ids, some_labels in zip(ids.split(size), labels.split(size), strict=True):
            step = step_of(some_ids, some_labels, rows, device)
            chosen = (step.labels != IGNORED).nonzero()[:, 0]
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                hidden, _ = model.hidden(step, chosen, False)
                logits = model.logits(hidden).float()
            wanted = step.labels[chosen]
            hits = logits.topk(5).indices == wanted[:, None]
            loss = cross_entropy(logits, wanted, reduction="sum")
            parts = (len(wanted), loss, hits[:, 0].sum(), hits.sum())
            sums += torch.tensor([float(part) for part in parts], dtype=torch.float64)
        count, loss, first, five = sums.tolist()
        figures[name] = {"loss": loss / count, "top1": first / count, "top5": five / count}
        figures[name]["n_chosen"] = count
    return figures
