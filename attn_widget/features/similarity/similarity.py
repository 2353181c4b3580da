"""Similarity: the score of two texts, and what it is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.analysis import checked_heads_off
from attn_widget.checks import (
    check_callable,
    check_choice,
    check_count,
    check_flag,
    check_kind,
    check_several,
    index_in,
)
from attn_widget.errors import InputError, NotAvailableError, NotPickled
from attn_widget.features.similarity.groups import groups_of, merged, names_of, own_groups
from attn_widget.features.similarity.linear_text import LinearText
from attn_widget.features.similarity.sums import (
    KINDS,
    Sum,
    has_output,
    input_row,
    input_sum,
    maxsim_sum,
    output_sum,
    token_cosines,
)
from attn_widget.features.why.bound_target import embedding_of, unit_vectors
from attn_widget.features.why.contributions import Contributions
from attn_widget.features.why.decomposition import check_closes, check_linear
from attn_widget.features.why.faithfulness import Faithfulness
from attn_widget.features.why.methods import Method
from attn_widget.features.why.targets import Target
from attn_widget.figures.arrays import Float64
from attn_widget.host.frames import dataframe
from attn_widget.host.results import Displayed
from attn_widget.model.tokenizing import check_text
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

if TYPE_CHECKING:
    from pandas import DataFrame


Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")
HINT = "similarity(a, b, model=...) makes a Similarity of two texts."
BIAS = "(bias)"  # in the place of a token, in tables


class Pair(NamedTuple):
    """An entry of a matrix: two words or tokens, and what they add to the score."""

    a: str
    b: str
    value: float


class Reader(Protocol):
    """Model with the prompts that it is given texts with.

    ``prompts``: what is put before the first and the second text. ``notes``: what a reader of any of its
    similarities has to know.
    """

    @property
    def prompts(self) -> tuple[str, str]: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    def similarity(self, a: Any, b: Any, *, truncation: bool, tagger: Any) -> Similarity:
        """The two texts, run and compared; an `Analysis` is one that was run."""
        ...


class Similarity(Displayed, NotPickled):
    """The similarity of two texts by one model. `attn_widget.similarity` makes it; a notebook displays it.

    Attributes
    ----------
    a, b : Analysis
        The two texts as the model read them, prompts included. A reranker reads both in one run, which both names
        stand for.
    kind : {"cosine", "dot", "maxsim", "relevance"}
        Of embeddings of texts; of embeddings of tokens (late interaction); or a reranker's logit.
    score : float
    texts : (str, str)
        What was given, without prompts.
    notes : tuple of str
        What a reader has to know: a text that was cut, a model that was made for something else.
    reader : Reader
        How the model was given the texts.
    """

    _INSTEAD = "Keep the two texts and call similarity() again, or its figures: to_dataframe()."

    def __init__(
        self,
        a: Analysis,
        b: Analysis,
        kind: str,
        notes: Sequence[str] = (),
        *,
        texts: tuple[str, str],
        reader: Reader,
        options: Mapping[str, Any],
        unablated: Similarity | None = None,
    ) -> None:
        for name, value in (("a", a), ("b", b)):
            check_kind(value, Analysis, name, HINT)
            if value.run is None:
                raise NotAvailableError(f"{name} has no model, so its text has no score.", HINT)
        check_choice(kind, "kind", self._kinds(a, b))
        check_kind(texts, tuple, "texts", HINT)
        check_callable(getattr(reader, "similarity", None), "reader.similarity")
        if unablated is not None:
            check_kind(unablated, Similarity, "intact", HINT)
        self.a, self.b = a, b
        self.kind = kind
        self.notes = tuple(check_several(notes, "notes", "str"))
        self.texts = texts
        self.reader = reader
        self._options = dict(options)
        self._unablated = unablated
        self._sums: dict[str, Sum] = {}
        self._linear: dict[str, LinearText] = {}  # for rows; a matrix makes its own
        self.score = self._score()

    @property
    def probability(self) -> float | None:
        """The sigmoid of a reranker's logit; None of embeddings."""
        return (1 + math.tanh(self.score / 2)) / 2 if self.kind == "relevance" else None

    def matrix(
        self,
        kind: str | None = None,
        *,
        words: bool = False,
        progress: Progress | None = None,
    ) -> Float64:
        """Contribution of each pair of tokens to the score, float64 [n_a, n_b]; the entries with a bias are in `biases`.

        Parameters
        ----------
        kind : {"input", "output", "maxsim"}, optional
            ``"input"``: the parts that the linearized network carries from the two input tokens. ``"output"``: the
            pooled hidden states of two positions. ``"maxsim"`` (late interaction): each query token's largest cosine,
            0 elsewhere. By default "maxsim" where it is the score, otherwise "input".
        words : bool
            Add up the pieces of a word: float64 [words of a, words of b], special tokens by themselves.
        progress : callable, optional
            Called with ``(passes done, all)``; an exception that it raises cancels the work.

        Raises
        ------
        InputError, InputTypeError
            No such kind.
        NotAvailableError
            A reranker, a kind that this model does not have, or a family whose layers are not known.

        Examples
        --------
        >>> from attn_widget import similarity
        >>> s = similarity("the cat sat", "a dog sat", model="attn_widget/mini", progress=False)
        >>> m = s.matrix("input")
        >>> m.shape, bool(abs(m.sum() + s.biases.sum() - s.score) < 1e-4)
        ((5, 5), True)
        """
        check_flag(words, "words")
        pairs = self.sum_of(kind, progress).pairs
        if not words:
            return pairs.copy()
        return merged(merged(pairs, groups_of(self.a)).T, groups_of(self.b)).T

    @property
    def biases(self) -> Float64:
        """The entries of `matrix("input")` with a bias, float64 [n_a + n_b + 1].

        ``<u_i, v_0>`` for each token of `a`, ``<u_0, v_j>`` for each token of `b`, ``<u_0, v_0>``; divided by the
        lengths of the embeddings for a cosine. ``matrix("input").sum() + biases.sum() == score``. The other matrices
        close without biases.
        """
        return self.sum_of("input", None).biases

    def row(self, token: int, of: Side = "a") -> tuple[Float64, float]:
        """One row of `matrix("input")`, or one column of it, without the others: a moment also where all take minutes.

        Parameters
        ----------
        token : int
            A position.
        of : {"a", "b"}
            Whose token it is.

        Returns
        -------
        (float64 [n], float)
            What it adds to the score with each token of the other input, and with the biases of the other one.

        Raises
        ------
        InputError, InputTypeError
            No such position.
        NotAvailableError
            A reranker, late interaction, or a family whose layers are not known.

        Examples
        --------
        >>> from attn_widget import similarity
        >>> s = similarity("the cat sat", "a dog sat", model="attn_widget/mini", progress=False)
        >>> values, bias = s.row(2)
        >>> bool(abs(values - s.matrix("input")[2]).max() < 1e-6)
        True
        """
        check_choice(of, "of", SIDES)
        run = self._run(of)
        position = index_in(token, run.trace.n_tokens, "token")
        self._kind("input")
        if self.kind == "maxsim":
            raise NotAvailableError(
                "The rows of late interaction depend on each other's answers.",
                "matrix('input') has all of them.",
            )
        if "input" in self._sums:
            found = self._sums["input"]
            rows, biases = (
                (found.pairs, found.biases_a) if of == "a" else (found.pairs.T, found.biases_b)
            )
            return rows[position].copy(), float(biases[position])
        if not self._linear:
            self._linear = {side: LinearText(self._run(side)) for side in SIDES}
        linear = self._linear[of], self._linear["b" if of == "a" else "a"]
        return input_row(linear, position, self.kind == "cosine")

    @property
    def cosines(self) -> Float64:
        """Late interaction: the cosines of all pairs of tokens, float64 [n_a, n_b].

        Raises
        ------
        NotAvailableError
            A model with one embedding for each text.
        """
        if self.kind != "maxsim":
            raise NotAvailableError(
                "Cosines of tokens are of late-interaction models, and this score is a "
                f"{self.kind} of texts.",
                "matrix('output') has the products of hidden states.",
            )
        return token_cosines(self._run("a"), self._run("b"))

    def target(self, of: Side = "a") -> Target:
        """The score as a target of one text's analysis, the other text held.

        Parameters
        ----------
        of : {"a", "b"}
            Whose words are asked about.
        """
        check_choice(of, "of", SIDES)
        if self.kind == "relevance":
            return Target(label=0)
        return Target(
            similar_to=self.b if of == "a" else self.a,
            similarity=self.kind,
            as_passage=self.kind == "maxsim" and of == "b",
        )

    def contributions(
        self, of: Side = "a", method: Method = "decomposition", *, progress: Progress | None = None
    ) -> Contributions:
        """Contribution of each token of one text; by decomposition, row (or column) sums of `matrix("input")`.

        One backward pass. The bias of the other text is part of each sum. Of a reranker these are the tokens of both
        texts, whatever ``of`` says.

        Parameters
        ----------
        of : {"a", "b"}
        method : str
            As in `Analysis.why.contributions`.
        progress : callable, optional
            Called with ``(passes done, all)``.

        Raises
        ------
        InputError, InputTypeError, NotAvailableError
            As in `Analysis.why.contributions`.
        """
        return self.side(of).why.contributions(self.target(of), method, progress=progress)

    def faithfulness(
        self,
        of: Side = "a",
        methods: Sequence[str] | None = None,
        *,
        n_random: int = 1600,
        progress: Progress | None = None,
    ) -> Faithfulness:
        """Decrease of the score as words of one text are masked, the largest contributions first; see `Analysis.why.faithfulness`.

        Parameters
        ----------
        of : {"a", "b"}
        methods : sequence of str, optional
            By default the decomposition alone, whose order is that of the matrix.
        n_random : int
        progress : callable, optional
        """
        chosen = ["decomposition"] if methods is None else methods
        return self.side(of).why.faithfulness(
            self.target(of), chosen, n_random=n_random, progress=progress
        )

    def with_texts(self, a: str | None = None, b: str | None = None) -> Similarity:
        """The same model and options with another text in place of one or both; all heads are on again.

        Parameters
        ----------
        a, b : str, optional
            By default the text that there is; an image stays as it is.

        Raises
        ------
        InputError, InputTypeError, TooLongError
            A text that cannot be read.
        NotAvailableError
            A text in place of an image.
        """
        first, second = self._text_or_run(a, "a"), self._text_or_run(b, "b")
        return self.reader.similarity(first, second, **self._options)

    def _text_or_run(self, text: str | None, of: Side) -> str | Analysis:
        """A text that takes the place of one; of an image its run, since nothing else is left of it."""
        run = self.unablated.side(of)
        if run.text is None:
            if text is None:
                return run
            raise NotAvailableError(f"{of} is an image, and is not replaced by a text.", HINT)
        own = check_text(self.texts[SIDES.index(of)] if text is None else text, of)
        encoder = self._run(of).encoder
        encoder.for_input(own)  # of a tower of texts: the name of a file of this machine is refused
        return own

    def ablate(self, heads: Iterable[tuple[int, int]]) -> Similarity:
        """The same texts without some heads: ``(layer, head)`` of each, 0-based; see `Analysis.ablate`.

        Parameters
        ----------
        heads : iterable of (int, int)

        Examples
        --------
        >>> from attn_widget import similarity
        >>> s = similarity("the cat sat", "a dog sat", model="attn_widget/mini", progress=False)
        >>> s.ablate([(0, 3)]).score == s.score, s.ablate([]).score == s.score
        (False, True)
        """
        chosen = checked_heads_off(self.a, heads)
        a = self.a.ablate(chosen)
        b = a if self.b is self.a else self.b.ablate(chosen)
        return Similarity(
            *(a, b, self.kind, self.notes),
            texts=self.texts,
            reader=self.reader,
            options=self._options,
            unablated=self.unablated if chosen else None,
        )

    @property
    def unablated(self) -> Similarity:
        """The similarity with all heads; this one itself if none is switched off."""
        return self._unablated or self

    def side(self, of: Side) -> Analysis:
        """One of the two analyses.

        Parameters
        ----------
        of : {"a", "b"}
        """
        return self.a if check_choice(of, "of", SIDES) == "a" else self.b

    def pairs(self, top: int = 10, kind: str | None = None, *, words: bool = True) -> list[Pair]:
        """The entries that are largest in size, special tokens left out.

        Parameters
        ----------
        top : int
            At most so many pairs.
        kind : {"input", "output", "maxsim"}, optional
            As in `matrix`.
        words : bool
            Pairs of words instead of tokens.

        Examples
        --------
        >>> from attn_widget import similarity
        >>> s = similarity("the cat sat", "a dog sat", model="attn_widget/mini", progress=False)
        >>> len(s.pairs(2)), s.pairs(2)[0]._fields
        (2, ('a', 'b', 'value'))
        """
        check_count(top, "top", 1)
        matrix = self.matrix(kind, words=words)
        names_a, names_b = names_of(self.a, words), names_of(self.b, words)
        entries = [
            Pair(names_a[i], names_b[j], float(matrix[i, j]))
            for i in own_groups(self.a, words)
            for j in own_groups(self.b, words)
            if matrix[i, j]
        ]
        return sorted(entries, key=lambda pair: -abs(pair.value))[:top]

    def to_records(self, kind: str | None = None, *, words: bool = False) -> list[dict[str, Any]]:
        """One record a pair: ``position_a, token_a, position_b, token_b, value``; their sum is the score.

        With ``words`` positions count words and special tokens. An entry with a bias has no position there, and
        ``(bias)`` for a token.

        Parameters
        ----------
        kind, words
            As in `matrix`.
        """
        matrix = self.matrix(kind, words=words)
        names_a, names_b = names_of(self.a, words), names_of(self.b, words)
        part = self.sum_of(kind, None)
        bias_a = merged(part.biases_a, groups_of(self.a, words))
        bias_b = merged(part.biases_b, groups_of(self.b, words))
        table = np.block([[matrix, bias_a[:, None]], [bias_b[None], np.array(part.both)]])
        closed = self._kind(kind) != "input"
        return [
            {
                "position_a": i if i < len(names_a) else None,
                "token_a": [*names_a, BIAS][i],
                "position_b": j if j < len(names_b) else None,
                "token_b": [*names_b, BIAS][j],
                "value": float(table[i, j]),
            }
            for i, j in np.ndindex(*table.shape)
            if not closed or (i < len(names_a) and j < len(names_b))
        ]

    def to_dataframe(self, kind: str | None = None, *, words: bool = False) -> DataFrame:
        """`to_records` as a pandas DataFrame (needs the extra ``pandas``).

        Parameters
        ----------
        kind, words
            As in `matrix`.
        """
        return dataframe(self.to_records(kind, words=words))

    def __repr__(self) -> str:
        n_a, n_b = self.a.trace.n_tokens, self.b.trace.n_tokens
        size = f"{n_a} tokens" if self.kind == "relevance" else f"{n_a} x {n_b} tokens"
        return f"<Similarity {self.kind} {self.score:.4f}, {size}>"

    @staticmethod
    def _kinds(a: Analysis, b: Analysis) -> tuple[str, ...]:
        """Kinds of score that two runs have."""
        logits = a.trace.classifier_logits
        relevance = ("relevance",) if a is b and logits is not None and logits.size == 1 else ()
        heads = [run.encoder.embedding for run in (a.run, b.run) if run is not None]
        if any(head is None for head in heads):
            if relevance:
                return relevance
            raise NotAvailableError("A model of these texts names no pooling.", HINT)
        of_tokens = {head.of_tokens for head in heads if head is not None}
        if len(of_tokens) == 2:
            raise InputError(
                "One model has an embedding for each text, the other for each token.", HINT
            )
        return (*relevance, *(("maxsim",) if of_tokens == {True} else ("cosine", "dot")))

    def _score(self) -> float:
        a, b = self._run("a"), self._run("b")
        if self.kind == "relevance":
            logits = a.trace.classifier_logits
            assert logits is not None  # of every reranker
            return float(logits[0])
        if self.kind == "maxsim":
            return float(maxsim_sum(a, b).pairs.sum())
        vectors = [embedding_of(run).double() for run in (a, b)]
        if self.kind == "cosine":
            vectors = [
                unit_vectors(vector, run.encoder.name)
                for vector, run in zip(vectors, (a, b), strict=True)
            ]
        return float(vectors[0] @ vectors[1])

    def _run(self, of: Side) -> Run:
        run = self.side(of).run
        assert run is not None  # `similarity` has run both
        return run

    def _kind(self, kind: str | None) -> str:
        if self.kind == "relevance":
            raise NotAvailableError(
                "A reranker reads both texts together, so its score is no sum over pairs of words.",
                "contributions() has the tokens of both texts.",
            )
        kind = ("maxsim" if self.kind == "maxsim" else "input") if kind is None else kind
        check_choice(kind, "kind", KINDS)
        there = ("maxsim", "input") if self.kind == "maxsim" else ("input", "output")
        if kind not in there:
            raise NotAvailableError(
                f"matrix({kind!r}) does not add up to this score, a {self.kind} of "
                f"{'tokens' if self.kind == 'maxsim' else 'texts'}.",
                f"Use {there[0]!r} or {there[1]!r}.",
            )
        return kind

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of `matrix` that this score has, the default first; nothing is computed for it."""
        if self.kind == "relevance":
            return ()
        if self.kind == "maxsim":
            return ("maxsim", "input") if self.can_decompose else ("maxsim",)
        has = {"input": self.can_decompose, "output": has_output(self._run("a"))}
        return tuple(kind for kind, there in has.items() if there)

    @property
    def can_decompose(self) -> bool:
        """True if the layers of this family are known and linear, so that the score can be decomposed."""
        try:
            check_linear(self._run("a"))
        except NotAvailableError:
            return False
        return True

    def sum_of(self, kind: str | None = None, progress: Progress | None = None) -> Sum:
        """`matrix` with the entries of the biases; computed once.

        Parameters
        ----------
        kind, progress
            As in `matrix`.
        """
        kind = self._kind(kind)
        check_callable(progress, "progress")
        if kind not in self._sums:
            a, b, cosine = self._run("a"), self._run("b"), self.kind == "cosine"
            if kind == "input":
                found = input_sum(a, b, cosine, progress)
            elif kind == "output":
                found = output_sum(a, b, cosine)
            else:
                found = maxsim_sum(a, b)
            check_closes(found.gap(self.score), f"The pairs of matrix({kind!r})", a)
            self._sums[kind] = found
        return self._sums[kind]
