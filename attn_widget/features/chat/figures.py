"""Figures of a chat: its turns, attention between them, and their contributions to a reply."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING

from attn_widget.analysis.accessor import Accessor, accessor
from attn_widget.analysis.attention import AttentionFigures
from attn_widget.checks import check_callable
from attn_widget.errors import NotAvailableError
from attn_widget.features.chat.turns import Turn, turns_of
from attn_widget.features.sentences.isa import isa_mass
from attn_widget.figures.arrays import Float32, Head
from attn_widget.host.installed import require_torch
from attn_widget.trace.forward import Progress

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.features.chat.contributions import TurnContributions

CONTRIBUTIONS = "turn_contributions"  # of the analysis's cache


class ChatFigures(Accessor["Analysis"]):
    """Turns of a chat (docs/chats.md); ``a.chat``."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns in the order of the text; together they cover every position.

        Control tokens belong to the turn that they open or close, and what stands before the first turn to the first. A prompt for a reply
        and what is written are the last turn.

        Raises
        ------
        NotAvailableError
            The run is not of a chat.
        """
        turns = turns_of(self._analysis)
        if not turns:
            raise NotAvailableError(
                "The run is not of a chat, so it has no turns.",
                'Give messages: analyze([{"role": "user", "content": "..."}], model=...).',
            )
        return turns

    def attention_by_turn(self, layer: int, head: Head) -> Float32:
        """Attention from turn to turn, float32 [T, T].

        Row a, column b: mean over the queries of turn a of the attention that they give to the tokens of turn b. Each row sums to 1.

        Parameters
        ----------
        layer : int
        head : int or "mean"

        Raises
        ------
        InputError, InputTypeError
            A layer or a head that the model has not.
        NotAvailableError
            The run is not of a chat.
        """
        groups = [range(turn.start, turn.stop) for turn in self.turns]
        return isa_mass(self._analysis.attention(layer, head), groups)

    def contributions(self, *, progress: Progress | None = None) -> TurnContributions:
        """Contribution of each turn to the logit of each written token; without a reply, of the likeliest next token.

        The sum over a turn's tokens of their contributions by ``a.why.contributions(target, "decomposition")``.

        Parameters
        ----------
        progress : callable, optional
            Called with ``(done, written tokens)``; an exception that it raises ends the work.

        Returns
        -------
        TurnContributions
            ``values`` [W, T], ``bias`` and ``logits`` [W]; ``shares`` [W, T] and ``system`` [W].

        Raises
        ------
        NotAvailableError
            The run is not of a chat, or is a view of it; a family whose layers are not known, or whose feed-forward networks are mixtures of
            experts; no language-model head.
        """
        require_torch("A decomposition")
        from attn_widget.features.chat.contributions import turn_contributions

        check_callable(progress, "progress")
        turns = self.turns
        self._analysis.trace.check_one_pass("A contribution")
        run = self._analysis._require_model("contributions", of_tokens=True)
        return self._analysis._cached_unlocked(
            CONTRIBUTIONS, lambda: turn_contributions(run, turns, progress)
        )


def knows_contributions(analysis: Analysis) -> bool:
    """True if the contributions of its turns were asked for before."""
    return CONTRIBUTIONS in analysis._cache


class OfChat(AttentionFigures):
    chat = accessor(ChatFigures)
