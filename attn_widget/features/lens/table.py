"""The table of the view Lens, for a file."""

from __future__ import annotations

from attn_widget.analysis import Analysis
from attn_widget.features.lens.slices import TOP_K
from attn_widget.figures.tables import Columns
from attn_widget.protocol.selection import Selection

COLUMNS = (
    *("layer", "position", "token", "rank", "prediction", "probability"),
    *("token_rank", "entropy", "divergence"),
)


def lens_table(analysis: Analysis, selection: Selection) -> Columns:
    """One row a guess: the top five of every layer (0: the embeddings) at every position that is shown, in the default mode."""
    analysis = analysis.model.writing if analysis.part == "cross" else analysis
    plain = {i for i, token in enumerate(analysis.tokens) if not token.special}
    shown = plain if plain and not selection.special else set(range(analysis.trace.n_tokens))
    rows = [
        tuple(record[name] for name in COLUMNS)
        for record in analysis.lens(TOP_K).to_records()
        if record["position"] in shown
    ]
    return COLUMNS, rows
