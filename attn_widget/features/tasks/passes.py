"""Passes without gradients: logits of many texts, and the precision that training computes in."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from attn_widget.features.tasks.batches import Examples, by_length
from attn_widget.features.tasks.metrics import score
from attn_widget.model.predictions import probabilities

TEXTS_AT_ONCE = 64  # of a pass without gradients

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
    """True if bfloat16 is faster than float32: CUDA that has it, CPUs with AMX or AVX512-BF16."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        return False
    # no public name tells; where bfloat16 is emulated it is slower than float32
    names = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in names)


def predict(model: Any, examples: Examples, *, fast: bool = False) -> NDArray[np.float32]:
    """Logits of every text, float32 [n, classes], with dropout off and without gradients.

    ``fast`` computes them as training does (`precision`), to fewer digits where that is bfloat16.
    """
    all_logits = np.empty((len(examples), model.config.num_labels), dtype=np.float32)
    was_training = model.training
    model.eval()
    computed = precision(model) if fast else nullcontext()
    with torch.inference_mode(), computed:
        for indices in by_length(examples.lengths, TEXTS_AT_ONCE):
            logits = model(**examples.batch(indices, model.device)).logits
            all_logits[indices] = logits.float().cpu().numpy()
    model.train(was_training)
    return all_logits


def figures(labels: NDArray[np.int64], logits: NDArray[np.float32]) -> dict[str, Any]:
    """Loss and the four metrics."""
    loss = functional.cross_entropy(torch.from_numpy(logits).double(), torch.from_numpy(labels))
    return {"loss": float(loss), **asdict(score(labels, probabilities(logits)))}
