"""Run: one text, one model, one trace; answers what needs the model again."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import NotAvailableError
from attn_widget.model.classification import (
    NEXT_SENTENCE_LABELS,
    ClassProbabilities,
    activation_of,
    class_probabilities,
    reads,
)
from attn_widget.model.encoder import Encoder, Encoding
from attn_widget.model.families import Part
from attn_widget.model.numpy_modules import Module
from attn_widget.model.predictions import Mode, probabilities, summarize
from attn_widget.model.tokenizing import mask
from attn_widget.trace import Trace
from attn_widget.trace.capture import capture
from attn_widget.trace.forward import Progress, forward_ids

AS_IS_AT_ONCE = 1024  # positions whose logits are computed together: 200 MB of 50,000 entries
ROWS_AT_ONCE = 64  # of logits in float64: 16 MB of 30,000 entries
MASKED_TOKENS_AT_ONCE = 4096  # tokens of one batch of masked copies: a few hundred MB at 768 wide
KEPT_GUESSES = 20  # of every masked position, so that a longer list costs no second pass


class Run:
    """One text's run through an encoder, and further questions to it.

    ``encoding``: the input that was run. ``trace``: what the forward pass left.
    """

    def __init__(self, encoder: Encoder, encoding: Encoding, trace: Trace) -> None:
        self.encoder = encoder
        self.encoding = encoding
        self.trace = trace
        self._guessed: dict[int, dict[str, NDArray[Any]]] = {}
        self._lock = threading.RLock()  # of what is kept; the encoder has its own

    def mask(self, tokens: Iterable[int], *, progress: Progress | None = None) -> Run:
        """The same text run with ``tokens`` read as the mask token; see `attn_widget.model.tokenizing.mask`.

        ``tokens``: positions of the text, whatever this run has masked. ``progress``: see
        `attn_widget.trace.capture.capture`.
        """
        encoding = mask(self.encoder, self.encoding, tokens)
        return Run(self.encoder, encoding, capture(self.encoder, encoding, progress=progress))

    def with_encoder(self, encoder: Encoder, *, progress: Progress | None = None) -> Run:
        """The same text run by another state of the model, with heads switched off, say."""
        return Run(encoder, self.encoding, capture(encoder, self.encoding, progress=progress))

    def of(self, part: Part) -> Run:
        """The same pass, seen from another part of an encoder-decoder."""
        traces = self.trace.parts
        return Run(self.encoder.of(part), self.encoding.of(part), traces[part])

    def guess(
        self, mode: Mode, wanted: Sequence[int], top_k: int, progress: Progress | None
    ) -> dict[str, NDArray[Any]]:
        """Arrays of `Predictions` for some positions; masked ones are kept, also where an exception of ``progress`` ends it."""
        with self._lock:
            guess = self._masked if mode == "masked" else self._as_is
            return guess(wanted, top_k, progress)

    def probabilities_of(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """The probability of one vocabulary entry at each position, float64 [n]; ``ids`` [n]."""
        found: list[NDArray[np.float64]] = []
        for start in range(0, len(ids), ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, len(ids)))
            shares = probabilities(self.trace.logits_tensor(rows))
            found.append(shares[np.arange(len(shares)), ids[rows]])
        return np.concatenate(found)

    @property
    def masked_known(self) -> bool:
        """True if masked predictions of every position were computed and kept."""
        with self._lock:
            cached = self._guessed.get(min(KEPT_GUESSES, self.encoder.vocab_size))
            return cached is not None and bool(cached["done"].all())

    @property
    def next_sentence(self) -> ClassProbabilities:
        """Probability that the second segment follows the first, by BERT's next-sentence head."""
        logits = self.trace.nsp_logits
        if logits is None:
            raise NotAvailableError(f"{self.encoder.name} has no next-sentence head.")
        if self.encoding.text_pair is None:
            raise NotAvailableError(
                "There is one text, and the next-sentence head compares two.", "Give text_pair."
            )
        return class_probabilities(NEXT_SENTENCE_LABELS, logits, task="next_sentence")

    @property
    def classification(self) -> ClassProbabilities | None:
        """The classifier's outputs opened up; None when the model has no classifier.

        For a sequence classifier one row of classes; for a token classifier a row for each token;
        for question answering the columns are the start and the end of the answer, and the softmax
        runs over the positions.
        """
        logits = self.trace.classifier_logits
        task = self.encoder.classifier
        if logits is None or task is None:
            return None
        if task == "question_answering":
            return class_probabilities(("start", "end"), logits, axis=0, task=task)
        count = logits.shape[-1]
        labels = tuple(self.encoder.id2label.get(i, f"LABEL_{i}") for i in range(count))
        if task == "token":
            return class_probabilities(labels, logits, task=task)
        kind = getattr(self.encoder.traced.config, "problem_type", None)
        activation, note = activation_of(kind, count)
        note = " ".join(filter(None, (note, reads(self.encoder.traced.config))))
        return class_probabilities(labels, logits, activation=activation, note=note)

    def _as_is(
        self, wanted: Sequence[int], top_k: int, progress: Progress | None
    ) -> dict[str, NDArray[Any]]:
        """`summarize` over positions, some at a time: the logits of a long text are gigabytes."""
        ids = np.asarray(self.encoding.text_ids)
        if self.encoder.predicts == "next":
            ids = np.append(ids[1:], -1)
        parts: list[dict[str, NDArray[Any]]] = []
        for batch in chunks([*wanted], AS_IS_AT_ONCE):
            rows = (
                slice(batch[0], batch[-1] + 1) if batch[-1] - batch[0] == len(batch) - 1 else batch
            )
            parts.append(summarize(self.trace.logits_tensor(rows), ids[batch], top_k))
            if progress is not None and len(wanted) > AS_IS_AT_ONCE:
                progress(sum(len(part["logit_max"]) for part in parts), len(wanted))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _masked(
        self, wanted: Sequence[int], top_k: int, progress: Progress | None
    ) -> dict[str, NDArray[Any]]:
        """`summarize` over positions, each masked in its own copy of the input."""
        count = min(max(top_k, KEPT_GUESSES), self.encoder.vocab_size)
        ids = np.asarray(self.encoding.text_ids)
        store = self._guessed.setdefault(count, {})
        done = store.setdefault("done", np.zeros(len(ids), dtype=np.bool_))
        missing = [i for i in wanted if not done[i]]
        finished = len(wanted) - len(missing)
        for batch in chunks(missing, max(1, MASKED_TOKENS_AT_ONCE // len(ids))):
            parts = summarize(self.masked_logits(batch), ids[batch], count)
            for name, part in parts.items():
                whole = store.setdefault(name, np.zeros((len(ids), *part.shape[1:]), part.dtype))
                whole[batch] = part
            done[batch] = True
            finished += len(batch)
            if progress is not None:
                progress(finished, len(wanted))
        arrays = {name: whole[list(wanted)] for name, whole in store.items() if name != "done"}
        by_rank = ("ids", "logits", "probabilities")
        return {name: a[:, :top_k] if name in by_rank else a for name, a in arrays.items()}

    def masked_logits(self, positions: list[int], spans: Sequence[slice] = ()) -> Any:
        """Logits [p, vocabulary]: row r is position ``positions[r]`` with the mask token in its place.

        ``spans``: for each row, what is masked with it.
        """
        held = self.encoding.arrays
        copies = held["input_ids"].repeat(len(positions), axis=0)
        places = np.array(positions)
        mask = self.encoder.mask_token_id
        assert mask is not None  # `Analysis` has refused a tokenizer without one
        copies[range(len(positions)), places] = mask
        for copy, span in zip(copies, spans, strict=False):
            copy[span] = mask
        extra = {name: held.get(name) for name in ("token_type_ids", "attention_mask")}
        given: dict[str, Any] = {"input_ids": copies, "positions": places, **extra}
        if not isinstance(self.encoder.traced, Module):
            import torch

            given = {name: torch.from_numpy(x) for name, x in given.items() if x is not None}
        return forward_ids(self.encoder, **given)


def chunks(items: list[int], size: int) -> Iterator[list[int]]:
    """``items`` in lists of at most ``size``."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
