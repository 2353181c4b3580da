"""Sentences under the picture of a score."""

from __future__ import annotations

from attn_widget.features.qk.attribution import QKAttribution

TOKENS = (
    "What each token brings to this score, with all other attention, norms and gates as they were. It adds up exactly. "
    "It is not what would happen without the token: 'run without each' shows that."
)
PARTS = (
    "What each part writes straight into this head, all else held; behind “from” stands the token that a head read most "
    "of it from. It adds up exactly. It is not what would happen without the part: 'run without each' shows that. Without "
    "its largest part a score of SmolLM2 falls by a fifth of that number on the key side, and by somewhat less than half "
    "of it on the query side (medians)."
)
POST_NORM = "In encoders of this kind FFN parts say nothing about what switching them off would do."


def notes(found: QKAttribution) -> list[str]:
    """Sentences in the order in which they stand."""
    said = [TOKENS if found.by == "tokens" else PARTS]
    encoder = found.cell.kept.run.encoder
    block = encoder.family.block
    if found.by == "parts" and block is not None and not block.pre_norm:
        said.append(POST_NORM)
    if found.fallback is not None:
        said.append(found.fallback)
    if found.capped is not None:
        said.append(
            f"A cap leaves {found.capped:.0%} of this score; what it leaves is held for every part."
        )
    if found.unreliable:
        said.append(
            "The weight is below one millionth: its logarithm, and so the contrast, is not reliable."
        )
    return said
