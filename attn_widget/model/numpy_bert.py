"""BERT in numpy alone: the network of `attn_widget.model.bert` for a process that has not imported torch.

torch is most of the time of a first picture, and the embedded model needs a dozen matrix products. Modules, parameters and the
order of operations are those of `attn_widget.model.bert`; numbers differ from it by the rounding of sums
(``tests/unit/test_numpy_bert.py``).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.model.numpy_modules import (
    Embedding,
    Floats,
    LayerNorm,
    Linear,
    Module,
    ModuleList,
    gelu,
    softmax,
)

if TYPE_CHECKING:
    from attn_widget.model.bert import BertForPreTraining as TorchBert

Ids = NDArray[np.int64]


class Weights:
    """Arrays by their names in a checkpoint, under a prefix."""

    def __init__(self, arrays: dict[str, Floats], prefix: str = "") -> None:
        self._arrays, self._prefix = arrays, prefix

    def __call__(self, name: str) -> Floats:
        return self._arrays[f"{self._prefix}{name}"]

    def below(self, name: str) -> Weights:
        return Weights(self._arrays, f"{self._prefix}{name}.")

    def linear(self, name: str) -> Linear:
        return Linear(self(f"{name}.weight"), self(f"{name}.bias"))

    def norm(self, config: Any) -> LayerNorm:
        return LayerNorm(self("LayerNorm.weight"), self("LayerNorm.bias"), config.layer_norm_eps)


def attention(
    _module: Module, query: Floats, key: Floats, value: Floats, _mask: None, *, scaling: float
) -> tuple[Floats, None]:
    """Attention, step by step, of texts of one length: there is no mask.

    ``query``, ``key``, ``value``: float32 [B, H, n, head_dim]. Returns float32 [B, n, H, head_dim], None.
    """
    scores = (query * np.float32(scaling)) @ key.swapaxes(-1, -2)
    return (softmax(scores) @ value).swapaxes(1, 2), None


# By the name in ``config._attn_implementation``; `attn_widget.trace.capture` adds its own.
ATTENTION_FUNCTIONS: dict[str, Any] = {"numpy": attention}


class Embeddings(Module):
    def __init__(self, config: Any, weights: Weights) -> None:
        super().__init__()
        tokens = weights("word_embeddings.weight")
        self.word_embeddings = Embedding(tokens, config.pad_token_id)
        self.position_embeddings = Embedding(weights("position_embeddings.weight"))
        self.token_type_embeddings = Embedding(weights("token_type_embeddings.weight"))
        self.LayerNorm = weights.norm(config)

    def forward(self, input_ids: Ids, token_type_ids: Ids | None) -> Floats:
        if token_type_ids is None:
            token_type_ids = np.zeros_like(input_ids)
        positions = np.arange(input_ids.shape[1])[None]
        embeddings = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        return self.LayerNorm(embeddings + self.position_embeddings(positions))


class SelfAttention(Module):
    is_causal = False

    def __init__(self, config: Any, weights: Weights) -> None:
        super().__init__()
        self.config = config
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.scaling = self.head_dim**-0.5
        self.query = weights.linear("query")
        self.key = weights.linear("key")
        self.value = weights.linear("value")

    def forward(self, hidden: Floats) -> Floats:
        def heads(projection: Linear) -> Floats:
            return projection(hidden).reshape(*hidden.shape[:-1], -1, self.head_dim).swapaxes(1, 2)

        attend = ATTENTION_FUNCTIONS[self.config._attn_implementation]
        query, key, value = heads(self.query), heads(self.key), heads(self.value)
        output, _ = attend(self, query, key, value, None, scaling=self.scaling)
        return output.reshape(hidden.shape)


class Residual(Module):
    def __init__(self, config: Any, weights: Weights) -> None:
        super().__init__()
        self.dense = weights.linear("dense")
        self.LayerNorm = weights.norm(config)

    def forward(self, hidden: Floats, residual: Floats) -> Floats:
        return self.LayerNorm(self.dense(hidden) + residual)


class SelfAttentionBlock(Module):
    def __init__(self, config: Any, weights: Weights) -> None:
        super().__init__()
        self.self = SelfAttention(config, weights.below("self"))
        self.output = Residual(config, weights.below("output"))

    def forward(self, hidden: Floats) -> Floats:
        return self.output(self.self(hidden), hidden)


class Intermediate(Module):
    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.dense = weights.linear("dense")

    def forward(self, hidden: Floats) -> Floats:
        return gelu(self.dense(hidden))


class Layer(Module):
    def __init__(self, config: Any, weights: Weights) -> None:
        super().__init__()
        self.attention = SelfAttentionBlock(config, weights.below("attention"))
        self.intermediate = Intermediate(weights.below("intermediate"))
        self.output = Residual(config, weights.below("output"))

    def forward(self, hidden: Floats) -> Floats:
        attended = self.attention(hidden)
        return self.output(self.intermediate(attended), attended)


class Layers(Module):
    def __init__(self, config: Any, weights: Weights) -> None:
        super().__init__()
        count = config.num_hidden_layers
        self.layer = ModuleList([Layer(config, weights.below(f"layer.{i}")) for i in range(count)])

    def forward(self, hidden: Floats) -> Floats:
        for layer in self.layer:
            hidden = layer(hidden)
        return hidden


class Pooler(Module):
    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.dense = weights.linear("dense")

    def forward(self, hidden: Floats) -> Floats:
        return np.tanh(self.dense(hidden[:, 0]))


class BertModel(Module):
    """The encoder without heads."""

    def __init__(self, config: Any, weights: Weights) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config, weights.below("embeddings"))
        self.encoder = Layers(config, weights.below("encoder"))
        self.pooler = Pooler(weights.below("pooler"))

    @property
    def base_model(self) -> BertModel:
        return self

    def get_input_embeddings(self) -> Embedding:
        return self.embeddings.word_embeddings

    def forward(
        self,
        input_ids: Ids,
        attention_mask: Ids | None = None,
        token_type_ids: Ids | None = None,
        **_options: Any,
    ) -> tuple[Floats, Floats]:
        """Last hidden states [B, n, d] and what the pooler makes of the first, [B, d]."""
        assert attention_mask is None or attention_mask.all()
        hidden = self.encoder(self.embeddings(input_ids, token_type_ids))
        return hidden, self.pooler(hidden)


class Transform(Module):
    def __init__(self, config: Any, weights: Weights) -> None:
        super().__init__()
        self.dense = weights.linear("dense")
        self.LayerNorm = weights.norm(config)

    def forward(self, hidden: Floats) -> Floats:
        return self.LayerNorm(gelu(self.dense(hidden)))


class MaskedLMHead(Module):
    """Its decoder has the token embeddings as weights, and a bias of its own."""

    def __init__(self, config: Any, weights: Weights, tokens: Floats) -> None:
        super().__init__()
        self.bias = weights("bias")
        self.transform = Transform(config, weights.below("transform"))
        self.decoder = Linear(tokens, self.bias)

    def forward(self, hidden: Floats) -> Floats:
        return self.decoder(self.transform(hidden))


class Heads(Module):
    def __init__(self, config: Any, weights: Weights, tokens: Floats) -> None:
        super().__init__()
        self.predictions = MaskedLMHead(config, weights.below("predictions"), tokens)
        self.seq_relationship = weights.linear("seq_relationship")


class BertForPreTraining(Module):
    """The encoder with the masked-LM head and the next-sentence head.

    ``settings``: of ``config.json``. ``arrays``: by name in a checkpoint of `transformers`, the shared ones once;
    used as they are.
    """

    def __init__(self, settings: dict[str, Any], arrays: dict[str, Floats]) -> None:
        super().__init__()
        self.config: Any = SimpleNamespace(**settings, _attn_implementation="numpy")
        weights = Weights(arrays)
        self.bert = BertModel(self.config, weights.below("bert"))
        tokens = weights("bert.embeddings.word_embeddings.weight")
        self.cls = Heads(self.config, weights.below("cls"), tokens)
        self._made_of = settings, arrays
        self._in_torch: TorchBert | None = None

    @property
    def base_model(self) -> BertModel:
        return self.bert

    @property
    def arrays(self) -> list[Floats]:
        """All weights; the network in torch has the same memory."""
        return list(self._made_of[1].values())

    def get_input_embeddings(self) -> Embedding:
        return self.bert.embeddings.word_embeddings

    def in_torch(self) -> TorchBert:
        """The network in torch, over the same memory; the same one again at every call."""
        if self._in_torch is None:
            import torch

            from attn_widget.model.bert import bert

            settings, arrays = self._made_of
            with torch.inference_mode(False):
                tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
                self._in_torch = bert(settings, tensors)
        return self._in_torch

    def forward(self, input_ids: Ids, **inputs: Any) -> dict[str, Floats]:
        """``prediction_logits`` [B, n, vocabulary] and ``seq_relationship_logits`` [B, 2]."""
        hidden, pooled = self.bert(input_ids, **inputs)
        return {
            "prediction_logits": self.cls.predictions(hidden),
            "seq_relationship_logits": self.cls.seq_relationship(pooled),
        }
