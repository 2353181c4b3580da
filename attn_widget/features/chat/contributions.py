"""Contributions of turns to each written token: those of the tokens (docs/influence.md), summed by turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from attn_widget.errors import NotAvailableError
from attn_widget.features.chat.turns import Turn
from attn_widget.features.why.decomposition import check_closes, decompositions
from attn_widget.features.why.passes import check_finite
from attn_widget.figures.arrays import Float32, Int32
from attn_widget.host.frames import Records, records
from attn_widget.trace.forward import Progress, on_device
from attn_widget.trace.run import Run


@dataclass(frozen=True)
class TurnContributions(Records):
    """The logit of each written token as a sum over turns: ``values.sum(1) + bias = logits``.

    Attributes
    ----------
    turns : tuple of Turn, length T
    positions : tuple of int, length W
        Of the written tokens; of a chat without a reply, one: the position after the last token.
    tokens : tuple of str, length W
        The tokens that are written; without a reply, the token that is likeliest to come.
    ids : int32 [W]
    logits : float32 [W]
    values : float32 [W, T]
        Contributions, in logits. Of a reply's own turn: of the tokens before this one in it.
    bias : float32 [W]
        Of all biases of the model together.
    first : float32 [W]
        Contribution of the text's first token, a part of its turn's: heads rest on it, whatever it says.
    """

    turns: tuple[Turn, ...]
    positions: tuple[int, ...]
    tokens: tuple[str, ...]
    ids: Int32
    logits: Float32
    values: Float32
    bias: Float32
    first: Float32

    @property
    def shares(self) -> Float32:
        """Shares of the turns in each written token by absolute contributions, float32 [W, T]; rows sum to 1."""
        sizes = np.abs(self.values.astype(np.float64))
        totals = sizes.sum(axis=1, keepdims=True)
        return (sizes / np.where(totals > 0, totals, 1)).astype(np.float32)

    @property
    def system(self) -> Float32:
        """Share of the system's turn in each written token, float32 [W]; 0 without one."""
        of_system = [turn.role == "system" for turn in self.turns]
        return self.shares[:, of_system].sum(axis=1)

    @property
    def gap(self) -> float:
        """Largest distance of a sum from its logit, relative to the contributions without their signs."""
        wide, bias = self.values.astype(np.float64), self.bias.astype(np.float64)
        sizes = np.abs(wide).sum(1) + np.abs(bias)
        missed = np.abs(wide.sum(1) + bias - self.logits)
        return float((missed / np.where(sizes > 0, sizes, 1)).max())

    def to_records(self) -> list[dict[str, Any]]:
        """One record for each written token and turn: ``position, token, turn, role, contribution, share, logit, bias``."""
        return records(
            position=np.array(self.positions)[:, None],
            token=np.array(self.tokens, dtype=object)[:, None],
            turn=np.array([turn.name for turn in self.turns], dtype=object),
            role=np.array([turn.role for turn in self.turns], dtype=object),
            contribution=self.values,
            share=self.shares,
            logit=self.logits[:, None],
            bias=self.bias[:, None],
        )

    def __repr__(self) -> str:
        means = ", ".join(
            f"{turn.name[:24]} {share:.2f}"
            for turn, share in zip(self.turns, self.shares.mean(axis=0), strict=True)
        )
        return f"TurnContributions({len(self.tokens)} tokens, mean shares: {means})"


def turn_contributions(
    run: Run, turns: Sequence[Turn], progress: Progress | None
) -> TurnContributions:
    """See `ChatFigures.contributions`: one forward pass, and one backward pass for each written token."""
    encoder, n = run.encoder, run.trace.n_tokens
    if not encoder.has_lm:
        raise NotAvailableError(f"{encoder.name} {encoder.lacks_lm}, so it writes no tokens.")
    ids, positions = run.encoding.text_ids, [*range(n - run.encoding.written, n)]
    if not positions:
        ids = [*ids, int(run.trace.logits_tensor([n - 1])[0].argmax())]
        positions = [n]
    chosen = [ids[position] for position in positions]
    logits: list[Any] = []

    def values() -> Any:
        inputs = on_device(encoder, run.encoding.inputs)
        rows = encoder.network(**inputs, return_dict=True)["logits"][0]
        at = torch.tensor([position - 1 for position in positions], device=rows.device)
        picked = rows[at, torch.tensor(chosen, device=rows.device)]
        logits.append(picked.detach())
        return picked

    by_token: list[Any] = []
    biases: list[float] = []
    for found in decompositions(run, values):
        by_token.append(found.values)
        biases.append(found.bias)
        if progress is not None:
            progress(len(biases), len(positions))
    check_finite(run, np.concatenate(by_token))
    starts = [turn.start for turn in turns]
    contributions = TurnContributions(
        turns=tuple(turns),
        positions=tuple(positions),
        tokens=tuple(encoder.token_texts(chosen)),
        ids=np.array(chosen, np.int32),
        logits=logits[0].float().cpu().numpy(),
        values=np.add.reduceat(np.stack(by_token), starts, axis=1).astype(np.float32),
        bias=np.array(biases, np.float32),
        first=np.stack(by_token)[:, 0].astype(np.float32),
    )
    check_closes(contributions.gap, "The contributions of turns", run)
    return contributions
