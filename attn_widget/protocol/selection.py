"""Selection: what of a source is shown, as one value; the traits of a widget, without the widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from attn_widget.checks import check_choice, check_count, check_flag, index_in, is_mean
from attn_widget.features import with_features, with_options
from attn_widget.figures import metrics, patterns, specialization
from attn_widget.figures.arrays import Head
from attn_widget.figures.catalog.choices import (
    ALL_VIEWS,
    QUANTITIES,
    SCALES,
    THEMES,
    Quantity,
    Scale,
    Theme,
    ViewName,
)
from attn_widget.figures.catalog.specializations import ALIGNMENT
from attn_widget.figures.catalog.targets import POSITIONAL, RELATIONS
from attn_widget.model.families import Part
from attn_widget.protocol.fields import one_of

if TYPE_CHECKING:
    from attn_widget.features.public import OfSelection, OfTraits  # pyright: ignore[reportMissingModuleSource]
else:
    OfSelection = with_features("selection", object)
    OfTraits = with_options("selection_options")

SHADES = (
    "thumbnails", *metrics.KEYS, *specialization.KEYS, *patterns.KEYS, *(metric.key for metric in ALIGNMENT), "role", "effect", "pair"
)  # fmt: skip
# Accuracies, of a profile alone: how often a head's largest weight falls where a pattern says.
ACCURACIES = tuple(f"accuracy: {name}" for name in (*POSITIONAL, *RELATIONS))
LARGEST_HEIGHT = 100_000  # px


class ReportTraits(OfTraits, total=False):
    """Traits that texts of one page can share; None is the default."""

    layer: int | None
    head: Head | None
    metric: str | None
    theme: Theme | None
    height: int | None
    chrome: bool | None
    part: Part | None
    view: ViewName | None
    quantity: Quantity | None
    special: bool | None
    words: bool | None
    scale: Scale | None


class Traits(ReportTraits, total=False):
    """Traits of an `AttentionWidget` that can be chosen when it is made."""

    token: int | None
    pair: Sequence[int] | None
    group: Sequence[int] | None


@dataclass(frozen=True, kw_only=True)
class Selection(OfSelection):
    """The visible part of a source; the fields are the traits of `AttentionWidget`.

    Attributes
    ----------
    layer, head : optional
        None: where the source opens by itself.
    part : optional
        Of an encoder-decoder, ``"encoder"``, ``"decoder"`` or ``"cross"``; None of one text, and where the source opens by
        itself.
    token, pair, group
        Places in one text.
    metric, view, quantity, special, words, scale, theme, height, chrome
        As a new widget has them, like the fields of features.
    """

    layer: int | None = None
    head: Head | None = None
    token: int | None = None
    pair: Sequence[int] | None = None
    metric: str = one_of("thumbnails", (*SHADES, *ACCURACIES))
    view: str = one_of("attention", (*ALL_VIEWS,))
    quantity: str = one_of("weights", QUANTITIES)
    group: Sequence[int] = ()
    special: bool = True
    words: bool = False
    scale: str = one_of("words", SCALES)
    theme: str = one_of("auto", THEMES)
    height: int | None = None
    chrome: bool = True
    part: str | None = None

    @property
    def place(self) -> tuple[int, Head]:
        """Layer and head: the first ones where none was chosen."""
        return self.layer or 0, 0 if self.head is None else self.head

    @classmethod
    def of(cls, holder: Any, names: Sequence[str] | None = None) -> Selection:
        """Selection of those ``names`` (all by default) that ``holder`` has as attributes."""
        return cls(
            **{
                n: getattr(holder, n)
                for n in (NAMES if names is None else names)
                if hasattr(holder, n)
            }
        )

    def as_dict(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Values by name, of ``names`` (all by default), in the order of the fields; no part where one text is read."""
        values = {name: getattr(self, name) for name in NAMES if names is None or name in names}
        if values.get("part") is None:
            values.pop("part", None)
        return values

    def check(self, n_layers: int, n_heads: int) -> Selection:
        """The same, where a model of this shape has it; places in a text are not looked at.

        >>> Selection(layer=5).check(6, 12).layer
        5
        """
        if self.layer is not None:
            index_in(self.layer, n_layers, "layer")
        if self.head is not None and not is_mean(self.head):
            index_in(self.head, n_heads, "head")
        for field in fields(self):
            if "choices" in field.metadata:
                check_choice(getattr(self, field.name), field.name, field.metadata["choices"])
            if "most" in field.metadata:
                check_count(getattr(self, field.name), field.name, 1, field.metadata["most"])
        for name in ("special", "words", "chrome"):
            check_flag(getattr(self, name), name)
        if self.height is not None:
            check_count(self.height, "height", 1, LARGEST_HEIGHT, "CSS px.")
        return self


NAMES = tuple(field.name for field in fields(Selection))
