"""Effects of parts: each is replaced where it is written, and the network runs on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attn_widget.checks import check_callable, check_choice, check_count, indices_in
from attn_widget.errors import NotAvailableError
from attn_widget.features.qk.attribution import QKAttribution
from attn_widget.features.qk.cell import Cell, double
from attn_widget.features.qk.split import SIDES, Part, Side
from attn_widget.features.qk.table import Effect, Effects
from attn_widget.figures.arrays import Float64
from attn_widget.trace.forward import Progress, copies_of, inference_mode, on_device
from attn_widget.trace.heads_off import PieceKind, visiting
from attn_widget.trace.softmax_tap import SoftmaxMode

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder

MOST = 10
TOKENS_AT_ONCE = 2048


def total_effects(
    found: QKAttribution,
    k: int = 5,
    side: Side = "key",
    wanted: Any = (),
    progress: Progress | None = None,
) -> Effects:
    """See `QKAttribution.total_effects`."""
    check_choice(side, "side", SIDES)
    check_callable(progress, "progress")
    parts, sums = found.parts(side)
    cell: Cell = found.cell
    if cell.kept.run.encoder.parts:
        raise NotAvailableError(
            f"{cell.kept.run.encoder.name} is an encoder-decoder, whose total effects are not known here."
        )
    direct = _of_tokens(found) if found.by == "tokens" else sums
    can = [at for at, part in enumerate(parts) if part.kind not in ("bias", "distance")]
    if len(wanted):
        chosen = [at for at in indices_in(wanted, len(parts), "parts") if at in can][:MOST]
    else:
        check_count(k, "k", 1, MOST)
        chosen = sorted(can, key=lambda at: -abs(direct[at]))[:k]
    changed = [(parts[at], _change(cell, side, parts[at])) for at in chosen]
    rows, weights = _rows(cell, changed, progress)
    used = cell.contrast.coefficients != 0
    contrasts = rows[:, used] @ cell.contrast.coefficients[used]
    effects = [
        Effect(at, float(direct[at]), float(found.contrast - after), float(weight))
        for at, after, weight in zip(chosen, contrasts, weights, strict=True)
    ]
    return Effects(side, parts, tuple(effects), found.weight)


def _of_tokens(found: QKAttribution) -> Float64:
    """Row, column and not its own cell twice: what a token brings on both sides."""
    own = np.zeros(len(found.query_parts))
    own[: min(found.matrix.shape)] = np.diagonal(found.matrix)
    return found.query_sums + found.key_sums - own


# The copy's tensor [n, ...] may be changed in place.
Change = Callable[[PieceKind, int, Any], None]


def _change(cell: Cell, side: Side, part: Part) -> Change:
    """Function that takes a part out of one copy of the text."""
    coefficients = torch.from_numpy(cell.contrast.coefficients)

    def replace(vectors: Any) -> None:
        if side == "query":
            vectors[cell.query] = 0
            return
        others = coefficients.clone().to(vectors)
        others[cell.key] = 0
        vectors[cell.key] = -torch.tensordot(others, vectors, dims=1)

    def head(kind: PieceKind, layer: int, copy: Any) -> None:
        if kind == "head" and layer == part.layer:
            replace(copy[:, part.head])

    def ffn(kind: PieceKind, layer: int, copy: Any) -> None:
        if kind == "mlp" and layer == part.layer:
            replace(copy)

    def token(kind: PieceKind, layer: int, copy: Any) -> None:
        if kind == "state" and layer == 0:
            at = part.token
            copy[at] = (copy.sum(dim=0) - copy[at]) / max(1, len(copy) - 1)

    known = {"head": head, "ffn": ffn, "token": token}
    if part.kind in known:
        return known[part.kind]
    own = _embedded(cell, part)
    changed = own.clone()
    replace(changed)

    def embedding(kind: PieceKind, layer: int, copy: Any) -> None:
        if kind == "state" and layer == 0:
            copy += changed - own

    return embedding


def _embedded(cell: Cell, part: Part) -> Any:
    """A part of what enters the first layer, tensor [n, d]."""
    split = cell.kept.first
    kinds = [each.kind for each in split.parts]
    return split.hidden[kinds.index(part.kind), 0].clone()


def _masked(cell: Cell, part: Part, inputs: dict[str, Any], at: int) -> bool:
    """Mask a token of one copy, where the model has a token for that."""
    encoder = cell.kept.run.encoder
    mask = encoder.mask_token_id
    if part.kind != "token" or mask is None or encoder.predicts == "next":
        return False
    inputs["input_ids"][at][part.token] = mask
    return True


class _Rows(SoftmaxMode):
    """The scores and weights of one row, of the softmax number ``layer`` over copies of the text."""

    def __init__(self, encoder: Encoder, cell: Cell) -> None:
        super().__init__(encoder.n_heads)
        self.cell = cell
        self.seen = 0
        self.scores: Any = None

    def before(self, scores: Any) -> Any:
        if scores.dim() == 4 and scores.shape[1:3] == (
            self.n_heads,
            self.cell.kept.run.trace.n_tokens,
        ):
            if self.seen == self.cell.layer:
                self.scores = scores[:, self.cell.head, self.cell.query]
                raise _ReachedError
            self.seen += 1
        return scores


class _ReachedError(Exception):
    """The softmax that is asked for has been reached."""


def _rows(
    cell: Cell, changes: Sequence[tuple[Part, Change]], progress: Progress | None
) -> tuple[Float64, Float64]:
    """The row of the cell in every copy, float64 [k, m], and the cell's weight, float64 [k]."""
    run, m = cell.kept.run, cell.kept.run.trace.n_keys
    encoder = run.encoder
    size = max(1, TOKENS_AT_ONCE // run.trace.n_tokens)
    scores, weights = np.zeros((len(changes), m)), np.zeros(len(changes))
    for start in range(0, len(changes), size):
        chosen = changes[start : start + size]
        inputs = on_device(encoder, run.encoding.inputs)
        inputs = {name: tensor.clone() for name, tensor in copies_of(inputs, len(chosen)).items()}
        masked = [_masked(cell, part, inputs, at) for at, (part, _) in enumerate(chosen)]

        def visit(
            kind: PieceKind, layer: int, tensor: Any, chosen: Any = chosen, masked: Any = masked
        ) -> None:
            for copy, (_, change) in enumerate(chosen):
                if not masked[copy]:
                    change(kind, layer, tensor[copy])

        rows = _Rows(encoder, cell)
        with (
            inference_mode(encoder, "eager"),
            visiting(encoder, visit),
            rows,
            suppress(_ReachedError),
        ):
            encoder.network.base_model(**inputs)
        if rows.scores is None:
            raise NotAvailableError(f"The scores of {encoder.name} cannot be followed.")
        found = double(rows.scores)
        scores[start : start + size] = found[:, :m]
        shares = np.exp(found - found.max(axis=1, keepdims=True))
        weights[start : start + size] = shares[:, cell.key] / shares.sum(axis=1)
        if progress is not None:
            progress(start + len(chosen), len(changes))
    return scores, weights
