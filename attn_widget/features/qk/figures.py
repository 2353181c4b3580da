"""Answers of an `Analysis` about one cell of one head."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attn_widget.analysis.base import AnalysisBase
from attn_widget.checks import check_callable, check_choice, index_in, is_mean
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.host.fingerprint import reading_weights_once
from attn_widget.host.installed import require_torch
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

if TYPE_CHECKING:
    from attn_widget.features.qk.attribution import QKAttribution
    from attn_widget.features.qk.kept import Kept


class QKFigures(AnalysisBase):
    """Why a head looks where it looks (docs/qk.md)."""

    def qk_attribution(
        self,
        layer: int,
        head: int,
        query: int,
        key: int,
        *,
        against: Any = "others",
        by: Any = None,
        biases: Any = "placed",
        progress: Progress | None = None,
    ) -> QKAttribution:
        """Why a head looks from ``query`` at ``key``: its score against others of its row, as an exact sum over pairs of parts.

        Parameters
        ----------
        layer, head : int
        query, key : int
            Positions.
        against : str or int
            ``"others"``: the mean over the other words that the query may look at; ``"all"``: over all of them, special and first
            tokens too; ``"rivals"``: by their weights; ``"sink"``: a learned sink, where there is one; or another key.
        by : {"tokens", "parts"}, optional
            The text's tokens, or what wrote into the residual stream: embeddings, earlier heads, feed-forward networks.
            Tokens for encoders and parts for decoders unless given.
        biases : {"placed", "apart"}
            By tokens: a bias belongs to the token at whose position it enters, or to a part of its own.
        progress : callable, optional
            Called with ``(done, all)``; an exception that it raises ends the work.

        Returns
        -------
        QKAttribution
            ``matrix`` float32 [A, B], which adds up to ``contrast``.

        Raises
        ------
        InputError, InputTypeError
            The mean head; a place that is none; a key that the mask forbids, or the only one of its row; no such contrast.
        NotAvailableError
            Only attention is known; a family whose layers are not known; a text read in windows; mixtures of experts by
            tokens; an encoder-decoder by parts; heads that are replaced by means.
        NotEnoughMemoryError
            A long text.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> a = analyze("The keys to the cabinet are here.", tagger=None, progress=False)
        >>> why = a.qk_attribution(1, 3, 6, 2)
        >>> why.by, why.matrix.shape, abs(why.gap) < 1e-4
        ('tokens', (10, 10), True)
        """
        require_torch("Why a head looks there")
        from attn_widget.features.qk.attribution import Further
        from attn_widget.features.qk.cell import attribution, cell_of
        from attn_widget.features.qk.effects import total_effects
        from attn_widget.features.qk.saved import remember
        from attn_widget.features.qk.tree import traced
        from attn_widget.features.qk.ways import ways

        if is_mean(head):
            raise InputError(
                "A mean of heads has no query and key of its own: choose a head.",
                "Give its number.",
            )
        trace = self.trace
        at = (index_in(layer, trace.n_layers, "layer"), index_in(head, trace.n_heads, "head"))
        to = (index_in(query, trace.n_tokens, "query"), index_in(key, trace.n_keys, "key"))
        check_callable(progress, "progress")
        kept = self._qk_kept
        with reading_weights_once(again=False):
            default = ways(kept.run)[0]
            by = default if by is None else by
            by = check_choice(by, "by", ("tokens", "parts"))
            biases = check_choice(biases, "biases", ("placed", "apart"))
            apart = by == "parts" or bool(kept.run.encoder.parts)
            cell = cell_of(kept, *at, *to, against, by, "apart" if apart else biases)
            found = replace(attribution(cell, progress), further=Further(total_effects, traced))
        if biases == "placed":
            asked = {"kind": "qk", "against": cell.asked, "by": None if by == default else by}
            places = dict(zip(("layer", "head", "query", "key"), (*at, *to), strict=True))
            remember(self, {**asked, **places})
        return found

    @property
    def _qk_kept(self) -> Kept:
        """The store of splits, queries and keys between two questions."""
        from attn_widget.features.qk.kept import Kept

        run = self._require_tokens()
        return self._cached("qk", lambda: Kept(run))

    def _require_tokens(self) -> Run:
        from attn_widget.model.encoder import HeadMeans

        self.trace.check_one_pass("Why a head looks there")
        run = self._run_for("queries and keys", True, "")
        if run.encoder.heads_off and isinstance(run.encoder.ablation, HeadMeans):
            raise NotAvailableError(
                "Heads are replaced by means over other texts, which no token and no part of this one brings.",
                "Switch them off with ablation='zero'.",
            )
        return run
