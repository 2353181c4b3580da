"""profile(): many texts in, the figures of all heads out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attn_widget._version import __version__
from attn_widget.checks import check_choice, check_flag, check_path, check_seed, is_iterable, listed
from attn_widget.corpus.blocks import KEYS, blocks_of, figures_together, stacked
from attn_widget.corpus.examples import ReadTexts
from attn_widget.corpus.identity import digest_of, fingerprint, text_digest
from attn_widget.corpus.profile import Profile
from attn_widget.corpus.sources import is_source, read_texts
from attn_widget.corpus.storage import Parts, Rows, join
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.language.taggers import TaggerLike, resolve

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder

KEEP_EVERY = 20.0  # seconds of work that a crash may cost


class ProfileError(InputError):
    """A text that stopped a profile, with what was done until then.

    Attributes
    ----------
    index : int
        Place of the text in the list.
    profile : Profile or None
        Of the texts that were done; None when none was.
    """

    def __init__(self, message: str, hint: str, index: int, profile: Profile | None) -> None:
        super().__init__(message, hint)
        self.index = index
        self.profile = profile

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.hint, self.index, self.profile)


def profile(
    texts: Iterable[Any] | str | Path,
    *,
    column: str | None = None,
    model: Any = None,
    engine: Literal["local"] = "local",
    seed: int = 0,
    tagger: TaggerLike = "auto",
    truncation: bool = False,
    progress: bool = True,
    resume: str | Path | None = None,
) -> Profile:
    """The figures of every head over many texts: mean, spread and 95% interval of each.

    Texts of one length are read together. The figures of each are those of `analyze` up to rounding (1e-6
    of a figure up to 1), and do not depend on the order of the texts.

    Parameters
    ----------
    texts : iterable of str, str, path or datasets.Dataset
        At least one text. A str or path names files (a glob may match several): ``.parquet``,
        ``.jsonl`` (or ``.ndjson``), ``.csv``; every other file has one text a line, in UTF-8.
    column : str, optional
        Which column of such files or of a dataset has the texts: "text" unless given.
    model : optional
        As for `analyze`.
    engine : {"local"}
        Where the work is done.
    seed : int
        Of the bootstrap and of the roles.
    tagger : {"auto"}, None, spacy.language.Language or callable
        As for `analyze`.
    truncation : bool
        Cut texts that are longer than the model allows instead of refusing them.
    progress : bool
        Show a progress bar (in tokens).
    resume : str or path, optional
        A folder that finished work is kept in and taken from: the same call goes on where it was
        interrupted. Needs pyarrow.

    Returns
    -------
    Profile

    Raises
    ------
    InputError
        No text; no file that matches, or a column that is missing or holds no text; a text that the model cannot read, named by its index, before any work is done; a
        `resume` folder of other texts, another model or other options, or that cannot be written to; a
        seed that is not from 0 to 2**32 - 1.
    TooLongError
        A text with too many tokens, without `truncation`.
    ProfileError
        A text that failed on the way (an `InputError`, with the profile of what was done).
    InputTypeError
        No list of str, a column, a seed, `truncation` or `resume` of another type.

    Examples
    --------
    >>> p = profile(["Cats purr.", "The dog saw the cat in Paris."], progress=False)
    >>> p
    <Profile of attn_widget/mini: 2 texts, 16 tokens, 6 layers x 12 heads>
    >>> p.mean["self"].shape, int(p.count["entities"][0, 0])
    ((6, 12), 1)
    """
    source = is_source(texts)
    if not source and (isinstance(texts, bytes) or not is_iterable(texts)):
        raise InputTypeError(
            f"texts is a {type(texts).__name__}, expected a list of str.",
            "For one text: profile([text]), or analyze(text).",
        )
    check_choice(engine, "engine", ["local"])
    progress = check_flag(progress, "progress")
    seed = check_seed(seed)
    truncation = check_flag(truncation, "truncation")
    folder = None if resume is None else check_path(resume, "resume")
    given, failed = _given(texts, column, source)
    from attn_widget.model.loading import load

    encoder = load(model, progress=progress)
    lengths = _lengths(encoder, given, truncation)
    tag_with, _ = resolve(tagger)
    tagger_name = None if tag_with is None else tag_with.name
    meta = _meta(encoder, given, tagger_name, truncation)
    if failed:
        meta["failed"] = failed
    read = ReadTexts(given, encoder, truncation)
    parts = None if folder is None else Parts(folder, meta)
    done: list[Rows] = [] if parts is None else list(parts.done)
    finished = {int(k) for rows in done for k in rows.index}
    digests = [text_digest(text) for text in given]
    waiting = [
        block
        for block in blocks_of(lengths, digests)
        if any(k not in finished for k in block)  # whole: a block's figures are rounded together
    ]

    fresh: list[tuple[int, int, np.ndarray[Any, Any]]] = []
    kept = time.monotonic()

    def keep() -> None:
        nonlocal kept
        if fresh:
            index, n_tokens, figures = zip(*fresh, strict=True)
            rows = Rows(np.array(index), np.array(n_tokens), np.stack(figures))
            fresh.clear()
            done.append(rows)
            if parts is not None:
                parts.add(rows, meta)
        kept = time.monotonic()

    from tqdm.auto import tqdm

    bar = tqdm(
        total=sum(lengths),
        initial=sum(lengths[k] for k in finished),
        desc="profile",
        unit="token",
        disable=not progress,
    )
    try:
        for block in waiting:
            together = figures_together(encoder, [given[k] for k in block], tagger, truncation)
            for place, k in enumerate(block):
                if k in finished:
                    continue
                try:
                    figures = (
                        _figures(encoder, given[k], tagger, truncation)
                        if together is None
                        else together[place]
                    )
                except Exception as error:
                    keep()
                    so_far = Profile(_joined(done, digests), meta, seed, read) if done else None
                    raise _stopped(k, given[k], error, so_far, resume) from error
                fresh.append((k, lengths[k], figures))
                bar.update(lengths[k])
                if time.monotonic() - kept > KEEP_EVERY:
                    keep()
    finally:
        bar.close()
        keep()
    return Profile(_joined(done, digests), meta, seed, read)


def _joined(done: Sequence[Rows], digests: Sequence[int]) -> Rows:
    """All rows, with the hash of each text."""
    rows = join(done)
    return replace(rows, digests=np.array([digests[int(k)] for k in rows.index], np.uint64))


def _given(
    texts: Any, column: str | None, source: bool
) -> tuple[Sequence[Any], list[dict[str, str]]]:
    """The texts, and what of their source could not be read."""
    if source:
        given, failed = read_texts(texts, column)
    elif column is not None:
        raise InputError("column is for files and datasets.", "Leave it out for a list of str.")
    else:
        given, failed = listed(texts, "texts"), []
    if not given:
        why = f" ({failed[0]['source']}: {failed[0]['reason']})" if failed else ""
        raise InputError(f"texts is empty{why}.", "Give at least one text.")
    return given, failed


def _figures(
    encoder: Encoder, text: str, tagger: TaggerLike, truncation: bool
) -> np.ndarray[Any, Any]:
    """The figures of one text: float32 [keys, L, H]."""
    from attn_widget.analysis.texts import analyze

    analysis = analyze(text, model=encoder, tagger=tagger, truncation=truncation, progress=False)
    return stacked(
        analysis.metrics.as_dict(), analysis.specialization.raw, analysis.patterns.as_dict()
    )


def _lengths(encoder: Encoder, texts: Sequence[Any], truncation: bool) -> list[int]:
    """Tokens of each text; every text that cannot be read is known before the work begins."""
    lengths: list[int] = []
    for k, text in enumerate(texts):
        try:
            lengths.append(encoder.encode(text, truncation=truncation).n_tokens)
        except AttnWidgetError as error:
            raise type(error)(f"Text {k} of {len(texts)}: {error.message}", error.hint) from error
    return lengths


def _stopped(
    k: int, text: str, error: Exception, so_far: Profile | None, resume: str | Path | None
) -> ProfileError:
    what = (
        error.message if isinstance(error, AttnWidgetError) else f"{type(error).__name__}: {error}"
    )
    shown = text if len(text) <= 60 else text[:57] + "..."
    if resume is not None:
        hint = f"What was done is kept in {str(resume)!r}; mend the cause and call again."
    else:
        hint = "The profile of the texts before it is the error's `profile`."
    return ProfileError(f"Text {k}, {shown!r}, stopped the profile: {what}", hint, k, so_far)


def _meta(
    encoder: Encoder, texts: Sequence[str], tagger: str | None, truncation: bool
) -> dict[str, Any]:
    """Settings that the figures depend on."""
    return {
        "keys": list(KEYS),
        "model": encoder.name,
        "revision": encoder.revision,
        "weights": fingerprint(encoder.network),
        "tagger": tagger,
        "truncation": truncation,
        "n_texts": len(texts),
        "texts": digest_of(texts),
        "attn_widget": __version__,
    }
