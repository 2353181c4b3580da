"""Copies of a text that differ in some rows: linear maps leave out the rows that they share with the first copy."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attn_widget.model.encoder import Encoder
from attn_widget.trace.hooks import hooked


class ChangedRows(TorchFunctionMode):
    """Linear maps of a batch [B, n, d] read copy 0, and of each other copy the rows of ``changed``; the rest is as in copy 0.

    ``changed``, bool [B, n]: rows that may differ from those of copy 0. With a causal mask these are the rows from the change
    on, half of all where each copy changes another token.

    >>> changed = torch.tensor([[True, True], [False, True]])
    >>> with ChangedRows(changed):
    ...     functional.linear(torch.tensor([[[1.0], [2.0]], [[1.0], [5.0]]]), torch.tensor([[3.0]])).tolist()
    [[[3.0], [6.0]], [[3.0], [15.0]]]
    """

    def __init__(self, changed: torch.Tensor) -> None:
        super().__init__()
        self.shape = changed.shape
        n = changed.shape[1]
        changed = changed.clone()
        changed[0] = True
        self.rows = changed.flatten().nonzero()[:, 0]
        own = changed.flatten().cumsum(0).view(self.shape) - 1
        self.places = torch.where(changed, own, torch.arange(n, device=own.device)).flatten()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        # An encoder-decoder's source and a router's rows of tokens have another shape, and are read whole.
        if func is not functional.linear or kwargs or not self._whole(args[0]):
            return func(*args, **(kwargs or {}))
        return self._spread(func(self._picked(args[0]), *args[1:]))

    @contextmanager
    def in_feed_forwards(self, encoder: Encoder, layers: Iterable[Any]) -> Generator[None]:
        """Feed-forward networks that are one module compute everything for those rows alone: activations, too."""
        block = encoder.family.block
        name = ""
        if (
            block is not None and not block.experts and not encoder.patch
        ):  # pieces are of whole copies
            name = block.ffn_output.rpartition(".")[0]

        def pick(_module: Any, args: Any, kwargs: Any) -> Any:
            if kwargs or len(args) != 1 or not self._whole(args[0]):
                return None
            return (self._picked(args[0])[None],), kwargs

        def spread(_module: Any, args: Any, _kwargs: Any, output: Any) -> Any:
            picked = len(args) == 1 and args[0].shape[:2] == (1, len(self.rows))
            return self._spread(output[0]) if picked else None

        with hooked(
            [layer.get_submodule(name) for layer in layers if name], before=pick, after=spread
        ):
            yield

    def _whole(self, tensor: Any) -> bool:
        return tensor.dim() == 3 and tensor.shape[:2] == self.shape

    def _picked(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.flatten(0, 1)[self.rows]

    def _spread(self, rows: torch.Tensor) -> torch.Tensor:
        return rows[self.places].unflatten(0, self.shape)
