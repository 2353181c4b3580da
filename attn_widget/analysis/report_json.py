"""The whole analysis as one JSON document, for people without a notebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Protocol

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.features import declared, loaded
from attn_widget.model.predictions import Mode


class GivesSection(Protocol):
    """Function that a feature's ``sections`` name: the figures of a run, computed when they are called for; None of a run without any."""

    def __call__(self, analysis: Analysis, /) -> Callable[[], Any] | None: ...


def document(analysis: Analysis, *, top_k: int = 5, mode: Mode | None = None) -> dict[str, Any]:
    """Everything that ``analysis`` knows, by section.

    ``top_k``: predictions for each position. ``mode``, {"as_is", "masked", "next"}: of the predictions, as in
    `Analysis.predictions`. Returns: of dicts, lists, strings, numbers and numpy arrays. NaN is N/A; a section that
    this run cannot give is None, and ``not_available`` says why. Matrices of single heads are left out: they are
    `Analysis.attention`. Of an encoder-decoder everything is of the given ``part``, and ``parts`` has the same of
    its other parts.

    >>> from attn_widget import from_attentions
    >>> import numpy as np
    >>> d = document(from_attentions(np.full((1, 1, 2, 2), 0.5), ["a", "b"], tagger=None))
    >>> float(d["metrics"]["focus_normalized"][0, 0]), d["predictions"]
    (1.0, None)
    """
    whole = _document(analysis, top_k, mode)
    others = [part for part in analysis.model.parts if part != analysis.part]
    if others:
        whole["parts"] = {part: _document(analysis.of(part), top_k, mode) for part in others}
    return whole


def _document(analysis: Analysis, top_k: int, mode: Mode | None) -> dict[str, Any]:
    """One part of a run, or a run of one text."""
    run = analysis.run
    sections: dict[str, Callable[[], Any]] = {
        "words": lambda: [asdict(word) for word in analysis.words],
        "metrics": lambda: {"tau": analysis.metrics.tau, **analysis.metrics.as_dict()},
        "specialization": lambda: _specialization(analysis),
        "roles": lambda: _roles(analysis),
        "rollout": lambda: analysis.rollout(),
        "layer_change": lambda: analysis.heads.layer_change,
        "predictions": lambda: analysis.predictions(top_k, mode).to_records(),
        "next_sentence": lambda: analysis.model.next_sentence.to_dict(),
        "classification": lambda: _classification(analysis),
    }
    if analysis.part != "self":
        sections["alignment"] = lambda: analysis.heads.monotony.as_dict()
    for name, path in declared("sections"):
        give: GivesSection = loaded(path)
        if (section := give(analysis)) is not None:
            sections[name] = section
    figures: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name, section in sections.items():
        try:
            figures[name] = section()
        except NotAvailableError as error:
            figures[name] = None
            reasons[name] = str(error)
    return {
        "model": None
        if run is None
        else {"name": run.encoder.name, "revision": run.encoder.revision},
        **(
            {"part": analysis.part, "source_text": analysis.model.source_text}
            if analysis.part != "self"
            else {}
        ),
        "text": analysis.text,
        "text_pair": analysis.text_pair,
        "truncated": analysis.model.truncated,
        "n_layers": analysis.trace.n_layers,
        "n_heads": analysis.trace.n_heads,
        "tokens": [asdict(token) for token in analysis.tokens],
        **figures,
        "not_available": reasons,
    }


def _specialization(analysis: Analysis) -> dict[str, Any]:
    figures = analysis.heads.specialization
    return {"raw": figures.raw, "chance": figures.chance, "reasons": figures.reasons}


def _roles(analysis: Analysis) -> dict[str, Any]:
    roles = analysis.heads.roles()
    return {
        "names": roles.names,
        "labels": roles.labels,
        "layout": roles.layout,
        "seed": roles.seed,
    }


def _classification(analysis: Analysis) -> dict[str, Any]:
    classes = analysis.model.classification
    if classes is None:
        raise NotAvailableError("The model has no classifier.")
    return classes.to_dict()
