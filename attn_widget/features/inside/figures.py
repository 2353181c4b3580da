"""Tensors that the model computes besides attention: embeddings, layers, hidden states."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable

from attn_widget.analysis.model import ModelFigures
from attn_widget.checks import index_in
from attn_widget.errors import NotAvailableError
from attn_widget.features.inside.hidden import (
    HiddenPath,
    Residuals,
    hidden_path,
    residual_bars,
    residuals,
)
from attn_widget.features.inside.layer_activations import EXPERTS, LayerParts, inside, visit_layers
from attn_widget.figures.arrays import Float32
from attn_widget.trace.embeddings import (
    EmbeddingParts,
    embedding_parts,
    parameter_counts,
    position_table,
)

KEPT_LAYERS = 4  # whose parts are kept: some 20 MB each for 512 tokens, 768 wide
KEPT_BYTES = 80_000_000  # of all layers, kept where they take no more


class InsideFigures(ModelFigures):
    """Tensors of the run's model, as names of ``a.model``."""

    @property
    def hidden_path(self) -> HiddenPath:
        """Norms, cosines to the layer before, and one 2-D picture of all hidden states."""
        states = self.hidden_states
        return self._analysis._cached("hidden_path", lambda: hidden_path(states))

    @property
    def embeddings(self) -> EmbeddingParts:
        """Token, position and segment embeddings, their sum and its norm; see `EmbeddingParts`."""
        run = self._analysis._require_model("embeddings", of_tokens=True)
        return self._analysis._cached(
            "embeddings", lambda: embedding_parts(run.encoder, run.encoding)
        )

    def layer(self, layer: int) -> LayerParts:
        """Everything that a layer computes except attention weights; see `LayerParts`.

        Parameters
        ----------
        layer : int
            0 to L - 1.
        """
        run = self._analysis._require_model("layers", of_tokens=True)
        layer = index_in(layer, self._analysis.trace.n_layers, "layer")
        with self._analysis._lock:
            kept = {**self._kept}
            if len(kept) == self._analysis.trace.n_layers:
                return kept[layer]
            parts = kept.pop(layer, None)
            parts = inside(run.encoder, run.encoding, layer) if parts is None else parts
            kept[layer] = parts
            while len(kept) > KEPT_LAYERS:
                del kept[next(iter(kept))]
            self._analysis._cache["layers"] = kept
            return parts

    @property
    def _kept(self) -> dict[int, LayerParts]:
        """Layers whose parts are kept, least recently used first."""
        return self._analysis._cache.get("layers", {})

    def _visit_layers(self, visit: Callable[[LayerParts], None]) -> None:
        """Show what each layer computes to ``visit``, first layer first; those of a short text are kept for the next visit.

        Raises
        ------
        NotAvailableError
            A family whose layers are not known.
        """
        run = self._analysis._require_model("layers", of_tokens=True)
        n_layers, seen = self._analysis.trace.n_layers, dict[int, LayerParts]()

        def keep(parts: LayerParts) -> None:
            if n_layers * parts.nbytes <= KEPT_BYTES:
                seen[parts.layer] = parts
            visit(parts)

        with self._analysis._lock:
            kept = self._kept
        if len(kept) == n_layers:
            for layer in range(n_layers):
                visit(kept[layer])
            return
        visit_layers(run.encoder, run.encoding, keep)
        if len(seen) == n_layers:
            with self._analysis._lock:
                self._analysis._cache["layers"] = seen

    def ffn(self, layer: int) -> Float32:
        """Post-activations of a layer's feed-forward network, float32 [n, intermediate_size].

        Parameters
        ----------
        layer : int
        """
        activation = self.layer(layer).ffn_activation
        if not activation.shape[1]:
            raise NotAvailableError(EXPERTS)
        return activation

    @property
    def residuals(self) -> Residuals:
        """Change of each token by attention and FFN in every layer, ``||out - in|| / ||in||``."""
        self._analysis._require_model("layers", of_tokens=True)

        def find() -> Residuals:
            bars: list[tuple[Float32, Float32]] = []
            self._visit_layers(lambda parts: bars.append(residual_bars(parts)))
            return residuals(bars)

        return self._analysis._cached("residuals", find)

    @property
    def parameters(self) -> dict[str, int]:
        """Number of trained parameters in each part of the model."""
        encoder = self._analysis._require_model("parameters").encoder
        return self._analysis._cached("parameters", lambda: parameter_counts(encoder))

    @property
    def positions(self) -> Float32:
        """The model's learned position embeddings, float32 [max_length, e]."""
        encoder = self._analysis._require_model("position embeddings").encoder
        return self._analysis._cached("positions", lambda: position_table(encoder))
