"""The content of a page, as one value: what `attn_widget.to_html` was asked for, and the room that it may take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from attn_widget.analysis import Analysis
from attn_widget.checks import check_choice, check_keywords, check_several, check_title, index_in
from attn_widget.errors import InputError
from attn_widget.features import with_features, with_options
from attn_widget.figures.catalog.choices import VIEWS
from attn_widget.protocol.fields import option
from attn_widget.protocol.source import Source

if TYPE_CHECKING:
    from attn_widget.features.public import OfPage, OfPageOptions  # pyright: ignore[reportMissingModuleSource]
else:
    OfPage = with_features("page", object)
    OfPageOptions = with_options("page_options")

WEIGHTS = (
    "has no weights of single layers or heads to choose from.",
    "Leave layers and heads out: all figures are always included.",
)


class PageOptions(OfPageOptions, total=False):
    """Options of `attn_widget.to_html`, where they are described."""

    layers: Sequence[int] | None
    heads: Sequence[int] | None
    views: Sequence[str] | None
    title: str | None


def several_views(views: Any) -> list[Any]:
    """Names of views, one of which may stand alone."""
    return check_several([views] if isinstance(views, str) else views, "views", "names of views")


@dataclass(frozen=True, kw_only=True)
class PageSpec(OfPage):
    """The content of a page: the options of `attn_widget.to_html`, those of features included, and the room for each run.

    ``layers``, ``heads``: whose weights go along; by default all. Raises `InputTypeError`: layers, heads or views
    that are not several, or a title that is no str. Raises `InputError`: a title with a lone surrogate.
    """

    # Lists, because one page asks for them several times.
    layers: Sequence[int] | None = option(
        lambda given: check_several(given, "layers", "int"), of_a_run=WEIGHTS
    )
    heads: Sequence[int] | None = option(
        lambda given: check_several(given, "heads", "int"), of_a_run=WEIGHTS
    )
    views: Sequence[str] | None = option(several_views)  # names of the tabs; by default all
    title: str | None = option(check_title)
    # Share of the room of a short page that tensors of the model may take: many texts share one.
    tensors: float = 1.0
    # Bytes, compressed, that the attention of a run may take; a coarser code is chosen for it.
    most: float | None = None
    # Compute masked predictions of a short text, where the view is saved; those that were computed before always go
    # along.
    masked: bool = True
    # The coarsest code and what takes a moment: quick to make and small, for the output of a cell.
    light: bool = False
    left_out: str = ""  # what the page lacks, in words, for its reader

    def __post_init__(self) -> None:
        for name, declared in self._given():
            object.__setattr__(self, name, declared["check"](getattr(self, name)))

    def _given(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Names of the options that were given, with what their fields declare."""
        for field in fields(self):
            value = getattr(self, field.name)
            # An array cannot be compared, and 0 is no False.
            if "check" in field.metadata and value is not field.default:
                yield field.name, field.metadata

    @classmethod
    def of(cls, options: PageOptions) -> PageSpec:
        """The spec of the options of `attn_widget.to_html`; an unknown keyword is refused."""
        check_keywords(options, PageOptions.__annotations__, "to_html()")
        return cls(**options)

    def within(self, n_layers: int, n_heads: int) -> PageSpec:
        """The same for a run of this shape, with layers, heads and views in order, each once.

        Raises `InputError`: a layer, head or view that does not exist, or none left.
        """
        return replace(
            self,
            layers=check_indices("layers", self.layers, n_layers),
            heads=check_indices("heads", self.heads, n_heads),
            views=check_views(self.views),
        )

    def of_source(self, source: Source) -> PageSpec:
        """The part of it that ``source`` has, as `within`.

        Raises `InputError`: what it does not have.
        """
        if source.analysis is not None:
            return self.within(*source.shape)
        for name, declared in self._given():
            if declared["of_a_run"] is not None:
                reason, instead = declared["of_a_run"]
                raise InputError(f"A {source.name} {reason}", instead)
            names = [view if isinstance(view, str) else None for view in self.views or ()]
            if name == "views" and names != [*source.views]:
                raise InputError(
                    f"A {source.name} has only the view {source.views[0]!r}.", "Leave views out."
                )
        return self

    def of_no_run(self) -> PageSpec:
        """The same without what was given for runs alone: a profile or a similarity has one view, and no weights."""
        kept = {
            field.name: field.default
            for field in fields(self)
            if field.name == "views" or field.metadata.get("of_a_run") is not None
        }
        return replace(self, **kept)

    def check_run(self, analysis: Analysis) -> None:
        """Raise what is wrong with it for a run, before anything is computed."""
        for name, declared in self._given():
            if declared["fits"] is not None:
                declared["fits"](analysis, getattr(self, name))


WHOLE = PageSpec()


def check_views(views: Sequence[str] | None) -> list[str]:
    """Views of a run, in the order of their tabs; by default all."""
    if views is None:
        return list(VIEWS)
    names = list(views)
    for name in names:
        check_choice(name, "an entry of views", VIEWS)
    if not names:
        raise InputError("No view is left to save.", f"Views: {', '.join(VIEWS)}.")
    return [name for name in VIEWS if name in names]


def check_indices(name: str, given: Sequence[int] | None, size: int) -> list[int] | None:
    """Layers or heads, in order."""
    if given is None:
        return None
    if not given:
        raise InputError(f"{name} is empty.", "Leave it out to save all.")
    return sorted({index_in(index, size, f"an entry of {name}") for index in given})
