"""A running average of a model's weights, which reads better than the weights at a high rate do.

At a constant rate the average is about as good as the weights after a decay (Izmailov et al. 2018,
https://arxiv.org/abs/1803.05407), so that a run can be looked at and stopped anywhere, and go on from there.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch import Tensor


class Average:
    """The mean of the weights since the beginning; of the last ``horizon`` tokens or so once more were seen.

    Examples
    --------
    >>> model = torch.nn.Linear(1, 1)
    >>> average = Average(model, 1000.0)
    >>> for value in (1.0, 2.0, 3.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     average.add(model, 10)
    >>> with average.inside(model):
    ...     print(round(float(model.weight), 4))
    2.0
    >>> float(model.weight)
    3.0
    """

    def __init__(self, model: torch.nn.Module, horizon: float) -> None:
        self.horizon = horizon
        self.tokens = 0.0
        self._own = {
            name: torch.zeros_like(value, requires_grad=False)
            for name, value in model.named_parameters()
        }

    @torch.no_grad()
    def add(self, model: torch.nn.Module, tokens: int) -> None:
        """Take in the weights after a step of ``tokens`` tokens."""
        self.tokens += tokens
        share = min(1.0, tokens / min(self.tokens, self.horizon))
        for name, value in model.named_parameters():
            self._own[name].lerp_(value, share)

    @contextmanager
    def inside(self, model: torch.nn.Module) -> Generator[None]:
        """Let ``model`` have the averaged weights; its own come back at the end. Nothing changes before `add`."""
        if not self.tokens:
            yield
            return
        self._swap(model)
        try:
            yield
        finally:
            self._swap(model)

    @torch.no_grad()
    def write(self, model: torch.nn.Module) -> None:
        """Give ``model`` the averaged weights, if there are any."""
        if self.tokens:
            for name, value in model.named_parameters():
                value.copy_(self._own[name])

    @torch.no_grad()
    def _swap(self, model: torch.nn.Module) -> None:
        for name, value in model.named_parameters():
            own = value.clone()
            value.copy_(self._own[name])
            self._own[name].copy_(own)

    def state_dict(self) -> dict[str, float | dict[str, Tensor]]:
        return {"tokens": self.tokens, "weights": self._own}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, float | dict[str, Tensor]]) -> None:
        weights, tokens = state["weights"], state["tokens"]
        assert isinstance(weights, dict) and not isinstance(tokens, dict)
        self.tokens = tokens
        for name, value in self._own.items():
            value.copy_(weights[name])
