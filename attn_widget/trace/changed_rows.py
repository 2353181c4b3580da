"""Copies of a text that differ in some rows: linear maps leave out the rows that they share with the first copy."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode


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
        if func is not functional.linear or kwargs or args[0].dim() != 3 or args[0].shape[:2] != self.shape:  # fmt: skip
            return func(*args, **(kwargs or {}))
        some = func(args[0].flatten(0, 1)[self.rows], *args[1:])
        return some[self.places].unflatten(0, self.shape)
