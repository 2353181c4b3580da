"""A layer's input as a sum over tokens: the linear network forward, with a copy for each token."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from itertools import cycle
from typing import Any

import torch
from torch.func import jvp, vmap

from attn_widget.errors import NotAvailableError
from attn_widget.features.qk.split import BIAS, Biases, Part, Split
from attn_widget.features.why.linearized import (
    Linearized,
    activations_of,
    held_activations,
)
from attn_widget.features.why.passes import entering_first, first_vectors
from attn_widget.influence.attention_block import layers_of
from attn_widget.trace.forward import Progress, inference_mode, on_device
from attn_widget.trace.hooks import hidden_of, hooked
from attn_widget.trace.run import Run

TOKENS_AT_ONCE = 2048  # of all copies in flight


class _EnteredError(Exception):
    """The layer that is asked for has been entered: nothing above it matters."""


def split_by_tokens(
    run: Run, layers: Sequence[int], biases: Biases, progress: Progress | None = None
) -> list[Split]:
    """Sum over the tokens that each of ``layers`` reads; layers above the last are not run.

    A bias belongs to the token at whose position it enters (``"placed"``), or to a part of its own. In an
    encoder-decoder, whose tokens stand in two texts, it is always apart.

    Raises `NotAvailableError`: a family whose layers are not known, or mixtures of experts.
    """
    encoder = run.encoder
    block = encoder.family.block
    if block is not None and block.experts:
        raise NotAvailableError(
            f"The feed-forward networks of {encoder.name} are mixtures of experts, which are not linear with their gates held.",
            "by='parts' takes each as one part.",
        )
    runs = [run.of("encoder"), run.of("decoder")] if encoder.parts else [run]
    entered = [first_vectors(each) for each in runs]
    parts, tangents, constants = _copies(entered, placed=biases == "placed" and len(runs) == 1)
    constant = torch.ones(constants.shape[1:]).to(constants)
    modules, activations = layers_of(run), activations_of(runs)
    stacks = [layers_of(each) for each in runs]
    inputs = on_device(encoder, run.encoding.inputs)
    size = max(1, TOKENS_AT_ONCE // sum(vector.shape[1] for vector in entered))
    chunks = [slice(start, start + size) for start in range(0, len(parts), size)]
    found: list[Any] = []
    for number, chunk in enumerate(chunks):
        done = number * len(layers)

        def enter(*given: Any, done: int = done) -> tuple[Any, ...]:
            *vectors, ones = given
            seen: list[Any] = []
            turn = cycle(range(encoder.n_layers))

            def keep(_module: Any, args: Any, kwargs: Any) -> None:
                layer = next(turn)
                if layer not in layers:
                    return
                seen.append(hidden_of(args, kwargs))
                if encoder.part == "cross":
                    seen.append(source_of(args, kwargs))
                if progress is not None:
                    progress(done + len(seen), len(layers) * len(chunks))
                if layer == layers[-1]:
                    raise _EnteredError

            with ExitStack() as stack:
                for layers_below, vector in zip(stacks, vectors, strict=True):
                    stack.enter_context(entering_first(layers_below, vector))
                stack.enter_context(hooked(modules, before=keep))
                stack.enter_context(held_activations(activations, ones))
                stack.enter_context(Linearized(ones, forward=True))
                with suppress(_EnteredError):
                    encoder.network.base_model(**inputs)
            return tuple(seen)

        def forward(*moved: Any, enter: Any = enter) -> Any:
            return jvp(enter, (*entered, constant), moved)[1]

        with inference_mode(encoder, "eager"):
            found.append(vmap(forward)(*(part[chunk] for part in (*tangents, constants))))
    whole = [torch.cat(each) for each in zip(*found, strict=True)]
    if encoder.part == "cross":
        pairs = zip(whole[::2], whole[1::2], strict=True)
        return [Split(parts, hidden, constants, source) for hidden, source in pairs]
    return [Split(parts, hidden, constants) for hidden in whole]


def _copies(entered: list[Any], *, placed: bool) -> tuple[tuple[Part, ...], list[Any], Any]:
    """Parts [P], what each enters into every stack, tensors [P, 1, n, d], and its biases, [P] or [P, n, 1]."""
    counts = [vector.shape[1] for vector in entered]
    size = sum(counts) + (not placed)
    two = len(entered) > 1
    parts = [
        Part("token", token=token, text=text if two else None)
        for text, count in enumerate(counts)
        for token in range(count)
    ]
    tangents: list[Any] = []
    for text, vector in enumerate(entered):
        copies = vector.new_zeros(size, *vector.shape)
        start = sum(counts[:text])
        for token in range(counts[text]):
            copies[start + token, 0, token] = vector[0, token]
        tangents.append(copies)
    if placed:
        return tuple(parts), tangents, torch.eye(size).to(entered[0])[..., None]
    apart = entered[0].new_zeros(size)
    apart[-1] = 1
    return (*parts, BIAS), tangents, apart


def source_of(args: Any, kwargs: Any) -> Any:
    """The encoder's states that a decoder's layer is given."""
    return kwargs["encoder_hidden_states"] if "encoder_hidden_states" in kwargs else args[_at(args)]


def with_source(source: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """A decoder layer's arguments with other states of the encoder."""
    if "encoder_hidden_states" in kwargs:
        return args, {**kwargs, "encoder_hidden_states": source}
    at = _at(args)
    return (*args[:at], source, *args[at + 1 :]), kwargs


def _at(args: Any) -> int:
    """Index of the encoder's states: the second vectors [1, m, d]."""
    given = [i for i, each in enumerate(args) if getattr(each, "ndim", 0) == 3]
    return given[1]
