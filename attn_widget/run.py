"""Run: one text, one model, one trace; answers what needs the model again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.errors import InputError, NotAvailableError
from attn_widget.predictions import Mode, Predictions, Softmax, open_softmax, summarize

if TYPE_CHECKING:
    from attn_widget.encoder import Encoder, Encoding
    from attn_widget.trace import Trace

MASKED_TOKENS_AT_ONCE = 4096  # tokens of one batch of masked copies

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
        self._masked_rows: Any = None

    def predictions(
        self,
        top_k: int = 5,
        mode: Mode = "as_is",
        *,
        progress: Progress | None = None,
    ) -> Predictions:
        """The masked-LM head's best ``top_k`` tokens for every position.

        Parameters
        ----------
        top_k : int
            1 to the size of the vocabulary.
        mode : {"as_is", "masked"}
            ``"masked"`` replaces each position by the mask token in turn: n forward passes, in batches.
        progress : callable, optional
            Called with ``(done, n)`` after each batch; an exception that it raises cancels the work.

        Raises
        ------
        NotAvailableError
            The checkpoint has no masked-LM head.
        InputError
            An unknown mode or ``top_k`` out of range.
        """
        if mode not in ("as_is", "masked"):
            raise InputError(f"Unknown mode {mode!r}.", "Use 'as_is' or 'masked'.")
        self._need_mlm()
        if not 1 <= top_k <= self.encoder.vocab_size:
            raise InputError(f"top_k is {top_k}, expected 1 to {self.encoder.vocab_size}.")
        ids = np.asarray([token.id for token in self.trace.tokens])
        arrays = summarize(self._logits(mode, progress), ids, top_k)
        tokens = [self.encoder.token_texts(row) for row in arrays["ids"].tolist()]
        return Predictions(mode=mode, tokens=tokens, positions=self.trace.tokens, **arrays)

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
        token_ids : sequence of int, optional
            The entries to list; by default the best ``top_k``.
        """
        self._need_mlm()
        if not 0 <= position < self.trace.n_tokens:
            raise InputError(f"position is {position}, expected 0 to {self.trace.n_tokens - 1}.")
        row = self._logits(mode, None)[position].float().cpu().numpy()
        chosen = np.argsort(-row, kind="stable")[:top_k] if token_ids is None else token_ids
        ids = [int(token_id) for token_id in chosen]
        return open_softmax(row, position, ids, self.encoder.token_texts(ids))

    def _need_mlm(self) -> None:
        if not self.encoder.has_mlm:
            raise NotAvailableError(
                f"{self.encoder.name} has no masked-LM head, so it predicts no tokens.",
                "Load a checkpoint with one, such as the embedded model or bert-base-uncased.",
            )
