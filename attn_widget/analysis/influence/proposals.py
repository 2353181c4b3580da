"""Targets that a text suggests by itself: what a reader would ask about first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attn_widget.checks.rounding import largest_first
from attn_widget.errors import AttnWidgetError
from attn_widget.influence.targets import Target

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.trace.run import Run

MOST = 6
ENDS = (".", "!", "?")
MIN_SENTENCE = 3  # tokens: "No." is no sentence to explain


def proposals(analysis: Analysis) -> list[Target]:
    """Targets to begin with, the best one first; empty where the model has no head for one.

    The two likeliest classes; the two likeliest words at each mask; otherwise what the model would put
    for the last word of the first sentence, against that word.

    Examples
    --------
    >>> from attn_widget import analyze
    >>> a = analyze("The keys to the cabinet [MASK] here.", tagger=None, progress=False)
    >>> proposals(a)[0].position, proposals(a)[0].masked
    (6, False)
    """
    run = analysis.run
    if run is None:
        return []
    analysis.trace.check_one_pass("A contribution")
    targets: list[Target | None] = []
    if run.encoder.classifier == "sequence":
        targets += _classes(analysis)
    if run.encoder.has_mlm:
        masks = _masks(run)
        targets += [_between(analysis, position) for position in masks]
        if not masks:
            targets += [_last_word(analysis, run)]
    if analysis.text_pair is not None and analysis.run is not None:
        try:
            run.next_sentence  # noqa: B018  # pyright: ignore[reportUnusedExpression]
            targets.append(Target(next_sentence=True))
        except AttnWidgetError:
            pass
    return [target for target in targets if target is not None][:MOST]


def _classes(analysis: Analysis) -> list[Target]:
    classes = analysis.classification
    if classes is None:
        return []
    order = largest_first(classes.logits)
    return [Target(label=order[0], against=order[1] if len(order) > 1 else None)]


def _masks(run: Run) -> list[int]:
    """Positions that the model reads as the mask token."""
    mask = run.encoder.mask_token_id
    return [i for i, one in enumerate(run.encoding.inputs["input_ids"][0].tolist()) if one == mask]


def _between(analysis: Analysis, position: int) -> Target:
    """The likeliest word at a mask against the next one."""
    ids = analysis.predictions(top_k=2, rows=slice(position, position + 1)).ids[0].tolist()
    return Target(position, *ids)


def _last_word(analysis: Analysis, run: Run) -> Target | None:
    tokens = run.trace.tokens
    plain = [i for i, t in enumerate(tokens) if not t.special]
    if not plain or run.encoder.mask_token_id is None:
        return None
    ends = [i for i in plain[MIN_SENTENCE:] if tokens[i].text in ENDS]
    # At the end of a text without a full stop, the model would put one.
    before = [i for i in plain if i < (ends[0] if ends else plain[-1])]
    words = [i for i in before if tokens[i].surface.strip().isalnum()]
    position = (words or plain)[-1]
    own = int(run.encoding.inputs["input_ids"][0, position])
    row = slice(position, position + 1)
    first, second = analysis.predictions(top_k=2, mode="masked", rows=row).ids[0].tolist()
    return Target(position, first, second if first == own else own, masked=True)
