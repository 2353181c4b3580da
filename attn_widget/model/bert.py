"""BERT in torch alone: the modules of `transformers`' ``BertForPreTraining`` that one forward pass needs.

Importing `transformers` takes longer than all else that a first picture needs. Every module has the name, the
parameters and the operations of its counterpart there, so that the numbers are bit-equal
(``tests/unit/test_bert.py``) and whatever reads modules by name reads these as well.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

Attention = Callable[..., tuple[Tensor, None]]


def sdpa(
    _module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    scaling: float,
) -> tuple[Tensor, None]:
    """Attention by torch's fast kernel.

    ``query``, ``key``, ``value``: float tensor [B, H, n, head_dim]. ``mask``, bool tensor [B, 1, n, n]: False =
    forbidden. Returns float tensor [B, n, H, head_dim], None.
    """
    output = nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=0.0, scale=scaling, is_causal=False
    )
    return output.transpose(1, 2).contiguous(), None


def eager(
    _module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    scaling: float,
) -> tuple[Tensor, None]:
    """Attention step by step, its softmax in sight; parameters and result as in `sdpa`."""
    scores = query @ key.transpose(-1, -2) * scaling
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    output = nn.functional.softmax(scores, dim=-1) @ value
    return output.transpose(1, 2).contiguous(), None


# By the name in ``config._attn_implementation``, as in `transformers`; `attn_widget.trace.capture` adds its own.
ATTENTION_FUNCTIONS: dict[str, Attention] = {"sdpa": sdpa, "eager": eager}


class Outputs(dict[str, Any]):
    """A model's outputs by name, or by position as in a tuple."""

    def __getitem__(self, key: Any) -> Any:
        return list(self.values())[key] if isinstance(key, int) else super().__getitem__(key)


class Linear(nn.Linear):
    """Not initialized: the weights come from a checkpoint.

    The device "meta" would do the same, but there torch imports sympy.
    """

    def reset_parameters(self) -> None:
        pass


class Embedding(nn.Embedding):
    """Not initialized, as `Linear`."""

    def reset_parameters(self) -> None:
        pass


class Embeddings(nn.Module):
    """Token + segment + position, normalized."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = Embedding(config.vocab_size, width, config.pad_token_id)
        self.position_embeddings = Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None) -> Tensor:
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        # In this order: float sums depend on it.
        embeddings = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        return self.LayerNorm(embeddings + self.position_embeddings(positions))


class SelfAttention(nn.Module):
    is_causal = False

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.hidden_size
        self.config = config
        self.head_dim = width // config.num_attention_heads
        self.scaling = self.head_dim**-0.5
        self.query = Linear(width, width)
        self.key = Linear(width, width)
        self.value = Linear(width, width)

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        def heads(projection: Linear) -> Tensor:
            return projection(hidden).view(*hidden.shape[:-1], -1, self.head_dim).transpose(1, 2)

        attend = ATTENTION_FUNCTIONS[self.config._attn_implementation]
        query, key, value = heads(self.query), heads(self.key), heads(self.value)
        output, _ = attend(self, query, key, value, mask, scaling=self.scaling)
        return output.reshape(hidden.shape)


class Residual(nn.Module):
    """A linear map, added to what went round it, normalized."""

    def __init__(self, config: Any, inner: int) -> None:
        super().__init__()
        self.dense = Linear(inner, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden: Tensor, residual: Tensor) -> Tensor:
        return self.LayerNorm(self.dense(hidden) + residual)


class SelfAttentionBlock(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.self = SelfAttention(config)
        self.output = Residual(config, config.hidden_size)

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        return self.output(self.self(hidden, mask), hidden)


class Intermediate(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.dense = Linear(config.hidden_size, config.intermediate_size)

    def forward(self, hidden: Tensor) -> Tensor:
        return nn.functional.gelu(self.dense(hidden))


class Layer(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.attention = SelfAttentionBlock(config)
        self.intermediate = Intermediate(config)
        self.output = Residual(config, config.intermediate_size)

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        attended = self.attention(hidden, mask)
        return self.output(self.intermediate(attended), attended)


class Layers(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        for layer in self.layer:
            hidden = layer(hidden, mask)
        return hidden


class Pooler(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.dense = Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden: Tensor) -> Tensor:
        return torch.tanh(self.dense(hidden[:, 0]))


class BertModel(nn.Module):
    """The encoder without heads."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Layers(config)
        self.pooler = Pooler(config)

    @property
    def base_model(self) -> BertModel:
        return self

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings.word_embeddings

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **_options: Any,
    ) -> Outputs:
        """Outputs ``last_hidden_state`` [B, n, d] and ``pooler_output`` [B, d]; ids are int64 [B, n]."""
        mask = None
        if attention_mask is not None and not bool(attention_mask.all()):
            n = input_ids.shape[1]
            mask = attention_mask.bool()[:, None, None, :].expand(-1, 1, n, n)
        hidden = self.encoder(self.embeddings(input_ids, token_type_ids), mask)
        return Outputs(last_hidden_state=hidden, pooler_output=self.pooler(hidden))


class Transform(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.dense = Linear(config.hidden_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.LayerNorm(nn.functional.gelu(self.dense(hidden)))


class MaskedLMHead(nn.Module):
    """Its decoder has the token embeddings as weights, and a bias of its own."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(config.vocab_size))
        self.transform = Transform(config)
        self.decoder = Linear(config.hidden_size, config.vocab_size)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.decoder(self.transform(hidden))


class Heads(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.predictions = MaskedLMHead(config)
        self.seq_relationship = Linear(config.hidden_size, 2)


class BertForPreTraining(nn.Module):
    """The encoder with the masked-LM head and the next-sentence head."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.bert = BertModel(config)
        self.cls = Heads(config)

    @property
    def base_model(self) -> BertModel:
        return self.bert

    @property
    def device(self) -> torch.device:
        return self.cls.predictions.bias.device

    @property
    def dtype(self) -> torch.dtype:
        return self.cls.predictions.bias.dtype

    def get_input_embeddings(self) -> nn.Embedding:
        return self.bert.embeddings.word_embeddings

    def forward(self, input_ids: Tensor, **inputs: Any) -> Outputs:
        """Outputs ``prediction_logits`` [B, n, vocabulary] and ``seq_relationship_logits`` [B, 2]."""
        hidden, pooled = self.bert(input_ids, **inputs).values()
        return Outputs(
            prediction_logits=self.cls.predictions(hidden),
            seq_relationship_logits=self.cls.seq_relationship(pooled),
        )


def bert(settings: dict[str, Any], weights: dict[str, Tensor]) -> BertForPreTraining:
    """The network with ``weights``, in evaluation mode.

    ``settings``: of ``config.json``. ``weights``: by name in a checkpoint of `transformers`, the shared ones once;
    used as they are.
    """
    config = SimpleNamespace(**settings, _attn_implementation="sdpa")
    network = BertForPreTraining(config)
    head, decoder = "cls.predictions", "cls.predictions.decoder"
    shared = {
        f"{decoder}.weight": weights["bert.embeddings.word_embeddings.weight"],
        f"{decoder}.bias": weights[f"{head}.bias"],
    }
    network.load_state_dict({**weights, **shared}, assign=True)
    tied = network.cls.predictions
    tied.decoder.weight = network.bert.embeddings.word_embeddings.weight
    tied.decoder.bias = tied.bias
    return network.eval()
