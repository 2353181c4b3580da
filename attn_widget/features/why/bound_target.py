"""A target bound to a run: vocabulary ids, classes and positions, and how its value is computed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from attn_widget.checks import index_in, nearest, short_repr
from attn_widget.errors import InputError, NotAvailableError, NotFiniteError
from attn_widget.features.why.targets import Kind, Target
from attn_widget.model.classification import class_index, reads
from attn_widget.model.encoder import Encoder
from attn_widget.trace.forward import inference_mode, on_device, threads_for
from attn_widget.trace.run import Run


@dataclass(frozen=True)
class BoundTarget:
    """The entry of a model's output that a target names."""

    kind: Kind  # {"token", "class", "next_sentence", "similarity"}
    name: str  # for people
    plus: int  # vocabulary id or class whose logit counts
    minus: int | None  # the one that is subtracted
    position: int | None  # row of the logits; None where the head gives one row
    rows: tuple[int, ...]  # positions whose last hidden states the head reads
    # [d'] or [m, d']; the other text's embedding, or those of its tokens; divided by their lengths unless
    # ``similarity`` is ``"dot"``.
    other: torch.Tensor | None = field(default=None, compare=False)
    similarity: str | None = None  # {"cosine", "dot", "maxsim"} or None
    as_passage: bool = False  # late interaction: the other text is the query

    def value(self, encoder: Encoder, inputs: dict[str, Any]) -> torch.Tensor:
        """The target's value for each text of a batch, tensor [B]; gradients flow where they are on."""
        return self.of(self.logits(encoder, inputs))

    def of(self, logits: torch.Tensor) -> torch.Tensor:
        """The value [B] in `logits` [B, C]."""
        chosen = logits[:, self.plus]
        return chosen if self.minus is None else chosen - logits[:, self.minus]

    def probability_of(self, logits: torch.Tensor) -> torch.Tensor:
        """Its probability [B] in `logits` [B, C]; of a difference, that of the first among the two.

        A similarity has none: it is watched itself.
        """
        if self.kind == "similarity":
            return self.of(logits).double()
        if self.minus is None:
            return self.probability_of_first(logits)
        return self.of(logits).double().sigmoid()

    def probability_of_first(self, logits: torch.Tensor) -> torch.Tensor:
        """Share [B] of the first entry in the softmax over `logits` [B, C]; a single class has a sigmoid."""
        return self.log_shares(logits)[:, self.plus].exp()

    def log_shares(self, logits: torch.Tensor) -> torch.Tensor:
        """Logarithms [B, C] of the distribution that `logits` stand for; of a single class, it and its absence."""
        wide = logits.double()
        if self.kind == "class" and wide.shape[-1] == 1:
            wide = torch.cat([wide, torch.zeros_like(wide)], dim=-1)
        return wide.log_softmax(dim=-1)

    def as_target(self, target: Target) -> Target:
        """``target`` by ids and indices: equal questions are the same, however they were put."""
        if self.kind == "next_sentence":
            return target
        if self.kind == "similarity":
            return replace(target, similarity=self.similarity)
        named = "token" if self.kind == "token" else "label"
        return replace(target, **{named: self.plus, "against": self.minus})

    def logits(self, encoder: Encoder, inputs: dict[str, Any]) -> torch.Tensor:
        """The logits that the target is of, tensor [B, vocabulary or classes]; of a similarity, [B, 1]."""
        with threads_for(encoder, inputs):
            return self._logits(encoder, on_device(encoder, inputs))

    def _logits(self, encoder: Encoder, inputs: dict[str, Any]) -> torch.Tensor:
        network = encoder.network
        if self.kind == "similarity":
            hidden = network.base_model(**inputs, return_dict=True)[0]
            return self.similarities(encoder, hidden, inputs)
        if self.kind == "token" and encoder.family.lm is not None:
            hidden = network.base_model(**inputs, return_dict=True)[0]
            return encoder.family.lm(network, hidden[:, self.position])
        if self.kind == "next_sentence":
            pooled = network.base_model(**inputs, return_dict=True)["pooler_output"]
            return network.cls.seq_relationship(pooled)
        output = network(**inputs, return_dict=True)
        logits = output["prediction_logits" if "prediction_logits" in output else "logits"]
        return logits if self.position is None else logits[:, self.position]

    def similarities(
        self, encoder: Encoder, hidden: torch.Tensor, inputs: dict[str, Any]
    ) -> torch.Tensor:
        """The similarity [B, 1] of texts with last hidden states [B, n, d] to the other text."""
        head = encoder.embedding
        assert head is not None  # `bind` has refused other models
        return self.compared(encoder, head(hidden, inputs.get("attention_mask")), inputs)

    def compared(
        self, encoder: Encoder, vectors: torch.Tensor, inputs: dict[str, Any]
    ) -> torch.Tensor:
        """`similarities` [B, 1] by the embeddings of the texts [B, d'], or of their tokens [B, n, d']."""
        other = self.other
        assert other is not None  # of every target of this kind
        if self.similarity != "dot":
            vectors = functional.normalize(vectors, dim=-1)
        if vectors.dim() == 2:
            return (vectors @ other)[:, None]
        cosines, scored = vectors @ other.T, scored_tokens(encoder, inputs, self.as_passage)
        if self.as_passage:
            answers = cosines.masked_fill(~scored[..., None], -torch.inf)
            return answers.max(dim=1).values.sum(dim=-1, keepdim=True)
        return (cosines.max(dim=-1).values * scored).sum(dim=-1, keepdim=True)


def names_of(run: Run, target: Target, bound: BoundTarget) -> list[str]:
    """Names of a target's entries: word pieces, classes or the other text; two for a difference."""
    ids = [bound.plus] if bound.minus is None else [bound.plus, bound.minus]
    if bound.kind == "token":
        return run.encoder.token_texts(ids)
    if bound.kind == "class":
        return [run.encoder.id2label.get(index, f"LABEL_{index}") for index in ids]
    return ["is next"] if bound.kind == "next_sentence" else [target.other_text]


def scored_tokens(encoder: Encoder, inputs: dict[str, Any], as_passage: bool) -> torch.Tensor:
    """Late interaction: whether each token [B, n] takes part: all of a padded query, and of a passage those outside the skiplist."""
    scored = inputs["attention_mask"] != 0
    head = encoder.embedding
    if not as_passage and head is not None and head.padded:
        return torch.ones_like(scored)  # mask tokens count, whether they are attended to or not
    if as_passage and head is not None and head.skiplist:
        vocabulary = encoder.reader.backend_tokenizer
        found = [vocabulary.token_to_id(word) for word in sorted(head.skiplist)]
        ids = torch.tensor([index for index in found if index is not None], device=scored.device)
        scored = scored & ~torch.isin(inputs["input_ids"], ids)
    return scored


def bind(run: Run, target: Target) -> BoundTarget:
    """Find what `target` names in a run's model and text.

    Raises `InputError`: a position that does not exist or of a special token, a token that is not in the vocabulary
    or splits into pieces, a class that is none. Raises `NotAvailableError`: a model without such a head.
    """
    binds = {
        "token": _token,
        "class": _class,
        "next_sentence": _next_sentence,
        "similarity": _similarity,
    }
    return binds[target.kind](run, target)


def check_position(run: Run, position: int | None) -> int:
    """``position`` as a token of the text."""
    position = index_in(position, run.trace.n_tokens, "position")
    token = run.trace.tokens[position]
    if (
        token.special and token.start == token.end and not run.encoder.parts
    ):  # from its start token a decoder writes the first one
        raise InputError(
            f"Position {position} is {token.text}, which the tokenizer added.",
            "Choose the position of a token of the text.",
        )
    return position


def _token(run: Run, target: Target) -> BoundTarget:
    encoder = run.encoder
    if not encoder.has_lm:
        raise NotAvailableError(
            f"{encoder.name} {encoder.lacks_lm}, so no word piece has a logit.",
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
            "Load a checkpoint for sequence or token classification; a language-model head takes token=.",
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


def _similarity(run: Run, target: Target) -> BoundTarget:
    encoder = run.encoder
    head = encoder.embedding
    if head is None:
        raise NotAvailableError(
            f"{encoder.name} names no pooling, so a text has no embedding.",
            "Name it: model=load(name).with_pooling('mean'); the model's card says which one.",
        )
    default = "maxsim" if head.of_tokens else head.similarity or "cosine"
    similarity = target.similarity or default
    if head.of_tokens != (similarity == "maxsim"):
        raise InputError(
            f"similarity is {similarity!r}, and {encoder.name} has one embedding for each "
            f"{'token' if head.of_tokens else 'text'}.",
            f"Use {default!r}, or leave it out.",
        )
    if target.as_passage and not head.of_tokens:
        raise InputError(
            f"as_passage is True, and {encoder.name} has one embedding for each text: both sides are alike.",
            "Leave as_passage out.",
        )
    other = other_embedding(run, target.similar_to, as_passage=not target.as_passage)
    own = embedding_of(run)
    if other.shape[-1] != own.shape[-1]:
        raise InputError(
            f"The other text has an embedding of {other.shape[-1]} numbers, and {encoder.name} gives "
            f"{own.shape[-1]}.",
            "Analyze both texts with the same model, or with two that were trained together.",
        )
    if similarity != "dot":
        unit_vectors(own, encoder.name)
        other = unit_vectors(other, encoder.name)
    rows = head.rows(run.trace.n_tokens)
    name = str(replace(target, similarity=similarity))
    return BoundTarget(
        "similarity", name, 0, None, None, rows, other, similarity, target.as_passage
    )


def embedding_of(run: Run) -> torch.Tensor:
    """The embedding [d'] of a run's text by its encoder's head, or those of its tokens [n, d'].

    Raises `NotAvailableError`: the encoder names no pooling. Raises `NotFiniteError`: an embedding with NaN or
    infinite numbers.
    """
    encoder, head, states = run.encoder, run.encoder.embedding, run.trace.hidden_states
    if states is None:
        raise NotAvailableError(
            f"{encoder.name} keeps several vectors for each token and layer, and which of them are pooled is not known."
        )
    if head is None:
        raise NotAvailableError(f"{encoder.name} names no pooling, so a text has no embedding.")
    hidden = torch.from_numpy(np.array(states[-1:])).to(encoder.device, encoder.dtype)
    with inference_mode(encoder):
        vectors = head(hidden, on_device(encoder, run.encoding.inputs).get("attention_mask"))[0]
    return check_embedding(vectors, encoder.name)


def check_embedding(vectors: torch.Tensor, name: str) -> torch.Tensor:
    """``vectors``, if they are numbers.

    Raises `NotFiniteError`: NaN or infinite numbers.
    """
    broken = vectors[~torch.isfinite(vectors)]
    if broken.numel():
        raise NotFiniteError(
            f"The embedding of a text by {name} holds {float(broken[0])}.",
            "The weights after its encoder hold NaN, or overflow.",
        )
    return vectors


def unit_vectors(vectors: torch.Tensor, name: str) -> torch.Tensor:
    """Embeddings [..., d'] divided by their lengths.

    Raises `NotFiniteError`: one has length 0.
    """
    if not bool((vectors.norm(dim=-1) > 0).all()):
        raise NotFiniteError(
            f"The embedding of a text by {name} has length 0, so it has no direction and no cosine.",
            "Check the weights after the encoder, or ask for similarity='dot'.",
        )
    return functional.normalize(vectors, dim=-1)


def other_embedding(run: Run, other: Any, *, as_passage: bool = True) -> torch.Tensor:
    """The embedding of another text by a run's encoder, or of an analysis by its own.

    Late interaction: of its tokens that take part, as a passage or as a query.
    """
    encoder = run.encoder
    if not isinstance(other, str):
        if other.run is None:
            raise InputError(
                "similar_to is an analysis of attention tensors, which has no embedding.",
                "Give the text, or analyze() of it.",
            )
        other.run.trace.check_one_pass("An embedding")
        reader, inputs = other.run.encoder, other.run.encoding.inputs
        vectors = embedding_of(other.run).to(encoder.device, encoder.dtype)
    else:
        reader, given = encoder.for_input(other)
        inputs, head = on_device(reader, reader.encode(given).inputs), reader.embedding
        assert head is not None  # the caller has asked
        with inference_mode(reader):
            hidden = reader.network.base_model(**inputs, return_dict=True)[0]
            vectors = head(hidden, inputs.get("attention_mask"))[0]
        check_embedding(vectors, encoder.name)
    if vectors.dim() == 1:
        return vectors
    return vectors[scored_tokens(reader, inputs, as_passage)[0].to(vectors.device)]


def token_id(encoder: Encoder, token: str | int | None, name: str) -> int:
    """The vocabulary id of a word, a word piece or an id.

    A word is meant as one with a space before it, where the tokenizer tells the two apart: ``"are"``
    is ``"Ġare"`` or ``"▁are"``. An entry of the vocabulary is taken as it is written.

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
                f"{name} is {short_repr(token)}, which is not one entry of the vocabulary: it splits into "
                f"{split}{', ...' if len(pieces) > 6 else ''}.",
                "Name one of these pieces, or another word.",
            )
        near = nearest(token, backend.get_vocab())
    raise InputError(
        f"{name} is {short_repr(token)}, which is not in the vocabulary of {encoder.name}.",
        near or "predictions() lists entries that are.",
    )
