"""Surprisal and entropy of every word of some texts: texts of one length in one pass, long ones in windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.features.corpus.reading.batch import one_thread
from attn_widget.features.corpus.reading.blocks import blocks_of
from attn_widget.features.corpus.reading.chunks import Failure
from attn_widget.features.corpus.reading.two_texts import item_digest
from attn_widget.features.surprisal.boundaries import beginnings
from attn_widget.features.surprisal.figures import BIT, Rows, expected, of_words
from attn_widget.features.surprisal.words import Word, is_unspaced, words_of
from attn_widget.figures.metrics import usable_cores
from attn_widget.model.encoder import Encoder
from attn_widget.model.tokenizing import encode
from attn_widget.model.tokens import Token
from attn_widget.trace.finite import check_weights
from attn_widget.trace.forward import inference_mode, on_device

if TYPE_CHECKING:
    import torch

HEAD_ROWS = (
    64  # positions whose logits are made at once: 25 MB in double precision for 49,152 entries
)
MASKED_TOKENS = 4096  # of one batch of masked copies
Record = dict[str, Any]


@dataclass(frozen=True)
class Text:
    """A text that is ready to be read.

    Attributes
    ----------
    words : list of Word
        Their tokens are numbered as ``ids``.
    ids : int64 [n]
        With the beginning token, if there is one.
    shift : int
        1 where the beginning token was put before the text here.
    unspaced : bool
        Tokens are the words.
    """

    text: str
    tokens: tuple[Token, ...]
    words: list[Word]
    ids: NDArray[np.int64]
    shift: int
    unspaced: bool


class Reader:
    """Reads texts with one model, always with the same rounding.

    Parameters
    ----------
    encoder : Encoder
    correction : bool
        Of words whose tokens begin with a space; see `figures`.
    """

    def __init__(self, encoder: Encoder, correction: bool) -> None:
        self.encoder = encoder
        self.next = encoder.predicts == "next"
        self.begins = beginnings(encoder) if correction and self.next else None
        self.first_id: int | None = encoder.reader.bos_token_id if self.next else None

    @cached_property
    def _split(self) -> Any:
        import torch

        if self.begins is None:
            return None
        both = np.stack([self.begins, ~self.begins])
        return torch.from_numpy(both.astype(np.float32)).to(self.encoder.device)

    def prepare(self, text: str) -> Text:
        """A text's tokens and words.

        Raises
        ------
        InputError
            Nothing that the tokenizer keeps.
        TooLongError
            Longer than a masked model reads.
        """
        encoding = encode(self.encoder, text, None, truncation=False, any_length=self.next)
        unspaced = is_unspaced(text)
        words = words_of(text, encoding.tokens, single=unspaced)
        ids = encoding.arrays["input_ids"][0]
        first = self.first_id
        shift = int(first is not None and ids[0] != first)
        if first is not None and shift:
            ids = np.insert(ids, 0, first)
            words = [Word(w.start, w.end, w.first + 1, w.last + 1) for w in words]
        return Text(text, encoding.tokens, words, ids, shift, unspaced)

    def read(self, texts: Sequence[str]) -> tuple[list[list[Record] | None], list[Failure]]:
        """The rows of each text, None of those that failed.

        Which texts are read together depends on their lengths and contents alone, not on their order.
        """
        import torch

        prepared: list[Text] = []
        places: list[int] = []
        failures: list[Failure] = []
        for place, text in enumerate(texts):
            try:
                prepared.append(self.prepare(text))
                places.append(place)
            except Exception as error:
                failures.append(Failure(place, str(text), error))
        limit = self.encoder.max_length
        lengths = [min(len(text.ids), limit) for text in prepared]
        long = [len(text.ids) > limit for text in prepared]
        digests = [item_digest(text.text) for text in prepared]
        blocks = [
            block
            for wanted in (True, False)
            for block in self._blocks([k for k, one in enumerate(long) if one is wanted], lengths, digests)
        ]  # fmt: skip
        done: list[list[Record] | None] = [None] * len(texts)
        with one_thread(), inference_mode(self.encoder):
            check_weights(self.encoder)

            def work(block: list[int]) -> list[list[Record]]:
                with torch.no_grad():  # which holds for one thread
                    return self._block([prepared[k] for k in block])

            with ThreadPoolExecutor(usable_cores()) as pool:
                for block, records in zip(blocks, pool.map(work, blocks), strict=True):
                    for k, rows in zip(block, records, strict=True):
                        done[places[k]] = rows
        return done, failures

    def _blocks(
        self, some: list[int], lengths: Sequence[int], digests: Sequence[int]
    ) -> list[list[int]]:
        alike = blocks_of([lengths[k] for k in some], [digests[k] for k in some])
        return [[some[k] for k in block] for block in alike]

    def _block(self, texts: list[Text]) -> list[list[Record]]:
        if not self.next:
            return [self._masked(text) for text in texts]
        if len(texts[0].ids) > self.encoder.max_length:
            return [self._records(text, self._windows(text.ids)) for text in texts]
        rows = self._rows(np.stack([text.ids for text in texts]))
        return [self._records(text, own) for text, own in zip(texts, rows, strict=True)]

    def _hidden(self, ids: NDArray[np.int64]) -> tuple[Any, Any]:
        """Hidden states [B, n, d] and the head; or logits and none, where the head is not known by itself."""
        import torch

        network = self.encoder.network
        tensor = torch.from_numpy(ids)
        given = {"input_ids": tensor, "attention_mask": torch.ones_like(tensor)}
        inputs = on_device(self.encoder, given)
        head = self.encoder.family.lm
        if head is None:
            return network(**inputs, return_dict=True).logits, None
        return network.base_model(**inputs, return_dict=True)[0], head

    def _expected(self, states: Any, head: Any, ids: torch.Tensor) -> Rows:
        """`Rows` of some positions [rows, d], a few at a time."""
        parts: list[Rows] = []
        for first in range(0, len(states), HEAD_ROWS):
            some = states[first : first + HEAD_ROWS]
            logits = some if head is None else head(self.encoder.network, some)
            parts.append(expected(logits, ids[first : first + HEAD_ROWS], self._split))
        return Rows.join(parts)

    def _rows(self, ids: NDArray[np.int64]) -> list[Rows]:
        """Expectations at each position of texts of one length [B, n], and after the last: n + 1 rows each."""
        import torch

        states, head = self._hidden(ids)
        texts, n = ids.shape
        after = np.concatenate([ids[:, 1:], np.zeros((texts, 1), np.int64)], axis=1)
        coming = torch.from_numpy(after.reshape(-1)).to(states.device)
        rows = self._expected(states.reshape(texts * n, -1), head, coming)
        nothing = Rows(*(np.full(1, np.nan) for _ in range(4)))
        return [Rows.join([nothing, rows.take(slice(k * n, (k + 1) * n))]) for k in range(texts)]

    def _windows(self, ids: NDArray[np.int64]) -> Rows:
        """`_rows` of a long text: each token after at least half a context, where so many come before it."""
        size = self.encoder.max_length
        stride = stride_of(size)
        starts = [*range(0, len(ids) - size, stride), len(ids) - size]
        parts: list[Rows] = []
        known = 0
        for start in starts:
            rows = self._rows(ids[None, start : start + size])[0]
            parts.append(rows.take(slice(known - start, None)))
            # The last row has no token that comes: the next window has it.
            known = start + size
            if start != starts[-1]:
                parts[-1] = parts[-1].take(slice(0, -1))
        return Rows.join(parts)

    def _masked(self, text: Text) -> list[Record]:
        """Each word masked as a whole, all of its tokens at once."""
        import torch

        encoder, ids = self.encoder, text.ids
        assert (
            encoder.mask_token_id is not None
        )  # `check_predicts` has refused a tokenizer without one
        n = len(ids)
        size = max(1, MASKED_TOKENS // n)
        found: list[tuple[float, float]] = []
        for first in range(0, len(text.words), size):
            some = text.words[first : first + size]
            copies = np.repeat(ids[None], len(some), axis=0)
            at = [(k, t) for k, word in enumerate(some) for t in range(word.first, word.last)]
            rows, columns = np.array(at).T
            copies[rows, columns] = encoder.mask_token_id
            states, head = self._hidden(copies)
            coming = torch.from_numpy(ids[columns]).to(states.device)
            figures = self._expected(states[rows, columns], head, coming)
            begins = np.cumsum([0, *(word.last - word.first for word in some)])
            sums = np.add.reduceat(figures.surprisal, begins[:-1])
            found += zip(sums / BIT, figures.entropy[begins[:-1]] / BIT, strict=True)
        return records(text, np.array(found))

    def _records(self, text: Text, rows: Rows) -> list[Record]:
        begins = None if text.unspaced else self.begins
        spaced = (
            None if begins is None else [bool(begins[text.ids[word.first]]) for word in text.words]
        )
        return records(text, of_words(rows, text.words, spaced))


def records(text: Text, figures: NDArray[np.float64]) -> list[Record]:
    """A row for each word."""
    return [
        {
            "index": k,
            "word": text.text[word.start : word.end],
            "start": word.start,
            "end": word.end,
            "position": word.first - text.shift,
            "tokens": [token.text for token in text.tokens[word.first - text.shift : word.last - text.shift]],
            "surprisal": finite(values[0]),
            "entropy": finite(values[1]),
        }
        for k, (word, values) in enumerate(zip(text.words, figures, strict=True))
    ]  # fmt: skip


def finite(value: float) -> float:
    """A number of Python's own; -0.0, which rounding leaves of a certain word, is 0."""
    return math.nan if math.isnan(value) else float(value) + 0.0


def stride_of(size: int) -> int:
    """Tokens from one window of a long text to the next."""
    return max(1, size // 2)
