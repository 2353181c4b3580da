"""Read the drawn heatmap back from its pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scripts.widget_parts import Widget

# OKLab lightness of the ends of the weight ramp on a light ground; in between it falls evenly.
LIGHTEST, DARKEST = 0.975, 0.25
# Half a step of the 256-step ramp, and a color channel rounded to 8 bits.
RAMP_ERROR = 0.5 / 255 + 0.008

CENTRES = """async (map, n) => {
    // What was asked for a moment ago is drawn with the next frame.
    for (let i = 0; i < 2; i += 1) await new Promise(requestAnimationFrame);
    const canvas = map.querySelector('.aw-map-base');
    const frame = map.getBoundingClientRect();
    const pane = map.querySelector('.aw-map-pane').getBoundingClientRect();
    const ratio = canvas.width / canvas.getBoundingClientRect().width;
    const context = canvas.getContext('2d');
    const cell = pane.width / n;
    // Beside the grid lines and outside a cell's marks.
    const at = (from, i) => Math.round((from + (i + 0.5) * cell) * ratio);
    return Array.from({length: n}, (_, i) => Array.from({length: n}, (_, j) =>
        [...context.getImageData(at(pane.x - frame.x, j), at(pane.y - frame.y, i), 1, 1).data]));
}"""


def lightness(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """OKLab lightness of sRGB bytes ``[..., 3]`` (Ottosson 2020, "A perceptual color space")."""
    share = rgb / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    to_cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    cones = np.cbrt(linear @ to_cones.T)
    return cones @ np.array([0.2104542553, 0.7936177850, -0.0040720468])


def drawn_shares(widget: Widget, n: int) -> NDArray[np.float64]:
    """The place of every cell on the ramp, 0 to 1, ``[query, key]``, from the pixel at its center."""
    pixels = np.asarray(widget.part("heatmap").evaluate(CENTRES, n), dtype=np.float64)
    return (LIGHTEST - lightness(pixels[..., :3])) / (LIGHTEST - DARKEST)
