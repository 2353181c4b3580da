"""Attention weights of many texts of one length, from one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import layer_modules
from attn_widget.trace.capture import capturing, plain_attention
from attn_widget.trace.forward import on_device

if TYPE_CHECKING:
    import torch


# Called with the number of a layer and its weights, float32 [texts, H, n, n].
VisitBatch = Callable[[int, NDArray[np.float32]], None]


class NotBatchedError(Exception):
    """These texts must be read one by one: a mask, a bias, or numbers that are not finite."""


def batchable(encoder: Encoder) -> bool:
    """True if `visit_batch` can see the attention of this family."""
    has_layers = layer_modules(encoder.family, encoder.network) is not None
    # Heads are switched off, and pieces put in, in the thread that asks; batches run in several.
    changed = bool(encoder.heads_off) or encoder.patch is not None
    return has_layers and encoder.family.mechanism == "dispatch" and not changed


@contextmanager
def one_thread() -> Generator[None]:
    """Products of matrices on one thread: on more their last bits depend on how many there are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


def joined(encodings: Sequence[Encoding]) -> dict[str, torch.Tensor]:
    """The inputs of texts of one length as those of a batch."""
    import torch

    return {
        name: torch.cat([encoding.inputs[name] for encoding in encodings])
        for name in encodings[0].inputs
    }


def visit_batch(encoder: Encoder, inputs: dict[str, torch.Tensor], visit: VisitBatch) -> None:
    """Run the encoder, without the heads above it, and show each layer's weights as it attends.

    The caller holds `inference_mode`; several threads may be in here at once.

    ``inputs``, dict of str to int64 tensor [texts, n]: without padding.
    """
    import torch

    n = inputs["input_ids"].shape[1]
    seen = 0

    def record(
        module: Any, query: Any, key: Any, _value: Any, mask: Any, kwargs: dict[str, Any]
    ) -> None:
        nonlocal seen
        scaling = plain_attention(module, query, key, mask, kwargs)
        if scaling is None or query.shape[2] != n:
            raise NotBatchedError
        scores = torch.matmul(query.float() * scaling, key.float().transpose(2, 3))
        if not torch.isfinite(scores.sum()):
            raise NotBatchedError
        visit(seen, scores.softmax(dim=-1).cpu().numpy())
        seen += 1

    with torch.no_grad(), capturing(encoder, record):  # of this thread alone
        hidden = encoder.network.base_model(**on_device(encoder, inputs), return_dict=True)[0]
    if seen != encoder.n_layers or not torch.isfinite(hidden.sum()):
        raise NotBatchedError
