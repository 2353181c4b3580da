"""Links that 40 texts of many kinds open on; with ``--shades``, how much there is to see.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.opening`` (``kinds.txt`` with the embedded model; ``--model smollm2``: the
prompts of ``prompts.txt``). A row for each text, then the processor time of the choice.

``--shades``: word-to-word cells of visibly different shade, on 40 texts of 9 to 300 tokens, prose of the tutorials. A cell
counts where its shade lies a tenth of the ramp or more from the shade of the median word-to-word cell.
*Before*: layer 0, head 0, a ramp to the head's largest weight. *Ramp*: the same head, a ramp to the largest weight
between words. *After*: the head that opens, with that ramp.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import attn_widget as aw
from attn_widget.analysis.opening import largest_between_words, links_across, links_of, opening
from attn_widget.figures.arrays import Float32
from attn_widget.model.encoder import Encoder
from benchmarks.shapes import table

HERE = Path(__file__).parent
BETWEEN = " ||| "  # two texts
REPEATS = 21
SHOWN = 60  # characters of a text
NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LENGTHS = (9, 300)
TEXTS = 40
VISIBLE = 0.1  # of the ramp
GROUPS = ((9, 30), (31, 75), (76, 150), (151, 300))
# Code, formulas, tables and HTML are no prose.
NO_PROSE = re.compile(r"[`$|<>#\[\]*_]|^\d+\.")


def sentences() -> Iterator[str]:
    """The prose of all notebooks, sentence by sentence."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] != "markdown":
                continue
            for paragraph in "".join(cell["source"]).split("\n\n"):
                for sentence in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())):
                    if len(sentence.split()) > 4 and not NO_PROSE.search(sentence):
                        yield sentence


def texts(encoder: Encoder) -> Iterator[str]:
    """Texts of lengths spread evenly, each from another place, cut at a word where it is long enough."""
    prose = list(sentences())
    words = [word for sentence in prose for word in sentence.split()]
    starts, at = [], 0
    for sentence in prose:
        starts.append(at)
        at += len(sentence.split())
    for number, length in enumerate(np.linspace(*LENGTHS, TEXTS).round().astype(int).tolist()):
        fits = [start for start in starts if start + length < len(words)]
        start = fits[number * len(fits) // TEXTS]
        low, high = 1, length
        while low < high:
            middle = (low + high + 1) // 2
            tokens = encoder.encode(" ".join(words[start : start + middle])).n_tokens
            low, high = (middle, high) if tokens <= length else (low, middle - 1)
        yield " ".join(words[start : start + low])


def visible(weights: Float32, top: float) -> int:
    """Cells a tenth of the ramp or more from the median one."""
    shades: NDArray[np.float64] = np.minimum(weights / top, 1).astype(np.float64)
    return int((np.abs(shades - np.median(shades)) >= VISIBLE).sum())


def count(analysis: aw.Analysis) -> tuple[int, int, int, int, str]:
    """Word-to-word cells; those that are visible before, with the ramp alone, and after; and the head and link in words."""
    special = np.array([token.special for token in analysis.tokens])
    words = np.flatnonzero(~special)

    def seen(layer: int, head: int, *, to_words: bool) -> int:
        weights = analysis.attention(layer, head)
        largest = float(largest_between_words(weights[None], special)[0])
        return visible(weights[np.ix_(words, words)], largest if to_words else float(weights.max()))

    chosen = opening(analysis)
    assert isinstance(chosen.head, int)
    return (
        words.size**2,
        seen(0, 0, to_words=False),
        seen(0, 0, to_words=True),
        seen(chosen.layer, chosen.head, to_words=True),
        link(analysis),
    )


def link(analysis: aw.Analysis) -> str:
    """The link that a text opens on, its words joined."""
    found = opening(analysis)
    if found.token is None or found.key is None or isinstance(found.head, str):
        return "nothing"
    shown = analysis.view(words=True) if found.words else analysis
    places = [analysis.tokens[i] for i in (found.token, found.key)]
    query, key = (
        next(
            i
            for i, unit in enumerate(shown.tokens)
            if not unit.special
            and unit.segment == token.segment
            and unit.start <= token.start < unit.end
        )
        for token in places
    )
    weight = shown.attention(found.layer, found.head)[query, key]
    names = [shown.tokens[i].surface.strip() for i in (query, key)]
    return f"L{found.layer} H{found.head} {names[0]} → {names[1]} {weight:.2f}"


def milliseconds(analysis: aw.Analysis) -> float:
    """Median processor time of the choice."""
    choose = links_of if analysis.trace.square else links_across
    times: list[float] = []
    for _ in range(REPEATS):
        start = time.process_time()
        choose(analysis)
        times.append(1e3 * (time.process_time() - start))
    return statistics.median(times)


def print_links(encoder: Encoder, lines: Sequence[str]) -> None:
    """Print the link of each line."""
    rows: list[list[str]] = []
    costs: list[tuple[int, float]] = []
    for line in lines:
        run = aw.analyze(*line.split(BETWEEN), model=encoder, tagger=None, progress=False)
        shortened = line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
        rows.append([shortened.replace("|||", "+"), str(run.trace.n_tokens), link(run)])
        costs.append((run.trace.n_tokens, milliseconds(run)))
    print(table(["text", "tokens", "opens on"], rows))
    for low, high in ((1, 20), (21, 60), (61, 512)):
        group = [cost for n, cost in costs if low <= n <= high]
        if group:
            print(
                f"\n{low} to {high} tokens: {statistics.median(group):.1f} ms (most {max(group):.1f})"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=None)
    parser.add_argument("--shades", action="store_true", help="cells that are visible")
    parser.add_argument("--each", action="store_true", help="with --shades, a row for each text")
    arguments = parser.parse_args()
    encoder = aw.load(arguments.model, progress=False)
    if not arguments.shades:
        name = "kinds.txt" if arguments.model is None else "prompts.txt"
        print_links(encoder, (HERE / name).read_text(encoding="utf-8").splitlines())
        return
    runs = [aw.analyze(text, model=encoder, progress=False) for text in texts(encoder)]
    counts = [(run.trace.n_tokens, *count(run)) for run in runs]
    header = ["tokens", "cells", "before", "ramp", "after"]
    if arguments.each:
        rows = [[str(part) for part in found] for found in counts]
        print(table([*header, "opens on"], rows), end="\n\n")
    rows = []
    for low, high in (*GROUPS, LENGTHS):
        group = [found for found in counts if low <= found[0] <= high]
        shares = [[part / found[1] for part in found[2:5]] for found in group]
        medians = [statistics.median(column) for column in zip(*shares, strict=True)]
        more = sum(found[4] > found[2] for found in group)
        rows.append(
            [
                f"{low} to {high}",
                str(len(group)),
                *(f"{100 * median:.1f}%" for median in medians),
                f"{statistics.median(after / max(before, 1e-9) for before, _, after in shares):.1f}",
                f"{more} of {len(group)}",
            ]
        )
    names = ["tokens", "texts", "before", "ramp", "after", "after / before", "more than before"]
    print(table(names, rows))


if __name__ == "__main__":
    main()
