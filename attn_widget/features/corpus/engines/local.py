"""The local engine: this process reads one chunk after the other and keeps the figures of each text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attn_widget.checks import check_entries
from attn_widget.errors import AttnWidgetError, InputError
from attn_widget.features.corpus.engines.folder import Folder
from attn_widget.features.corpus.engines.settings import (
    Options,
    failure_record,
    kept_identity,
    load_for_profile,
    profile_meta,
)
from attn_widget.features.corpus.examples import ReadTexts
from attn_widget.features.corpus.feeds import check_head, feeds
from attn_widget.features.corpus.identity import digest_of
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.reading.chunks import Failure, chunks_of, read_chunk
from attn_widget.features.corpus.reading.sources import is_source, read_sources
from attn_widget.features.corpus.reading.two_texts import as_item, check_item, in_words
from attn_widget.features.corpus.storage import Rows, join
from attn_widget.language.taggers import TaggerLike
from attn_widget.model.encoder import Encoder


class ProfileError(InputError):
    """A text that stopped a profile, with what was done until then.

    ``index``: place of the text in the list. ``profile``: of the texts that were done; None when none was.
    """

    def __init__(self, message: str, hint: str, index: int, profile: Profile | None) -> None:
        super().__init__(message, hint)
        self.index = index
        self.profile = profile

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.hint, self.index, self.profile)


def profile_here(texts: Any, options: Options) -> Profile:
    """The work of `attn_widget.profile` with the local engine."""
    sources, failed = _given(texts, options.column)
    tagger, truncation, place = options.tagger, options.truncation, options.folder
    texts_read = [text for source in sources for text in source]
    encoder, generate = load_for_profile(options), options.generate
    head = None if options.qk is None else check_head(encoder, options.qk)
    if encoder.part is not None:
        sources = [[as_item(text) for text in source] for source in sources]
        texts_read = [text for source in sources for text in source]
    strict = options.strict
    lengths = _lengths(encoder, texts_read, truncation, generate) if strict else None
    meta = profile_meta(encoder, tagger, truncation, generate)
    folder = None if place is None else Folder(place, kept_identity(meta, tagger))
    if folder is not None:
        folder.open()
    meta |= {"n_texts": len(texts_read), "texts": digest_of([str(text) for text in texts_read])}
    read = ReadTexts(texts_read, encoder, truncation, tagger, generate)
    done: list[Rows] = []

    def profile_of(done: Sequence[Rows]) -> Profile:
        rows = join(done)
        return Profile(rows, meta | ({"failed": failed} if failed else {}), options.seed, read)

    from tqdm.auto import tqdm

    total = None if lengths is None or generate else sum(lengths)
    with tqdm(total=total, desc="profile", unit="token", disable=not options.progress) as bar:
        before = 0
        for number, source in enumerate(sources):
            first = 0
            for chunk in chunks_of(source):
                where = folder, number, first
                rows, bad = _chunk(*where, chunk, encoder, tagger, truncation, generate)
                begins = before + first
                # One copy of the texts is enough: examples take them from `read`.
                done.append(replace(rows, index=rows.index + begins, texts=None, tokens=None))
                if bad and strict:
                    some = any(len(part.index) for part in done)
                    so_far = profile_of(done) if some else None
                    raise _stopped(begins, bad[0], so_far, place) from bad[0].error
                failed += [failure_record(begins, failure) for failure in bad]
                bar.update(int(rows.n_tokens.sum()))
                first += len(chunk)
            before += first
    if not any(len(rows.index) for rows in done):
        raise InputError(
            f"No text could be read ({failed[0]['reason']}).",
            "The first reason is in parentheses.",
        )
    found = profile_of(done)
    if head is None:
        return found
    rows = join(done)
    marks = rows.index.astype(np.uint64) if rows.digests is None else rows.digests
    found.qk = feeds(
        read,
        head,
        [int(at) for at in rows.index],
        marks,
        meta,
        seed=options.seed,
        progress=options.progress,
    )
    return found


def _chunk(
    folder: Folder | None,
    number: int,
    first: int,
    chunk: list[Any],
    encoder: Encoder,
    tagger: TaggerLike,
    truncation: bool,
    generate: int,
) -> tuple[Rows, list[Failure]]:
    """A chunk from the folder, or read now and kept there; one with failures is read again next time."""
    if folder is None:
        return read_chunk(encoder, chunk, tagger, truncation, None, generate)
    name = folder.name_of(number, first, chunk)
    stored = folder.find(name)
    if stored is not None:
        return stored, []
    rows, bad = read_chunk(encoder, chunk, tagger, truncation, None, generate)
    if not bad:
        folder.write(name, replace(rows, texts=[in_words(chunk[k]) for k in rows.index]))
    return rows, bad


def _given(texts: Any, column: str | None) -> tuple[list[list[Any]], list[dict[str, Any]]]:
    """The texts of each source, and what of them could not be read."""
    failed: list[dict[str, Any]] = []
    if is_source(texts):
        sources, bad = read_sources(texts, column)
        failed += bad
    elif column is not None:
        raise InputError("column is for files and datasets.", "Leave it out for a list of str.")
    else:
        sources = [check_entries(texts, "texts", pairs=True)]
    if not any(sources):
        why = f" ({failed[0]['source']}: {failed[0]['reason']})" if failed else ""
        raise InputError(f"texts is empty{why}.", "Give at least one text.")
    return sources, failed


def _lengths(encoder: Encoder, texts: Sequence[Any], truncation: bool, generate: int) -> list[int]:
    """Tokens of each text; every text that cannot be read is known before the work begins."""
    lengths: list[int] = []
    for k, text in enumerate(texts):
        try:
            if encoder.part is None:
                lengths.append(encoder.encode(text, truncation=truncation).n_tokens)
            else:
                length = check_item(encoder, text, truncation=truncation, generate=generate)
                lengths.append(length)
        except AttnWidgetError as error:
            raise type(error)(f"Text {k} of {len(texts)}: {error.message}", error.hint) from error
    return lengths


def _stopped(
    begins: int, failure: Failure, so_far: Profile | None, place: str | None
) -> ProfileError:
    text, k = failure.text, begins + failure.place
    shown = text if len(text) <= 60 else text[:57] + "..."
    if place is not None:
        hint = f"Finished parts are kept in {place!r}; fix the cause and call again."
    else:
        hint = "The error's `profile` has the profile of the texts before it."
    message = f"Text {k}, {shown!r}, stopped the profile: {failure.reason}"
    return ProfileError(message, hint, k, so_far)
