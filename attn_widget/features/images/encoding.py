"""A picture, ready for the model: pixels, and a token for each patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.analysis.base import AnalysisBase
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32
from attn_widget.model.encoding import Encoding

if TYPE_CHECKING:
    import torch


THUMBNAIL = 128  # px: of a list, on a dense screen


@dataclass(frozen=True)
class ImageEncoding(Encoding):
    """A picture, ready for the model. ``text`` is empty, and ``note`` says what was read.

    Attributes
    ----------
    rows, columns : int
        Of the grid of patches.
    first : int
        Position of the first patch; the others follow row by row from the top left. Every other token is special.
    picture : PIL.Image.Image
        What is shown: the whole picture as it was decoded, RGB, at most `attn_widget.features.images.pictures.SHOWN` px.
    rects : float32 [n, 4]
        ``x, y, width, height`` of each token in px of ``picture``; NaN for special tokens.
    dtype : torch.dtype, optional
        Of the pixels that the model gets, as its weights.
    """

    wordless: bool = True
    rows: int = 0
    columns: int = 0
    first: int = 0
    picture: Any = None
    rects: Float32 | None = None
    dtype: torch.dtype | None = None

    @cached_property
    def inputs(self) -> dict[str, torch.Tensor]:
        given = super().inputs
        return {**given, "pixel_values": given["pixel_values"].to(self.dtype)}

    @property
    def thumbnail(self) -> tuple[str, bytes]:
        """Type and bytes of the picture with a longer side of at most `THUMBNAIL` px."""
        from attn_widget.features.images.pictures import encoded  # a text needs none of it

        small = self.picture.copy()
        small.thumbnail((THUMBNAIL, THUMBNAIL))
        return encoded(small)

    @property
    def n_patches(self) -> int:
        return self.rows * self.columns

    @property
    def patches(self) -> slice:
        """Positions of the patches."""
        return slice(self.first, self.first + self.n_patches)

    def focused(self, token: int | None, group: Sequence[int] = ()) -> list[int]:
        """The tokens whose mean row is shown: ``token``, or else ``group``, or else the first one, or all patches where none stands before them."""
        if token is not None or group:
            return sorted({*group}) if token is None else [token]
        return [0] if self.first else [*range(self.n_patches)]


def encoding_of(analysis: AnalysisBase) -> ImageEncoding | None:
    """The encoding of a run of a picture; None of any other run."""
    found = None if analysis.run is None else analysis.run.encoding
    return found if isinstance(found, ImageEncoding) else None


def the_encoding(analysis: AnalysisBase) -> ImageEncoding:
    """The encoding of a run of a picture.

    Raises `NotAvailableError`: of any other run.
    """
    found = encoding_of(analysis)
    if found is None:
        raise NotAvailableError(
            "The run is not of an image, so it has no patches.",
            "Give an image: analyze(image, model=...).",
        )
    return found


def meta(analysis: AnalysisBase) -> dict[str, int] | None:
    """Grid of patches and size of the picture, for the page; None of a run of no picture."""
    found = encoding_of(analysis)
    if found is None:
        return None
    width, height = found.picture.size
    return {
        "rows": found.rows,
        "columns": found.columns,
        "width": width,
        "height": height,
        "first": found.first,
    }


def wordless(analysis: AnalysisBase) -> bool | None:
    """True of a run of no text, for the page; None of any other run."""
    return True if analysis.run is not None and analysis.run.encoding.wordless else None


def no_rects(count: int) -> Float32:
    """Rectangles of special tokens, float32 [count, 4]."""
    return np.full((count, 4), np.nan, np.float32)
