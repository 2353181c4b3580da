"""A target bound to a run: vocabulary ids, classes and positions, and how its value is computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attn_widget.checks import index_in, nearest, shown
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.influence.targets import Kind, Target
from attn_widget.model.classification import class_index, reads
from attn_widget.trace.forward import on_device

if TYPE_CHECKING:
    import torch

    from attn_widget.model.encoder import Encoder
    from attn_widget.trace.run import Run


@dataclass(frozen=True)
class BoundTarget:
    """The entry of a model's output that a target names.

    Attributes
    ----------
    kind : {"token", "class", "next_sentence"}
    name : str
        For people.
    plus : int
        Vocabulary id or class whose logit counts.
    minus : int or None
        The one that is subtracted.
    position : int or None
        Row of the logits; None where the head gives one row.
    rows : tuple of int
        Positions whose last hidden states the head reads.
    """

    kind: Kind
    name: str
    plus: int
    minus: int | None
    position: int | None
    rows: tuple[int, ...]

    def value(self, encoder: Encoder, inputs: dict[str, Any]) -> torch.Tensor:
        """The target's value for each text of a batch, tensor [B]; gradients flow where they are on."""
        return self.of(self.logits(encoder, inputs))

    def of(self, logits: torch.Tensor) -> torch.Tensor:
        """The value [B] in `logits` [B, C]."""
        chosen = logits[:, self.plus]
        return chosen if self.minus is None else chosen - logits[:, self.minus]

    def probability_of(self, logits: torch.Tensor) -> torch.Tensor:
        """Its probability [B] in `logits` [B, C]; of a difference, that of the first among the two."""
        if self.minus is None:
            return self.probability_of_first(logits)
        return self.of(logits).double().sigmoid()

    def probability_of_first(self, logits: torch.Tensor) -> torch.Tensor:
        """Share [B] of the first entry in the softmax over `logits` [B, C]."""
        return logits.double().softmax(dim=-1)[:, self.plus]

    def as_target(self, target: Target) -> Target:
        """``target`` by ids and indices: equal questions are the same, however they were put."""
        if self.kind == "next_sentence":
            return target
        named = "token" if self.kind == "token" else "label"
        return replace(target, **{named: self.plus, "against": self.minus})

    def logits(self, encoder: Encoder, inputs: dict[str, Any]) -> torch.Tensor:
        """The logits that the target is of, tensor [B, vocabulary or classes]."""
        network = encoder.network
        inputs = on_device(encoder, inputs)
        if self.kind == "token" and encoder.family.mlm is not None:
            hidden = network.base_model(**inputs, return_dict=True)[0]
            return encoder.family.mlm(network, hidden[:, self.position])
        if self.kind == "next_sentence":
            pooled = network.base_model(**inputs, return_dict=True)["pooler_output"]
            return network.cls.seq_relationship(pooled)
        output = network(**inputs, return_dict=True)
        logits = output["prediction_logits" if "prediction_logits" in output else "logits"]
        return logits if self.position is None else logits[:, self.position]


def bind(run: Run, target: Target) -> BoundTarget:
    """Find what `target` names in a run's model and text.

    Raises
    ------
    InputError
        A position that does not exist or of a special token, a token that is not in the vocabulary or
        splits into pieces, a class that is none.
    NotAvailableError
        A model without such a head.
    """
    return {"token": _token, "class": _class, "next_sentence": _next_sentence}[target.kind](
        run, target
    )


def check_position(run: Run, position: int | None) -> int:
    """``position`` as a token of the text.

    Raises
    ------
    InputError
        Out of range, or of a special token.
    """
    position = index_in(position, run.trace.n_tokens, "position")
    token = run.trace.tokens[position]
    if token.special:
        raise InputError(
            f"Position {position} is {token.text}, which the tokenizer added.",
            "Choose the position of a token of the text.",
        )
    return position


def _token(run: Run, target: Target) -> BoundTarget:
    encoder = run.encoder
    if not encoder.has_mlm:
        raise NotAvailableError(
            f"{encoder.name} has no masked-LM head, so no word piece has a logit.",
            "Load a checkpoint with one, such as the embedded model; a classifier takes label=.",
        )
    position = check_position(run, target.position)
    plus = token_id(encoder, target.token, "token")
    minus = None if target.against is None else token_id(encoder, target.against, "against")
    if plus == minus:
        raise InputError(
            f"token {target.token!r} and against {target.against!r} are the same entry of the "
            "vocabulary, so their difference is always 0."
        )
    return BoundTarget("token", str(target), plus, minus, position, (position,))


def _class(run: Run, target: Target) -> BoundTarget:
    encoder = run.encoder
    if encoder.classifier not in ("sequence", "token"):
        raise NotAvailableError(
            f"{encoder.name} has no classifier, so no class has a logit.",
            "Load a checkpoint for sequence or token classification; a masked-LM head takes token=.",
        )
    logits = run.trace.classifier_logits
    assert logits is not None  # of every run with a classifier
    labels = [encoder.id2label.get(i, f"LABEL_{i}") for i in range(logits.shape[-1])]
    assert target.label is not None
    plus = class_index(target.label, labels)
    minus = None if target.against is None else class_index(target.against, labels)
    if plus == minus:
        raise InputError(
            f"label {target.label!r} and against {target.against!r} are the same class, so their "
            "difference is always 0."
        )
    if encoder.classifier == "token":
        if target.position is None:
            raise InputError(
                f"{encoder.name} classifies tokens, and position is missing.",
                "Give the token: target(label=..., position=3).",
            )
        position = check_position(run, target.position)
        return BoundTarget("class", str(target), plus, minus, position, (position,))
    if target.position is not None:
        raise InputError(
            f"position is {target.position}, and {encoder.name} classifies whole texts.",
            "Leave position out.",
        )
    every = bool(reads(encoder.network.config))
    rows = tuple(range(run.trace.n_tokens)) if every else (0,)
    return BoundTarget("class", str(target), plus, minus, None, rows)


def _next_sentence(run: Run, target: Target) -> BoundTarget:
    run.next_sentence  # noqa: B018 - says why there is none  # pyright: ignore[reportUnusedExpression]
    return BoundTarget("next_sentence", str(target), 0, None, None, (0,))


def token_id(encoder: Encoder, token: str | int | None, name: str) -> int:
    """The vocabulary id of a word, a word piece or an id.

    A word is meant as one with a space before it, where the tokenizer tells the two apart: ``"are"``
    is ``"Ġare"`` or ``"▁are"``. An entry of the vocabulary is taken as it is written.

    Raises
    ------
    InputError
        Not in the vocabulary, or several pieces.

    Examples
    --------
    >>> from attn_widget.model.loading import load
    >>> encoder = load(progress=False)
    >>> encoder.token_texts([token_id(encoder, "Are", "token"), token_id(encoder, "##s", "token")])
    ['are', '##s']
    """
    if isinstance(token, int):
        return index_in(token, encoder.vocab_size, name)
    backend, unknown = encoder.reader.backend_tokenizer, encoder.reader.unk_token_id
    pieces: list[int] = []
    with encoder.lock:
        for text in (f" {token}", token):
            pieces = backend.encode(text, add_special_tokens=False).ids
            if len(pieces) == 1 and pieces[0] != unknown:
                return pieces[0]
        entry = backend.token_to_id(token)
        if entry is not None:
            return int(entry)
        if len(pieces) > 1 and unknown not in pieces:
            split = ", ".join(map(repr, encoder.token_texts(pieces[:6])))
            raise InputError(
                f"{name} is {shown(token)}, which is not one entry of the vocabulary: it splits into "
                f"{split}{', ...' if len(pieces) > 6 else ''}.",
                "Name one of these pieces, or another word.",
            )
        near = nearest(token, backend.get_vocab())
    raise InputError(
        f"{name} is {shown(token)}, which is not in the vocabulary of {encoder.name}.",
        near or "predictions() lists entries that are.",
    )
