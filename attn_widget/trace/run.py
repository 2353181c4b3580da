"""Run: one text, one model, one trace; answers what needs the model again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import (
    check_callable,
    check_choice,
    check_count,
    index_in,
    indices_in,
    slice_in,
)
from attn_widget.errors import NotAvailableError
from attn_widget.model.classification import (
    NEXT_SENTENCE_LABELS,
    ClassProbabilities,
    activation_of,
    class_probabilities,
    reads,
)
from attn_widget.model.predictions import Mode, Predictions, Softmax, open_softmax, summarize

if TYPE_CHECKING:
    import torch

    from attn_widget.model.encoder import Encoder, Encoding
    from attn_widget.trace import Trace
    from attn_widget.trace.embeddings import EmbeddingParts
    from attn_widget.trace.forward import Progress
    from attn_widget.trace.layer_activations import LayerParts

AS_IS_AT_ONCE = 1024  # positions whose logits are computed together: 200 MB of 50,000 entries
ROWS_AT_ONCE = 64  # of logits in float64: 16 MB of 30,000 entries
MASKED_TOKENS_AT_ONCE = 4096  # tokens of one batch of masked copies: a few hundred MB at 768 wide
KEPT_GUESSES = 20  # of every masked position, so that a longer list costs no second pass


class Run:
    """One text's run through an encoder, and further questions to it.

    Parameters
    ----------
    encoder : Encoder
    encoding : Encoding
        The input that was run.
    trace : Trace
        What the forward pass left.
    """

    def __init__(self, encoder: Encoder, encoding: Encoding, trace: Trace) -> None:
        self.encoder = encoder
        self.encoding = encoding
        self.trace = trace
        self._predictions: dict[tuple[Mode, int], Predictions] = {}
        self._guessed: dict[int, dict[str, NDArray[Any]]] = {}
        self._lock = threading.RLock()  # of what is kept; the encoder has its own

    def mask(self, tokens: Iterable[int], *, progress: Progress | None = None) -> Run:
        """The same text run with ``tokens`` read as the mask token; see `attn_widget.model.tokenizing.mask`.

        Parameters
        ----------
        tokens : iterable of int
            Positions of the text, whatever this run has masked.
        progress : callable, optional
            See `attn_widget.trace.capture.capture`.
        """
        from attn_widget.model.tokenizing import mask
        from attn_widget.trace.capture import capture

        encoding = mask(self.encoder, self.encoding, tokens)
        return Run(self.encoder, encoding, capture(self.encoder, encoding, progress=progress))

    def with_encoder(self, encoder: Encoder, *, progress: Progress | None = None) -> Run:
        """The same text run by another state of the model, with heads switched off, say."""
        from attn_widget.trace.capture import capture

        return Run(encoder, self.encoding, capture(encoder, self.encoding, progress=progress))

    def predictions(
        self,
        top_k: int = 5,
        mode: Mode = "as_is",
        *,
        rows: slice | None = None,
        progress: Progress | None = None,
    ) -> Predictions:
        """The masked-LM head's best ``top_k`` tokens for every position.

        Parameters
        ----------
        top_k : int
            1 to the size of the vocabulary.
        mode : {"as_is", "masked"}
            ``"masked"`` replaces each position by the mask token in turn: a copy of the text for
            each, in batches. What was computed is kept.
        rows : slice, optional
            These positions alone; in mode ``"masked"`` no other one is computed.
        progress : callable, optional
            Called with ``(done, positions)`` after each batch; an exception that it raises cancels
            the work, and what was done is kept.

        Returns
        -------
        Predictions
            For ``rows``. ``original_rank`` and ``original_probability`` are of the token that stands
            in the text, also where this run has masked it.

        Raises
        ------
        NotAvailableError
            The checkpoint has no masked-LM head, or (``"masked"``) its tokenizer no mask token.
        InputError
            An unknown mode, ``top_k`` out of range, or ``rows`` without a position.
        InputTypeError
            ``top_k`` is no int, ``rows`` no slice, or ``progress`` cannot be called.
        """
        self._check(mode)
        top_k = check_count(top_k, "top_k", 1, self.encoder.vocab_size)
        check_callable(progress, "progress")
        n = self.trace.n_tokens
        wanted = positions_of(rows, n)
        with self._lock:
            if len(wanted) == n and (mode, top_k) in self._predictions:
                return self._predictions[mode, top_k]
            if mode == "as_is":
                arrays = self._as_is(wanted, top_k, progress)
            else:
                arrays = self._masked(wanted, top_k, progress)
            tokens = [self.encoder.token_texts(row) for row in arrays["ids"].tolist()]
            positions = tuple(self.trace.tokens[i] for i in wanted)
            predictions = Predictions(mode=mode, tokens=tokens, positions=positions, **arrays)
            if len(wanted) == n:
                self._predictions[mode, top_k] = predictions
            return predictions

    def probabilities_of(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """The probability of one vocabulary entry at each position, float64 [n]; ``ids`` [n]."""
        probabilities: list[NDArray[np.float64]] = []
        for start in range(0, len(ids), ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, len(ids)))
            shares = self.trace.logits_tensor(rows).double().softmax(dim=-1).cpu().numpy()
            probabilities.append(shares[np.arange(len(shares)), ids[rows]])
        return np.concatenate(probabilities)

    def softmax(
        self,
        position: int,
        token_ids: Sequence[int] | None = None,
        mode: Mode = "as_is",
        top_k: int = 20,
    ) -> Softmax:
        """The softmax over the vocabulary at one position, opened up.

        Parameters
        ----------
        position : int
        token_ids : sequence of int, optional
            The entries to list; by default the best ``top_k``.
        mode, top_k
            As in `predictions`.

        Raises
        ------
        NotAvailableError
            As in `predictions`.
        InputError
            An unknown mode; a position, an id or ``top_k`` out of range.
        InputTypeError
            ``token_ids`` is no list, or ``top_k`` no int.
        """
        self._check(mode)
        size = self.encoder.vocab_size
        position = index_in(position, self.trace.n_tokens, "position")
        top_k = check_count(top_k, "top_k", 1, size) if token_ids is None else 0
        ids = [] if token_ids is None else indices_in(token_ids, size, "token_ids")
        if mode == "as_is":
            logits = self.trace.logits_tensor([position])
        else:
            logits = self.masked_logits([position])
        row = logits[0].float().cpu().numpy()
        if token_ids is None:
            ids = np.argsort(-row, kind="stable")[:top_k].tolist()
        return open_softmax(row, position, ids, self.encoder.token_texts(ids))

    @property
    def masked_known(self) -> bool:
        """Whether masked predictions of every position were computed and kept."""
        with self._lock:
            kept = self._guessed.get(min(KEPT_GUESSES, self.encoder.vocab_size))
            return kept is not None and bool(kept["done"].all())

    @property
    def next_sentence(self) -> ClassProbabilities:
        """Whether the second segment follows the first, by the head that BERT was pre-trained with.

        Raises
        ------
        NotAvailableError
            The checkpoint has no trained next-sentence head, or there is no ``text_pair``.
        """
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
        kind = getattr(self.encoder.network.config, "problem_type", None)
        activation, note = activation_of(kind, count)
        note = " ".join(filter(None, (note, reads(self.encoder.network.config))))
        return class_probabilities(labels, logits, activation=activation, note=note)

    def class_gradients(self, classes: Sequence[int]) -> NDArray[np.float32]:
        """Float32 [len(classes), L, H, n]; see `attn_widget.trace.class_gradients.class_gradients`."""
        from attn_widget.trace.class_gradients import class_gradients

        return class_gradients(self.encoder, self.encoding, classes)

    def inside(self, layer: int) -> LayerParts:
        """Activations of a layer, in a pass of its own; see `attn_widget.trace.layer_activations.inside`."""
        from attn_widget.trace.layer_activations import inside

        return inside(self.encoder, self.encoding, layer)

    def visit_layers(self, visit: Callable[[LayerParts], None]) -> None:
        """Every layer's parts in one pass; see `attn_widget.trace.layer_activations.visit_layers`."""
        from attn_widget.trace.layer_activations import visit_layers

        visit_layers(self.encoder, self.encoding, visit)

    def embeddings(self) -> EmbeddingParts:
        """See `attn_widget.trace.embeddings.embedding_parts`."""
        from attn_widget.trace.embeddings import embedding_parts

        return embedding_parts(self.encoder, self.encoding)

    def missing_embeddings(self) -> dict[str, str]:
        """See `attn_widget.trace.embeddings.missing_embeddings`."""
        from attn_widget.trace.embeddings import missing_embeddings

        return missing_embeddings(self.encoder)

    def positions(self) -> NDArray[np.float32]:
        """See `attn_widget.trace.embeddings.position_table`."""
        from attn_widget.trace.embeddings import position_table

        return position_table(self.encoder)

    def parameters(self) -> dict[str, int]:
        """See `attn_widget.trace.embeddings.parameter_counts`."""
        from attn_widget.trace.embeddings import parameter_counts

        return parameter_counts(self.encoder)

    def _check(self, mode: str) -> None:
        check_choice(mode, "mode", ("as_is", "masked"))
        if not self.encoder.has_mlm:
            raise NotAvailableError(
                f"{self.encoder.name} has no masked-LM head, so it predicts no tokens.",
                "Load a checkpoint with one, such as the embedded model or bert-base-uncased.",
            )
        if mode == "masked" and self.encoder.mask_token_id is None:
            raise NotAvailableError(
                f"The tokenizer of {self.encoder.name} has no mask token.", "Use mode='as_is'."
            )

    def _as_is(
        self, wanted: range, top_k: int, progress: Progress | None
    ) -> dict[str, NDArray[Any]]:
        """`summarize` over positions, some at a time: the logits of a long text are gigabytes."""
        ids = np.asarray(self.encoding.text_ids)
        parts: list[dict[str, NDArray[Any]]] = []
        for batch in chunks([*wanted], AS_IS_AT_ONCE):
            rows = slice(batch[0], batch[-1] + 1) if wanted.step == 1 else batch
            parts.append(summarize(self.trace.logits_tensor(rows), ids[batch], top_k))
            if progress is not None and len(wanted) > AS_IS_AT_ONCE:
                progress(sum(len(part["logit_max"]) for part in parts), len(wanted))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _masked(
        self, wanted: range, top_k: int, progress: Progress | None
    ) -> dict[str, NDArray[Any]]:
        """`summarize` over positions, each masked in its own copy of the input."""
        kept = min(max(top_k, KEPT_GUESSES), self.encoder.vocab_size)
        ids = np.asarray(self.encoding.text_ids)
        store = self._guessed.setdefault(kept, {})
        done = store.setdefault("done", np.zeros(len(ids), dtype=np.bool_))
        missing = [i for i in wanted if not done[i]]
        finished = len(wanted) - len(missing)
        for batch in chunks(missing, max(1, MASKED_TOKENS_AT_ONCE // len(ids))):
            started = time.perf_counter()
            parts = summarize(self.masked_logits(batch), ids[batch], kept)
            self.encoder.speed.measured(len(batch) * len(ids), time.perf_counter() - started)
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

    def masked_logits(self, positions: list[int]) -> torch.Tensor:
        """Logits [p, vocabulary]: row r is position ``positions[r]`` with the mask token in its place."""
        import torch

        from attn_widget.trace.forward import forward_ids

        held = self.encoding.inputs
        copies = held["input_ids"].repeat(len(positions), 1)
        places = torch.tensor(positions)
        mask = self.encoder.mask_token_id
        assert mask is not None  # `_check` has refused a tokenizer without one
        copies[torch.arange(len(positions)), places] = mask
        extra = {name: held.get(name) for name in ("token_type_ids", "attention_mask")}
        return forward_ids(self.encoder, copies, **extra, positions=places)


def positions_of(rows: slice | None, n: int) -> range:
    """The positions of ``rows`` among ``n``, at least one.

    Raises
    ------
    InputTypeError
        No slice.
    InputError
        None of them.
    """
    return range(n)[slice_in(rows, n, "rows")]


def chunks(items: list[int], size: int) -> Iterator[list[int]]:
    """``items`` in lists of at most ``size``."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
