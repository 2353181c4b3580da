"""A text's embedding as a sum of one vector for each token: the linearized network, from both ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from attn_widget.features.why.decomposition import (
    biases_of,
    check_linear,
    with_gradients,
)
from attn_widget.features.why.linearized import linearized
from attn_widget.features.why.passes import embedding_shift, first_vectors
from attn_widget.figures.arrays import Float64
from attn_widget.trace.forward import on_device
from attn_widget.trace.run import Run

BYTES_AT_ONCE = 64 * 2**20  # of the vectors in flight; with torch's own copies some 150 MB


class LinearText:
    """The embedding ``e = sum_i u_i + u_0`` of a run's text, linear in the vectors that enter the first layer.

    Of late interaction, ``e`` and all ``u_i`` have the embeddings of all tokens: ``[n, d']`` in place of ``[d']``.

    The shift of the embeddings' norm enters there as well, and belongs to ``u_0``: no token brings it.

    Attention weights, each norm's divisor, ``act(z) / z`` and the positions of maxima are held at the run's values, as
    in `attn_widget.features.why.decomposition`. One graph serves both directions: backward for the contributions to any
    linear function of ``e``, and backward through that backward pass for the vectors ``u_i`` themselves.

    ``run``: of an encoder with an embedding for each text or each token. ``embedding``, float64 [d'] or [n, d']:
    ``e``. ``bias``, float64 [d'] or [n, d']: ``u_0``: what all biases and shifts give together. Not a remainder.
    Raises `NotAvailableError`: a family whose layers are not known, or whose feed-forward networks are mixtures of
    experts.

    References
    ----------
    Modarressi et al. (2023), DecompX, ACL: the vectors ``u_i``. Townsend (2017), A new trick for calculating
    Jacobian vector products: backward twice is forward.
    """

    def __init__(self, run: Run) -> None:
        encoder = run.encoder
        head = encoder.embedding
        assert head is not None  # the caller has asked
        check_linear(run)
        self._vectors = first_vectors(run).requires_grad_()
        self._bytes = _bytes_of_a_source(run)
        biases = [*biases_of(encoder, embedding=True), constant := torch.ones(())]
        with encoder.lock, with_gradients(biases), torch.enable_grad():
            # Attention by softmax and products: fused kernels have no second derivative.
            with linearized([run], [self._vectors], "eager", constant):
                inputs = on_device(encoder, run.encoding.inputs)
                hidden = encoder.network.base_model(**inputs, return_dict=True)[0]
                self._output = head(hidden, inputs.get("attention_mask"))[0]
            self._seed = torch.zeros_like(self._output, requires_grad=True)
            slopes: Any = torch.autograd.grad(
                self._output,
                [self._vectors, *biases],
                grad_outputs=self._seed,
                create_graph=True,
                allow_unused=True,
            )
            self._slope = slopes[0]
            read = [
                (slope, parameter.detach())
                for slope, parameter in zip(slopes[1:], biases, strict=True)
                if slope is not None
            ]
            bias = torch.zeros_like(self._output)
            if read:
                outputs, given = zip(*read, strict=True)
                (bias,) = torch.autograd.grad(outputs, self._seed, given, retain_graph=True)
        self.embedding = _array(self._output)
        self.bias = _array(bias)
        self._own = self._vectors.detach()[0]
        shift = embedding_shift(encoder)
        if shift is not None:
            entering = shift.expand_as(self._vectors)[None]
            self.bias += _array(self._batched(self._slope, self._seed, entering))[0]
            self._own = self._own - shift

    @property
    def n_tokens(self) -> int:
        return self._vectors.shape[1]

    def vectors(self, report: Callable[[int], None] | None = None) -> Float64:
        """``u_i`` of every token, float64 [n, d'] or [n, n, d']: one pass of the network for each, in blocks."""
        blocks: list[Float64] = []
        for chosen in self._blocks(self.n_tokens):
            sources = self._own.new_zeros(len(chosen), 1, *self._own.shape)
            for k, i in enumerate(chosen):
                sources[k, 0, i] = self._own[i]
            blocks.append(_array(self._batched(self._slope, self._seed, sources)))
            if report is not None:
                report(len(chosen))
        return np.concatenate(blocks)

    def vector(self, token: int) -> Float64:
        """``u_i`` of one token, float64 [d'] or [n, d']."""
        source = torch.zeros_like(self._own)
        source[token] = self._own[token]
        return _array(self._batched(self._slope, self._seed, source[None, None]))[0]

    def contributions(
        self, directions: Float64, report: Callable[[int], None] | None = None
    ) -> Float64:
        """``<u_i, r>`` for directions ``r`` [R, d'] or [R, n, d'], float64 [R, n]: a backward pass for each, in blocks."""
        own = self._own.double()
        rows = torch.from_numpy(directions).to(self._output.device, self._output.dtype)
        blocks: list[Float64] = []
        for chosen in self._blocks(len(rows)):
            slopes = self._batched(self._output, self._vectors, rows[chosen.start : chosen.stop])
            blocks.append(_array((slopes[:, 0].double() * own).sum(dim=-1)))
            if report is not None:
                report(len(chosen))
        return np.concatenate(blocks)

    def _blocks(self, count: int) -> list[range]:
        size = max(1, BYTES_AT_ONCE // self._bytes)
        return [range(start, min(start + size, count)) for start in range(0, count, size)]

    @staticmethod
    def _batched(output: torch.Tensor, by: torch.Tensor, slopes: torch.Tensor) -> torch.Tensor:
        (result,) = torch.autograd.grad(
            output, by, grad_outputs=slopes, is_grads_batched=True, retain_graph=True
        )
        return result


def _bytes_of_a_source(run: Run) -> int:
    """Memory of one source: a layer's states, its feed-forward network's, and products of attention."""
    encoder, n = run.encoder, run.trace.n_tokens
    config = encoder.network.base_model.config
    inner = int(getattr(config, "intermediate_size", 4 * encoder.hidden_size))
    return 4 * n * (4 * encoder.hidden_size + 3 * inner + encoder.n_heads * n)


def _array(tensor: torch.Tensor) -> Float64:
    return tensor.detach().double().cpu().numpy()
