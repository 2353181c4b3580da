"""The view Picture, and what any run has of it: its figures are imported for a picture alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attn_widget.analysis.attention import AttentionFigures
from attn_widget.features.images.encoding import encoding_of
from attn_widget.figures.catalog.view import View

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.features.images.figures import ImageFigures

PICTURE = View(
    "images",
    "Picture",
    "What a patch, a special token or the mean of a region attends to in the picture, in every head.",
    options=("token", "scale"),
    head="marked",
    place=-1,
    opens="wordless",
)


class OfImage(AttentionFigures):
    """The figures of a picture, as a name of ``a``."""

    @property
    def image(self) -> ImageFigures:
        """Figures of a picture (docs/images.md)."""
        from attn_widget.features.images.figures import ImageFigures

        return ImageFigures(cast("Analysis", self))

    def _opens_on(self, layers: Any, heads: Any) -> tuple[int, int, int | None]:
        """The head that separates a picture most clearly, and what it was found with: the first token."""
        found = encoding_of(self)
        if found is None:  # another input of no text
            return super()._opens_on(layers, heads)
        layer, head, _ = self.image.clearest(layers, heads)
        return layer, head, 0 if found.first and self.base is None else None
