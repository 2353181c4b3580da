"""The view Picture."""

from __future__ import annotations

from attn_widget.analysis.model import ModelFigures
from attn_widget.features.images.encoding import encoding_of
from attn_widget.figures.catalog.view import View

PICTURE = View(
    "images",
    "Picture",
    "What a patch, a special token or the mean of a region attends to in the picture, in every head.",
    options=("token", "scale"),
    head="marked",
    place=-1,
    opens="patch_grid",
)


class OfPicture(ModelFigures):
    """The grid of patches, as a name of ``a.model``."""

    @property
    def patch_grid(self) -> tuple[int, int] | None:
        """Rows and columns of the patches of a picture; None of a text."""
        found = encoding_of(self._analysis)
        return None if found is None else (found.rows, found.columns)
