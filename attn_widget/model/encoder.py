"""Encoder: a model with its fast tokenizer."""

from __future__ import annotations

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
    short_repr,
)
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, NotPickled
from attn_widget.host.fingerprint import fingerprint, weights_state
from attn_widget.host.installed import require_torch
from attn_widget.model.abilities import (
    Classifier,
    classifier_of,
    heads_of,
    layers_and_heads,
    max_length,
    n_embeddings,
    takes_segments,
)
from attn_widget.model.checkpoint import (
    Checkpoint,
)
from attn_widget.model.config import check_vocabulary
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import (
    PARTS,
    PERMUTED,
    Family,
    Part,
    Predicts,
    family_of,
    stack_config,
)
from attn_widget.model.families_of_two import parts_of
from attn_widget.model.numpy_bert import BertForPreTraining as NumpyBert
from attn_widget.model.tokenizing import encode, expand

if TYPE_CHECKING:
    import torch

    from attn_widget.model.embedding_head import EmbeddingHead


@dataclass(frozen=True, eq=False)
class HeadMeans:
    """Mean output of every head of a model over many texts. `attn_widget.corpus.head_means` makes it.

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
# Layer and head; of an encoder-decoder also part, layer and head.
HeadAddress = tuple[int, int] | tuple[str, int, int]


class Encoder(NotPickled):
    """A model, an encoder or a decoder, with its fast tokenizer. `load` makes it.

    Attributes
    ----------
    model : transformers.PreTrainedModel
    config : transformers.PreTrainedConfig
        The model's own, also where the model around it has another.
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
    has_lm, has_nsp : bool
        A trained language-model head; a trained next-sentence head.
    predicts : {"here", "next"}
        Which token the language-model head predicts at a position: the one that stands there (an encoder), or the
        one after it (a decoder).
    classifier : {"sequence", "token", "question_answering"} or None
    id2label : dict of int to str
        The classifier's label names; empty without one.
    heads_off : tuple of (int, int)
        Heads that do not work, as (layer, head); see `without`.
    ablation : {"zero", "mean"} or HeadMeans
        What they give instead.
    part : {"encoder", "decoder", "cross"} or None
        Of an encoder-decoder: which attention ``n_layers``, ``n_heads``, ``family`` and ``heads_off`` are of; see `of`.
    patch : tuple or None
        Pieces of another run that take the place of its own; see `Comparison.patch`.
    embedding : EmbeddingHead or None
        How a sentence embedder pools its hidden states; see `with_pooling`.
    network : torch.nn.Module
        `model`, or its stand-in in torch.
    traced : torch.nn.Module or numpy_bert.BertForPreTraining
        The network whose passes `attn_widget.trace` records. The embedded model's is in numpy if torch was not imported
        when it was loaded, and stays so until ``model`` is asked for; whatever needs gradients uses ``network``.
    lock : threading.RLock
        Held while the model or the tokenizer works; encoders of one model share it.
    """

    _INSTEAD = "Pass its name, and call load(name) where it is needed."

    def __init__(self, checkpoint: Checkpoint) -> None:
        check_kind(checkpoint, Checkpoint, "checkpoint", "load(name) makes an Encoder.")
        model, tokenizer = checkpoint.model, checkpoint.tokenizer
        config = stack_config(model.base_model.config, "decoder")
        heads = heads_of(model, checkpoint.untrained)
        self.has_nsp = "nsp" in heads
        self.classifier: Classifier | None = classifier_of(heads)
        self._hold(checkpoint, model if heads else model.base_model, tokenizer)
        self.family: Family = family_of(self.traced)
        self.has_lm = "lm" in heads and self.family.name not in PERMUTED
        self.predicts: Predicts = self.family.predicts
        # `_become` sets these again for a part of an encoder-decoder.
        stack = "decoder" if self.predicts == "next" else "encoder"
        layers, self.n_heads = layers_and_heads(config, stack)
        self.n_layers = layers * int(getattr(config, "inner_group_num", 1))
        self.hidden_size = int(config.hidden_size)
        width = getattr(config, "true_hidden_size", self.hidden_size)  # MobileBERT's bottleneck
        self.head_dim = int(getattr(config, "head_dim", None) or width // self.n_heads)
        self.vocab_size = int(config.vocab_size)
        self.n_embeddings = n_embeddings(self.traced)
        if checkpoint.full is None:
            check_vocabulary(tokenizer, self.n_embeddings, self.name)
        self.max_length = max_length(self.traced, tokenizer)
        self.takes_segments = takes_segments(self.traced, tokenizer, self.predicts)
        labels = getattr(model.config, "id2label", None) or {}
        classifies = self.classifier in ("sequence", "token")
        self.id2label = {int(i): str(label) for i, label in labels.items()} if classifies else {}
        self._families = parts_of(self.traced)
        if self._families:
            self._writes = self.has_lm
            self._become("decoder")

    def _hold(self, checkpoint: Checkpoint, traced: Any, reader: Any) -> None:
        """Set what models of texts and of images have alike: what runs and what reads, no head off, no part."""
        # Network and tokenizer: `model` and `tokenizer`, or their stand-ins until `_full`.
        self.traced, self.reader = traced, reader
        self._full = checkpoint.full
        self._root = self  # `load` made it; copies have heads off, or are of one result
        self._weights: int | None = None  # state of the weights that a result was made with
        self._filled: int | None = None  # the same, when the model of `transformers` came
        self._read_embedding = checkpoint.embedding
        self._embedding: EmbeddingHead | None = None
        self.untrained = checkpoint.untrained
        self.name, self.revision = checkpoint.name, checkpoint.revision
        self.lock = _lock_of(traced)
        self.heads_off: tuple[tuple[int, int], ...] = ()
        self.ablation: Ablation = "zero"
        # Pieces of another run (`attn_widget.trace.heads_off.Piece`).
        self.patch: tuple[Any, ...] | None = None
        self.part: Part | None = None
        self._families: dict[Part, Family] = {}
        self._off: dict[Part, tuple[tuple[int, int], ...]] = {}

    @property
    def network(self) -> Any:
        """The network in torch.

        Of the embedded model it comes when it is first asked for, over the memory of `traced`.

        Raises
        ------
        NotAvailableError
            torch is not installed.
        """
        if not isinstance(self.traced, NumpyBert):
            return self.traced
        require_torch("What was asked for")
        with LOADING:
            network = self.traced.in_torch()
            _share_lock(network, self.lock)
        return network

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
            require_torch("The model of transformers", transformers=True)
            root = self._root
            if root is not self:
                root._fill()
                self.traced, self.reader, self._full = root.traced, root.reader, None
                self._weights = None if self._weights is None else root._filled
                return
            checkpoint = self._full()
            model = checkpoint.model.to(self.device)
            _share_lock(model, self.lock)
            self._filled = weights_state(model)
            self.traced, self.reader, self._full = model, checkpoint.tokenizer, None

    @property
    def device(self) -> torch.device:
        """Device of the model's weights."""
        if isinstance(self.traced, NumpyBert):
            import torch

            return torch.device("cpu")
        return self.traced.device

    @property
    def dtype(self) -> torch.dtype:
        """The type of the model's weights."""
        if isinstance(self.traced, NumpyBert):
            import torch

            return torch.float32
        return self.traced.dtype

    @property
    def embedding(self) -> EmbeddingHead | None:
        """Pooling and further layers of a sentence embedder, or of `with_pooling`; None of another model.

        Raises
        ------
        ModelLoadError
            The model's files describe a module that is not known, or cannot be read.
        """
        with self.lock:
            if self._embedding is None and self._read_embedding is not None:
                head = self._read_embedding()
                self._embedding = None if head is None else head.moved(self.device, self.dtype)
                self._read_embedding = None
            return self._embedding

    def with_pooling(self, pooling: str | Sequence[str]) -> Encoder:
        """The same model as an embedder of texts, with a pooling of its last hidden states.

        Parameters
        ----------
        pooling : str or sequence of str
            ``"mean"`` over all positions, ``"cls"`` (the first), ``"last"``, ``"weighted"`` (a mean with weights 1 to
            n), ``"max"``, ``"mean_sqrt"``, or ``"tokens"``: an embedding for each token (late interaction). Several are
            concatenated.

        Raises
        ------
        InputError, InputTypeError
            No such pooling.

        Examples
        --------
        >>> from attn_widget import load
        >>> load(progress=False).with_pooling("mean").embedding
        <EmbeddingHead mean>
        """
        from attn_widget.model.embedding_head import named_head

        return self.with_embedding(named_head(pooling))

    def with_embedding(self, head: EmbeddingHead) -> Encoder:
        """The same model with this embedding head; it reads no more tokens than the head, or else the tokenizer, allows.

        Parameters
        ----------
        head : EmbeddingHead

        Raises
        ------
        InputTypeError
            ``head`` is no `EmbeddingHead`, as `embedding` of an encoder is.
        """
        from attn_widget.model.embedding_head import EmbeddingHead

        if not isinstance(head, EmbeddingHead):
            raise InputTypeError(
                f"head must be an EmbeddingHead, not {short_repr(head)}.",
                "Take encoder.embedding of an embedder, or name a pooling: encoder.with_pooling('mean').",
            )
        copy = self._copy()
        copy._embedding, copy._read_embedding = head, None
        limit = self.reader.model_max_length if head.max_length is None else head.max_length
        copy.max_length = min(self.max_length, limit)
        return copy

    @property
    def mask_token_id(self) -> int | None:
        """Id of the mask token; None when the tokenizer has none."""
        return self.reader.mask_token_id

    def encode(
        self,
        text: Any,
        text_pair: str | None = None,
        *,
        truncation: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Tokenize ``text``, with the position of every token in it.

        Parameters
        ----------
        text : str, or token ids
            Ids are read exactly as they are: a list of int, an array or tensor [n] or [1, n], or the `BatchEncoding` of
            one text. The text is then what they spell.
        text_pair : str, optional
            A second segment.
        truncation : bool
            Cut a text that is longer than ``max_length`` (the longer segment first).
        add_special_tokens : bool
            Whether the tokenizer adds its special tokens, such as ``[CLS]``. The beginning token of a decoder is not added
            to a text that begins with it, such as that of a chat template.

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
        encoding = encode(
            self, text, text_pair, truncation=truncation, add_special_tokens=add_special_tokens
        )
        head = self._embedding
        if head is None or not head.padded:
            return encoding
        return expand(self, encoding, head.padded, attended=head.attends_expansion)

    def for_input(self, given: Any) -> tuple[Encoder, Any]:
        """The encoder that reads ``given``, this one or another tower of the same model, and what it reads.

        Parameters
        ----------
        given : Any
            What the user gave: a text, or what a feature reads in place of one.

        Returns
        -------
        (Encoder, Any)
            The encoder to run, and ``given`` as that encoder takes it.

        Examples
        --------
        >>> from attn_widget import load
        >>> load(progress=False).for_input("the cat")[1]
        'the cat'
        """
        return self, given

    def without(self, heads: Iterable[HeadAddress], ablation: Ablation = "zero") -> Encoder:
        """The same model with these heads switched off, and no other.

        Parameters
        ----------
        heads : iterable of (int, int), or of (str, int, int)
            Layer and head, 0-based; of an encoder-decoder also part, layer and head.
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
        copy = self._copy()
        copy.ablation = ablation
        if self.part is None:
            copy.heads_off = check_heads(heads, self.n_layers, self.n_heads)
        else:
            copy._off = self._by_part(heads, self.part)
            copy.heads_off = copy._off.get(self.part, ())
        return copy

    def _by_part(self, heads: Iterable[Any], own: Part) -> dict[Part, tuple[tuple[int, int], ...]]:
        """Addresses (part, layer, head), or (layer, head) of the part ``own``, as heads of each part."""
        found: dict[Part, list[Any]] = {part: [] for part in PARTS}
        for head in check_several(heads, "heads", "(part, layer, head)"):
            address = list(head) if isinstance(head, (tuple, list)) else []
            if len(address) == 3 and address[0] in PARTS:
                found[address[0]].append(tuple(address[1:]))
            elif len(address) == 3:
                raise InputError(
                    f"heads holds {short_repr(head)}, and {self.name} has the parts {', '.join(PARTS)}.",
                    'For example [("cross", 3, 5)].',
                )
            else:
                found[own].append(head)
        checked: dict[Part, tuple[tuple[int, int], ...]] = {}
        for part, chosen in found.items():
            if chosen:
                encoder = self.of(part)
                checked[part] = check_heads(chosen, encoder.n_layers, encoder.n_heads)
        return checked

    @property
    def lacks_lm(self) -> str:
        """Why `has_lm` is False, to follow the model's name."""
        if self.family.name in PERMUTED:
            return "predicts tokens that a permutation hides (perm_mask), and none of a text that it sees whole"
        return "has no language-model head"

    @property
    def parts(self) -> tuple[Part, ...]:
        """``("encoder", "decoder", "cross")`` of an encoder-decoder; nothing of a model of one part."""
        return PARTS if self._families else ()

    def of(self, part: Part) -> Encoder:
        """The same encoder-decoder, of which layers, heads and the family are those of ``part``.

        Parameters
        ----------
        part : {"encoder", "decoder", "cross"}

        Raises
        ------
        NotAvailableError
            A model of one part.
        """
        if not self._families:
            raise NotAvailableError(
                f"{self.name} is no encoder-decoder, so it has no part {short_repr(part)}."
            )
        check_choice(part, "part", PARTS)
        if part == self.part:
            return self
        copy = self._copy()
        copy._become(part)
        return copy

    def _become(self, part: Part) -> None:
        kind = "encoder" if part == "encoder" else "decoder"
        config = stack_config(self.network.base_model.config, kind)
        self.part, self.family = part, self._families[part]
        self.predicts = self.family.predicts
        self.has_lm = self._writes and part == "decoder"
        self.n_layers, self.n_heads = layers_and_heads(config, kind)
        self.hidden_size = int(config.hidden_size)
        own = getattr(config, "d_kv", None) or getattr(config, "head_dim", None)
        self.head_dim = int(own or self.hidden_size // self.n_heads)
        self.heads_off = self._off.get(part, ())

    @property
    def addresses_off(self) -> tuple[tuple[Part, int, int], ...]:
        """Heads of an encoder-decoder that do not work, as (part, layer, head)."""
        return tuple((part, *pair) for part in PARTS for pair in self._off.get(part, ()))

    def pinned(self) -> Encoder:
        """The same model for one result, with the weights that it has now: with others, `check_weights` refuses.

        Raises
        ------
        NotAvailableError
            It is pinned already, to other weights.
        """
        self.check_weights()
        if self._weights is not None:
            return self
        copy = self._copy()
        copy._weights = weights_state(self.traced)
        return copy

    def unpinned(self) -> Encoder:
        """The same model for new results, whatever its weights are."""
        if self._weights is None:
            return self
        copy = self._copy()
        copy._weights = None
        return copy

    def is_of(self, other: Encoder) -> bool:
        """True if both are of one model, whatever its weights were and which heads were off.

        Parameters
        ----------
        other : Encoder
        """
        return isinstance(other, Encoder) and self._root is other._root

    def has_weights_of(self, other: Encoder) -> bool:
        """True if the weights of one model were the same for both, as far as `weights_state` shows.

        Parameters
        ----------
        other : Encoder
        """
        return self.is_of(other) and len({self._weights, other._weights} - {None}) < 2

    def runs_like(self, other: Encoder) -> bool:
        """True if both give the same for the same text.

        Parameters
        ----------
        other : Encoder
        """
        return (
            self.has_weights_of(other)
            and (self.heads_off, self._off) == (other.heads_off, other._off)
            and (self.ablation is other.ablation or not (self.heads_off or self._off))
            and self.patch is other.patch
        )

    def check_weights(self) -> None:
        """Raise `NotAvailableError` if the weights are not those of the result that this is of; see `weights_state`."""
        if self._weights is not None and self._weights != weights_state(self.traced):
            raise NotAvailableError(
                f"The weights of {self.name} have changed, or were moved, since this was run, and the model would answer "
                "with those it has now.",
                "Run it again: analyze(text, model=...). What was computed before still holds.",
            )

    def _copy(self) -> Encoder:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy

    def check_ablation(self, ablation: object) -> None:
        """Raise what `without` raises."""
        if not isinstance(ablation, HeadMeans):
            check_choice(ablation, "ablation", ("zero", "mean"))
            return
        if self.part is not None:
            raise NotAvailableError(
                f"{self.name} is an encoder-decoder, and means over many texts are not taken of one.",
                "Use ablation='zero' or 'mean'.",
            )
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
