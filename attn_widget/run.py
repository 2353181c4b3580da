"""Run: one text, one model, one trace; answers what needs the model again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.classification import (
    NEXT_SENTENCE_LABELS,
    ClassProbabilities,
    class_probabilities,
)
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.predictions import Mode, Predictions, Softmax, open_softmax, summarize

if TYPE_CHECKING:
    import torch

    from attn_widget.encoder import Encoder, Encoding
    from attn_widget.inside import EmbeddingParts, LayerParts
    from attn_widget.trace import Trace

MASKED_TOKENS_AT_ONCE = 4096  # tokens of one batch of masked copies: a few hundred MB at 768 wide

Progress = Callable[[int, int], None]


class Run:
    """What an encoder did with one text, and what it can still be asked.

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

    def predictions(
        self, top_k: int = 5, mode: Mode = "as_is", *, progress: Progress | None = None
    ) -> Predictions:
        """The masked-LM head's best ``top_k`` tokens for every position.

        Parameters
        ----------
        top_k : int
            1 to the size of the vocabulary.
        mode : {"as_is", "masked"}
            ``"masked"`` replaces each position by the mask token in turn: n copies, in batches.
        progress : callable, optional
            Called with ``(done, n)`` after each batch; an exception that it raises cancels the work.

        Raises
        ------
        NotAvailableError
            The checkpoint has no masked-LM head, or (``"masked"``) its tokenizer no mask token.
        InputError
            An unknown mode, or ``top_k`` out of range.
        """
        self._check(mode)
        if not 1 <= top_k <= self.encoder.vocab_size:
            raise InputError(f"top_k is {top_k}, expected 1 to {self.encoder.vocab_size}.")
        if (mode, top_k) not in self._predictions:
            ids = np.asarray([token.id for token in self.trace.tokens])
            if mode == "as_is":
                arrays = summarize(self.trace.logits_tensor(), ids, top_k)
            else:
                arrays = self._masked(ids, top_k, progress)
            tokens = [self.encoder.token_texts(row) for row in arrays["ids"].tolist()]
            found = Predictions(mode=mode, tokens=tokens, positions=self.trace.tokens, **arrays)
            self._predictions[mode, top_k] = found
        return self._predictions[mode, top_k]

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
        """
        self._check(mode)
        if not 0 <= position < self.trace.n_tokens:
            raise InputError(f"position is {position}, expected 0 to {self.trace.n_tokens - 1}.")
        if mode == "as_is":
            logits = self.trace.logits_tensor([position])
        else:
            logits = self._masked_logits([position])
        row = logits[0].float().cpu().numpy()
        chosen = np.argsort(-row, kind="stable")[:top_k] if token_ids is None else token_ids
        ids = [int(token_id) for token_id in chosen]
        return open_softmax(row, position, ids, self.encoder.token_texts(ids))

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
        return class_probabilities(NEXT_SENTENCE_LABELS, logits)

    @property
    def classification(self) -> ClassProbabilities | None:
        """The classifier's softmax opened up; None when the model has no classifier.

        For a sequence classifier one row of classes; for a token classifier a row for each token;
        for question answering the columns are the start and the end of the answer, and the softmax
        runs over the positions.
        """
        logits = self.trace.classifier_logits
        if logits is None:
            return None
        if self.encoder.classifier == "question_answering":
            return class_probabilities(("start", "end"), logits, axis=0)
        labels = tuple(self.encoder.id2label[i] for i in range(logits.shape[-1]))
        return class_probabilities(labels, logits)

    def inside(self, layer: int) -> LayerParts:
        """What a layer computes, in a pass of its own; see `attn_widget.inside.inside`."""
        from attn_widget.inside import inside

        return inside(self.encoder, self.encoding, layer)

    def embeddings(self) -> EmbeddingParts:
        """See `attn_widget.inside.embedding_parts`."""
        from attn_widget.inside import embedding_parts

        return embedding_parts(self.encoder, self.encoding)

    def positions(self) -> NDArray[np.float32]:
        """See `attn_widget.inside.position_table`."""
        from attn_widget.inside import position_table

        return position_table(self.encoder)

    def parameters(self) -> dict[str, int]:
        """See `attn_widget.inside.parameter_counts`."""
        from attn_widget.inside import parameter_counts

        return parameter_counts(self.encoder)

    def _check(self, mode: str) -> None:
        if mode not in ("as_is", "masked"):
            raise InputError(f"Unknown mode {mode!r}.", "Use 'as_is' or 'masked'.")
        if not self.encoder.has_mlm:
            raise NotAvailableError(
                f"{self.encoder.name} has no masked-LM head, so it predicts no tokens.",
                "Load a checkpoint with one, such as the embedded model or bert-base-uncased.",
            )
        if mode == "masked" and self.encoder.mask_token_id is None:
            raise NotAvailableError(
                f"The tokenizer of {self.encoder.name} has no mask token.", "Use mode='as_is'."
            )

    def _masked(
        self, ids: NDArray[np.int64], top_k: int, progress: Progress | None
    ) -> dict[str, NDArray[Any]]:
        """`summarize` over all positions, each masked in its own copy of the input."""
        n = self.trace.n_tokens
        parts: list[dict[str, NDArray[Any]]] = []
        for positions in chunks(n, max(1, MASKED_TOKENS_AT_ONCE // n)):
            parts.append(summarize(self._masked_logits(positions), ids[positions], top_k))
            if progress is not None:
                progress(positions[-1] + 1, n)
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _masked_logits(self, positions: list[int]) -> torch.Tensor:
        """Logits [p, vocabulary]: row r is position ``positions[r]`` with the mask token in its place."""
        import torch

        from attn_widget.capture import forward_ids

        held = self.encoding.inputs
        copies = held["input_ids"].repeat(len(positions), 1)
        places = torch.tensor(positions)
        mask = self.encoder.mask_token_id
        assert mask is not None  # `_check` has refused a tokenizer without one
        copies[torch.arange(len(positions)), places] = mask
        extra = {name: held.get(name) for name in ("token_type_ids", "attention_mask")}
        return forward_ids(self.encoder, copies, **extra, positions=places)


def chunks(n: int, size: int) -> Iterator[list[int]]:
    """``0 .. n - 1`` in lists of at most ``size``."""
    for start in range(0, n, size):
        yield list(range(start, min(n, start + size)))
