"""agreement() and faithfulness() of methods over many texts, each with a target of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import run_text
from attn_widget.checks import (
    check_choice,
    check_count,
    check_flag,
    check_kind,
    check_path,
    check_seed,
    check_several,
    known_keywords,
    short_repr,
)
from attn_widget.errors import InputError
from attn_widget.features.corpus.identity import (
    digest_of,
    drawn_together,
    identity_of,
    value_digest,
)
from attn_widget.features.corpus.many import measure
from attn_widget.features.corpus.storage import Rows
from attn_widget.features.corpus.trust_results import FAITHFULNESS, ManyAgreements, ManyFaithfulness
from attn_widget.features.why.methods import METHODS
from attn_widget.features.why.targets import Target
from attn_widget.figures.arrays import Float32
from attn_widget.language.taggers import TaggerLike, resolve
from attn_widget.model.loading import load
from attn_widget.model.tokenizing import check_texts

Chooser = Callable[["Analysis"], Target]
EXAMPLE = 'agreement(["The cat [MASK]."], target=lambda a: target(position=3, token="sat"))'


@known_keywords
def agreement(
    texts: Iterable[str],
    *,
    target: Target | Sequence[Target] | Chooser,
    methods: Sequence[str] | None = None,
    groups: Sequence[object] | None = None,
    model: Any = None,
    seed: int = 0,
    tagger: TaggerLike = "auto",
    progress: bool = True,
    resume: str | Path | None = None,
) -> ManyAgreements:
    """Agreement of methods on the words that matter: Spearman's rho of every two, over many texts.

    Parameters
    ----------
    texts : iterable of str
    target : Target, sequence of Target, or callable
        One for all texts, one for each, or a function that gets an `Analysis` and returns one.
    methods : sequence of str, optional
        Two or more; by default all ten. See `Analysis.why.contributions`.
    groups : sequence, optional
        One entry for each text. Texts of a group, such as those of one template, are resampled together. Without
        it every text is one, and the same text given twice counts as one.
    model : optional
        As for `analyze`.
    seed : int
        Of the bootstrap.
    tagger : {"auto"}, None, spacy.language.Language or callable
        As for `analyze`: its words are what is ranked.
    progress : bool
        Show a progress bar.
    resume : str or path, optional
        A folder that finished work is kept in and taken from: the same call goes on where it was
        interrupted. Needs pyarrow.

    Returns
    -------
    ManyAgreements

    Raises
    ------
    InputError
        No text, fewer than two methods, another number of targets than of texts, a ``resume`` folder
        of other work, or no text that has its target.
    InputTypeError
        Texts, targets or options of another type.

    Examples
    --------
    >>> from attn_widget import target
    >>> texts = ["The cat sat on the mat.", "The dogs ran to the house."]
    >>> many = agreement(texts, target=target(position=3, token="sat", masked=True),
    ...                  methods=["decomposition", "weights"], tagger=None, progress=False)
    >>> many.mean.shape
    (2, 2)
    """
    names = _methods(methods)
    if len(names) < 2:
        raise InputError("methods holds one, and agreement is between two.", "Name two or more.")

    def figures(analysis: Analysis, chosen: Target) -> Float32:
        return analysis.why.agreement(chosen, names).rho[None].astype(np.float32)

    meta = {"work": "agreement", "keys": ["rho"], "methods": names}
    rows, about = _many(texts, target, figures, meta, groups, model, tagger, progress, resume)
    return ManyAgreements(rows, about, check_seed(seed))


@known_keywords
def faithfulness(
    texts: Iterable[str],
    *,
    target: Target | Sequence[Target] | Chooser,
    methods: Sequence[str] | None = None,
    n_random: int = 1600,
    groups: Sequence[object] | None = None,
    model: Any = None,
    seed: int = 0,
    tagger: TaggerLike = "auto",
    progress: bool = True,
    resume: str | Path | None = None,
) -> ManyFaithfulness:
    """Test of masking words in a method's order against random orders, over many texts.

    Parameters
    ----------
    texts, target
        As in `agreement`.
    methods : sequence of str, optional
        By default all ten. See `Analysis.why.contributions`.
    n_random : int
        Random orders to draw at most for a text of more than ten words, as in `Analysis.why.faithfulness`: fewer once every
        verdict is settled. What they do not settle is undecided, and counts as such.
    groups
        As in `agreement`.
    model
        As in `agreement`.
    seed : int
        Of the bootstrap.
    tagger, progress, resume
        As in `agreement`.

    Returns
    -------
    ManyFaithfulness

    Raises
    ------
    InputError, InputTypeError
        As in `agreement`.

    Examples
    --------
    >>> from attn_widget import target
    >>> texts = ["The cat sat on the mat.", "The dogs ran to the house."]
    >>> many = faithfulness(texts, target=target(position=3, token="sat", masked=True),
    ...                     methods=["decomposition"], tagger=None, progress=False)
    >>> many.comprehensiveness.shape  # a column for each method, the last one for random orders
    (2, 2)
    """
    names = _methods(methods)
    n_random, seed = check_count(n_random, "n_random", 20, 100_000), check_seed(seed)

    def figures(analysis: Analysis, chosen: Target) -> Float32:
        trust = analysis.why.faithfulness(chosen, names, n_random=n_random)
        tests, chance = [trust.tests[name] for name in names], trust.band()[0]
        rows = [
            [*(curve.comprehensiveness for curve in trust.curves.values()), chance],
            [*(curve.sufficiency for curve in trust.curves.values()), chance],
            [*(np.nan if test.better is None else float(test.better) for test in tests), np.nan],
            [*(test.percentile for test in tests), np.nan],
        ]
        return np.array(rows, np.float32)[:, None]

    meta = {
        "work": "faithfulness",
        "keys": list(FAITHFULNESS),
        "methods": names,
        "n_random": n_random,
        "undecided": True,  # kept work without it counted a text by its p value
    }
    rows, about = _many(texts, target, figures, meta, groups, model, tagger, progress, resume)
    return ManyFaithfulness(rows, about, seed)


def _methods(methods: Sequence[str] | None) -> list[str]:
    if methods is None:
        return list(METHODS)
    names = [
        check_choice(m, "methods", METHODS) for m in check_several(methods, "methods", "names")
    ]
    if not names or len(set(names)) < len(names):
        raise InputError(f"methods is {short_repr(methods)}.", "Name each method once.")
    return names


def _many(
    texts: Iterable[str],
    target: object,
    figures: Callable[[Analysis, Target], Float32],
    meta: dict[str, Any],
    groups: object,
    model: Any,
    tagger: TaggerLike,
    progress: bool,
    resume: str | Path | None,
) -> tuple[Rows, dict[str, Any]]:
    """Figures of every text that has its target; the others are listed in ``meta["failed"]``."""
    progress = check_flag(progress, "progress")
    folder = None if resume is None else check_path(resume, "resume")
    checked = check_texts(texts, EXAMPLE)
    if not isinstance(target, Target) and not callable(target):
        target = check_several(target, "target", "targets")
    choose, marks = _chooser(target, len(checked)), drawn_together(checked, groups)
    tag_with, _ = resolve(tagger)
    encoder = load(model, progress=progress)
    identity = {
        **meta,
        **identity_of(encoder),
        "n_texts": len(checked),
        "texts": digest_of(checked),
        "tagger": None if tag_with is None else tag_with.name,
    }
    if folder is not None:
        identity["target"] = value_digest(target, "target")
        identity["tagger_content"] = value_digest(tag_with and tag_with.content, "tagger")

    def of_text(k: int, text: str) -> tuple[int, Float32]:
        analysis = run_text(encoder, text, None, truncation=False, tagger=tagger)
        return analysis.trace.n_tokens, figures(analysis, choose(analysis, k))

    return measure(
        checked, of_text, identity, marks, folder, progress=progress, lists_failures=True
    )


def _chooser(
    target: Target | Callable[..., object] | list[Any], n_texts: int
) -> Callable[[Analysis, int], Target]:
    if isinstance(target, Target):
        return lambda _analysis, _k: target
    if callable(target):

        def ask(analysis: Analysis, _k: int) -> Target:
            proposed: object = target(analysis)
            check_kind(proposed, Target, "what target(analysis) returns", "target(...) makes one.")
            assert isinstance(proposed, Target)
            return proposed

        return ask
    for one in target:
        check_kind(one, Target, "an entry of target", "target(...) makes one.")
    if len(target) != n_texts:
        raise InputError(
            f"target holds {len(target)}, and there are {n_texts} texts.",
            "Give one for each text.",
        )
    return lambda _analysis, k: target[k]
