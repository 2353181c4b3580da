"""The widget of a profile: the Heads view over many texts, with no text, tokens or weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import traitlets as t

from attn_widget.checks import check_kind, short_repr
from attn_widget.errors import InputError, SliceError
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.source import ProfileSource, opening_head, profile_paint
from attn_widget.figures.arrays import Head
from attn_widget.figures.catalog.choices import Theme
from attn_widget.protocol.answer import Answers
from attn_widget.protocol.selection import ACCURACIES, SHADES
from attn_widget.widget.base import SourceWidget
from attn_widget.widget.code import page_code
from attn_widget.widget.traits import Trait, check_traits, synced

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ProfileTraits(TypedDict, total=False):
    """Traits of a `ProfileWidget` that can be chosen when it is made; None is the default."""

    layer: int | None
    head: Head | None
    metric: str | None
    theme: Theme | None
    height: int | None
    chrome: bool | None


class ProfileWidget(SourceWidget):
    """The figures of all heads over many texts: the Heads view, without a text.

    Made by ``attn_widget.show(profile)``. Without a layer or a head it opens on the head that stands out most in where it looks.

    ``profile``: what to show. ``**traits``: initial values of the public traits below. Raises
    `traitlets.TraitError`: a trait outside its range; the message names what is allowed.
    """

    _WHY = "it is tied to the page that shows it"
    _INSTEAD = "Save its profile with profile.save(path), or the page with w.to_html(path)."

    metric: Trait[str] = synced(
        t.Enum(
            [shade for shade in (*SHADES, *ACCURACIES) if shade not in ("thumbnails", "pair")],
            "confidence_avg",
        )
    )
    """Shading of the head grid: a key of the profile, ``"accuracy: verb to object"``, or ``"role"``. Default confidence_avg."""
    view: Trait[Literal["heads"]] = synced(t.Enum(["heads"], "heads"))
    """Always ``"heads"``: there is no text to show."""
    status: Trait[Literal["ready", "closed"]] = synced(t.Enum(["ready", "closed"], "ready"))
    """``"ready"`` while the profile is in memory."""

    def __init__(self, profile: Profile, **traits: Any) -> None:
        check_kind(profile, Profile, "profile", "profile(texts) gives one.")
        check_traits(traits, ProfileSource.options, "ProfileWidget()")
        self._source: ProfileSource | None = ProfileSource(profile)
        if not {"layer", "head"} & set(traits):
            traits["layer"], traits["head"] = opening_head(profile)
        super().__init__(**page_code(), **traits)
        self.first_paint = profile_paint(profile)

    @property
    def profile(self) -> Profile:
        """The profile behind the widget."""
        if self._source is None:
            raise InputError("This widget is closed.", "Call show(profile) to make a new one.")
        return self._source.profile

    def close(self) -> None:
        """Release the profile here and the figures in the page. The traits stay readable."""
        if self._source is None:
            return
        self._source = None
        self.status = "closed"
        self.first_paint = b""
        super().close()

    def _open_source(self) -> ProfileSource | None:
        return self._source

    def _source_at(self, address: object) -> Answers:
        source = self._source
        if source is None:
            raise SliceError("This widget is closed.", "Run the cell again to make a new one.")
        if address is None:
            return source
        if not isinstance(address, Mapping) or set(address) != {"example"}:
            raise SliceError(
                f"A profile has no run {short_repr(address)}.", "Give {example: index}."
            )
        return source.example(address["example"])

    def __repr__(self) -> str:
        if self._source is None:
            return "<ProfileWidget, closed>"
        profile = self.profile
        head = "mean" if self.head == "mean" else f"H{self.head}"
        return f"<ProfileWidget of {profile.model}, {profile.n_texts} texts, L{self.layer} {head}>"


def widget_of(result: Profile, **traits: Unpack[ProfileTraits]) -> ProfileWidget:
    """The widget of a profile, not displayed yet.

    Raises `InputTypeError`: an option that only a run of one text has, or none has.
    """
    check_traits(traits, ProfileSource.options, "show(profile)")
    return ProfileWidget(result, **{k: v for k, v in traits.items() if v is not None})
