"""Embedding heads: from hidden states to the embedding of a text, as a sentence embedder's own files say."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from attn_widget.checks import first_line, short_repr
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError, ModelLoadError
from attn_widget.host.json_file import parsed_object
from attn_widget.model.embedder_settings import (
    TRANSFORMER_KEYS,
    check_expansion,
    check_module_types,
    check_part,
    check_transformer,
    unread,
)
from attn_widget.model.places import MODULES, Place, cached_file

ReadFile = Callable[[str], bytes | None]  # name below the model's folder -> content, None: no file

POOLINGS = ("mean", "cls", "last", "weighted", "max", "mean_sqrt", "tokens")
# Names of the poolings in sentence-transformers: `pooling_mode`, and the flags before version 6.
MODES = {
    "mean": "mean",
    "cls": "cls",
    "max": "max",
    "lasttoken": "last",
    "weightedmean": "weighted",
    "mean_sqrt_len_tokens": "mean_sqrt",
}
FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt",
    "pooling_mode_weightedmean_tokens": "weighted",
    "pooling_mode_lasttoken": "last",
}
# Activations that the decomposition can hold: act(z) / z, with act(0) = 0.
ACTIVATIONS = {
    name: getattr(nn, name) for name in ("Identity", "Tanh", "ReLU", "GELU", "SiLU", "ELU")
}
SIMILARITIES = {"cosine": "cosine", "dot": "dot", "dot_score": "dot"}
MAX_SIM = "maxsim"  # lower case, as the configuration is compared
QUERY_LENGTH = 32  # of ColBERT's and PyLate's models whose files do not say
PART_SETTINGS = (
    "skiplist_words", "skiplist_tasks", "keep_only_token_ids", "module_input_name", "module_output_name",
)  # fmt: skip
OLD_PREFIXES = {"query_prefix": "query", "document_prefix": "document"}  # of PyLate, before prompts


class Normalize(nn.Module):
    """A vector divided by its length."""

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        return functional.normalize(vectors, dim=-1)


class Truncate(nn.Module):
    """The first ``size`` numbers of a vector (``truncate_dim``)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        return vectors[..., : self.size]


class Dense(nn.Module):
    """A linear map and an activation, with a residual where the model has one.

    ``residual``: of the input, added after the activation.
    """

    def __init__(
        self, linear: nn.Module, activation: nn.Module, residual: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.linear, self.activation, self.residual = linear, activation, residual

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        result = self.activation(self.linear(vectors))
        return result if self.residual is None else result + self.residual(vectors)


@dataclass(frozen=True, eq=False)
class EmbeddingHead:
    """Pooling and further layers after the last hidden states, and how texts are prepared."""

    # Poolings whose results are concatenated (`POOLINGS`). ``("tokens",)``: late interaction, an embedding for each
    # token.
    pooling: tuple[str, ...]
    # `Dense`, ``nn.LayerNorm``, `Normalize` and `Truncate`, in order.
    layers: tuple[nn.Module, ...] = ()
    # Most tokens of a text that the model's makers allow; None: as many as the encoder reads.
    max_length: int | None = None
    # Prompts by name; each is put before a text.
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    default_prompt: str | None = None  # name of the one that is used unless another is given
    pools_prompt: bool = True  # whether the tokens of a prompt are pooled
    skipped: int = 0  # first positions of this text that are not pooled: those of its prompt
    similarity: str | None = None  # ``"cosine"`` or ``"dot"``, if the model says so
    other_similarity: str | None = None  # the similarity that the model names, where it is neither
    notes: tuple[str, ...] = ()  # sentences on settings of the model that are not read
    lowercase: bool = False  # whether texts are written in lower case first
    # Late interaction: tokens of a passage that take no part.
    skiplist: frozenset[str] = frozenset()
    # Late interaction: queries are padded to so many tokens with mask tokens (query expansion), and longer ones
    # cut; None: they are not.
    query_length: int | None = None
    # query_limit, document_limit: late interaction: most tokens of a query that is not padded, and of a passage.
    query_limit: int | None = None
    document_limit: int | None = None
    attends_expansion: bool = False  # whether the other tokens attend to these mask tokens
    padded: int = 0  # tokens that this text is padded to: `query_length` of a query

    @property
    def of_tokens(self) -> bool:
        """True if each token has an embedding, instead of the text."""
        return self.pooling == ("tokens",)

    def __call__(self, hidden: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """The embeddings [B, d'] of texts, or [B, n, d'] of tokens.

        ``hidden``, tensor [B, n, d]: last hidden states. ``mask``, int64 tensor [B, n]: 1 for tokens, 0 for
        padding, which follows them; None: no padding.
        """
        mask = torch.ones_like(hidden[..., 0], dtype=torch.long) if mask is None else mask
        vectors = hidden if self.of_tokens else self.pool(hidden, mask)
        for layer in self.layers:
            vectors = layer(vectors)
        return vectors

    def pool(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Pooled hidden states [B, d], concatenated where there are several poolings."""
        pooled: list[torch.Tensor] = []
        for pooling in self.pooling:
            if pooling == "max":
                shown_mask = self._pooled_mask(mask)[..., None]
                pooled.append(hidden.masked_fill(shown_mask == 0, -torch.inf).max(dim=1).values)
            else:
                weights = self._weights(pooling, mask).to(hidden.dtype)
                pooled.append((hidden * weights[..., None]).sum(dim=1))
        return pooled[0] if len(pooled) == 1 else torch.cat(pooled, dim=-1)

    def weights(self, mask: torch.Tensor | None) -> NDArray[np.float64] | None:
        """The weight of each position, float64 [B, n], where the embedding is a weighted sum of hidden states.

        None where several poolings are concatenated, a maximum is taken or a `Dense` or LayerNorm follows.
        """
        plain = all(isinstance(layer, Normalize) for layer in self.layers)
        first, *others = self.pooling
        if mask is None or others or first in ("max", "tokens") or not plain:
            return None
        return self._weights(first, mask).double().cpu().numpy()

    def _pooled_mask(self, mask: torch.Tensor) -> torch.Tensor:
        if not self.skipped:
            return mask
        return mask * (torch.arange(mask.shape[1], device=mask.device) >= self.skipped)

    def _weights(self, pooling: str, mask: torch.Tensor) -> torch.Tensor:
        """Weights [B, n] in float64: they are few, and their sum is divided by."""
        pooled = self._pooled_mask(mask).double()
        places = torch.arange(mask.shape[1], device=mask.device)
        if pooling == "cls":
            return (places == self.skipped).double() * pooled
        if pooling == "last":
            return (places == mask.sum(dim=1, keepdim=True) - 1).double()
        if pooling == "weighted":
            pooled = pooled * (places + 1)
        total = pooled.sum(dim=1, keepdim=True).clamp_min(1e-9)
        return pooled / (total.sqrt() if pooling == "mean_sqrt" else total)

    def rows(self, n_tokens: int) -> tuple[int, ...]:
        """Positions whose hidden states the embedding reads."""
        if self.pooling == ("cls",):
            return (self.skipped,)
        if self.pooling == ("last",):
            return (n_tokens - 1,)
        return tuple(range(self.skipped, n_tokens))

    def biases(self) -> list[nn.Parameter]:
        """Biases of the layers."""
        named = [pair for layer in self.layers for pair in layer.named_parameters()]
        return [parameter for name, parameter in named if name.endswith("bias")]

    def moved(self, device: torch.device, dtype: torch.dtype) -> EmbeddingHead:
        """The same on a device, where its layers are not there."""
        for layer in self.layers:
            layer.to(device, dtype)
        return self

    def __repr__(self) -> str:
        parts = ["+".join(self.pooling), *(type(layer).__name__ for layer in self.layers)]
        return f"<EmbeddingHead {' > '.join(parts)}>"


def named_head(pooling: object) -> EmbeddingHead:
    """The head of a pooling by its name.

    Raises `InputError`, `InputTypeError`: no such pooling.

    >>> named_head("mean")
    <EmbeddingHead mean>
    """
    names = (pooling,) if isinstance(pooling, str) else pooling
    if not isinstance(names, (tuple, list)) or not names:
        raise InputTypeError(
            f"pooling is {short_repr(pooling)}, expected one of {', '.join(map(repr, POOLINGS))}."
        )
    for name in cast("tuple[object, ...]", names):
        if name not in POOLINGS or (name == "tokens" and len(names) > 1):
            raise InputError(
                f"pooling is {short_repr(pooling)}, expected one of {', '.join(map(repr, POOLINGS))}.",
                'The model\'s card names it; "tokens" is late interaction and stands alone.',
            )
    return EmbeddingHead(tuple(str(name) for name in names))


def head_of(place: Place) -> EmbeddingHead | None:
    """The head of the embedder that lies at ``place``; None without ``modules.json``.

    Raises `ModelLoadError`: files that cannot be read, or a module whose part in an embedding is not known.
    """
    folder = Path(place.path)
    if place.is_folder and not (folder / MODULES).is_file():
        folder = folder.parent  # the encoder lies in a folder of its own: 0_Transformer
        modules = (folder / MODULES).read_bytes() if (folder / MODULES).is_file() else b"[]"
        if Path(place.path).name not in [part["path"] for part in _modules(modules, place.name)]:
            return None

    def read(name: str) -> bytes | None:
        if not place.is_folder:
            try:
                path = cached_file(place, name)
            except ModelLoadError:
                if name == MODULES:
                    raise
                path = None  # without a network, a file that is not in the cache: most are optional
            return None if path is None else Path(path).read_bytes()
        return (folder / name).read_bytes() if (folder / name).is_file() else None

    return read_head(read, place.name)


def read_head(read: ReadFile, name: str) -> EmbeddingHead | None:
    """The head that ``modules.json`` describes; None where there is none.

    Raises `ModelLoadError`: as `head_of`.
    """
    listing = read(MODULES)
    if listing is None:
        return None
    modules = _modules(listing, name)
    try:
        return _read_head(read, modules, name)
    except (AttnWidgetError, MemoryError, OSError):
        raise
    except Exception as error:  # of python, safetensors and torch, by what is wrong with a file
        raise ModelLoadError(
            f"The files of the embedding of {name!r} cannot be read ({first_line(error)}).",
            "Save the model again with sentence-transformers.",
        ) from error


def _read_head(read: ReadFile, modules: list[dict[str, Any]], name: str) -> EmbeddingHead:
    kinds = [part["type"].rpartition(".")[2] for part in modules]
    if not kinds or kinds[0] != "Transformer":
        raise ModelLoadError(
            f"{name!r} begins with the module {short_repr(kinds[0] if kinds else None)}, expected a Transformer.",
            "Only embedders on top of an encoder of transformers can be explained.",
        )

    def part_of(kind: str, path: str) -> _Part:
        config = _object(read, path, "config.json")
        return _Part(kind, config, lambda: _layer(kind, config, _weights(read, path, name), name))

    check_module_types(modules, repr(name))
    paths = [part["path"] for part in modules]
    own = _object(read, paths[0], "sentence_bert_config.json")
    settings = _object(read, "", "config_sentence_transformers.json")
    head = _head(map(part_of, kinds[1:], paths[1:]), own, repr(name))
    head = replace(head, notes=unread(modules, own, settings))
    return _with_settings(head, {**_per_role(own), **settings}, repr(name))


def head_of_module(model: Any) -> EmbeddingHead | None:
    """The head of a ``SentenceTransformer`` object; None of anything else.

    Raises `ModelLoadError`: a module whose part in an embedding is not known.
    """
    named = getattr(model, "_modules", None)
    parts = list(named.values()) if isinstance(named, dict) else []
    if not parts or not hasattr(parts[0], "auto_model"):
        return None

    def part_of(part: Any) -> _Part:
        known = (*FLAGS, "pooling_mode", "include_prompt", *PART_SETTINGS)
        config = {name: getattr(part, name) for name in known if hasattr(part, name)}
        return _Part(type(part).__name__, config, lambda: _layer_of(part))

    own = {
        **{name: getattr(parts[0], name, None) for name in TRANSFORMER_KEYS},
        "max_seq_length": getattr(model, "max_seq_length", None),
        "processing_kwargs": getattr(parts[0], "processing_kwargs", None),
    }
    head = replace(_head(map(part_of, parts[1:]), own, "The model"), notes=unread((), own, {}))
    similarity = getattr(model, "similarity_fn_name", None)
    return _with_settings(
        head,
        {
            **_per_role(own),
            "prompts": dict(getattr(model, "prompts", None) or {}),
            "default_prompt_name": getattr(model, "default_prompt_name", None),
            "similarity_fn_name": getattr(similarity, "value", similarity),
            "truncate_dim": getattr(model, "truncate_dim", None),
        },
        "The model",
    )


def _per_role(own: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of queries and passages that the first module has, since version 6."""
    names = ("query_length", "document_length", "query_expansion")
    return {name: own[name] for name in names if own.get(name) is not None}


def _layer_of(part: Any) -> nn.Module:
    """The layer of a ``Dense`` or ``LayerNorm`` of sentence-transformers."""
    if type(part).__name__ == "LayerNorm":
        return part.norm
    if not isinstance(part.activation_function, tuple(ACTIVATIONS.values())):
        raise _unknown_activation(type(part.activation_function).__name__, "The model")
    residual = None
    if getattr(part, "use_residual", False):
        residual = getattr(part, "residual", None) or nn.Identity()
    return Dense(part.linear, part.activation_function, residual)


class _Part(NamedTuple):
    """A module after the transformer: its kind, its settings, and a function that gives its layer."""

    kind: str
    config: Mapping[str, Any]
    layer: Callable[[], nn.Module]


def _head(parts: Iterable[_Part], own: Mapping[str, Any], of: str) -> EmbeddingHead:
    """The head made of modules in their order; ``own`` has the settings of the transformer before them."""
    check_transformer(own, of)
    pooling: tuple[str, ...] = ("tokens",)
    pools_prompt, layers, skiplist = True, list[nn.Module](), frozenset[str]()
    for kind, config, layer in parts:
        check_part(kind, config, pooling == ("tokens",), of)
        if kind == "Pooling":
            if layers:
                raise ModelLoadError(
                    f"{of} has layers before its Pooling, which change tokens instead of the text.",
                    "Known: Pooling, then Dense, LayerNorm and Normalize.",
                )
            pooling, pools_prompt = _pooling(config), bool(config.get("include_prompt", True))
        elif kind in ("Dense", "LayerNorm"):
            layers.append(layer())
        elif kind == "Normalize":
            layers.append(Normalize())
        elif kind == "MultiVectorMask":
            skiplist = frozenset(map(str, config.get("skiplist_words") or ()))
        elif kind != "Dropout":
            raise ModelLoadError(
                f"{of} has the module {kind}, whose part in an embedding is not known here.",
                "Known: Pooling, Dense, LayerNorm, Normalize.",
            )
    return EmbeddingHead(
        pooling,
        tuple(layers),
        max_length=_length(own.get("max_seq_length")),
        pools_prompt=pools_prompt,
        lowercase=bool(own.get("do_lower_case", False)),
        skiplist=skiplist,
    )


def _with_settings(head: EmbeddingHead, settings: Mapping[str, Any], of: str) -> EmbeddingHead:
    """``head`` with prompts, similarity and lengths of ``config_sentence_transformers.json``."""
    given: Mapping[str, Any] = settings.get("prompts") or {}
    # An empty prompt is one by its name: without it the name would be put before the text.
    prompts = {str(key): str(text or "") for key, text in given.items()}
    for old, key in OLD_PREFIXES.items():
        if settings.get(old):
            prefix = str(settings[old])
            prompts[key] = prefix + prompts.get(key, "").removeprefix(prefix)
    default = settings.get("default_prompt_name")
    skipped_words: Any = settings.get("skiplist_words")
    expansion = settings.get("do_query_expansion", settings.get("query_expansion"))
    if head.of_tokens:
        check_expansion(expansion, of)
        lengths = (settings.get("query_length"), settings.get("document_length"))
        head = replace(head, query_limit=_length(lengths[0]), document_limit=_length(lengths[1]))
    elif (size := settings.get("truncate_dim")) is not None:
        if type(size) is not int or size < 1:
            raise ModelLoadError(
                f"{of} has the truncate_dim {short_repr(size)}, expected a positive int or none."
            )
        head = replace(head, layers=(*head.layers, Truncate(size)))
    similarity = settings.get("similarity_fn_name")
    return replace(
        head,
        prompts=prompts,
        default_prompt=default if default in prompts else None,
        similarity=_similarity(similarity),
        other_similarity=None if similarity is None or _is_known(similarity) else str(similarity),
        skiplist=frozenset(map(str, skipped_words)) if skipped_words else head.skiplist,
        query_length=_query_length(expansion, settings) if head.of_tokens else None,
        attends_expansion=_attends(expansion, settings),
    )


def _query_length(expansion: Any, settings: Mapping[str, Any]) -> int | None:
    """Tokens that queries are padded to; None where they are not."""
    if not expansion:
        return None
    own: Any = expansion.get("length") if isinstance(expansion, Mapping) else None
    return _length(own or settings.get("query_length")) or QUERY_LENGTH


def _attends(expansion: Any, settings: Mapping[str, Any]) -> bool:
    if isinstance(expansion, Mapping):
        return bool(cast("Mapping[str, Any]", expansion).get("attend", False))
    names = ("attend_to_expansion_tokens", "attend_to_mask_tokens")
    return bool(next((settings[name] for name in names if name in settings), False))


def _length(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _similarity(name: object) -> str | None:
    """``"cosine"`` or ``"dot"``; None where the model names neither."""
    return SIMILARITIES.get(str(name).lower())


def _is_known(name: object) -> bool:
    return str(name).lower() in (*SIMILARITIES, MAX_SIM)


def _modules(listing: bytes, name: str) -> list[dict[str, Any]]:
    """The entries of ``modules.json``, in order."""
    try:
        parts = json.loads(listing)
        ordered = sorted(parts, key=lambda part: int(part.get("idx", 0)))
        return [{**part, "path": str(part["path"]), "type": str(part["type"])} for part in ordered]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelLoadError(
            f"The {MODULES} of {name!r} is not a list of modules with a path and a type.",
            "Save the model again with sentence-transformers, or pass (model, tokenizer) and pooling=.",
        ) from error


def _object(read: ReadFile, folder: str, name: str) -> dict[str, Any]:
    content = read(_below(folder, name))
    return {} if content is None else parsed_object(content) or {}


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _pooling(config: Mapping[str, Any]) -> tuple[str, ...]:
    modes: Any = config.get("pooling_mode")
    if modes is None:
        chosen = tuple(pooling for flag, pooling in FLAGS.items() if config.get(flag))
    else:
        chosen = tuple(
            MODES.get(mode, str(mode)) for mode in ([modes] if isinstance(modes, str) else modes)
        )
    unknown = [pooling for pooling in chosen if pooling not in MODES.values()]
    if unknown or not chosen:
        raise ModelLoadError(
            f"The pooling {short_repr(unknown[0]) if unknown else 'of the model'} is not known.",
            f"Known: {', '.join(MODES)}.",
        )
    return chosen


def _weights(read: ReadFile, folder: str, name: str) -> dict[str, torch.Tensor]:
    content = read(_below(folder, "model.safetensors"))
    if content is not None:
        from safetensors.torch import load

        return load(content)
    content = read(_below(folder, "pytorch_model.bin"))
    if content is None:
        raise ModelLoadError(f"{name!r} has no weights for its module {folder!r}.")
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)


def _layer(
    kind: str, config: Mapping[str, Any], weights: dict[str, torch.Tensor], name: str
) -> nn.Module:
    """A `Dense` or LayerNorm with its weights in float32."""
    try:
        with torch.inference_mode(False):
            if kind == "LayerNorm":
                layer: nn.Module = nn.LayerNorm(int(config["dimension"]))
                layer.load_state_dict({key.removeprefix("norm."): t for key, t in weights.items()})
                return layer.float().requires_grad_(False).eval()
            wide, narrow = int(config["in_features"]), int(config["out_features"])
            called = str(config.get("activation_function", "torch.nn.Tanh")).rpartition(".")[2]
            if called not in ACTIVATIONS:
                raise _unknown_activation(called, repr(name))
            residual = None
            if config.get("use_residual"):
                residual = nn.Identity() if wide == narrow else nn.Linear(wide, narrow, bias=False)
            linear = nn.Linear(wide, narrow, bias=bool(config.get("bias", True)))
            layer = Dense(linear, ACTIVATIONS[called](), residual)
            layer.load_state_dict(weights)
            return layer.float().requires_grad_(False).eval()
    except (KeyError, ValueError, RuntimeError) as error:
        raise ModelLoadError(
            f"The module {kind} of {name!r} has weights that do not fit its config.json.",
            "Save the model again with sentence-transformers.",
        ) from error


def _unknown_activation(called: str, of: str) -> ModelLoadError:
    return ModelLoadError(
        f"{of} has a Dense module with the activation {called}, which cannot be decomposed.",
        f"Known: {', '.join(ACTIVATIONS)}.",
    )
