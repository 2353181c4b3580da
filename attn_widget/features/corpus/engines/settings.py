"""Settings that every engine reads a corpus with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attn_widget.features.corpus.identity import identity_of, value_digest
from attn_widget.features.corpus.reading.blocks import keys_of
from attn_widget.features.corpus.reading.chunks import Failure
from attn_widget.features.corpus.reading.items import check_part_of
from attn_widget.language.taggers import TaggerLike, resolve
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load


@dataclass(frozen=True)
class Options:
    """Options of `attn_widget.profile` that every engine has."""

    column: str | None
    model: Any  # as for `analyze`
    seed: int
    tagger: TaggerLike
    truncation: bool
    progress: bool
    folder: str | None  # where finished chunks are kept
    strict: bool  # a text without figures stops the profile
    part: Any = None  # of an encoder-decoder; None: "cross"
    generate: int = 0  # tokens that it writes for each text, 0 where its outputs are given
    qk: Any = None  # layer and head whose strongest cells are explained; None: none


def load_for_profile(options: Options) -> Encoder:
    """The model of a profile; of an encoder-decoder, its part.

    Raises `NotAvailableError`: ``part`` or ``generate`` of a model that reads one text.
    """
    encoder = load(options.model, progress=options.progress)
    if encoder.part is not None:
        return encoder.of(options.part or "cross")
    check_part_of(encoder, options.part, options.generate)
    return encoder


def failure_record(begins: int, failure: Failure) -> dict[str, Any]:
    """An entry of `Profile.failed` for a text."""
    index = begins + failure.place
    return {"source": f"text {index}", "reason": failure.reason, "index": index}


def profile_meta(
    encoder: Encoder, tagger: TaggerLike, truncation: bool, generate: int = 0
) -> dict[str, Any]:
    """Settings that the figures depend on."""
    tag_with, _ = resolve(tagger)
    two_texts = {} if encoder.part is None else {"part": encoder.part, "generate": generate}
    return {
        "keys": list(keys_of(encoder)),
        **identity_of(encoder),
        "tagger": None if tag_with is None else tag_with.name,
        "truncation": truncation,
        **two_texts,
    }


def kept_identity(meta: dict[str, Any], tagger: TaggerLike) -> dict[str, Any]:
    """Settings by which a folder knows its run: those of `profile_meta`, and what the tagger does.

    Raises `InputError`: a tagger whose content cannot be read.
    """
    tag_with, _ = resolve(tagger)
    content = None if tag_with is None else value_digest(tag_with.content, "tagger")
    return {**meta, "tagger_content": content}
