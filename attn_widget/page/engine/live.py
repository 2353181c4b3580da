"""A page whose model runs in it: weights, vocabulary and engine in one file, and a run to open on."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_widget.errors import InputError, NotAvailableError
from attn_widget.host.files import destination, write_parts
from attn_widget.model.places import EMBEDDED, MINI
from attn_widget.page.compress import deflate
from attn_widget.page.engine.packing import pack
from attn_widget.page.engine.rounding import rounding_of
from attn_widget.page.page import page_parts
from attn_widget.page.saved_run import ExportOptions, saved_run
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis

# The views whose every figure the engine computes (js/src/engine/page/answers).
LIVE_VIEWS = ("attention", "heads", "tree", "sentences", "predictions")
QUANTITIES = ("weights", "scores", "rollout")
MOST_BYTES = 480_000_000  # of the weights in base64: a browser's longest text has 2^29 characters


def planes(data: bytes) -> bytes:
    """All even bytes, then all odd ones: the high bytes of float16 numbers are alike.

    Examples
    --------
    >>> planes(b"aAbBc")
    b'abcAB'
    """
    return data[0::2] + data[1::2]


def save_live(
    path: str | os.PathLike[str], source: Source, selection: Selection, kept: ExportOptions
) -> Path:
    """Write a page that opens on what is shown, then runs what is typed.

    Raises
    ------
    InputError
        Views that the engine cannot compute, or some layers or heads alone.
    NotAvailableError
        A profile, a run without a model, a model that the engine cannot run.
    """
    target = destination(path)
    views = checked_views(kept)
    analysis = runnable(source)
    model = packed(analysis)
    if selection.view not in views:
        selection = replace(selection, view=views[0])
    if selection.quantity not in QUANTITIES:
        selection = replace(selection, quantity="weights")
    run = saved_run(source, selection, replace(kept, views=views))
    facts = json.dumps({"rounding": rounding_of(analysis), "tagger": tag_reader(analysis)})
    write_parts(target, page_parts([run], kept.title or run.title, "stack", (model, facts)))
    return target


def tag_reader(analysis: Analysis) -> dict[str, Any] | None:
    """The read-out of tags that was trained with the embedded model (training/tags.py); None for another."""
    assert analysis.run is not None
    if analysis.run.encoder.name != EMBEDDED:
        return None
    found: dict[str, Any] = json.loads((MINI / "tags.json").read_text(encoding="utf-8"))
    return found


def checked_views(kept: ExportOptions) -> list[str]:
    """The views of a page with an engine."""
    if kept.layers is not None or kept.heads is not None:
        raise InputError(
            "A page with an engine computes all layers and heads.",
            "Leave layers and heads out, or leave engine out.",
        )
    if kept.why is not None:
        raise InputError(
            "A page with an engine explains no target: that needs gradients.", "Leave why out."
        )
    views = list(LIVE_VIEWS) if kept.views is None else list(kept.views)
    other = [view for view in views if view not in LIVE_VIEWS]
    if other:
        raise InputError(
            f"The engine of a page has no view {other[0]!r}.", f"It has {', '.join(LIVE_VIEWS)}."
        )
    return [view for view in LIVE_VIEWS if view in views]


def runnable(source: Source) -> Analysis:
    """The analysis behind ``source``, if its model and its changes are the engine's too."""
    analysis = source.analysis
    if analysis is None or analysis.run is None:
        raise NotAvailableError(
            "A page with an engine needs the model of one text.", "Save a widget of show(text)."
        )
    encoder = analysis.run.encoder
    if encoder.patch is not None or (encoder.heads_off and encoder.ablation != "zero"):
        raise NotAvailableError(
            "The engine of a page knows neither patches nor means of heads.",
            'Save the intact run, or one whose heads give "zero".',
        )
    return analysis


def packed(analysis: Analysis) -> bytes:
    """The engine's file of the model behind ``analysis``, as a page has it."""
    assert analysis.run is not None
    encoder = analysis.run.encoder
    model = encoder.model
    settings: dict[str, Any] = model.config.to_dict()
    backend = getattr(encoder.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise NotAvailableError(
            f"The tokenizer of {encoder.name} has no tables that a page could take along.",
            "Load a fast tokenizer (PreTrainedTokenizerFast).",
        )
    tokenizer = json.loads(backend.to_str())
    state: dict[str, Any] = model.state_dict()
    weights = {name: tensor.detach().float().cpu().numpy() for name, tensor in state.items()}
    text = deflate(planes(pack(encoder.name, settings, tokenizer, weights)))
    if len(text) > MOST_BYTES:
        raise NotAvailableError(
            f"{encoder.name} takes {len(text) / 1e6:.0f} MB of a page, more than a browser reads.",
            f"A page holds at most {MOST_BYTES / 1e6:.0f} MB of weights.",
        )
    return text
