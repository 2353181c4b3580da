"""Saved pages of all heads: bytes, largest errors, seconds to save, milliseconds to open.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.saved_page``. The shape of bert-base with random weights,
wide enough that its attention is about as sharp as a trained model's, and the embedded model. The baseline is
the same weights as plain float32: as base64, and as JSON. ``--models deberta deberta-v2 mpnet`` measures base
shapes of families whose attention has a part by position, with the same random weights.

``--decoder`` instead compares the data of a decoder's page with those of an encoder's that has the same queries and keys, without the page's code and without
tensors of the view Inside. ``bert`` (the default): a BERT with ``is_decoder`` and without, `--layers` x 12 heads of 64 numbers. ``llama``: the same heads in groups of 3 that share their keys.
The layers of both write nothing into the hidden states, so that these are the same everywhere. ``smollm2``: the real model. The encoders of the last two are their own runs with the mask taken out.
*Matrices* are the chunks of the layers alone; the rest is the first paint: thumbnails, figures of heads, predictions.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as tf
from playwright.sync_api import Browser

import attn_widget as aw
from attn_widget.page.compress import packed
from attn_widget.page.page import write_page
from attn_widget.page.saved_run import SavedRun, saved_run
from attn_widget.page.snapshot import snapshot
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.run_source import RunSource
from attn_widget.trace.qkv import QKVTrace
from benchmarks.shapes import MINI, table, text_of, tokenizer
from scripts.lab import chromium
from scripts.page import DRAWN

BASE: dict[str, Any] = {
    "hidden_size": 768,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "intermediate_size": 3072,
}
SHARP = 0.055  # standard deviation of the weights: scores with one of about 2.3


BY_POSITION: dict[str, Any] = {
    "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False,
    "max_relative_positions": -1, "type_vocab_size": 0,
}  # fmt: skip
V3: dict[str, Any] = {"position_buckets": 256, "share_att_key": True, "norm_rel_ebd": "layer_norm"}
MODELS: dict[str, Callable[[], Any]] = {
    "12 x 12 x 64": lambda: sharp(tf.BertForMaskedLM, tf.BertConfig()),
    "embedded": lambda: str(MINI),
    "deberta": lambda: sharp(tf.DebertaForMaskedLM, tf.DebertaConfig(**BY_POSITION)),
    "deberta-v2": lambda: sharp(
        tf.DebertaV2ForMaskedLM, tf.DebertaV2Config(**BY_POSITION, **V3, **BASE)
    ),
    "mpnet": lambda: sharp(tf.MPNetForMaskedLM, tf.MPNetConfig(max_position_embeddings=514)),
}


def sharp(kind: Any, config: Any) -> tuple[Any, Any]:
    """A model of this shape with wide random weights, and the tokenizer of the embedded one."""
    torch.manual_seed(0)
    config.initializer_range = SHARP
    return kind(config).eval(), tokenizer()


def opened_ms(browser: Browser, path: Path, repeats: int) -> float:
    """Median milliseconds from the navigation to the picture drawn, network cut."""
    times: list[float] = []
    for _ in range(repeats):
        context = browser.new_context(offline=True, viewport={"width": 1100, "height": 900})
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_function(DRAWN)
        times.append(page.evaluate("() => performance.getEntriesByName('aw:drawn')[0].startTime"))
        context.close()
    return statistics.median(times)


def narrow(n: int, layers: int) -> dict[str, Any]:
    """Config of a model that is large in its heads alone."""
    return {
        "num_hidden_layers": layers, "intermediate_size": 256, "vocab_size": len(tokenizer()),
        "max_position_embeddings": max(n, 64),
    }  # fmt: skip


def silence(*modules: Any) -> None:
    """Let a layer write nothing into the hidden states."""
    for module in modules:
        torch.nn.init.zeros_(module.weight)


def analysis_of(model: Any, n: int) -> aw.Analysis:
    return aw.analyze(text_of(n), model=model, tagger=None, progress=False)


def without_mask(a: aw.Analysis) -> aw.Analysis:
    """The same run, as if every token could look at all others."""
    layers = [replace(layer, allowed=None, spans=None) for layer in a.trace._layers]
    return aw.Analysis(QKVTrace(a.tokens, layers, a.trace._outputs), run=a.run, tagger=None)


def page_bytes(a: aw.Analysis) -> tuple[int, int, float]:
    """Compressed bytes of a run: all of it, and its layers' chunks; the largest error of a weight."""
    chosen = {"layer": 0, "head": 0, "quantity": "weights", "target": None}
    views = ["attention", "heads", "tree", "sentences", "predictions"]
    saved = snapshot(a, chosen, PageSpec(views=views, tensors=0))
    sizes = {name: len(packed(chunk)) for name, chunk in saved.chunks.items()}
    return sum(sizes.values()), sum(sizes.values()) - sizes["paint"], saved.error


def bert_pair(n: int, layers: int) -> tuple[aw.Analysis, aw.Analysis]:
    """An encoder and a decoder with the same weights, whose queries and keys are the same in every layer."""
    shape: dict[str, Any] = {**BASE, **narrow(n, layers)}
    encoder, words = sharp(tf.BertForMaskedLM, tf.BertConfig(**shape))
    for layer in encoder.bert.encoder.layer:
        silence(layer.attention.output.dense, layer.output.dense)
    decoder, _ = sharp(tf.BertLMHeadModel, tf.BertConfig(**shape, is_decoder=True))
    decoder.load_state_dict(encoder.state_dict())
    return analysis_of((encoder, words), n), analysis_of((decoder, words), n)


def llama_pair(n: int, layers: int) -> tuple[aw.Analysis, aw.Analysis]:
    """12 query heads in groups of 3, without the mask and with it."""
    heads = {"hidden_size": 768, "num_attention_heads": 12, "num_key_value_heads": 4}
    decoder, words = sharp(tf.LlamaForCausalLM, tf.LlamaConfig(**heads, **narrow(n, layers)))
    for layer in decoder.model.layers:
        silence(layer.self_attn.o_proj, layer.mlp.down_proj)
    a = analysis_of((decoder, words), n)
    return without_mask(a), a


def smollm2_pair(n: int, _layers: int) -> tuple[aw.Analysis, aw.Analysis]:
    """The same of all layers of SmolLM2."""
    a = analysis_of("smollm2", n)
    return without_mask(a), a


PAIRS = {"bert": bert_pair, "llama": llama_pair, "smollm2": smollm2_pair}


def decoder_row(kind: str, n: int, layers: int) -> list[str]:
    """A run of ``n`` tokens without the mask against the same with it."""
    (whole, matrices, error), (ours, our_matrices, our_error) = (
        page_bytes(a) for a in PAIRS[kind](n, layers)
    )
    sizes = [f"{size / 1e3:.1f}" for size in (whole, ours)]
    shares = [f"{ours / whole:.3f}", f"{our_matrices / matrices:.3f}"]
    return [kind, str(n), *sizes, *shares, f"{error:.1g}", f"{our_error:.1g}"]


def json_bytes(analysis: aw.Analysis) -> int:
    """Size of all weights as a list of lists of float32 with their own digits, scaled up from one head."""
    one = [[float(str(w)) for w in row] for row in analysis.attention(0, 0)]
    return len(json.dumps(one)) * analysis.trace.n_layers * analysis.trace.n_heads


def measure(browser: Browser, name: str, analysis: aw.Analysis, repeats: int) -> list[str]:
    n, cells = (
        analysis.trace.n_tokens,
        analysis.trace.n_layers * analysis.trace.n_heads * analysis.trace.n_tokens**2,
    )
    started = time.perf_counter()
    run: SavedRun = saved_run(RunSource(analysis))
    with tempfile.TemporaryDirectory() as folder:
        path = write_page(Path(folder) / "page.html", [run], name, "stack")
        seconds = time.perf_counter() - started
        drawn = opened_ms(browser, path, repeats)
        size = path.stat().st_size
    saved = run.snapshot
    score = "–" if saved.score_error is None else f"{saved.score_error:.1g}"
    most = float(np.mean([analysis.attention(layer, "mean").max() for layer in range(3)]))
    return [
        name, str(n), saved.code or "–", f"{size / 1e6:.2f}", f"{saved.error:.1g}", score,
        f"{drawn:.0f}", f"{seconds:.1f}", f"{cells * 16 / 3 / 1e6:.1f}",
        f"{json_bytes(analysis) / 1e6:.1f}", f"{most:.2f}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[64, 128, 512])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS][:2])
    parser.add_argument("--decoder", nargs="?", const="bert", choices=PAIRS)
    parser.add_argument("--layers", type=int, default=12, help="with --decoder: of both models")
    arguments = parser.parse_args()
    rows: list[list[str]] = []
    if arguments.decoder:
        header = [
            "model", "n", "encoder, kB", "decoder, kB", "decoder / encoder", "matrices", "error of a weight", "decoder's",
        ]  # fmt: skip
        rows = [decoder_row(arguments.decoder, n, arguments.layers) for n in arguments.tokens]
        print(table(header, rows))
        return
    with chromium() as browser:
        for name in arguments.models:
            model = MODELS[name]()
            for n in arguments.tokens:
                analysis = aw.analyze(text_of(n), model=model, progress=False)
                analysis.language  # noqa: B018 - spaCy loads once, whatever the page
                analysis.heads.roles()
                rows.append(measure(browser, name, analysis, arguments.repeats))
    header = [
        "heads", "n", "code", "page, MB", "error", "score error", "opened, ms", "saved, s",
        "float32 base64, MB", "JSON, MB", "largest mean weight",
    ]  # fmt: skip
    print(table(header, rows))


if __name__ == "__main__":
    main()
