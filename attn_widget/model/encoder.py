"""Encoder: a model with its fast tokenizer."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import (
    check_choice,
    check_count,
    check_heads,
    check_kind,
    check_several,
)
from attn_widget.errors import InputError, NotPickled
from attn_widget.host.fingerprint import fingerprint
from attn_widget.model.checkpoint import (
    DISCRIMINATORS,
    Checkpoint,
)
from attn_widget.model.config import check_vocabulary
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import Family, family_of
from attn_widget.model.speed import Speed
from attn_widget.model.tokenizing import encode

if TYPE_CHECKING:
    import torch


Classifier = Literal["sequence", "token", "question_answering"]


@dataclass(frozen=True, eq=False)
class HeadMeans:
    """Mean output of every head of a model over many texts. `attn_widget.head_means` makes it.

    Attributes
    ----------
    values : float32 [L, H, head_dim]
        Means of ``A v`` over all positions of all texts, special tokens included.
    texts, tokens : int
        How many there were.
    model : str
        Name of the model.
    weights : str or None
        Its fingerprint; None for values of the caller's own, which any model of this shape takes.
    """

    values: NDArray[np.float32]
    texts: int
    tokens: int
    model: str = ""
    weights: str | None = None

    @cached_property
    def tensor(self) -> torch.Tensor:
        """``values`` as a tensor of torch."""
        import torch

        return torch.from_numpy(self.values.copy())

    def __repr__(self) -> str:
        return f"HeadMeans(texts={self.texts:,}, tokens={self.tokens:,})"


Ablation = Literal["zero", "mean"] | HeadMeans
LARGEST_SANE_LENGTH = 1_000_000  # tokenizers say 1e30 for "no limit"
LENGTH_WITHOUT_LIMIT = 8192  # tokens, for a model with relative positions that states no limit


class Encoder(NotPickled):
    """A model of the BERT family with its fast tokenizer. `load` makes it.

    Attributes
    ----------
    model : transformers.PreTrainedModel
    config : transformers.PreTrainedConfig
        The encoder's own, also where the model around it has another.
    tokenizer : transformers.PreTrainedTokenizerBase
        Of the embedded model these three come when they are first asked for: its figures need no
        `transformers`, whose import takes seconds.
    family : Family
        ``family.name`` is the ``model_type`` of `transformers`: ``"bert"``.
    name : str
        Hub name, folder name, or the class of a model that was passed.
    revision : str or None
        Commit on the hub; None for folders and for models that were passed.
    n_layers, n_heads, head_dim, hidden_size, vocab_size : int
    max_length : int
        Most tokens that one input may have, special tokens included.
    has_mlm, has_nsp : bool
        A trained masked-LM head; a trained next-sentence head.
    classifier : {"sequence", "token", "question_answering"} or None
    id2label : dict of int to str
        The classifier's label names; empty without one.
    heads_off : tuple of (int, int)
        Heads that do not work, as (layer, head); see `without`.
    ablation : {"zero", "mean"} or HeadMeans
        What they give instead.
    patch : tuple or None
        Pieces of another run that take the place of its own; see `Comparison.patch`.
    speed : Speed
        How fast the model has run here.
    lock : threading.RLock
        Held while the model or the tokenizer works; encoders of one model share it.
    """

    INSTEAD = "Pass its name, and call load(name) where it is needed."

    def __init__(self, checkpoint: Checkpoint) -> None:
        check_kind(checkpoint, Checkpoint, "checkpoint", "load(name) makes an Encoder.")
        model, tokenizer = checkpoint.model, checkpoint.tokenizer
        config = model.base_model.config
        heads = _heads(model, checkpoint.untrained)
        self.has_mlm = "mlm" in heads
        self.has_nsp = "nsp" in heads
        self.classifier: Classifier | None = _classifier(heads)
        # Network and tokenizer: `model` and `tokenizer`, or their stand-ins until `_full`.
        self.network: Any = model if heads else model.base_model
        self.reader: Any = tokenizer
        self._full = checkpoint.full
        self.untrained = checkpoint.untrained
        self.name = checkpoint.name
        self.revision = checkpoint.revision
        self.family: Family = family_of(self.network)
        self.n_layers = int(config.num_hidden_layers) * int(getattr(config, "inner_group_num", 1))
        self.n_heads = int(config.num_attention_heads)
        self.hidden_size = int(config.hidden_size)
        width = getattr(config, "true_hidden_size", self.hidden_size)  # MobileBERT's bottleneck
        self.head_dim = int(getattr(config, "head_dim", None) or width // self.n_heads)
        self.vocab_size = int(config.vocab_size)
        self.n_embeddings = _n_embeddings(self.network)
        if checkpoint.full is None:
            check_vocabulary(tokenizer, self.n_embeddings, self.name)
        self.max_length = _max_length(self.network, tokenizer)
        self.takes_segments = _takes_segments(self.network, tokenizer)
        labels = getattr(model.config, "id2label", None) or {}
        classifies = self.classifier in ("sequence", "token")
        self.id2label = {int(i): str(label) for i, label in labels.items()} if classifies else {}
        self.lock = _lock_of(self.network)
        self.speed = Speed()
        self.heads_off: tuple[tuple[int, int], ...] = ()
        self.ablation: Ablation = "zero"
        # Tokens of the text, and pieces of another run (`attn_widget.trace.heads_off.Piece`).
        self.patch: tuple[int, tuple[Any, ...]] | None = None

    @property
    def model(self) -> Any:
        """The model of `transformers`."""
        self._fill()
        return self.network

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of `transformers`."""
        self._fill()
        return self.reader

    @property
    def config(self) -> Any:
        """The encoder's own configuration."""
        self._fill()
        return self.network.base_model.config

    def _fill(self) -> None:
        """Put the objects of `transformers` in the place of what stood for them.

        They run from then on, because the caller may change their weights.
        """
        if self._full is None:
            return
        with self.lock:
            if self._full is None:  # another thread was first
                return
            checkpoint = self._full()
            model = checkpoint.model.to(self.device)
            _share_lock(model, self.lock)
            self.network, self.reader, self._full = model, checkpoint.tokenizer, None

    @property
    def device(self) -> torch.device:
        """Where the model's weights are."""
        return self.network.device

    @property
    def dtype(self) -> torch.dtype:
        """The type of the model's weights."""
        return self.network.dtype

    @property
    def mask_token_id(self) -> int | None:
        """Id of the mask token; None when the tokenizer has none."""
        return self.reader.mask_token_id

    def encode(
        self, text: str, text_pair: str | None = None, *, truncation: bool = False
    ) -> Encoding:
        """Tokenize ``text``, with the position of every token in it.

        Parameters
        ----------
        text, text_pair : str
            The two segments; the second is optional.
        truncation : bool
            Cut a text that is longer than ``max_length`` (the longer segment first).

        Returns
        -------
        Encoding

        Raises
        ------
        InputTypeError
            Not a str; ``truncation`` is no bool.
        InputError
            Empty, only white space, lone surrogates, or a tokenizer that is not the model's.
        TooLongError
            More than ``max_length`` tokens, without ``truncation``.

        Examples
        --------
        >>> from attn_widget import load
        >>> encoding = load(progress=False).encode("Cats purr.")
        >>> [(token.text, token.start, token.end) for token in encoding.tokens if not token.special]
        [('cats', 0, 4), ('pu', 5, 7), ('##rr', 7, 9), ('.', 9, 10)]
        """
        return encode(self, text, text_pair, truncation=truncation)

    def without(self, heads: Iterable[tuple[int, int]], ablation: Ablation = "zero") -> Encoder:
        """The same model with these heads switched off, and no other.

        Parameters
        ----------
        heads : iterable of (int, int)
            Layer and head, 0-based.
        ablation : {"zero", "mean"} or HeadMeans
            What the head's ``A v`` becomes: 0, its mean over the positions of the text, or its mean over
            many texts.

        Raises
        ------
        InputError, InputTypeError
            Anything but pairs, a head that does not exist or is given twice, all heads, or means of
            another model.

        Examples
        --------
        >>> from attn_widget import load
        >>> load(progress=False).without([(5, 2), (0, 1)]).heads_off
        ((0, 1), (5, 2))
        """
        self.check_ablation(ablation)
        chosen = check_heads(heads, self.n_layers, self.n_heads)
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.heads_off, copy.ablation = chosen, ablation
        return copy

    def check_ablation(self, ablation: object) -> None:
        """Raise what `without` raises."""
        if not isinstance(ablation, HeadMeans):
            check_choice(ablation, "ablation", ("zero", "mean"))
            return
        wanted = (self.n_layers, self.n_heads, self.head_dim)
        remedy = "head_means(texts, model=...) of this model gives them."
        if ablation.values.shape != wanted:
            raise InputError(
                f"ablation holds means [layers, heads, head_dim] of {list(ablation.values.shape)}, and "
                f"{self.name} has {list(wanted)}.",
                remedy,
            )
        if not np.isfinite(ablation.values).all():
            raise InputError("ablation holds means that are not finite numbers.", remedy)
        if ablation.weights not in (None, fingerprint(self.network, cached=True)):
            raise InputError(
                f"ablation holds means of {ablation.model}, and {self.name} is another model or has other "
                "weights now.",
                remedy,
            )

    def token_texts(self, ids: Sequence[int]) -> list[str]:
        """Vocabulary entries as the tokenizer stores them; ``"[17]"`` for an id without an entry.

        Parameters
        ----------
        ids : sequence of int

        Raises
        ------
        InputTypeError, InputError
            No several int, or a negative one.
        """
        ids = [
            check_count(i, "an entry of ids", 0, 2**31 - 1)
            for i in check_several(ids, "ids", "int")
        ]
        texts = self.reader.convert_ids_to_tokens(ids)
        return [f"[{i}]" if text is None else text for i, text in zip(ids, texts, strict=True)]

    def __repr__(self) -> str:
        return (
            f"<Encoder {self.name!r}, {self.family.name}, {self.n_layers} layers of "
            f"{self.n_heads} heads, {self.hidden_size} wide>"
        )


LOADING = threading.RLock()
_LOCKS: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _lock_of(model: Any) -> Any:
    """One lock for a model, also when it is part of another (its head left off, say)."""
    base = model.base_model
    with LOADING:
        return _LOCKS.setdefault(base, threading.RLock())


def _share_lock(model: Any, lock: Any) -> None:
    """``model`` stands for one that has ``lock``."""
    with LOADING:
        _LOCKS[model.base_model] = lock


def _heads(model: Any, untrained: frozenset[str]) -> set[str]:
    """Which heads have trained weights: ``mlm``, ``nsp``, ``sequence``, ``token``, ``question_answering``."""
    names = [cls.__name__ for cls in type(model).__mro__]

    def is_a(*endings: str) -> bool:
        return any(name.endswith(endings) for name in names)

    heads: set[str] = set()
    relation = [key for key in untrained if "seq_relationship" in key or "pooler" in key]
    others = [key for key in untrained if key not in relation]
    predicts = is_a("ForMaskedLM", "LMHeadModel", "ForPreTraining")
    if predicts and not is_a(*DISCRIMINATORS) and not others:
        heads.add("mlm")
    head = getattr(model, "cls", None)
    if hasattr(head, "seq_relationship") and not relation:
        heads.add("nsp")
    if not untrained:
        endings = {
            "ForSequenceClassification": "sequence",
            "ForTokenClassification": "token",
            "ForQuestionAnswering": "question_answering",
        }
        heads.update(kind for ending, kind in endings.items() if is_a(ending))
    return heads


def _classifier(heads: set[str]) -> Any:
    kinds = ("sequence", "token", "question_answering")
    return next((kind for kind in kinds if kind in heads), None)


def _n_embeddings(model: Any) -> int:
    return int(model.get_input_embeddings().weight.shape[0])


def _max_length(model: Any, tokenizer: Any) -> int:
    """The model's own limit; RoBERTa's first positions are reserved for padding."""
    positions = next(
        (m for name, m in model.named_modules() if name.endswith("embeddings.position_embeddings")),
        None,
    )
    if positions is not None and hasattr(positions, "num_embeddings"):
        reserved = 0 if positions.padding_idx is None else positions.padding_idx + 1
        return int(positions.num_embeddings) - reserved
    config = model.base_model.config
    limits = (getattr(config, "max_position_embeddings", None), tokenizer.model_max_length)
    sane = (int(x) for x in limits if x is not None and 0 < x <= LARGEST_SANE_LENGTH)
    return next(sane, LENGTH_WITHOUT_LIMIT)


def _takes_segments(model: Any, tokenizer: Any) -> bool:
    """Whether the model has several segments and its tokenizer gives them (else it was trained without)."""
    base = model.base_model
    parameters = inspect.signature(base.forward).parameters
    several = "token_type_ids" in parameters and getattr(base.config, "type_vocab_size", 2) > 1
    return several and "token_type_ids" in tokenizer.model_input_names
