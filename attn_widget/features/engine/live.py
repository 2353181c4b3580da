"""Pages whose model runs in them: weights, vocabulary and engine, and runs to open on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import analyze
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.engine.classifier import class_reader
from attn_widget.features.engine.embedder import check_embedder, embedder_facts
from attn_widget.features.engine.options import check_views_of
from attn_widget.features.engine.packing import MAGIC, pack
from attn_widget.features.engine.rounding import Texts, rounding_of
from attn_widget.features.engine.text import as_text, elements
from attn_widget.host.files import destination, write_parts
from attn_widget.host.memory import check_bytes
from attn_widget.model.encoder import Encoder
from attn_widget.model.places import EMBEDDED, MINI
from attn_widget.page.page import PageModel, page_parts
from attn_widget.page.saved_run import SavedRun, saved_run
from attn_widget.page.shown import Shown, single_sources
from attn_widget.page.size_budget import SizeBudget
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source

if TYPE_CHECKING:
    from attn_widget.features.similarity.similarity import Similarity
    from attn_widget.features.similarity.source import SimilaritySource

MAX_BYTES = 480_000_000  # of the weights as text: a browser's longest text has 2^29 characters
SUFFIX = ".engine.js"
BYTES_OF_A_WEIGHT = (
    22  # of address space while a page is written; measured: 20.3 for the embedded model
)
MAX_TEXTS = 8  # of a page that the rounding is measured on


def save_with(path: str | os.PathLike[str], shown: Sequence[Shown], spec: PageSpec) -> Path | None:
    """`save_live`, where an engine is asked for; else None."""
    if not spec.engine:
        return None
    pairs = [(entry.source, entry.selection) for entry in single_sources(shown)]
    return save_live(path, pairs, spec)


def save_live(
    path: str | os.PathLike[str],
    shown: Sequence[tuple[Source, Selection]],
    spec: PageSpec,
) -> Path:
    """Write a page that opens on what is shown, then runs what is typed. Several widgets share one engine.

    Raises `InputError`: views that the engine cannot compute, some layers or heads alone, or widgets of several
    models. Raises `NotAvailableError`: a profile, a run without a model, a model that the engine cannot run.
    """
    target = destination(path)
    similar = [found for source, _ in shown if (found := embedded(source)) is not None]
    if similar and len(shown) > 1:
        raise InputError(
            f"A page with an engine holds one similarity alone, got {len(shown)} widgets.",
            "Save a page for each.",
        )
    if similar:
        spec.of_source(shown[0][0])
    else:
        spec = replace(spec, views=check_views_of(spec))
    analyses = [found.a for found in similar] or [runnable(source) for source, _ in shown]
    encoders = [analysis.run.encoder for analysis in analyses if analysis.run is not None]
    if any(encoder.lock is not encoders[0].lock for encoder in encoders):
        raise InputError(
            "The widgets of a page with an engine must share one model; these have several.",
            "Save a page for each model.",
        )
    texts = [(str(analysis.text), analysis.text_pair) for analysis in analyses]
    model = page_model(encoders[0], texts, similar[0] if similar else None)
    budget = SizeBudget([source.size for source, _ in shown], "widgets")

    def runs() -> Iterator[SavedRun]:
        for source, selection in shown:
            opened = selection if similar else shown_by_engine(selection, spec)
            of_one = replace(spec, **budget.of_one) if len(shown) > 1 else spec
            run = saved_run(source, opened, of_one)
            budget.take(run)
            yield run

    title = spec.title or shown[0][0].title
    write_parts(target, page_parts(runs(), title, "stack", model))
    return target


def shown_by_engine(selection: Selection, spec: PageSpec) -> Selection:
    """``selection`` with a view that the engine computes."""
    views = check_views_of(spec)
    return selection if selection.view in views else replace(selection, view=views[0])


def embedded(source: Source) -> Similarity | None:
    """The similarity behind ``source``, if the engine can compare other texts as it does; None of a run."""
    if source.name != "similarity":
        return None
    return check_embedder(cast("SimilaritySource", source).result)


def page_model(
    encoder: Encoder,
    texts: Texts,
    similar: Similarity | None = None,
    *,
    folder: Path | None = None,
) -> PageModel:
    """The model of a page.

    ``texts``: what the rounding of its matrices is measured on. ``similar``: whose texts can be replaced by typed
    ones; its rounding is measured instead. ``folder``: of a site, whose pages load the weights from a script that
    is written there.
    """
    # Before the tokenizer writes its tables: its library ends the process where memory runs out.
    check_bytes(
        f"A page with the weights of {encoder.name}",
        BYTES_OF_A_WEIGHT * sum(weight.numel() for weight in encoder.network.parameters()),
        "Free some memory, raise the limit (ulimit -v), or save the page without an engine.",
    )
    file = packed(encoder)
    exact = {"weight": 0.0, "rollout": 0.0, "score": 0.0}
    rounding = exact if similar else rounding_of(encoder, texts[:MAX_TEXTS])
    run = analyze(*texts[0], model=encoder, tagger=None, truncation=True, progress=False)
    facts: dict[str, Any] = {
        "rounding": rounding,
        "tagger": tag_reader(encoder),
        "classifier": class_reader(run),
        "embedder": None if similar is None else embedder_facts(similar),
        "beside": None,
    }
    plan, _ = answer(run, {"kind": "architecture"})
    if plan["ok"]:
        facts["architecture"] = plan["data"]
    text = as_text(file)
    if len(text) > MAX_BYTES:
        raise NotAvailableError(
            f"{encoder.name} takes {len(text) / 1e6:.0f} MB of a page, more than a browser reads.",
            f"A page holds at most {MAX_BYTES / 1e6:.0f} MB of weights.",
        )
    notices = notices_of(encoder)
    if folder is None:
        return PageModel(facts, partial(elements, text, notices))
    compare_with = write_beside(folder, encoder.name, checksum(file), text, notices)
    facts["beside"] = {"src": quote(compare_with.name), "key": checksum(file)}
    return PageModel(facts, None)


def checksum(file: bytes) -> str:
    """The CRC-32 of an engine's file, in hexadecimal digits."""
    start = len(MAGIC) + 4
    length = int.from_bytes(file[len(MAGIC) : start], "little")
    return f"{json.loads(file[start : start + length])['crc32']:08x}"


def notices_of(encoder: Encoder) -> bytes:
    """Notices that every copy of the embedded model's weights carries; empty of another model."""
    return (MINI / "NOTICE").read_bytes() if encoder.name == EMBEDDED else b""


def write_beside(folder: Path, name: str, key: str, text: bytes, notices: bytes = b"") -> Path:
    """Write the weights as a script that pages can load, unless it is there already.

    Pages that are opened as files may load scripts and fetch nothing. The name has the checksum in it: pages of
    one model share a file.
    """
    short = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:60] or "model"
    path = folder.resolve() / f"{short}-{key}{SUFFIX}"
    comment = b"/*\n" + notices + b"*/\n" if notices else b""
    head = comment + f'(globalThis.attnWidgetModels ??= {{}})["{key}"] = "'.encode()
    script = head + text + b'";\n'
    if not (path.is_file() and path.read_bytes() == script):
        write_parts(path, [script])
    return path


def tag_reader(encoder: Encoder) -> dict[str, Any] | None:
    """The read-out of tags that was trained with the embedded model (training/tags.py); None for another."""
    if encoder.name != EMBEDDED:
        return None
    tags: dict[str, Any] = json.loads((MINI / "tags.json").read_text(encoding="utf-8"))
    return tags


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


def packed(encoder: Encoder) -> bytes:
    """The engine's file of a model."""
    model = encoder.model
    settings: dict[str, Any] = encoder.config.to_dict()
    backend = getattr(encoder.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise NotAvailableError(
            f"The tokenizer of {encoder.name} has no tables that a page could include.",
            "Load a fast tokenizer (PreTrainedTokenizerFast).",
        )
    tokenizer = json.loads(backend.to_str())
    inside = f"{model.base_model_prefix}."
    weights: dict[str, Any] = {}
    for name, tensor in model.state_dict().items():
        if name.startswith(("cls.", "vocab_")) and not encoder.has_lm:
            continue  # it was not trained
        has_place = name.startswith(("cls.", "vocab_", inside)) or model is not model.base_model
        full = f"bert.{name.removeprefix(inside)}" if name.startswith(inside) else name
        weights[full if has_place else f"bert.{name}"] = tensor.detach().float().cpu().numpy()
    segments = "bert.embeddings.token_type_embeddings.weight"
    if segments in weights and not encoder.takes_segments:
        settings["type_vocab_size"] = 1
        weights[segments] = weights[segments][:1]
    return pack(encoder.name, settings, tokenizer, weights)
