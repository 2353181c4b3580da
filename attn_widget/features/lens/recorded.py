"""The data of the view Lens in a saved page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.page.recorded import Answered, record
from attn_widget.page.spec import PageSpec

TOKENS = 128  # longer texts have no lens in a page
STEP = 16  # positions of a request, as the page asks


def answers_of(analysis: Analysis, _chosen: Mapping[str, Any], spec: PageSpec) -> list[Answered]:
    """Answers of every position, in the mode that the view opens in."""
    analysis = analysis.model.writing if analysis.part == "cross" else analysis
    run = analysis.run
    n = analysis.trace.n_tokens
    if spec.light or n > TOKENS or run is None or analysis.base is not None:
        return []
    family = run.encoder.family
    if not run.encoder.has_lm or (family.lm or family.written) is None:
        return []
    return [
        answered
        for first in range(0, n, STEP)
        for answered in record(analysis, {"kind": "lens", "mode": analysis.model.default_mode, "rows": [first, min(n, first + STEP)]})
    ]  # fmt: skip
