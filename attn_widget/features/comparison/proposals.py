"""Targets that tell two runs apart: what a reader would ask about first."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any, TypeAlias

from attn_widget.checks.rounding import first_largest, largest_first
from attn_widget.errors import NotAvailableError
from attn_widget.features.comparison import outputs
from attn_widget.features.comparison.base import ComparisonBase
from attn_widget.features.why.targets import Target
from attn_widget.host.installed import has_torch
from attn_widget.model.predictions import Mode
from attn_widget.trace.windows.run import ManyPasses

Predictions: TypeAlias = Callable[[int, Mode], list[dict[str, Any]]]
MOST = 4
LISTED = 5  # predictions of either run at a token
MASKED_MOST = 64  # tokens of a text whose words are masked in turn, a pass for each


def proposals(c: ComparisonBase, predictions: Predictions) -> list[Target]:
    """See `Comparison.proposals`; ``predictions`` are its own."""
    if _in_windows(c) or not has_torch():
        return []  # a target needs one pass over all of the text, and gradients
    if c.part != "self":
        return []  # the decoders may have written other tokens: each run has targets of its own
    return [*_classes(c), *_words(c, predictions)][:MOST]


def _in_windows(c: ComparisonBase) -> bool:
    runs = [run for run in (c.a.run, c.b.run) if run is not None]
    return any(isinstance(run.encoding.arrays, ManyPasses) for run in runs)


def mode_of(c: ComparisonBase) -> Mode:
    """``"masked"`` where words of both texts can be masked cheaply, and neither holds a mask; ``"next"`` of decoders."""
    if c.b.model.writing.model.default_mode == "next":
        return "next"
    for run in (c.a.run, c.b.run):
        if run is None or run.encoder.mask_token_id is None or run.trace.n_tokens > MASKED_MOST:
            return "as_is"
    return "as_is" if _masks(c) else "masked"


def _classes(c: ComparisonBase) -> list[Target]:
    """The class that rises most from A to B falls behind the one that sinks most."""
    try:
        records = outputs.classes(c.a, c.b)
    except NotAvailableError:
        return []
    order = largest_first([-record["log_odds"] for record in records])
    if len(order) < 2 or records[order[0]]["log_odds"] == records[order[-1]]["log_odds"]:
        return []
    return [Target(label=order[0], against=order[-1])]


def _words(c: ComparisonBase, predictions: Predictions) -> list[Target]:
    """At each token the likely word that sinks most, against the one that rises most."""
    mode = mode_of(c)
    masks = _masks(c)
    try:
        records = predictions(LISTED, mode)
    except NotAvailableError:
        return []
    assert c.b.run is not None  # predictions() has refused such a run
    reader: Any = c.b.run.encoder.reader
    vocabulary = reader.backend_tokenizer.get_vocab()
    ranked: list[tuple[float, Target]] = []
    for position, group in groupby(records, key=lambda record: record["position_b"]):
        own = [*group]
        if masks and position not in masks:
            continue
        sinks = own[first_largest([-change["log_odds"] * change["before"] for change in own])]
        rises = own[first_largest([change["log_odds"] * change["after"] for change in own])]
        loss, gain = -sinks["log_odds"] * sinks["before"], rises["log_odds"] * rises["after"]
        if loss <= 0 and gain <= 0:
            continue
        names = [change["token"] for change, size in ((sinks, loss), (rises, gain)) if size > 0]
        ids = [vocabulary[name] for name in names]
        target = Target(position, *ids, masked=mode == "masked")
        ranked.append((max(loss, 0) + max(gain, 0), target))
    return [ranked[k][1] for k in largest_first([size for size, _ in ranked])]


def _masks(c: ComparisonBase) -> set[int]:
    """Matched positions of B that both runs read as the mask token."""
    if c.a.run is None or c.b.run is None:
        return set()
    if _in_windows(c) or c.a.text is None or c.b.text is None:
        return set()
    ids = [run.encoding.arrays["input_ids"][0].tolist() for run in (c.a.run, c.b.run)]
    mask_a, mask_b = (run.encoder.mask_token_id for run in (c.a.run, c.b.run))
    return {
        j
        for i, j in c.alignment.tokens
        if mask_b is not None and ids[0][i] == mask_a and ids[1][j] == mask_b
    }
