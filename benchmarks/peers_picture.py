"""The results of `benchmarks.peers` as a picture: page size and time to the drawn picture over the length of a text.

Run: ``python -m benchmarks.peers_picture`` (reads ``benchmarks/results/peers.json``, writes ``docs/images/peers.svg``)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import log10
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.peers import RESULTS

PICTURE = Path("docs/images/peers.svg")
WIDTH, HEIGHT, TOP, BOTTOM = 760, 372, 100, 68  # px
CROSSES = 62  # px, the first of up to three rows of them
NOTE = "× not drawn within two minutes  ·  ○ one layer of the twelve"
PANELS = ((46, 330), (420, 704))  # px, left and right
GRAY = "#7a7a7a"  # these are readable on white and on dark
TOOLS = {
    "attn_widget": ("attn_widget", "#d2521a"),
    "bertviz_head_view": ("BertViz head view", "#3b7dd8"),
    "bertviz_model_view": ("BertViz model view", "#8a68cc"),
    "circuitsvis_one_layer": ("CircuitsVis, one layer", "#2a9d6f"),
    "inspectus": ("inspectus", "#b08000"),
}
ONE_LAYER = 8192  # tokens, of which all layers do not fit into memory
LENGTHS = (32, 128, 512, 2048, 8192)


@dataclass(frozen=True)
class Panel:
    """A column of the results on two logarithmic axes."""

    title: str
    column: str
    per_unit: float  # numbers of the column in one unit of the axis
    ticks: tuple[float, ...]


SHOWN = (
    Panel("Page, MB", "page, MB", 1.0, (1, 10, 100, 1000)),
    Panel("To the drawn picture, seconds", "to picture, ms", 1000.0, (0.3, 1, 3, 10, 30, 100)),
)


def number(cell: str) -> float | None:
    """A measured cell; None for one that says why there is no measurement.

    >>> number("1,067"), number("failed: timeout")
    (1067.0, None)
    """
    digits = cell.replace(",", "")
    return float(digits) if digits.replace(".", "", 1).isdigit() else None


def text(x: float, y: float, anchor: str, content: str, color: str = GRAY, more: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}"{more}>'
        f"{escape(content)}</text>"
    )


def dot(x: float, y: float, color: str, *, ours: bool, hollow: bool) -> str:
    fill = f'fill="white" stroke="{color}" stroke-width="2"' if hollow else f'fill="{color}"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4 if ours else 3}" {fill}/>'


def panel_svg(panel: Panel, results: list[dict[str, str]], left: float, right: float) -> list[str]:
    """Axes, a line a tool, and a cross where a tool had no picture."""
    values = [number(row[panel.column]) for row in results]
    known = [value / panel.per_unit for value in values if value is not None]
    low, high = log10(min(known) / 1.3), log10(max(known) * 1.8)
    first, last = log10(LENGTHS[0]), log10(LENGTHS[-1])
    bottom = HEIGHT - BOTTOM

    def x(tokens: float) -> float:
        return left + (log10(tokens) - first) / (last - first) * (right - left)

    def y(value: float) -> float:
        return bottom - (log10(value) - low) / (high - low) * (bottom - TOP)

    parts = [text(left, 46, "start", panel.title, GRAY, ' font-weight="600"')]
    for tick in panel.ticks:
        if low < log10(tick) < high:
            parts.append(
                f'<path d="M{left} {y(tick):.1f}H{right}" stroke="{GRAY}" stroke-opacity="0.25"/>'
            )
            parts.append(text(left - 6, y(tick) + 4, "end", f"{tick:,g}"))
    parts.append(f'<path d="M{left} {bottom}H{right}" stroke="{GRAY}"/>')
    parts += [text(x(tokens), bottom + 16, "middle", f"{tokens:,}") for tokens in LENGTHS]
    parts.append(text((left + right) / 2, bottom + 34, "middle", "tokens"))
    crosses: dict[float, int] = {}
    for tool, (_, color) in reversed(TOOLS.items()):
        ours = tool == "attn_widget"
        at: list[tuple[float, float]] = []
        for row in results:
            if row["peer"] != tool:
                continue
            value, place = number(row[panel.column]), x(float(row["tokens"]))
            if value is not None:
                at.append((place, y(value / panel.per_unit)))
            else:
                crosses[place] = crosses.get(place, -1) + 1
                row_y = CROSSES + 4 + 13 * crosses[place]
                parts.append(text(place, row_y, "middle", "×", color, ' font-size="16"'))
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in at)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{3 if ours else 1.6}"/>'
        )
        parts += [
            dot(px, py, color, ours=ours, hollow=ours and px == x(ONE_LAYER)) for px, py in at
        ]
    return parts


def picture(results: list[dict[str, str]]) -> str:
    """The two panels below a legend."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12" role="img">',
        "<title>Page size and time to the drawn picture over the length of a text, five tools</title>",
    ]
    at = float(PANELS[0][0])
    for name, color in TOOLS.values():
        parts.append(f'<circle cx="{at + 4}" cy="18" r="4" fill="{color}"/>')
        parts.append(text(at + 13, 22, "start", name, color))
        at += 32 + 6.3 * len(name)
    parts.append(text(PANELS[0][0], HEIGHT - 8, "start", NOTE))
    for panel, (left, right) in zip(SHOWN, PANELS, strict=True):
        parts += panel_svg(panel, results, left, right)
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    PICTURE.write_text(picture(results), encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
