"""The ways in which a score can be split."""

from __future__ import annotations

from attn_widget.errors import NotAvailableError
from attn_widget.features.qk.stream import check_parts
from attn_widget.trace.run import Run


def ways(run: Run) -> tuple[str, ...]:
    """The ways in which `qk_attribution` can split a score, the default first."""
    block = run.encoder.family.block
    found = ["parts", "tokens"] if run.encoder.predicts == "next" else ["tokens", "parts"]
    if block is not None and block.experts:
        found.remove("tokens")
    try:
        check_parts(run)
    except NotAvailableError:
        found.remove("parts")
    return tuple(found)
