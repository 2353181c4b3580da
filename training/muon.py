"""Muon: momentum whose matrix-shaped steps are made orthogonal before they are taken.

Every direction of a weight matrix then moves at the same speed, where AdamW lets a few large ones
lead. Jordan et al. 2024 (https://kellerjordan.github.io/posts/muon/), with the scale of Liu et al. 2025
(https://arxiv.org/abs/2502.16982). `torch.optim.Muon` computes in bfloat16, which a CPU without
bfloat16 units does 6 times slower than float32; here all matrices of one shape go together, in the
precision that the hardware is fast at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # Jordan et al. 2024: steepest at 0
STEPS = 5
EPS = 1e-7


def orthogonalise(matrices: Tensor) -> Tensor:
    """Bring the singular values of ``[k, rows, columns]`` matrices near 1, all but the smallest.

    A Newton-Schulz iteration: five times ``a X + (b A + c A A) X`` with ``A = X X^T``.

    >>> torch.manual_seed(0) and None
    >>> values = torch.linalg.svdvals(orthogonalise(torch.randn(2, 8, 16)))
    >>> bool((values > 0.6).all() and (values < 1.3).all())
    True
    """
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.transpose(1, 2) if tall else matrices
    x = x / (torch.linalg.matrix_norm(x, keepdim=True) + EPS)
    for _ in range(STEPS):
        product = x @ x.transpose(1, 2)
        x = torch.baddbmm(
            x, torch.baddbmm(product, product, product, beta=b, alpha=c), x, beta=a, alpha=1
        )
    return x.transpose(1, 2) if tall else x


class Muon(torch.optim.Optimizer):
    """Muon with Nesterov momentum; for 2-D weights inside the network, not for embeddings.

    ``lr`` is on AdamW's scale: a step's root mean square is ``0.2 lr``, whatever the shape.
    ``dtype`` is what the iteration computes in; weights and momentum keep theirs.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Take one step; parameters without a gradient stay. There is no closure to call."""
        assert closure is None
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    shapes[parameter.shape].append(parameter)
            for (rows, columns), parameters in shapes.items():
                directions = [self._direction(p, group["momentum"]) for p in parameters]
                scale = 0.2 * max(rows, columns) ** 0.5 * group["lr"]
                updates = orthogonalise(torch.stack(directions).to(self.dtype))
                for parameter, update in zip(parameters, updates, strict=True):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.sub_(update.to(parameter.dtype), alpha=scale)

    def _direction(self, parameter: Tensor, momentum: float) -> Tensor:
        gradient = parameter.grad
        assert gradient is not None
        state = self.state[parameter]
        average: Tensor = state.setdefault("momentum_buffer", torch.zeros_like(gradient))
        average.lerp_(gradient, 1 - momentum)
        return gradient.lerp(average, momentum)
