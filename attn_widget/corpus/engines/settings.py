"""Settings that every engine reads a corpus with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attn_widget.corpus.identity import identity_of, value_digest
from attn_widget.corpus.reading.blocks import KEYS
from attn_widget.corpus.reading.chunks import Failure
from attn_widget.language.taggers import TaggerLike, resolve

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder


@dataclass(frozen=True)
class Options:
    """Options of `attn_widget.profile` that every engine has.

    Attributes
    ----------
    column : str or None
    model
        As for `analyze`.
    seed : int
    tagger : TaggerLike
    truncation, progress : bool
    folder : str or None
        Where finished chunks are kept.
    strict : bool
        A text without figures stops the profile.
    """

    column: str | None
    model: Any
    seed: int
    tagger: TaggerLike
    truncation: bool
    progress: bool
    folder: str | None
    strict: bool


def failure_record(begins: int, failure: Failure) -> dict[str, Any]:
    """An entry of `Profile.failed` for a text."""
    index = begins + failure.place
    return {"source": f"text {index}", "reason": failure.reason, "index": index}


def profile_meta(encoder: Encoder, tagger: TaggerLike, truncation: bool) -> dict[str, Any]:
    """Settings that the figures depend on."""
    tag_with, _ = resolve(tagger)
    return {
        "keys": list(KEYS),
        **identity_of(encoder),
        "tagger": None if tag_with is None else tag_with.name,
        "truncation": truncation,
    }


def kept_identity(meta: dict[str, Any], tagger: TaggerLike) -> dict[str, Any]:
    """Settings by which a folder knows its run: those of `profile_meta`, and what the tagger does.

    Raises
    ------
    InputError
        A tagger whose content cannot be read.
    """
    tag_with, _ = resolve(tagger)
    content = None if tag_with is None else value_digest(tag_with.content, "tagger")
    return {**meta, "tagger_content": content}
