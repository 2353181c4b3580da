"""Why a head looks there: do direct and total effects agree, what does it cost, how far are the sums off.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.qk`` (the embedded model; ``--model smollm2``: a decoder; ``--part table``, ``times``).

- ``table``: direct against total effects over cells of forty texts (``qk_texts.txt``), with a null of permuted totals.
- ``times``: the passes of a row take turns with plain ones, so compare the ratios. Times are of the processor.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import attn_widget as aw
from attn_widget.features.qk.kept import Kept
from attn_widget.trace.forward import inference_mode, on_device
from benchmarks.qk_table import as_markdown, table

TEXT = "The keys to the cabinet next to the old door are on the table in the hall."


def seconds(action: Callable[[], Any]) -> float:
    """Time of the processor, which is steadier than the clock where other jobs want the cores."""
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default=None)
    parser.add_argument("--part", choices=("table", "times"), default=None)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--cells", type=int, default=4, help="of each text, for the table")
    options = parser.parse_args()
    if options.part != "times":
        print(as_markdown(table(options.model, options.cells, options.texts)))
    if options.part != "table":
        times(options)


def times(options: argparse.Namespace) -> None:
    given: dict[str, Any] = {} if options.model is None else {"model": options.model}
    a = aw.analyze(TEXT, tagger=None, progress=False, **given)
    encoder, last, query = a.run.encoder, a.trace.n_layers - 1, a.trace.n_tokens - 2

    def plain() -> None:
        with inference_mode(encoder, "eager"):
            encoder.network.base_model(**on_device(encoder, a.run.encoding.inputs))

    def new(layer: int, by: str) -> Callable[[], Any]:
        def ask() -> None:
            kept: Kept = a._qk_kept
            kept.forget()
            a.qk_attribution(layer, 1, query, 2, by=by)

        return ask

    def known(by: str) -> Callable[[], Any]:
        return lambda: a.qk_attribution(last, 2, query, 3, by=by)

    found: list[Any] = []

    def effects() -> None:
        for side in ("query", "key"):
            found[0].total_effects(5, side)

    actions = {
        "by tokens, all layers": new(last, "tokens"),
        "by tokens, second cell": known("tokens"),
        "by tokens, to the middle": new(last // 2, "tokens"),
        "by parts, last layer": new(last, "parts"),
        "by parts, second cell": known("parts"),
        "total effects of 10 parts": effects,
    }
    plain()
    new(last, "parts")()
    found.append(a.qk_attribution(last, 1, query, 2, by="parts"))
    print(
        f"{encoder.name}: {a.trace.n_tokens} tokens, {a.trace.n_layers} layers of {a.trace.n_heads} heads"
    )
    for name, action in actions.items():
        action()
        rounds = [(seconds(plain), seconds(action)) for _ in range(options.repeats)]
        of_plain, taken = (statistics.median(each) for each in zip(*rounds, strict=True))
        print(f"{name:28} {1000 * taken:8.0f} ms  {taken / of_plain:6.2f} x a plain pass")
    for by in ("tokens", "parts"):
        new(last, by)()
        print(f"kept, by {by}: {kept_bytes(a._qk_kept) / 2**20:.1f} MiB")
    for by in ("tokens", "parts"):
        print(f"by {by}: " + closing(a, by))


def kept_bytes(kept: Kept) -> int:
    """Bytes of the layers' inputs, and of one layer's queries and keys; each tensor's storage once."""
    stores: dict[int, int] = {}
    held = [each for split in kept._states.values() for each in split]
    for one in kept._reads.values():
        held += [*vars(one).values(), *one.split]
    for each in held:
        if hasattr(each, "untyped_storage"):
            stores[each.untyped_storage().data_ptr()] = each.untyped_storage().nbytes()
    return sum(stores.values())


def closing(a: Any, by: str) -> str:
    """The worst gap over cells of every layer, relative to the contrast and to the sum without signs."""
    worst, of_sum = 0.0, 0.0
    rng = np.random.default_rng(0)
    for layer in range(a.trace.n_layers):
        for head in range(0, a.trace.n_heads, 3):
            query = int(rng.integers(3, a.trace.n_tokens - 1))
            key = int(rng.integers(1, query))
            found = a.qk_attribution(layer, head, query, key, by=by)
            worst = max(worst, abs(found.gap) / max(1, abs(found.contrast)))
            of_sum = max(of_sum, abs(found.gap) / float(np.abs(found.matrix).sum()))
    return f"largest gap {worst:.2g} of max(1, |contrast|), {of_sum:.2g} of the sum without signs"


if __name__ == "__main__":
    main()
