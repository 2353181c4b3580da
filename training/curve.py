"""A run's log to facts and a picture: tokens, time, loss and accuracy along the way.

Run: ``python -m training.curve --run RUN --out training/results`` (writes ``run.json``). With
``--after run.json`` the run is reported as one more stretch of an earlier one.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from training.corpus import Mixture
from training.settings import Settings, build_parser, read_settings

Record = dict[str, float]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 48, 56, 28, 40  # px of the picture
LOSS_COLOR, ACCURACY_COLOR = "#7a7a7a", "#c2571a"  # readable on white and on dark

# The stretches until 88.3 M tokens, all on Wikipedia, follow `FIT[0] T^-FIT[1]` of words not found first, T in M tokens:
# the best of each stretch, at the end of its decay. What comes later is measured against it.
FIT = (0.752, 0.0914)
FIT_FROM, FIT_POINTS = 1e6, 60  # tokens from which the fit is drawn, points of its line


def fitted_top1(tokens: float) -> float:
    """Top-1 accuracy that the fit expects after ``tokens`` tokens.

    >>> round(fitted_top1(88_300_000), 3), round(fitted_top1(250_000_000), 3)
    (0.501, 0.546)
    """
    return 1.0 - FIT[0] * (tokens / 1e6) ** -FIT[1]


def read_curve(path: Path) -> list[Record]:
    """The records of ``curve.jsonl`` by step; a step done again after a kill counts once.

    Records of training have ``loss``; records of validation have ``validation_loss``.
    """
    latest: dict[tuple[int, bool], Record] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        latest[record["step"], "loss" in record] = record
    return [latest[key] for key in sorted(latest)]


def run_facts(
    run: Path, settings: Settings, earlier: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Summary of a run from its log and data, stretch by stretch.

    ``hours`` is a stretch's tokens divided by its median rate: pauses, kills and validation left out.

    Parameters
    ----------
    earlier : dict, optional
        What this function gave for the run whose model this one began with.

    Raises
    ------
    ValueError
        If the run has logged nothing yet.
    """
    records = read_curve(run / "curve.jsonl")
    training = [record for record in records if "loss" in record]
    if not training:
        raise ValueError(f"{run / 'curve.jsonl'} has no training record yet")
    rate = median(record["tokens_per_second"] for record in training)
    corpus = Mixture.open(run / "data", settings).parts
    first, last = records[0], records[-1]
    begun = 0 if earlier is None else int(first["tokens"])
    tokens = int(last["tokens"])
    stretch = {
        "begun": begun,
        "tokens": tokens,
        "steps": int(last["step"] - (0 if earlier is None else first["step"])),
        "tokens_per_second": rate,
        "hours": (tokens - begun) / rate / 3600,
        "settings": settings,
    }
    before: dict[str, Any] = earlier or {"stretches": [], "training": [], "validation": []}
    return {
        "steps": int(last["step"]),
        "tokens": tokens,
        "corpus": {
            "tokens": sum(len(part.tokens) for part in corpus.values()),
            "sentences": sum(part.n_sentences for part in corpus.values()),
            "paragraphs": sum(len(part.paragraphs) - 1 for part in corpus.values()),
            "parts": {name: len(part.tokens) for name, part in corpus.items()},
        },
        "stretches": [*before["stretches"], stretch],
        "training": [*before["training"], *training],
        "validation": [
            *before["validation"],
            *(record for record in records if "validation_loss" in record),
        ],
    }


def curve_table(facts: dict[str, Any]) -> str:
    """The validation records as a Markdown table."""
    rows = ["| tokens | loss | top-1 | fit | next sentence |", "|---|---|---|---|---|"]
    for record in facts["validation"]:
        follows = f"{record['validation_next']:.1%}" if "validation_next" in record else ""
        rows.append(
            f"| {record['tokens'] / 1e6:.1f} M | {record['validation_loss']:.3f} | "
            f"{record['validation_top1']:.1%} | {_fit_cell(record['tokens'])} | {follows} |"
        )
    return "\n".join(rows)


def _fit_cell(tokens: float) -> str:
    return "" if tokens < FIT_FROM else f"{fitted_top1(tokens):.1%}"


def _line(points: list[tuple[float, float]], color: str, width: float, dash: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"{dashes}/>'
    )


def _text(x: float, y: float, anchor: str, content: str, color: str = LOSS_COLOR) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(content)}</text>'


def curve_svg(facts: dict[str, Any]) -> str:
    """Training loss (left axis, gray), validation top-1 (right axis, orange) and its fit (dashed) over tokens."""
    training, validation = facts["training"], facts["validation"]
    most = max(record["tokens"] for record in (*training, *validation))
    losses = [record["loss"] for record in training]
    low, high = int(min(losses)), int(max(losses)) + 1
    fit = [(float(t), fitted_top1(t)) for t in np.linspace(FIT_FROM, most, FIT_POINTS)]
    fit = fit if most > FIT_FROM else []
    top = max(0.1, *(record["validation_top1"] for record in validation), *(up for _, up in fit))
    top *= 1.1
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(tokens: float) -> float:
        return LEFT + tokens / most * (right - LEFT)

    def y(share: float) -> float:
        return bottom - share * (bottom - TOP)

    dashed = f"; dashed: 1 − {FIT[0]} (tokens / M)^−{FIT[1]}" if fit else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="11" role="img">',
        "<title>Training loss and validation accuracy over tokens</title>",
        _line([(LEFT, TOP), (LEFT, bottom), (right, bottom), (right, TOP)], LOSS_COLOR, 0.5),
        _line(
            [(x(r["tokens"]), y((r["loss"] - low) / (high - low))) for r in training],
            LOSS_COLOR,
            1.2,
        ),
        _line(
            [(x(r["tokens"]), y(r["validation_top1"] / top)) for r in validation],
            ACCURACY_COLOR,
            2,
        ),
        *([_line([(x(t), y(up / top)) for t, up in fit], ACCURACY_COLOR, 1, "4 3")] if fit else []),
        _text(LEFT, TOP - 12, "start", "training loss (nats)"),
        _text(right, TOP - 12, "end", f"validation top-1{dashed}", ACCURACY_COLOR),
        _text((LEFT + right) / 2, HEIGHT - 8, "middle", "tokens seen"),
    ]
    for record in validation:
        at, up = x(record["tokens"]), y(record["validation_top1"] / top)
        parts.append(f'<circle cx="{at:.1f}" cy="{up:.1f}" r="3" fill="{ACCURACY_COLOR}"/>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_text(LEFT - 6, y(share) + 4, "end", f"{low + share * (high - low):.1f}"))
        parts.append(_text(right + 6, y(share) + 4, "start", f"{share * top:.0%}", ACCURACY_COLOR))
        parts.append(_text(x(share * most), bottom + 15, "middle", f"{share * most / 1e6:.1f} M"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--after", type=Path, help="`run.json` of the run that this one goes on from"
    )
    arguments = parser.parse_args()
    earlier = None if arguments.after is None else json.loads(arguments.after.read_text("utf-8"))
    facts = run_facts(arguments.run, read_settings(arguments.config, arguments.set), earlier)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "run.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    hours = sum(stretch["hours"] for stretch in facts["stretches"])
    print(f"{facts['steps']:,} steps, {facts['tokens']:,} tokens, {hours:.1f} h")


if __name__ == "__main__":
    main()
