"""Ranking: a query and any number of passages, scored as they come, and why one is above another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import run_text
from attn_widget.checks import check_count, check_flag, check_kind, check_name, index_in
from attn_widget.checks.rounding import largest_first
from attn_widget.errors import AttnWidgetError, InputError, NotAvailableError, NotPickled
from attn_widget.features.similarity.groups import groups_of, merged, names_of, own_groups
from attn_widget.features.similarity.reading import Reading, may_be_image
from attn_widget.features.similarity.similarity import Similarity
from attn_widget.features.why.bound_target import (
    BoundTarget,
    check_embedding,
    embedding_of,
    unit_vectors,
)
from attn_widget.features.why.contributions import Contributions
from attn_widget.features.why.passes import TOKENS_AT_ONCE
from attn_widget.figures.arrays import Float64
from attn_widget.host.frames import Records, dataframe
from attn_widget.host.results import Displayed
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.tokenizing import check_text
from attn_widget.protocol.run_source import title_of
from attn_widget.trace.forward import inference_mode, on_device

if TYPE_CHECKING:
    from pandas import DataFrame


Item = tuple[int, Encoder, Encoding]  # a passage's index, what reads it, and what is read
QUERY = -1  # among thumbnails
PASSAGES_AT_ONCE = 256  # read together, so that passages of similar length share a batch


@dataclass(frozen=True)
class Difference:
    """Why one passage is above another: the difference of their scores as one signed sum over the query.

    Attributes
    ----------
    first, second : int
        Indices of the passages.
    value : float
        Score of the first minus score of the second.
    query : Analysis
        The query; of a reranker, its run with the first passage.
    values : float64 [n]
        For each token of `query`: its contribution to the first score minus that to the second; 0 for tokens of a
        reranker's passage.
    bias : float
        What no token of the query carries: ``values.sum() + bias == value``.
    passages : (Contributions, Contributions)
        Of the tokens of each passage to its own score; of a reranker, of both texts.
    """

    first: int
    second: int
    value: float
    query: Analysis
    values: Float64
    bias: float
    passages: tuple[Contributions, Contributions]

    def to_records(self, *, words: bool = True) -> list[dict[str, Any]]:
        """One record a word, or token, of the query, then the bias: ``position, word, value``."""
        check_flag(words, "words")
        values = merged(self.values, groups_of(self.query, words))
        names = names_of(self.query, words)
        records: list[dict[str, Any]] = [
            {"position": k, "word": name, "value": float(value)}
            for k, (name, value) in enumerate(zip(names, values, strict=True))
        ]
        return [*records, {"position": None, "word": "(bias)", "value": self.bias}]

    def to_dataframe(self, *, words: bool = True) -> DataFrame:
        """`to_records` as a pandas DataFrame (needs the extra ``pandas``)."""
        return dataframe(self.to_records(words=words))

    def __repr__(self) -> str:
        values, names = merged(self.values, groups_of(self.query)), names_of(self.query)
        most = max(own_groups(self.query), key=lambda k: abs(values[k]))
        return (
            f"<Difference {self.value:+.4f} of passages {self.first} and {self.second}, "
            f"most by {names[most]!r} {values[most]:+.4f}>"
        )


class Ranking(Displayed, NotPickled, Records):
    """A query's scores with many passages. `attn_widget.similarity` makes it; a notebook displays it.

    Attributes
    ----------
    query : str
        Of an image what was read of it.
    passages : list of str
        Those that were read, in the order given; of an image what was read of it.
    scores : float64 [P]
        NaN for a passage that failed, or that an interruption left out.
    thumbnails : dict of int to (str, bytes)
        Of passages that are images: type and bytes of a small picture; of the query under -1.
    failed : dict of int to str
        Why a passage has no score, by its index.
    truncated : dict of int to (int, int)
        Passages of which the beginning alone was read: tokens read, and all.
    complete : bool
        False if the work was interrupted.
    kind : {"cosine", "dot", "maxsim", "relevance"}
    notes : tuple of str
    """

    _INSTEAD = "Keep its scores, or to_dataframe()."

    def __init__(
        self, reading: Reading, query: str, tagger: Any = "auto", given: Any = None
    ) -> None:
        hint = "similarity(query, passages, model=...) makes a Ranking."
        check_kind(reading, Reading, "reading", hint)
        check_name(query, "query", "a text")
        self._given = query if given is None else given
        self._reading = replace(reading, encoder=reading.encoder.pinned())
        self._tagger = tagger
        self._similarities: dict[int, Similarity] = {}
        self.query, self.kind, self.notes = query, reading.kind, reading.notes
        self.passages: list[str] = []
        self.thumbnails: dict[int, tuple[str, bytes]] = {}
        self._items: list[Any] = []  # the passages as they were given
        self.scores: Float64 = np.zeros(0)
        self.failed: dict[int, str] = {}
        self.truncated: dict[int, tuple[int, int]] = {}
        self.complete = False

    @property
    def order(self) -> list[int]:
        """Indices of the passages with a score, the highest first; equal ones in the order given."""
        return [i for i in largest_first(self.scores) if np.isfinite(self.scores[i])]

    def top(self, k: int = 10) -> list[tuple[int, float, str]]:
        """The ``k`` best passages: index, score, text.

        Parameters
        ----------
        k : int
        """
        check_count(k, "k", 1)
        return [(i, float(self.scores[i]), self.passages[i]) for i in self.order[:k]]

    def explain(self, index: int) -> Similarity:
        """The query and one passage as a `Similarity`.

        Parameters
        ----------
        index : int
            Of a passage, in the order given.
        """
        index = index_in(index, len(self.passages), "index")
        if index in self.failed:
            raise NotAvailableError(f"Passage {index} has no score: {self.failed[index]}")
        if index not in self._similarities:
            self._similarities[index] = self._reading.similarity(
                self._given,
                self._items[index],
                truncation=index in self.truncated,
                tagger=self._tagger,
            )
        return self._similarities[index]

    def difference(self, first: int, second: int) -> Difference:
        """Why passage ``first`` has another score than passage ``second``, as one sum over the query's tokens.

        By decomposition, one backward pass for each sum.

        Parameters
        ----------
        first, second : int
            Indices of passages, in the order given.

        Raises
        ------
        InputError, InputTypeError
            No such passages, or one passage twice.
        NotAvailableError
            A passage without a score, or a family whose layers are not known.
        """
        left, right = self.explain(first), self.explain(second)
        if left is right:
            raise InputError(
                f"first and second are both {first}, so there is no difference.",
                "Name two passages: difference(0, 1).",
            )
        parts = [similarity.contributions("a") for similarity in (left, right)]
        values = np.zeros(left.a.trace.n_tokens)
        # A reranker's runs begin with the query; the rest of each is its passage. With a long passage, less of a long
        # query may have been read.
        shared = self._query_positions(left)
        both = sorted({*shared} & {*self._query_positions(right)})
        values[shared] = parts[0].values[shared]
        values[both] -= parts[1].values[both]
        rest = [_rest(parts[0], shared), _rest(parts[1], both)]
        passages = [similarity.contributions("b") for similarity in (left, right)]
        return Difference(
            first=index_in(first, len(self.passages), "first"),
            second=index_in(second, len(self.passages), "second"),
            value=left.score - right.score,
            query=left.a,
            values=values,
            bias=rest[0] - rest[1],
            passages=(passages[0], passages[1]),
        )

    def _query_positions(self, similarity: Similarity) -> list[int]:
        """Positions of the query's tokens in a run; of a reranker, without special ones."""
        return [
            i
            for i, token in enumerate(similarity.a.trace.tokens)
            if self.kind != "relevance" or (token.segment == 0 and not token.special)
        ]

    def to_records(self) -> list[dict[str, Any]]:
        """One record a passage: ``rank`` (from 1; None without a score), ``index, score, passage, failed``."""
        ranks = {index: rank for rank, index in enumerate(self.order, 1)}
        return [
            {
                "rank": ranks.get(i),
                "index": i,
                "score": float(score),
                "passage": self.passages[i],
                "failed": self.failed.get(i),
            }
            for i, score in enumerate(self.scores)
        ]

    def __len__(self) -> int:
        return len(self.passages)

    def __repr__(self) -> str:
        scored = int(np.isfinite(self.scores).sum())
        state = "" if self.complete else ", interrupted"
        return f"<Ranking {self.kind}, {scored:,} of {len(self):,} passages{state}>"


def rank(
    reading: Reading,
    query: Any,
    passages: Iterable[Any],
    *,
    truncation: bool,
    tagger: Any,
    progress: bool,
) -> Ranking:
    """Score passages as they come; Ctrl-C leaves those that are done.

    Raises `InputError`, `InputTypeError`: the query cannot be read, or there are no passages. Raises
    `NotFiniteError`: the model gives NaN, or the query's embedding has length 0.
    """
    from tqdm.auto import tqdm

    name, score, picture = _scorer(reading, query, truncation, tagger)
    ranking = Ranking(reading, name, tagger, query)
    if picture is not None:
        ranking.thumbnails[QUERY] = picture
    total = len(passages) if hasattr(passages, "__len__") else None  # pyright: ignore[reportArgumentType]
    source = iter(passages)
    with tqdm(total=total, desc="ranking", unit="text", disable=not progress) as bar:
        try:
            while block := list(islice(source, PASSAGES_AT_ONCE)):
                rank_block(ranking, block, score, truncation)
                bar.update(len(block))
            ranking.complete = True
        except KeyboardInterrupt:
            pass
    if ranking.complete and len(ranking.failed) == len(ranking.passages):
        if ranking.failed:
            raise InputError(f"No passage could be read. Passage 0: {ranking.failed[0]}")
        raise InputError("There are no passages.", 'similarity("query", ["a passage", "another"])')
    return ranking


def rank_block(ranking: Ranking, block: list[Any], score: Any, truncation: bool) -> None:
    """Read some passages, and score those of similar length together."""
    reading, start = ranking._reading, len(ranking.passages)  # pyright: ignore[reportPrivateUsage]
    # Before any of them is read: an interruption leaves no failure of a passage that is not listed.
    ranking.passages += [_called(passage) for passage in block]
    ranking._items += block  # pyright: ignore[reportPrivateUsage]
    ranking.scores = np.concatenate([ranking.scores, np.full(len(block), np.nan)])
    texts: list[Item] = []
    images: list[Item] = []

    def flush(batch: list[Item]) -> None:
        values = score(batch[0][1], [encoding for _, _, encoding in batch])
        for (index, _, _), value in zip(batch, values, strict=True):
            if np.isfinite(value):
                ranking.scores[index] = value
            else:
                ranking.failed[index] = "Its embedding has length 0, so a cosine is not defined."

    for index, passage in enumerate(block, start):
        try:
            encoder, encoding = _encoded(reading, ranking, passage, truncation)
        except AttnWidgetError as error:
            ranking.failed[index] = str(error)
            continue
        if encoding.truncated is not None:
            ranking.truncated[index] = (encoding.truncated["limit"], encoding.truncated["length"])
        if not encoding.wordless:
            texts.append((index, encoder, encoding))
            continue
        ranking.passages[index] = encoding.note
        if encoding.thumbnail is not None:
            ranking.thumbnails[index] = encoding.thumbnail
        full = len(images) * encoding.n_tokens >= TOKENS_AT_ONCE
        if images and (full or _shapes(images[0][2]) != _shapes(encoding)):
            flush(images)
            images = []
        images.append((index, encoder, encoding))
    if images:
        flush(images)
    texts.sort(key=lambda item: item[2].n_tokens)
    while texts:
        longest = texts[-1][2].n_tokens
        count = max(1, TOKENS_AT_ONCE // longest)
        batch, texts = texts[-count:], texts[:-count]
        flush(batch)


def _called(passage: Any) -> str:
    """The name of a passage before it is read; of a picture as PIL or array its type."""
    plain = isinstance(passage, str) or passage is None or not may_be_image(passage)
    return str(passage) if plain or hasattr(passage, "__fspath__") else type(passage).__name__


def _encoded(
    reading: Reading, ranking: Ranking, passage: Any, truncation: bool
) -> tuple[Encoder, Encoding]:
    if not may_be_image(passage):
        check_text(passage, "text")
    encoder, text = reading.text("b", passage)
    reads_text = encoder.vocab_size > 0
    if reads_text:
        check_text(text, "text")
    if reading.kind == "relevance":
        return encoder, encoder.encode(ranking.query, text, truncation=truncation)
    return encoder, encoder.encode(text, truncation=truncation and reads_text)


def _shapes(encoding: Encoding) -> list[tuple[int, ...]]:
    return [array.shape for array in encoding.arrays.values()]


def _scorer(
    reading: Reading, query: Any, truncation: bool, tagger: Any
) -> tuple[str, Any, tuple[str, bytes] | None]:
    """Name of the query, what gives scores [B] of passages that are encoded; NaN where an embedding has no direction; and the query's thumbnail."""
    if reading.kind == "relevance":
        return query, _relevances, None
    encoder, text = reading.text("a", query)
    shortens = truncation and encoder.vocab_size > 0
    analysis = run_text(encoder, text, None, truncation=shortens, tagger=tagger)
    run = analysis.run
    assert run is not None  # of every text that is run
    other = embedding_of(run)
    if reading.kind != "dot":
        other = unit_vectors(other, encoder.name)
    as_passage = reading.kind == "maxsim"
    bound = BoundTarget(
        "similarity", "", 0, None, None, (), other, reading.kind, as_passage=as_passage
    )

    def score(encoder: Encoder, encodings: list[Encoding]) -> Float64:
        inputs = on_device(encoder, _padded(encoder, encodings))
        head = encoder.embedding
        assert head is not None  # of every embedder
        with inference_mode(encoder):
            hidden = encoder.network.base_model(**inputs, return_dict=True)[0]
            pooled = head(hidden, inputs.get("attention_mask"))
            vectors = check_embedding(pooled, encoder.name)
            values = bound.compared(encoder, vectors, inputs)[:, 0].double()
            if reading.kind == "cosine":
                values = values.masked_fill(vectors.norm(dim=-1) == 0, torch.nan)
        return values.cpu().numpy()

    name = query if analysis.text else title_of(analysis)
    return name, score, run.encoding.thumbnail


def _relevances(encoder: Encoder, encodings: list[Encoding]) -> Float64:
    with inference_mode(encoder):
        inputs = on_device(encoder, _padded(encoder, encodings))
        logits = encoder.network(**inputs, return_dict=True)["logits"][:, 0]
        return check_embedding(logits, encoder.name).double().cpu().numpy()


def _padded(encoder: Encoder, encodings: list[Encoding]) -> dict[str, torch.Tensor]:
    """A batch: padding follows each text; images have one shape."""
    if encodings[0].wordless:
        first, *others = [encoding.inputs for encoding in encodings]
        return {
            name: torch.cat([tensor, *(other[name] for other in others)]) if tensor.ndim else tensor
            for name, tensor in first.items()
        }
    config = encoder.network.base_model.config
    filled = {"input_ids": int(getattr(config, "pad_token_id", None) or 0)}
    return {
        name: torch.nn.utils.rnn.pad_sequence(
            [encoding.inputs[name][0] for encoding in encodings],
            batch_first=True,
            padding_value=filled.get(name, 0),
        )
        for name in encodings[0].inputs
    }


def _rest(part: Contributions, shared: list[int]) -> float:
    """Share of a target that the tokens ``shared`` do not carry: the other tokens, and the bias."""
    whole = float(part.values.sum(dtype=np.float64)) + (part.bias or 0)
    return whole - float(part.values[shared].sum(dtype=np.float64))
