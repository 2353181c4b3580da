"""A picture with labels, as an SVG element that needs neither scripts nor styles.

Colors are attributes, which a content security policy allows everywhere; a page's own style (`STATIC_CSS`) replaces them on
a dark ground.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from attn_widget.figures.arrays import Float32
from attn_widget.page.escaping import markup
from attn_widget.page.pooling import pooled
from attn_widget.protocol.source import Cells

# 17 even steps of the ramps "weight" and "signed" (js/src/draw/color/ramp.ts), for a light and a dark ground.
RAMP = (
    "f8f7f4 f2e6d1 f0d4af f0c08f f1a974 f0925f ef7851 e56151 d74d57 c83c5d b42d65 99296d 7f2570 "
    "65226d 4c2063 361d55 221844"
)
RAMP_DARK = (
    "13151f 1d1e36 29264e 382e66 523178 713382 913284 af367d c94071 e04d61 f1624f fa7c45 fe9646 "
    "ffb157 fdc977 fae09e fbf4c5"
)
SIGNED = (
    "123780 1a519b 246bb7 3786ce 5a9edb 7bb6e9 a3ccf1 cde1f5 f8f6f5 f4dabf efbc87 e79d57 d77f3d "
    "c66125 aa491b 8a3415 6b200e"
)
SIGNED_DARK = (
    "a5defa 7cc1eb 56a3dd 3d86c9 346cab 2b548d 224066 1c2c3f 1a1817 3c251a 60301c 843d20 a34f22 "
    "c36320 d98436 e7aa5d f5ce87"
)
MASKED, MASKED_DARK = "c8c8c8", "33383f"
GRID, GRID_DARK = "fff", "111317"  # between cells: the page's ground
STEPS = 16  # tones above the ground
MOST_CELLS = 64  # a side; larger matrices are pooled
# Cells a side up to which they have this size, and their labels this font, px.
SIZES = ((24, 20, 12.0), (40, 14, 10.5), (MOST_CELLS, 11, 9.0))
TURNED = 24  # cells a side above which column labels stand upright
EVERY = 4  # of the blocks of a pooled matrix, one has a label
LABEL = 16  # characters
LONG_LABEL = 44  # where rows are texts and not tokens
NARROW, WIDE = 0.6, 1.02  # em, of a letter
SWATCH = 12  # px, of a tone in the legend
GAP = 6  # px, between labels and cells
SQUEEZED = (
    520  # px: a picture up to this width is made smaller on a narrow screen, a wider one scrolls
)


def _dark() -> str:
    ramps = (("t", RAMP_DARK), ("s", SIGNED_DARK))
    rules = [
        f".aw-{name}{k}{{stroke:#{color}}}"
        for name, ramp in ramps
        for k, color in enumerate(ramp.split())
    ]
    return "".join([*rules, f".aw-tm{{stroke:#{MASKED_DARK}}}", f".aw-tg{{stroke:#{GRID_DARK}}}"])


STATIC_CSS = f"""
.aw-static {{ max-width: 1368px; margin: 0 auto; padding: 0 16px; }}
.aw-scripts .aw-static, :root:not(.aw-scripts) .aw-page-cut {{ display: none; }}
:root:not(.aw-scripts) main {{ padding: 0; }}
p.aw-static {{ padding-top: 16px; }}
.aw-static figure {{ margin: 24px 0 0; overflow-x: auto; }}
.aw-static figcaption {{ position: sticky; left: 0; max-width: 75ch; margin: 8px 0 12px;
  overflow-wrap: anywhere; }}
.aw-static svg {{ display: block; }}
.aw-static svg.aw-fit {{ max-width: 100%; height: auto; }}
@media (prefers-color-scheme: dark) {{ {_dark()} }}
@media print {{ .aw-static svg {{ max-width: 100%; height: auto; }} }}
"""


def svg(cells: Cells) -> str:
    """The element; a few kB for a short text, at most some 30 for a long one."""
    shades = pooled(cells.shades, MOST_CELLS)
    n_rows, n_columns = shades.shape
    _, size, font = next(entry for entry in SIZES if max(shades.shape) <= entry[0])
    texts = len(cells.columns) == 1  # a list of passages with a number each
    rows = labels(cells.rows, n_rows, LONG_LABEL if texts else LABEL)
    columns = labels(cells.columns, n_columns, LABEL)
    left = GAP + max((width_of(text, font) for _, text in rows), default=0)
    tall = max((width_of(text, font) for _, text in columns), default=0)
    upright = n_columns > TURNED
    above = GAP + tall if upright else GAP + 0.71 * (tall + font)
    beyond = 0 if upright else max(
        (0.71 * (width_of(text, font) + font) - (n_columns - k - 0.5) * size for k, text in columns), default=0
    )  # fmt: skip
    ends = legend_width(cells, font)
    width = np.ceil(left + max(n_columns * size + max(beyond, 0), ends) + 2)
    height = np.ceil(above + n_rows * size + (2 * GAP + SWATCH if cells.ends else 2))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{"aw-fit" if width <= SQUEEZED else "aw-wide"}" role="img" '
        f'aria-label="{markup(visible(cells.alt))}" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" '
        f'fill="currentColor" font-family="system-ui, sans-serif" font-size="{font:g}">',
        f'<g text-anchor="end" transform="translate({left - GAP:.4g} {above + size / 2 + 0.35 * font:.4g})">',
        *(f'<text y="{k * size}">{markup(text)}</text>' for k, text in rows),
        "</g>",
        f'<g transform="translate({left + size / 2 + font / 3:.4g} {above - GAP:.4g})">',
        *(
            f'<text transform="translate({k * size})rotate({-90 if upright else -45})">{markup(text)}</text>'
            for k, text in columns
        ),
        "</g>",
        f'<g transform="translate({left:.4g} {above + size / 2:.4g})scale({size})" fill="none" shape-rendering="crispEdges">',
        *marks(cells, shades),
        "</g>",
        *legend(cells, left, above + n_rows * size + 2 * GAP, font),
        "</svg>",
    ]
    return "\n".join(parts)  # a host that drops the drawing keeps words apart


def marks(cells: Cells, shades: Float32) -> list[str]:
    """The cells: a path for each tone, along the middle of the first row and of those below it; a unit is a cell."""
    n_rows, n_columns = shades.shape
    ground = STEPS // 2 if cells.signed else 0
    along = (shades + 1) / 2 if cells.signed else shades
    tones = np.where(np.isnan(along), -1, np.rint(np.nan_to_num(along) * STEPS)).astype(int)
    found = [stroked(cells, ground, f"M0 {(n_rows - 1) / 2:g}h{n_columns}", n_rows)]
    for tone in range(-1, STEPS + 1):
        if tone != ground and (tones == tone).any():
            found.append(stroked(cells, tone, runs_of(tones == tone), 1))
    if max(shades.shape) <= TURNED:
        lines = "".join(f"M0 {k - 0.5}h{n_columns}" for k in range(1, n_rows))
        lines += "".join(f"M{k}-.5v{n_rows}" for k in range(1, n_columns))
        found.append(f'<path class="aw-tg" stroke="#{GRID}" stroke-width=".06" d="{lines}"/>')
    return found


def stroked(cells: Cells, tone: int, path: str, width: float) -> str:
    """A path in a tone of the ramp; -1 is what the mask forbids."""
    name, ramp = ("s", SIGNED) if cells.signed else ("t", RAMP)
    key, color = ("tm", MASKED) if tone < 0 else (f"{name}{tone}", ramp.split()[tone])
    across = "" if width == 1 else f' stroke-width="{width:g}"'
    return f'<path class="aw-{key}" stroke="#{color}"{across} d="{path}"/>'


def runs_of(chosen: np.ndarray) -> str:
    """Path of the chosen cells; neighbors in a row are one line."""
    found: list[str] = []
    for row, line in enumerate(chosen):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]]).astype(np.int8)))
        for start, end in edges.reshape(-1, 2).tolist():
            found.append(f"M{start} {row}h{end - start}")
    return "".join(found)


def legend(cells: Cells, left: float, top: float, font: float) -> list[str]:
    """Every second tone of the ramp, and what its ends mean."""
    if cells.ends is None:
        return []
    before, after = cells.ends
    swatches = [stroked(cells, tone, f"M{tone // 2} 0h1", 1) for tone in range(0, STEPS + 1, 2)]
    first = left + width_of(before, font) + GAP
    after_x = first + SWATCH * len(swatches) + GAP
    return [
        f'<text x="{left:.4g}" y="{top + 0.35 * font:.4g}">{markup(before)}</text>',
        f'<g transform="translate({first:.4g} {top:.4g})scale({SWATCH})" shape-rendering="crispEdges">',
        *swatches,
        "</g>",
        f'<text x="{after_x:.4g}" y="{top + 0.35 * font:.4g}">{markup(after)}</text>',
    ]


def legend_width(cells: Cells, font: float) -> float:
    """Width of the ramp with the words next to it, px."""
    if cells.ends is None:
        return 0
    return sum(width_of(text, font) for text in cells.ends) + SWATCH * (STEPS / 2 + 1) + 2 * GAP


def labels(texts: Sequence[str], shown: int, most: int) -> list[tuple[int, str]]:
    """Place and text of each label: of all, or of a pooled side with the number of the first token of a block."""
    if len(texts) == shown:
        return [(k, short(text, most)) for k, text in enumerate(texts)]
    first = [k * len(texts) // shown for k in range(0, shown, EVERY)]
    return [(k * EVERY, f"{i} {short(texts[i], most)}") for k, i in enumerate(first)]


def short(text: str, most: int) -> str:
    """At most ``most`` characters."""
    line = visible(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def visible(text: str) -> str:
    """On one line, without what has no form."""
    return "".join(map(shape, " ".join(text.split())))


def shape(character: str) -> str:
    """A control character as a sign, a format character (of direction, say) as nothing; joiners shape letters."""
    kind = unicodedata.category(character)
    if kind in ("Cc", "Cs"):
        return "\N{REPLACEMENT CHARACTER}"
    return "" if kind == "Cf" and character not in "\u200c\u200d" else character


def width_of(text: str, font: float) -> float:
    """Width of a line in common fonts, px."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return font * (wide * WIDE + (len(text) - wide) * NARROW)
