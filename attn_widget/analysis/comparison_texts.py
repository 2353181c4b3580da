"""Comparison texts: the same classifier's answers to them, and its first token's attention."""

from __future__ import annotations

from attn_widget.analysis.analysis import Analysis
from attn_widget.analysis.comparison_text import ComparisonText

MAX_COMPARISON_TEXTS = 50  # texts; the oldest give way


def comparison_text_of(analysis: Analysis) -> ComparisonText | None:
    """Comparison text from a run of a text classifier; None for any other run, and for tensors from outside."""
    classes = analysis.model.classification
    if classes is None or classes.task != "sequence" or analysis.base is not None:
        return None
    tokens, texts = analysis.language.tokens, (analysis.text or "", analysis.text_pair or "")
    looks = analysis.model.first_token("mean", words=True)
    before: list[str] = []
    segments: list[int] = []
    ends = [0, 0]
    for first, end in looks.tokens:
        segment = tokens[first].segment
        before.append(texts[segment][ends[segment] : tokens[first].start])
        segments.append(segment)
        ends[segment] = tokens[end - 1].end
    return ComparisonText(
        analysis.text or "", analysis.text_pair, classes, looks, tuple(before), tuple(segments)
    )


def carry_over(earlier: Analysis, analysis: Analysis) -> tuple[ComparisonText, ...]:
    """Comparison texts of ``analysis`` when it replaces ``earlier`` in a widget.

    The comparison texts of ``earlier``, and ``earlier`` itself where its text is another one.
    """
    place = (analysis.text, analysis.text_pair)
    texts = [
        other for other in earlier.model.compare_with if (other.text, other.text_pair) != place
    ]
    if (earlier.text, earlier.text_pair) != place and not earlier.model.masked:
        own = comparison_text_of(earlier)
        texts += [] if own is None else [own]
    return tuple(texts[-MAX_COMPARISON_TEXTS:])
