"""Chunks: consecutive texts of a source, the unit of work that is kept, moved and done again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_widget.errors import AttnWidgetError
from attn_widget.features.corpus.reading.batch import batchable, one_thread
from attn_widget.features.corpus.reading.blocks import blocks_of, keys_of, read_alone, read_together
from attn_widget.features.corpus.reading.observed import Observed
from attn_widget.features.corpus.reading.two_texts import in_words, item_digest, read_item
from attn_widget.features.corpus.storage import Rows
from attn_widget.figures.metrics import usable_cores
from attn_widget.language.taggers import TaggerLike
from attn_widget.model.encoder import Encoder
from attn_widget.trace.forward import inference_mode

# Some ten seconds of work for two cores: what a crash may cost.
CHUNK_TEXTS = 512
CHUNK_CHARACTERS = 60_000


@dataclass(frozen=True)
class Failure:
    """A text without figures."""

    place: int  # in its chunk
    text: str
    error: Exception

    @property
    def reason(self) -> str:
        if isinstance(self.error, AttnWidgetError):
            return self.error.message
        return f"{type(self.error).__name__}: {self.error}"


def chunks_of(texts: Iterable[Any]) -> Iterator[list[Any]]:
    """Cut texts into chunks by their order and lengths alone.

    >>> [len(chunk) for chunk in chunks_of(["a"] * 1000)]
    [512, 488]
    """
    chunk: list[Any] = []
    characters = 0
    for text in texts:
        length = (
            sum(map(len, text))
            if isinstance(text, tuple)
            else len(text)
            if isinstance(text, str)
            else 0
        )
        if chunk and (len(chunk) >= CHUNK_TEXTS or characters + length > CHUNK_CHARACTERS):
            yield chunk
            chunk, characters = [], 0
        chunk.append(text)
        characters += length
    if chunk:
        yield chunk


def read_chunk(
    encoder: Encoder,
    texts: Sequence[Any],
    tagger: TaggerLike,
    truncation: bool,
    threads: int | None = None,
    generate: int = 0,
) -> tuple[Rows, list[Failure]]:
    """The figures of a chunk's texts, and those that have none.

    Texts of one length are read together, in blocks that depend on the texts of the chunk and not on their
    order. Each block is read by one thread, and several at once, so that figures are rounded alike whatever
    the number of threads and wherever the chunk is read.

    ``threads``: blocks that are read at once; by default as many as there are cores. ``generate``: how many tokens
    an encoder-decoder writes for each text. It reads one text, or pair, after the other. Returns: ``index`` counts
    from the beginning of the chunk.
    """
    if encoder.part is not None:
        return _read_pairs(encoder, texts, tagger, truncation, generate)
    failures: list[Failure] = []
    places: list[int] = []
    encodings: list[Any] = []
    for place, text in enumerate(texts):
        try:
            encodings.append(encoder.encode(text, truncation=truncation))
            places.append(place)
        except Exception as error:
            failures.append(Failure(place, str(text), error))
    lengths = [encoding.n_tokens for encoding in encodings]
    digests = [item_digest(texts[place]) for place in places]
    done: list[tuple[list[int], Any, Observed]] = []
    blocks = blocks_of(lengths, digests)
    with one_thread():
        results = _together(
            encoder, [[encodings[k] for k in block] for block in blocks], tagger, threads
        )
        for block, together in zip(blocks, results, strict=True):
            if together is not None:
                done.append((block, *together))
                continue
            for k in block:
                try:
                    alone = read_alone(encoder, texts[places[k]], tagger, truncation)
                except Exception as error:
                    failures.append(Failure(places[k], texts[places[k]], error))
                else:
                    done.append(([k], *alone))
    failures.sort(key=lambda failure: failure.place)
    order = [k for block, _, _ in done for k in block]
    if not order:
        return Rows.empty(len(keys_of(encoder)), encoder.n_layers, encoder.n_heads), failures
    turned = np.argsort(order)
    rows = Rows(
        np.array([places[k] for k in order])[turned],
        np.array([lengths[k] for k in order])[turned],
        np.concatenate([figures for _, figures, _ in done])[turned],
        np.array([digests[k] for k in order], np.uint64)[turned],
        Observed.join([observed for _, _, observed in done]).take(turned),
        tokens=[[token.text for token in encodings[k].tokens] for k in np.array(order)[turned]],
    )
    return rows, failures


def _read_pairs(
    encoder: Encoder, items: Sequence[Any], tagger: TaggerLike, truncation: bool, generate: int
) -> tuple[Rows, list[Failure]]:
    """`read_chunk` of what an encoder-decoder reads and writes."""
    failures: list[Failure] = []
    places: list[int] = []
    figures: list[Any] = []
    observed: list[Observed] = []
    tokens: list[list[str]] = []
    keys = keys_of(encoder)
    options = {"truncation": truncation, "generate": generate}
    with one_thread():
        for place, item in enumerate(items):
            try:
                values, seen, names = read_item(encoder, item, keys, tagger, options)
            except Exception as error:
                failures.append(Failure(place, in_words(item), error))
                continue
            places.append(place)
            figures.append(values)
            observed.append(seen)
            tokens.append(names)
    if not places:
        return Rows.empty(len(keys), encoder.n_layers, encoder.n_heads), failures
    rows = Rows(
        np.array(places),
        np.array([len(names) for names in tokens]),
        np.concatenate(figures),
        np.array([item_digest(items[place]) for place in places], np.uint64),
        Observed.join(observed),
        tokens=tokens,
    )
    return rows, failures


def _together(
    encoder: Encoder, blocks: list[list[Any]], tagger: TaggerLike, threads: int | None
) -> list[tuple[Any, Observed] | None]:
    """Results of `read_together` for each block."""
    if not batchable(encoder):
        return [None] * len(blocks)
    with (
        inference_mode(encoder, "attn_widget"),
        ThreadPoolExecutor(threads or usable_cores()) as pool,
    ):
        return list(pool.map(lambda block: read_together(encoder, block, tagger), blocks))
