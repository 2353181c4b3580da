"""Find the Chromium that the tests and the demo drive: the one that `save_png` draws with."""

from __future__ import annotations

from attn_widget.features.exports.chromium import FLAGS, MISSING, find_chromium

__all__ = ["FLAGS", "MISSING", "find_chromium"]
