"""Queries and keys that a layer makes of each part of its input."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch.func import jvp, vmap

from attn_widget.errors import NotAvailableError
from attn_widget.features.qk.by_tokens import source_of, with_source
from attn_widget.features.qk.recorded import PRODUCTS, Recorded
from attn_widget.features.qk.split import Side, Split
from attn_widget.features.why.linearized import (
    Linearized,
    activations_of,
    held_activations,
)
from attn_widget.influence.attention_block import layer_of
from attn_widget.model.encoder import Encoder
from attn_widget.trace.forward import inference_mode
from attn_widget.trace.qkv import grouped
from attn_widget.trace.run import Run
from attn_widget.trace.softmax_tap import SOFTMAX, SoftmaxMode

WITH_BIAS = (torch.baddbmm, torch.Tensor.baddbmm)
ROWS_AT_ONCE = 16_384  # positions of all parts in flight


class _ReadError(Exception):
    """The softmax that is asked for has been reached."""


class Reading(Linearized):
    """Finds the product of queries and keys before the softmax number ``turn``: of all products, the one of two things that move.

    What is added to the product on the way to the softmax is followed on one side alone: DeBERTa's products with
    embeddings of distances.
    """

    def __init__(
        self, constant: Any, turn: int, step: Any, side: Side | None, *, forward: bool = True
    ) -> None:
        super().__init__(constant, forward=forward)
        self.turn = turn
        self.step = step
        self.side = side
        self.query: Any = None
        self.key: Any = None
        self.scores: Any = None

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if func in SOFTMAX and self.query is not None:
            if self.turn == 0:
                self.scores = args[0] if args else named["input"]
                raise _ReadError
            self.turn -= 1
            self.query = self.key = None
        elif func in PRODUCTS and self.moves(args[0]):
            if self.moves(args[1]):
                self.query, self.key = args
                return func(args[0].detach(), args[1].detach()) + self.step
            if self.query is not None:
                side = "query" if args[0] is self.query else "key"
                if side != self.side:
                    return func(args[0].detach(), args[1])
        elif func is torch.Tensor.max and len(args) == 1 and self.query is not None:
            return func(args[0].detach(), **named)  # GPT-OSS: of a row, which softmax leaves out
        elif func in WITH_BIAS:
            given = {**dict(zip(("input", "batch1", "batch2"), args, strict=False)), **named}
            query, key = given.pop("batch1"), given.pop("batch2")
            if self.moves(query) and self.moves(key):
                self.query, self.key = query, key
                product = torch.bmm(query.detach(), key.detach()) + self.step
                added = given["input"] * given.get("beta", 1)
                return added + product * given.get("alpha", 1)
        return super().__torch_function__(func, types, args, kwargs)


def called(
    mode: Reading, encoder: Encoder, module: Any, args: Any, kwargs: Any
) -> tuple[Any, Any, Any]:
    """Queries [H, n, head_dim], keys [H, m, head_dim] and scores [H, n, m] of a layer that is called with ``mode``.

    Raises `NotAvailableError`: None of them is found.
    """
    with suppress(_ReadError), mode, SoftmaxMode(encoder.n_heads):
        module(*args, **kwargs)
    if mode.scores is None:
        raise NotAvailableError(
            f"No product of queries and keys is found in a layer of {encoder.name} ({encoder.family.name})."
        )
    heads, queries, width = (encoder.n_heads, *mode.query.shape[-2:])
    key = mode.key.transpose(-1, -2)
    key = grouped(key.reshape(-1, *key.shape[-2:]), heads)
    scores = mode.scores.reshape(heads, queries, -1)[..., : key.shape[1]]
    return mode.query.reshape(heads, queries, width), key, scores


@dataclass(frozen=True)
class Read:
    """Queries and keys of a layer, part by part."""

    split: Split
    query: Any  # tensor [P, H, n, head_dim]
    key: Any  # tensor [P, H, m, head_dim]
    # Tensor [H, n, m]; what one unit of ``q . k`` adds to the score: the scale, and what a cap leaves, held.
    factor: Any
    product: Any  # float64 tensor [H, n, m]; what ``q . k`` adds to the scores
    # of_query, of_key: tensor [P, H, n, m] or None; scores that a part of the query, or of the key, has from
    # distances alone.
    of_query: Any = None
    of_key: Any = None


def read(run: Run, calls: Recorded, layer: int, split: Split, head: int | None = None) -> Read:
    """Call a layer up to its softmax, linear at the run.

    ``head``: keep this head alone: of long texts. Raises `NotAvailableError`: a layer without a product of queries
    and keys that can be followed.
    """
    encoder = run.encoder
    hidden = calls.hidden(layer)
    turn = 1 if encoder.part == "cross" else 0
    entered = [hidden]
    if encoder.part == "cross":
        entered.append(source_of(*calls.calls[layer]))
    tangents = [split.hidden] if split.source is None else [split.hidden, split.source]
    constant = torch.ones(split.constant.shape[1:]).to(hidden)
    step = torch.zeros(()).to(hidden)
    module, activations = layer_of(run, layer), activations_of([run])
    chosen = slice(None) if head is None else slice(head, head + 1)

    def made(*given: Any, side: Side | None = None) -> Any:
        vectors, ones, moved = given[: len(entered)], given[-2], given[-1]
        args, kwargs = calls.with_hidden(layer, vectors[0])
        if len(vectors) > 1:
            args, kwargs = with_source(vectors[1], args, kwargs)
        mode = Reading(ones, turn, moved, side)
        with held_activations(activations, ones):
            found = called(mode, encoder, module, args, kwargs)
        return tuple(each[chosen] for each in found)

    def parts(side: Side | None = None) -> list[Any]:
        def one(*moved: Any) -> Any:
            found = jvp(lambda *given: made(*given, side=side), (*entered, constant, step), moved)
            return found[1][2:] if side else found[1][:2]

        size = max(1, ROWS_AT_ONCE // hidden.shape[1])
        zeros = torch.zeros(len(split.parts)).to(hidden)
        given = (*tangents, split.constant, zeros)
        starts = range(0, len(split.parts), size)
        found = [vmap(one)(*(each[start : start + size] for each in given)) for start in starts]
        return [torch.cat(each) for each in zip(*found, strict=True)]

    with inference_mode(encoder, "eager"):
        query, key = parts()
        nothing = [torch.zeros_like(each) for each in (*entered, constant)]
        unit = (*nothing, torch.ones_like(step))
        found, slopes = jvp(made, (*entered, constant, step), unit)[:2]
        product = found[0].double() @ found[1].double().transpose(-1, -2)
        of = (split, query, key, slopes[2], product * slopes[2])
        if not encoder.family.name.startswith("deberta"):
            return Read(*of)
        return Read(*of, *parts("query"), *parts("key"))
