"""Store between two questions about one run: its pass, the layers' inputs by tokens, queries and keys of the last layers."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from attn_widget.errors import NotEnoughMemoryError
from attn_widget.features.qk.by_parts import split_by_parts
from attn_widget.features.qk.by_tokens import split_by_tokens
from attn_widget.features.qk.reading import Read, read
from attn_widget.features.qk.recorded import Recorded, recorded
from attn_widget.features.qk.split import Biases, By, Split
from attn_widget.figures.arrays import Float32
from attn_widget.host.fingerprint import reading_weights_once
from attn_widget.influence.attention_block import layers_of, linear_weight
from attn_widget.trace.base import to_numpy
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

STATES_BYTES = 128 * 2**20  # of layers' inputs by tokens
READ_BYTES = 64 * 2**20  # of a layer's queries and keys; of a longer text one head's
ONE_HEAD_BYTES = 128 * 2**20  # of one head's
LAYERS = 4  # whose queries and keys are kept


class Kept:
    """Splits of one run, computed when first asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._lock = threading.RLock()  # taken before the encoder's lock, never within it
        self._pass: Recorded | None = None
        self._layers: list[Any] | None = None
        self._states: dict[tuple[Biases, int], Split] = {}
        self._reads: OrderedDict[Any, Read] = OrderedDict()
        self._projected: dict[int, tuple[Float32, Float32, Float32]] = {}

    @property
    def plain(self) -> Recorded:
        """The recorded pass."""
        with self._lock:
            if self._pass is None:
                self._pass = recorded(self.run)
            return self._pass

    def layers(self) -> list[Any]:
        """The modules of all layers."""
        if self._layers is None:
            self._layers = layers_of(self.run)
        return self._layers

    @property
    def first(self) -> Split:
        """The first layer's input, by parts."""
        return split_by_parts(self.run, self.plain, 0)

    def projected(self, layer: int) -> tuple[Float32, Float32, Float32]:
        """Weights [H, n, n] as the output sees them, values [H, n, head_dim] and output projection [H, head_dim, d] of a layer."""
        if layer not in self._projected:
            encoder, values = self.run.encoder, to_numpy(self.plain.values[layer])
            block = encoder.family.block
            assert block is not None  # of all whose layers are known
            output = self.layers()[layer].get_submodule(block.attention_output)
            weights = self.run.trace.layer_weights(layer)
            off = [head for at, head in encoder.heads_off if at == layer]
            if off:
                weights = weights.copy()
                own = encoder.ablation == "mean"
                weights[off] = weights[off].mean(axis=1, keepdims=True) if own else 0
            matrix = to_numpy(linear_weight(output)) * block.scales_of(self.layers()[layer])[0]
            matrix = matrix.reshape(values.shape[0], values.shape[2], -1)
            self._projected[layer] = weights, values, matrix
        return self._projected[layer]

    def forget(self) -> None:
        """Drop the splits, queries and keys; the plain pass stays."""
        with self._lock:
            self._states, self._reads = {}, OrderedDict()

    def read(
        self, layer: int, head: int, by: By, biases: Biases, progress: Progress | None = None
    ) -> tuple[Read, int]:
        """Queries and keys of a layer, and where the head stands in them."""
        self.run.encoder.check_weights()
        with self._lock:
            for alone in (None, head):
                key = (layer, by, biases, alone)
                if key in self._reads:
                    self._reads.move_to_end(key)
                    return self._reads[key], head if alone is None else 0
            alone = head if self._alone(layer, by) else None
            with reading_weights_once():
                split = self._split(layer, by, biases, progress)
                found = read(self.run, self.plain, layer, split, alone)
            self._reads[layer, by, biases, alone] = found
            while len(self._reads) > LAYERS:
                self._reads.popitem(last=False)
            return found, head if alone is None else 0

    def _alone(self, layer: int, by: By) -> bool:
        """True if the head must be kept alone."""
        trace, encoder = self.run.trace, self.run.encoder
        parts = trace.n_tokens + (trace.n_keys if encoder.parts else 0)
        if by == "parts":
            parts = layer * (encoder.n_heads + 1) + 4
        one = parts * (trace.n_tokens + trace.n_keys) * encoder.head_dim * 4
        if one > ONE_HEAD_BYTES:
            raise NotEnoughMemoryError(
                f"Queries and keys of one head are {one / 1e9:.2g} GB, in {parts:,} parts of each of {trace.n_tokens:,} tokens.",
                "Ask about a part of the text" + (", or by='parts'." if by == "tokens" else "."),
            )
        return one * trace.n_heads > READ_BYTES

    def _split(self, layer: int, by: By, biases: Biases, progress: Progress | None) -> Split:
        if by == "parts":
            return split_by_parts(self.run, self.plain, layer)
        if (biases, layer) not in self._states:
            vectors = self.plain.hidden(layer)
            each = vectors.shape[1] * vectors[0].numel() * 4
            size = (
                1 if not self.run.encoder.parts else 4
            )  # two texts, and what cross-attention reads
            fits = (layer + 1) * each * size <= STATES_BYTES
            layers = [*range(layer + 1)] if fits else [layer]
            found = split_by_tokens(self.run, layers, biases, progress)
            if not fits:
                self._states = {}
            self._states.update(
                {(biases, at): split for at, split in zip(layers, found, strict=True)}
            )
        return self._states[biases, layer]
