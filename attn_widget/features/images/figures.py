"""Figures of a picture: what a patch looks at in all heads, patterns in two dimensions, heads that separate it."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.analysis.accessor import Accessor
from attn_widget.analysis.base import cached
from attn_widget.checks import indices_in
from attn_widget.errors import InputError
from attn_widget.features.images.blank import beyond, blank_rows, focused_rows, rows_of
from attn_widget.features.images.encoding import ImageEncoding, the_encoding
from attn_widget.features.images.patterns import (
    Separated,
    chance,
    hangs_together,
    separated,
    shares,
)
from attn_widget.figures.arrays import Float32

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis


class ImageFigures(Accessor["Analysis"]):
    """Figures of a picture (docs/images.md); ``a.image``."""

    @property
    def _encoding(self) -> ImageEncoding:
        return the_encoding(self._analysis)

    @property
    def _whole(self) -> Analysis:
        """The run of all tokens, also where this is a view without special ones."""
        return self._analysis._whole

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self._encoding.rows, self._encoding.columns

    @property
    def rects(self) -> Float32:
        """Rectangle of each token in px of `picture`, float32 [n, 4]: x, y, width, height; NaN for special tokens."""
        found = self._encoding.rects
        assert found is not None  # of every picture that was read
        return found

    @property
    def picture(self) -> Any:
        """The picture as a PIL image, RGB, with a longer side of at most 768 px."""
        return self._encoding.picture

    def rows(self, tokens: int | Sequence[int]) -> Float32:
        """Weights of a token in all heads, float32 [L, H, n]; of several tokens, the mean.

        Parameters
        ----------
        tokens : int or sequence of int

        Raises
        ------
        InputError, InputTypeError
            A position that does not exist, or none.
        NotAvailableError
            The run is not of an image.
        """
        self._encoding  # noqa: B018  # pyright: ignore[reportUnusedExpression]
        trace = self._whole.trace
        several = [tokens] if isinstance(tokens, (int, np.integer)) else tokens
        return rows_of(trace, _some(several, trace.n_tokens, "tokens"))

    @property
    def patterns(self) -> Float32:
        """Share of the patches' weight by where it goes, float32 [L, H, 6].

        On itself; near (1 or 2 patches away, in the larger of both directions); far; in its row; in its column (both without itself); on
        special tokens. Self, near, far and special sum to 1.

        Raises
        ------
        NotAvailableError
            The run is not of an image.
        """
        found, trace = self._encoding, self._whole.trace
        return cached(
            self._whole,
            ("image", "patterns"),
            lambda: np.stack(
                [
                    shares(trace.layer_weights(layer), found.rows, found.columns, found.first)
                    for layer in range(trace.n_layers)
                ]
            ),
        )

    @property
    def chance(self) -> Float32:
        """`patterns` of a head that looks at every token alike, float32 [6]."""
        found = self._encoding
        return chance(found.rows, found.columns, self._whole.trace.n_tokens)

    @property
    def separated(self) -> Separated:
        """Two groups of patches for each head, and how clearly they separate the picture.

        By what the first token looks at beyond what it looks at in pictures of nothing: an even one, and random pixels. Without a first special
        token (SigLIP), by what all patches look at on average. The first picture of a size costs the model two passes more.

        Returns
        -------
        Separated
            ``separation``, ``contiguity``, ``deviations``, ``needed``, ``alike``, ``alike_chance`` and ``clarity`` float32 [L, H], ``clear`` bool [L, H], ``groups`` uint8 [L, H, patches].
            No head is clear, and ``needed`` infinite, where neighboring patches of the picture are hardly more alike than in any order.

        Raises
        ------
        NotAvailableError
            The run is not of an image.
        """
        found, whole = self._encoding, self._whole

        def find() -> Separated:
            assert whole.run is not None  # of every picture
            maps = focused_rows(whole.trace, found)[..., found.patches]
            groups = separated(
                beyond(maps, blank_rows(whole.run, found)), found.rows, found.columns
            )
            if self.hangs_together:
                return groups
            return groups._replace(needed=np.full_like(groups.needed, np.inf))

        return cached(whole, ("image", "separated"), find)

    @property
    def hangs_together(self) -> bool:
        """True if neighboring patches of the picture are more alike than in any order, in a mean color or in contrast: else no head separates it.

        Of fewer than 36 patches none may be, whatever the picture.

        Raises
        ------
        NotAvailableError
            The run is not of an image.
        """
        found = self._encoding
        return hangs_together(found.arrays["pixel_values"], found.rows, found.columns)

    def clearest(
        self, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None
    ) -> tuple[int, int, bool]:
        """Layer and head that separate the picture most clearly, and whether that is above chance: of the upper half of the layers, if one is.

        In the first layers a patch is looked at by what it shows itself, such as its brightness.

        Parameters
        ----------
        layers, heads : sequence of int, optional
            Among these.

        Raises
        ------
        InputError, InputTypeError
            One that does not exist, or none.
        NotAvailableError
            The run is not of an image.
        """
        found = self.separated
        n_layers, n_heads = found.separation.shape
        rows = _some(range(n_layers) if layers is None else layers, n_layers, "layers")
        columns = _some(range(n_heads) if heads is None else heads, n_heads, "heads")
        among = np.ix_(rows, columns)
        clear = found.clear[among]
        upper = np.array(rows)[:, None] >= n_layers / 2
        clarity = found.clarity[among] + clear + (clear & upper)  # at most 1, and so in this order
        row, column = np.unravel_index(int(clarity.argmax()), clarity.shape)
        layer, head = rows[int(row)], columns[int(column)]
        return layer, head, bool(found.clear[layer, head])


def _some(values: Any, size: int, name: str) -> list[int]:
    """``values`` as indices, as `indices_in`, and at least one.

    Raises `InputError`: none.
    """
    found = indices_in(values, size, name)
    if not found:
        raise InputError(f"{name} is empty.", f"Give some of 0 to {size - 1}.")
    return found
