"""profile(): many texts in, the figures of all heads out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from attn_widget.checks import (
    check_choice,
    check_count,
    check_flag,
    check_path,
    check_seed,
    is_iterable,
    known_keywords,
)
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.corpus.engines.local import profile_here
from attn_widget.features.corpus.engines.ray_engine import profile_with_ray
from attn_widget.features.corpus.engines.settings import Options
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.reading.sources import is_source
from attn_widget.language.taggers import TaggerLike
from attn_widget.model.families import PARTS


@known_keywords
def profile(
    texts: Iterable[Any] | str | Path,
    *,
    column: str | None = None,
    model: Any = None,
    part: Literal["encoder", "decoder", "cross"] | None = None,
    generate: int = 0,
    qk: tuple[int, int] | None = None,
    engine: Literal["local", "ray"] = "local",
    seed: int = 0,
    tagger: TaggerLike = "auto",
    truncation: bool = False,
    progress: bool = True,
    folder: str | Path | None = None,
    failures: Literal["raise", "list"] | None = None,
    address: str | None = None,
    workers: int | None = None,
    threads: int = 1,
    resume: str | Path | None = None,
) -> Profile:
    """The figures of every head over many texts: mean, spread and 95% interval of each.

    Texts of equal length are read together. The figures of each are those of `analyze` up to rounding (2e-6
    of a figure up to 1). Neither the order of the work nor the engine changes a bit of the result
    (docs/corpora.md).

    Parameters
    ----------
    texts : iterable of str, str, path, datasets.Dataset or DataFrame
        At least one text. A str or path names files (a glob may match several): ``.parquet``,
        ``.jsonl`` (or ``.ndjson``), ``.json``, ``.csv``, ``.tsv``; a file of another name is read by its content, as a rule
        one text per line, in UTF-8. An address (``s3://bucket/*.parquet``) is opened by pyarrow. Of an encoder-decoder,
        pairs (source, output), or with ``generate`` sources alone.
    column : str, optional
        Column of such files, of a dataset or of a DataFrame that holds the texts. Default "text".
    model : optional
        As for `analyze`.
    part : {"encoder", "decoder", "cross"}, optional
        Of an encoder-decoder, whose heads to profile; by default those of cross-attention, which have the metrics and the
        alignment (``monotony``, ``expected_place``).
    generate : int
        How many tokens an encoder-decoder writes for each text, where no outputs are given.
    qk : (int, int), optional
        Layer and head whose three strongest cells of each text are explained: what each earlier head brings to them
        (docs/qk.md), in `Profile.qk`. Local engine alone; each text is read once more, alone.
    engine : {"local", "ray"}
        Where the work is done: in this process, or by the workers of Ray Data (``attn-widget[ray]``), which
        keeps sums and examples, not the figures of each text.
    seed : int
        Seed of the bootstrap and of the roles.
    tagger : {"auto"}, None, spacy.language.Language or callable
        As for `analyze`.
    truncation : bool
        Truncate texts that are longer than the model allows instead of refusing them.
    progress : bool
        Show a progress bar (in tokens).
    folder : str or path, optional
        Folder in which finished chunks of texts are stored, so that repeating the call continues where it was
        interrupted. It holds the texts. Needs pyarrow. With ``address`` all machines must reach it.
    failures : {"raise", "list"}, optional
        Whether a text without figures stops the profile or is listed in `Profile.failed`. Default "raise" for
        the local engine, "list" for Ray.
    address : str, optional
        Address of a Ray cluster (``"auto"``, ``"ray://host:10001"``). Without it Ray runs on this machine during
        the call.
    workers : int, optional
        Number of models that read in parallel with Ray; by default as many as the cluster's processors allow.
    threads : int
        Threads of each worker.
    resume : str or path, optional
        The earlier name of ``folder``.

    Returns
    -------
    Profile

    Raises
    ------
    InputError
        No text; no file that matches, or a column that is missing or holds no text; a text that the model
        cannot read, named by its index, before any work is done (local engine); a folder of another model or
        other options, or that cannot be written to; no cluster at the address.
    TooLongError
        A text with too many tokens, without ``truncation``.
    ProfileError
        A text that failed during the run (an `InputError`, with the profile of the finished texts).
    InputTypeError
        ``texts`` is not a list of str, or an option has the wrong type.
    NotAvailableError
        Ray or pyarrow is needed but not installed; ``part`` or ``generate`` of a model that reads one text; an encoder-decoder
        with ``engine="ray"``.

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
    check_choice(engine, "engine", ["local", "ray"])
    if failures is not None:
        check_choice(failures, "failures", ["raise", "list"])
    if part is not None:
        check_choice(part, "part", PARTS)
    generate = check_count(generate, "generate", 0)
    progress = check_flag(progress, "progress")
    seed = check_seed(seed)
    truncation = check_flag(truncation, "truncation")
    place = _place(folder, resume)
    check_count(threads, "threads", 1, 1024)
    if workers is not None:
        check_count(workers, "workers", 1, 100_000)
    if address is not None and not isinstance(address, str):
        raise InputTypeError(f"address is a {type(address).__name__}, expected a str.", "")
    strict = (failures or ("raise" if engine == "local" else "list")) == "raise"
    shared = column, model, seed, tagger, truncation, progress, place, strict
    if qk is not None and engine != "local":
        raise InputError("qk is an option of engine='local'.", "Leave engine out.")
    options = Options(*shared, part, generate, qk)
    if engine == "local":
        if address is not None or workers is not None or threads != 1:
            raise InputError("address, workers and threads are options of engine='ray'.", "")
        return profile_here(texts, options)
    if address is not None and place is None:
        raise InputError(
            "A cluster needs folder=, where its machines keep finished parts.",
            "Give a folder that all of them share, or an address such as s3://bucket/run.",
        )
    return profile_with_ray(texts, options, address, workers, threads)


def _place(folder: str | Path | None, resume: str | Path | None) -> str | None:
    if folder is not None and resume is not None:
        raise InputError(
            "folder and resume are two names for the same option.", "Give folder alone."
        )
    name, place = ("folder", folder) if folder is not None else ("resume", resume)
    if place is None or (isinstance(place, str) and "://" in place):
        return place
    return str(check_path(place, name))
