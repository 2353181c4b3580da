"""Which parameter is moved by which optimizer."""

from __future__ import annotations

from typing import Any

import torch
from transformers import BertForPreTraining

from training.muon import Muon


class Optimizers:
    """One or two optimizers that step, save and load as one."""

    def __init__(self, parts: list[torch.optim.Optimizer]) -> None:
        self.parts = parts
        self._peaks = [[group["lr"] for group in part.param_groups] for part in parts]

    def set_share(self, share: float) -> None:
        """Set every rate to this share of its peak."""
        for part, peaks in zip(self.parts, self._peaks, strict=True):
            for group, peak in zip(part.param_groups, peaks, strict=True):
                group["lr"] = share * peak

    def step(self) -> None:
        for part in self.parts:
            part.step()
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, Any]]:
        return [part.state_dict() for part in self.parts]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        for part, state in zip(self.parts, states, strict=True):
            part.load_state_dict(state)


def build_optimizers(
    model: BertForPreTraining, settings: dict[str, Any], bf16: bool = False
) -> Optimizers:
    """AdamW without decay on biases and LayerNorms.

    With ``optimizer = "muon"`` the matrices of the encoder's layers go to Muon, which computes in
    bfloat16 if ``bf16``.

    Raises
    ------
    ValueError
        ``optimizer`` is neither ``"adamw"`` nor ``"muon"``.
    """
    if settings["optimizer"] not in ("adamw", "muon"):
        raise ValueError(f"unknown optimizer {settings['optimizer']!r}: one of 'adamw', 'muon'")
    muon = settings["optimizer"] == "muon"
    inner = {id(p) for p in model.bert.encoder.parameters() if p.ndim == 2} if muon else set[int]()
    others = [p for p in model.parameters() if id(p) not in inner]
    parts: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(
            [
                {
                    "params": [p for p in others if p.ndim >= 2],
                    "weight_decay": settings["weight_decay"],
                },
                {"params": [p for p in others if p.ndim < 2], "weight_decay": 0.0},
            ],
            lr=settings["peak_lr"],
            betas=(settings["beta1"], settings["beta2"]),
            eps=settings["eps"],
            fused=True,
        )
    ]
    if muon:
        matrices = [p for p in model.parameters() if id(p) in inner]
        decay = settings["weight_decay"]
        dtype = torch.bfloat16 if bf16 else torch.float32
        parts.append(Muon(matrices, settings["muon_lr"], weight_decay=decay, dtype=dtype))
    return Optimizers(parts)
