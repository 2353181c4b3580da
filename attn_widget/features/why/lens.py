"""Logit lens: each layer's hidden state read by the language-model head (docs/influence.md, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from attn_widget.errors import NotAvailableError
from attn_widget.features.why.bound_target import BoundTarget
from attn_widget.features.why.passes import check_finite
from attn_widget.features.why.targets import Target
from attn_widget.figures.arrays import Float32, Int32
from attn_widget.host.frames import Records, records
from attn_widget.model.families import final_norm_of
from attn_widget.trace.forward import inference_mode
from attn_widget.trace.run import Run


@dataclass(frozen=True)
class LogitLens(Records):
    """A target as each layer's hidden state would have it; entry 0 is of the embeddings.

    The head was trained on the last layer alone: earlier entries are not calibrated.

    Attributes
    ----------
    target : Target
    values : float32 [L + 1]
        The target's logit, or difference of logits.
    probabilities : float32 [L + 1]
        Softmax over the vocabulary of the target's first word piece.
    ranks : int32 [L + 1]
        Rank of that word piece, 1 the likeliest.
    """

    target: Target
    values: Float32
    probabilities: Float32
    ranks: Int32

    def to_records(self) -> list[dict[str, Any]]:
        """One record a layer: ``layer, value, probability, rank``; layer 0 is the embeddings."""
        layers = np.arange(len(self.values))
        return records(
            layer=layers, value=self.values, probability=self.probabilities, rank=self.ranks
        )

    def __repr__(self) -> str:
        first = next((i for i, rank in enumerate(self.ranks) if rank == 1), None)
        reached = "never first" if first is None else f"first after {first} layers"
        return f"LogitLens({self.target}, {reached})"


def logit_lens(run: Run, target: Target, bound: BoundTarget) -> LogitLens:
    """Read every layer's state at the target's position; see `attn_widget.analysis.Analysis.why.logit_lens`."""
    encoder = run.encoder
    head = encoder.family.lm
    if bound.kind != "token":
        raise NotAvailableError(
            "The logit lens reads states with the language-model head, and this target is not a word piece.",
            "Take target(position=..., token=...).",
        )
    if head is None:
        raise NotAvailableError(
            f"The language-model head of {encoder.name} cannot be taken by itself, so it reads no layer."
        )
    states = run.trace.hidden_states
    assert states is not None  # of every run
    network = encoder.network
    norm = final_norm_of(encoder.family, network)  # pre-norm: before the head
    with inference_mode(encoder):
        hidden = torch.from_numpy(np.array(states[:, bound.position]))
        hidden = hidden.to(encoder.device, encoder.dtype)
        if norm is not None:
            hidden = torch.cat([norm(hidden[:-1]), hidden[-1:]])
        logits = head(network, hidden).double()
        chosen = logits[:, bound.plus]
        ranks = 1 + (logits > chosen[:, None]).sum(dim=-1)
        values = check_finite(run, bound.of(logits).cpu().numpy())
        shares = bound.probability_of_first(logits)
    return LogitLens(
        target=target,
        values=values.astype(np.float32),
        probabilities=shares.cpu().numpy().astype(np.float32),
        ranks=ranks.cpu().numpy().astype(np.int32),
    )
