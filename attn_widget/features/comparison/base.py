"""Base of `Comparison`: two runs, their alignment, and how far their heads are apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.checks import (
    check_choice,
    check_kind,
    check_several,
    index_in,
    short_repr,
)
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, NotPickled
from attn_widget.features.comparison import distances as js
from attn_widget.features.comparison.alignment import Alignment, align_tokens, by_hand
from attn_widget.features.comparison.distances import HeadDistances, HeadMatching
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.figures.catalog.choices import MIXINGS, Mixing

if TYPE_CHECKING:
    from typing_extensions import Self


Quantity: TypeAlias = Literal["weights", "scores"] | Mixing
QUANTITIES = ("weights", "scores", *MIXINGS)


@dataclass(frozen=True)
class Change:
    """A figure in both runs.

    Attributes
    ----------
    a, b : array
        Of the same shape.
    """

    a: NDArray[Any]
    b: NDArray[Any]

    @property
    def difference(self) -> NDArray[Any]:
        """``b - a``."""
        return self.b - self.a


@dataclass(frozen=True)
class MatrixChange(Change):
    """A matrix between matched tokens in both runs, each float32 [m, m]; of cross-attention [matched targets, matched sources].

    Attributes
    ----------
    positions_a, positions_b : tuple of int, length m
        The matched tokens of each run; rows, and in one text columns, are in this order.
    keys_a, keys_b : tuple of int
        Those of the columns.
    """

    positions_a: tuple[int, ...]
    positions_b: tuple[int, ...]
    keys_a: tuple[int, ...]
    keys_b: tuple[int, ...]


NAMES_OF_PARTS = {
    "self": "reads one text",
    "encoder": "is the encoder part",
    "decoder": "is the decoder part",
    "cross": "is the cross part",
}


def check_one_text(analysis: Analysis) -> None:
    """Refuse a part of an encoder-decoder."""
    if analysis.part != "self":
        raise NotAvailableError(
            f"Only runs of one text are compared here, and this one is the {analysis.part} part of an encoder-decoder.",
            f"compare(a.of({analysis.part!r}), b.of({analysis.part!r})) compares two runs within a part.",
        )


def check_same_part(a: Analysis, b: Analysis) -> None:
    """Refuse runs whose matrices are of different parts of an encoder-decoder."""
    if a.part != b.part:
        said = [
            f"{name} {NAMES_OF_PARTS[run.part]}, [{run.trace.n_tokens}, {run.trace.n_keys}]"
            for name, run in (("A", a), ("B", b))
        ]
        parts = [part for part in a.model.parts if part in b.model.parts and part != "self"]
        raise InputError(
            f"{' and '.join(said)}: their attention is of different kinds.",
            f"Compare one part: compare(a.of({parts[-1]!r}), b.of({parts[-1]!r}))."
            if parts
            else "Compare two runs of encoder-decoders, or two of one text.",
        )


class ComparisonBase(NotPickled):
    """Two runs whose tokens are aligned; parameters and attributes as of `Comparison`."""

    _INSTEAD = "Keep the texts and call compare() again, or its figures: to_dataframe()."

    def __init__(
        self,
        a: Analysis,
        b: Analysis,
        alignment: Alignment | None = None,
        key_alignment: Alignment | None = None,
    ) -> None:
        hint = "compare(text_a, text_b) makes a Comparison."
        check_kind(a, Analysis, "a", hint)
        check_kind(b, Analysis, "b", hint)
        check_same_part(a, b)
        for name, given in (("alignment", alignment), ("key_alignment", key_alignment)):
            if given is not None:
                check_kind(given, Alignment, name, "Leave it out.")
        self.a, self.b = a, b
        self.alignment = alignment or align_tokens(
            a.trace.tokens, b.trace.tokens, (a.text, a.text_pair), (b.text, b.text_pair)
        )
        self.key_alignment = self.alignment
        if not a.trace.square or not b.trace.square:
            sources = (a.model.source_text, None), (b.model.source_text, None)
            self.key_alignment = key_alignment or align_tokens(
                a.model.key_tokens, b.model.key_tokens, *sources
            )
        self._known: dict[str, Any] = {}

    @property
    def part(self) -> str:
        """Part of an encoder-decoder that both runs are of; ``"self"`` of models that read one text."""
        return self.a.part

    @property
    def same_shape(self) -> bool:
        """True if both models have the same number of layers and heads."""
        return self._shape(self.a) == self._shape(self.b)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about anything that cannot or need not be compared."""
        a, b = self.a, self.b
        notes: list[str] = []
        first, second = (None if run is None else run.encoder for run in (a.run, b.run))
        alike = False
        if first is not None and second is not None and first.is_of(second):
            alike = first.runs_like(second)
            if not first.has_weights_of(second):
                notes.append(
                    "The weights of the model changed between the two runs: A and B are of different ones."
                )
        if self._texts(a) == self._texts(b) and a.model.masked == b.model.masked:
            notes.append(f"The two {'images' if a.model.wordless else 'texts'} are identical.")
            if alike:
                notes.append("The model is the same too, so every difference is 0.")
        elif a.model.wordless and b.model.wordless:
            notes.append("Patches are matched by their place if both images have one grid.")
        elif not self.alignment.words:
            whose = "texts" if self.part in ("self", "encoder") else "outputs"
            notes.append(f"The {whose} have no word in common; at most special tokens are matched.")
        if self.key_alignment is not self.alignment and not self.key_alignment.words:
            notes.append("The sources have no word in common; at most special tokens are matched.")
        for name, run in (("A", a), ("B", b)):
            if run.model.truncated is not None:
                notes.append(
                    f"{name} was cut to {run.model.truncated['limit']} of {run.model.truncated['length']} tokens."
                )
        if not self.same_shape:
            notes.append(
                f"A has {a.trace.n_layers} layers of {a.trace.n_heads} heads, B {b.trace.n_layers} of {b.trace.n_heads}: heads "
                "are matched by least distance."
            )
        return tuple(notes)

    def align(
        self, pairs: Iterable[tuple[int, int]], *, keys: Iterable[tuple[int, int]] = ()
    ) -> Self:
        """The same two runs with these tokens matched by hand.

        Parameters
        ----------
        pairs : iterable of (int, int)
            A position of A and one of B. What was found for other tokens stays.
        keys : iterable of (int, int)
            In cross-attention, tokens of the two sources; ``pairs`` are of the targets.

        Returns
        -------
        Comparison

        Raises
        ------
        InputError, InputTypeError
            Anything but pairs, a position that does not exist, or one that stands twice; ``keys`` of one text.

        Examples
        --------
        >>> from attn_widget import compare
        >>> c = compare("he sat", "she sat", tagger=None, progress=False)
        >>> c.alignment.tokens, c.align([(1, 1)]).alignment.tokens
        (((0, 0), (2, 2), (3, 3)), ((0, 0), (1, 1), (2, 2), (3, 3)))
        """
        matched = _checked(pairs, "pairs", self.a.trace.n_tokens, self.b.trace.n_tokens)
        of_keys = _checked(keys, "keys", self.a.trace.n_keys, self.b.trace.n_keys)
        if self.key_alignment is self.alignment:
            if of_keys:
                raise InputError(
                    "keys are given, and the keys of these runs are the same tokens as their queries.",
                    "Give pairs alone.",
                )
            return type(self)(self.a, self.b, by_hand(self.alignment, matched))
        both = by_hand(self.alignment, matched), by_hand(self.key_alignment, of_keys)
        return type(self)(self.a, self.b, *both)

    def difference(self, layer: int, head: int = 0, quantity: Quantity = "weights") -> MatrixChange:
        """A matrix in both runs, between matched tokens.

        Parameters
        ----------
        layer, head : int
            Of A; B's are the same, or those of the matched head where the models differ in shape.
        quantity : str
            ``"weights"``, ``"scores"``, ``"norms"``; ``"mixing"``, ``"alti"`` and ``"value_zeroing"``
            are of a layer, whatever the head.

        Returns
        -------
        MatrixChange
            ``a``, ``b`` and ``difference = b - a``, float32 [m, m], of cross-attention [matched targets, matched
            sources]; nothing is renormalized.

        Raises
        ------
        InputError, NotAvailableError
            A head or quantity that does not exist; no token is matched; a head without partner.

        Examples
        --------
        >>> from attn_widget import compare
        >>> c = compare("he sat", "she sat", tagger=None, progress=False)
        >>> c.difference(0, 1).difference.shape
        (3, 3)
        """
        check_choice(quantity, "quantity", QUANTITIES)
        layer = index_in(layer, self.a.trace.n_layers, "layer")
        head = index_in(head, self.a.trace.n_heads, "head")
        (of_a, of_b), (keys_a, keys_b) = self._positions(), self._keys()
        partner = (layer, head) if self.same_shape else self._partner()[layer, head].tolist()
        if partner[0] < 0:
            raise NotAvailableError(f"Layer {layer}, head {head} of A has no partner in B.")
        whole_a = _matrix(self.a, layer, head, quantity)
        whole_b = _matrix(self.b, partner[0], partner[1], quantity)
        return MatrixChange(
            whole_a[of_a[:, None], keys_a],
            whole_b[of_b[:, None], keys_b],
            *(tuple(places.tolist()) for places in (of_a, of_b, keys_a, keys_b)),
        )

    def distances(self) -> HeadDistances:
        """Jensen-Shannon distance of every head's rows, over matched queries and keys.

        Returns
        -------
        HeadDistances
            ``distances`` float64 [L, H]. Where the models differ in shape, from the head that `matching`
            gives; NaN without one.

        Raises
        ------
        NotAvailableError
            No token is matched.

        References
        ----------
        Lin (1991), "Divergence measures based on the Shannon entropy"; Endres & Schindelin (2003).

        Examples
        --------
        >>> from attn_widget import compare
        >>> c = compare("he sat", "she sat", tagger=None, progress=False)
        >>> c.distances().distances.shape
        (6, 12)
        """
        if "distances" not in self._known:
            self._known["distances"] = self._distances()
        return self._known["distances"]

    def matching(self) -> HeadMatching:
        """One head of B for each head of A, with the least total distance.

        Returns
        -------
        HeadMatching

        Raises
        ------
        NotAvailableError
            No token is matched.

        References
        ----------
        Crouse (2016), "On implementing 2D rectangular assignment algorithms".

        Examples
        --------
        >>> from attn_widget import compare
        >>> c = compare("he sat", "he sat", tagger=None, progress=False)
        >>> c.matching().partner[2, 3].tolist()
        [2, 3]
        """
        if "matching" not in self._known:
            self._keys()
            costs = js.every_distance(
                [rows for rows, _ in self._rows(0)], [rows for rows, _ in self._rows(1)]
            )
            shapes = self._shape(self.a), self._shape(self.b)
            self._known["matching"] = js.match_heads(costs, *shapes)
        return self._known["matching"]

    def __repr__(self) -> str:
        if self.key_alignment is self.alignment:
            part = "" if self.part == "self" else f" ({self.part})"
            return (
                f"<Comparison of {self.a.trace.n_tokens} and {self.b.trace.n_tokens} positions{part}, "
                f"{len(self.alignment.tokens)} matched>"
            )
        sizes = [f"{run.trace.n_tokens} by {run.trace.n_keys}" for run in (self.a, self.b)]
        matched = f"{len(self.alignment.tokens)} by {len(self.key_alignment.tokens)}"
        return f"<Comparison of {' and '.join(sizes)} positions ({self.part}), {matched} matched>"

    def _positions(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Matched positions of A and of B."""
        if not self.alignment.tokens:
            raise NotAvailableError(
                "The two runs have no token in common.", "Match some by hand: c.align([(i, j)])."
            )
        pairs = np.array(self.alignment.tokens, dtype=np.intp)
        return pairs[:, 0], pairs[:, 1]

    def _keys(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Matched keys of A and of B, where some query is matched, too."""
        positions = self._positions()
        if self.key_alignment is self.alignment:
            return positions
        if not self.key_alignment.tokens:
            raise NotAvailableError(
                "The two sources have no token in common.",
                "Match some by hand: c.align([], keys=[(i, j)]).",
            )
        pairs = np.array(self.key_alignment.tokens, dtype=np.intp)
        return pairs[:, 0], pairs[:, 1]

    @staticmethod
    def _texts(run: Analysis) -> tuple[str | None, ...]:
        """Everything that a run read."""
        source = run.model.source_text if run.part in ("decoder", "cross") else None
        if run.run is not None and run.model.wordless:
            return tuple(repr(array.tobytes()) for array in run.run.encoding.arrays.values())
        return source, run.text, run.text_pair

    def _rows(self, side: int) -> Iterable[tuple[Float64, Float64]]:
        """`restricted` rows of every layer of A (0) or B (1)."""
        run, positions, keys = (self.a, self.b)[side], self._positions()[side], self._keys()[side]
        for layer in range(run.trace.n_layers):
            yield js.restricted(run.trace.layer_weights(layer), positions, keys)

    def _partner(self) -> NDArray[np.int64]:
        if not self.same_shape:
            return self.matching().partner
        return np.moveaxis(np.indices(self._shape(self.a)), 0, -1).astype(np.int64)

    def _distances(self) -> HeadDistances:
        n_queries = len(self._positions()[0])
        partner = self._partner()
        if self.same_shape:
            by_layer: Sequence[Any] = [
                (js.mean_distance(a, b), dropped_a, dropped_b)
                for (a, dropped_a), (b, dropped_b) in zip(self._rows(0), self._rows(1), strict=True)
            ]
            distances, dropped_a, dropped_b = map(np.stack, zip(*by_layer, strict=True))
        else:
            there = partner[..., 0] >= 0
            distances = self.matching().distances
            dropped_a = np.stack([dropped for _, dropped in self._rows(0)])
            every_b = np.stack([dropped for _, dropped in self._rows(1)])
            dropped_b = np.where(there, every_b[partner[..., 0], partner[..., 1]], np.nan)
        return js.HeadDistances(distances, dropped_a, dropped_b, partner, n_queries)

    @staticmethod
    def _shape(run: Analysis) -> tuple[int, int]:
        return run.trace.n_layers, run.trace.n_heads


def _checked(pairs: Any, called: str, n_a: int, n_b: int) -> list[tuple[int, int]]:
    """Pairs of positions that exist, none twice."""
    matched: list[tuple[int, int]] = []
    for pair in check_several(pairs, called, "(position in A, position in B)"):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputTypeError(
                f"An entry of {called} is {short_repr(pair)}, expected a position of A and one of B.",
                "c.align([(2, 3)])",
            )
        i = index_in(pair[0], n_a, "a position of A")
        j = index_in(pair[1], n_b, "a position of B")
        matched.append((i, j))
    for k, name in enumerate("AB"):
        places = [pair[k] for pair in matched]
        twice = [place for place in places if places.count(place) > 1]
        if twice:
            raise InputError(f"Position {twice[0]} of {name} stands twice in {called}.")
    return matched


def _matrix(run: Analysis, layer: int, head: int, quantity: str) -> Float32:
    if quantity == "weights":
        return run.attention(layer, head)
    if quantity == "scores":
        return run.scores(layer, head)
    if quantity == "norms":
        return run.mixing.matrix("norms", layer, head)
    return run.mixing.matrix(quantity, layer)  # pyright: ignore[reportArgumentType]
