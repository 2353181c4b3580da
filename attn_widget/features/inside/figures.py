"""Tensors that the model computes besides attention: embeddings, layers, hidden states."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from attn_widget.analysis.model import ModelFigures
from attn_widget.errors import NotAvailableError
from attn_widget.features.inside.hidden import (
    HiddenPath,
    Residuals,
    hidden_path,
    residual_bars,
    residuals,
)
from attn_widget.features.inside.parameters import parameter_counts, position_table
from attn_widget.figures.arrays import Float32
from attn_widget.trace.embeddings import EmbeddingParts, embedding_parts
from attn_widget.trace.layer_activations import EXPERTS


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
