"""Long texts: seconds and memory of every step up to the first paint, against a plain forward pass.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.long --tokens 8192 --layers 4`` (ModernBERT's shape, 12
heads a layer, 768 wide, random weights; of its 22 layers every third attends to the whole text).
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import ModernBertConfig, ModernBertForMaskedLM

import attn_widget as aw
from attn_widget.analysis.long.detail import Matrix, levels_of_detail
from attn_widget.protocol.head_scan import head_scan, survey
from attn_widget.protocol.initial_payload import first_paint
from benchmarks.shapes import table, text_of, tokenizer


def peak_gb() -> float:
    """Most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--first", action="store_true", help="up to the first picture alone")
    parser.add_argument(
        "--part",
        action="store_true",
        help="no plain pass, and the figures of two layers: one of each kind",
    )
    arguments = parser.parse_args()
    torch.manual_seed(0)
    reader = tokenizer()
    reader.model_max_length = 8192
    special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    config = ModernBertConfig(
        vocab_size=len(reader),
        num_hidden_layers=arguments.layers,
        cls_token_id=2,
        sep_token_id=3,
        **special,
    )
    model = ModernBertForMaskedLM(config).eval()
    encoder = aw.load((model, reader))
    text = text_of(arguments.tokens)
    ids = torch.tensor([reader(text)["input_ids"]])
    rows: list[list[str]] = []
    plain = 0.0

    def timed(name: str, action: Callable[[], Any]) -> Any:
        nonlocal plain
        start = time.process_time()
        result = action()
        seconds = time.process_time() - start
        plain = plain or seconds
        print(f"{name}: {seconds:.1f} s, peak {peak_gb():.1f} GB", flush=True)
        rows.append([name, f"{seconds:.1f}", f"{seconds / plain:.2f}", f"{peak_gb():.1f}"])
        return result

    def layer_done(done: int, total: int) -> None:
        print(f"  {done} of {total} layers, {time.process_time():.0f} s", flush=True)

    def forward() -> None:
        with torch.inference_mode():
            model.model(ids)

    if not arguments.part:
        timed("plain forward pass of the encoder", forward)
    analysis = timed("analyze()", lambda: aw.analyze(text, model=encoder, progress=False))
    widget = timed("the first picture's data", lambda: aw.AttentionWidget(analysis))
    shown = Matrix("weights", widget.layer, widget.head)
    print(f"opens on layer {shown.layer}, head {shown.head}")
    timed("its levels of detail", lambda: levels_of_detail(analysis).pyramid(shown))
    if arguments.part:
        walk = head_scan(analysis).walk
        for layer, kind in ((0, "that attends to all"), (1, "with a window")):
            walk.prefer(layer)
            timed(f"figures of a layer {kind}", walk.step)
        print(table(["step", "processor seconds", "x capture", "peak, GB"], rows))
        return
    timed("one head's matrix", lambda: analysis.attention(0, 3))
    if arguments.first:
        print(table(["step", "processor seconds", "x forward", "peak, GB"], rows))
        return
    timed("figures and thumbnails of all heads", lambda: survey(analysis, layer_done))
    timed("predictions", lambda: analysis.predictions(top_k=5))
    timed("the rest of the first paint", lambda: first_paint(analysis, 0, 0))
    print(table(["step", "processor seconds", "x forward", "peak, GB"], rows))


if __name__ == "__main__":
    main()
