"""Figures of influence: what matters for a number that the model gives."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attn_widget.analysis.accessor import Accessor
from attn_widget.checks import check_callable, check_choice
from attn_widget.errors import NotAvailableError
from attn_widget.features.why.methods import METHODS, Method
from attn_widget.features.why.targets import Target, check_target
from attn_widget.figures.arrays import Float32
from attn_widget.host.installed import require_torch
from attn_widget.model.encoder import Ablation
from attn_widget.model.tokens import Token
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.features.why.bound_target import BoundTarget
    from attn_widget.features.why.components import Components
    from attn_widget.features.why.contributions import Contributions
    from attn_widget.features.why.effects import HeadEffects
    from attn_widget.features.why.lens import LogitLens
    from attn_widget.features.why.written import WrittenShares


class InfluenceFigures(Accessor["Analysis"]):
    """Contributions to targets, and effects of heads (docs/influence.md)."""

    def contributions(
        self,
        target: Target,
        method: Method | str = "decomposition",
        *,
        progress: Progress | None = None,
    ) -> Contributions:
        """Contribution of every token to one number in the model's output.

        Parameters
        ----------
        target : Target
            `attn_widget.target` makes it. With ``masked=True`` everything is of the run in which its
            position is read as the mask token.
        method : str
            Signed, in logits: ``"decomposition"`` (one backward pass of the linearized network; adds up
            to the target, with a bias), ``"gradient_x_input"``, ``"integrated_gradients"``,
            ``"occlusion"`` (each word masked in turn; in a decoder, hidden from all later tokens). Unsigned: ``"attention_gradient"``, and
            the target's row of the rollout of ``"weights"``, ``"norms"``, ``"mixing"``, ``"alti"`` or
            ``"value_zeroing"``. Also a name given to `with_contributions`.
        progress : callable, optional
            Called with ``(done, all)`` by the methods that take many passes.

        Raises
        ------
        InputError, InputTypeError
            No target, no such method, a position of a special token, a token that is not one entry of
            the vocabulary, a class that is none.
        NotAvailableError
            A model without such a head, a family whose layers are not known, positions are words, or a name of
            `with_contributions` and another target.

        Examples
        --------
        >>> from attn_widget import analyze, target
        >>> a = analyze("The keys to the cabinet are here.", tagger=None, progress=False)
        >>> number = target(position=6, token="are", against="is", masked=True)
        >>> c = a.why.contributions(number)
        >>> c.values.shape, c.gap < 1e-3
        ((10,), True)
        """
        require_torch("A contribution")
        from attn_widget.features.why.contributions import contributions

        check_choice(method, "method", self.methods)
        check_callable(progress, "progress")
        where, run, bound = self._bound(target)
        tokens = where.language.tokens
        if method in self._analysis._outside:
            from attn_widget.features.why.passes import probability_of, value_of

            value, probability = value_of(run, bound), probability_of(run, bound)
            by_ids = bound.as_target(target)
            return self._analysis._outside[method].contributions(
                target, by_ids, tokens, value, probability
            )
        computed = where._cached_unlocked(
            ("contributions", bound.as_target(target), method),
            lambda: contributions(
                run,
                target,
                bound,
                method,
                tokens,
                where.why._rolled,
                progress,
                where.why._source_tokens(),
            ),
        )
        return computed if computed.target == target else replace(computed, target=target)

    @property
    def methods(self) -> tuple[str, ...]:
        """Names that `contributions` takes: the ten methods, then those of `with_contributions`."""
        return (*METHODS, *self._analysis._outside)

    def with_contributions(self, contributions: Mapping[str, Any], target: Target) -> Analysis:
        """The same run with contributions from elsewhere, such as Captum's or SHAP's, as further methods.

        `contributions`, `agreement` and `faithfulness` take their names; Why shows each as a row.

        Parameters
        ----------
        contributions : dict of str to array-like
            By name (1 to 30 characters, at most ten of them) one number for each of `tokens`, [n], special ones too: an
            array, a list, a tensor, a ``shap.Explanation`` of one text and output, or a
            ``captum.attr.visualization.VisualizationDataRecord``. Tokens that the last two name must be those of this run.
            NaN may stand at special tokens. Numbers below 0 speak against the target; without any, sizes are compared.
        target : Target
            What the numbers are about.

        Raises
        ------
        InputError
            A name that is taken or cannot be shown, values of another shape, other tokens, NaN at a token of the text;
            a target that this run has not.
        InputTypeError
            No dict, no target, values that are no numbers.
        NotAvailableError
            As in `contributions`.

        Examples
        --------
        >>> from attn_widget import analyze, target
        >>> a = analyze("The keys to the cabinet are here.", tagger=None, progress=False)
        >>> number = target(position=6, token="are", against="is", masked=True)
        >>> values = a.why.contributions(number, "occlusion").values  # or of another library
        >>> b = a.why.with_contributions({"elsewhere": values}, number)
        >>> f = b.why.faithfulness(number, ["occlusion", "elsewhere"])
        >>> f.tests["elsewhere"] == f.tests["occlusion"]
        True
        """
        where, run, bound = self._bound(target)
        from attn_widget.features.why.bound_target import names_of
        from attn_widget.features.why.outside import OutsideContributions, check_outside

        by_ids, about = bound.as_target(target), " rather than ".join(names_of(run, target, bound))
        checked = check_outside(contributions, where.trace.tokens, self._analysis._outside)
        rows = {
            name: OutsideContributions(name, by_ids, about, values)
            for name, values in checked.items()
        }
        return self._analysis._again(outside={**self._analysis._outside, **rows})

    def _source_tokens(self) -> tuple[Token, ...]:
        """The source's tokens, with their words; none of a model of one text."""
        return (
            self._analysis.of("encoder").language.tokens if self._analysis.part == "decoder" else ()
        )

    @property
    def written_shares(self) -> WrittenShares:
        """Shares of source, prefix and biases in each token that an encoder-decoder writes; see `WrittenShares`.

        Raises
        ------
        NotAvailableError
            Any other model, or a checkpoint without a language-model head.

        Notes
        -----
        One forward pass, and one backward pass for each written token.
        """
        require_torch("A decomposition")
        from attn_widget.features.why.written import written_shares

        run = self._analysis._require_model("contributions", of_tokens=True)
        if self._analysis.part != "decoder" or not run.encoder.has_lm:
            raise NotAvailableError(
                f"Shares of source and prefix are of a text that an encoder-decoder writes, and {run.encoder.name} is none "
                "with a language-model head.",
                "Ask why.contributions() for the contributions of tokens.",
            )
        return self._analysis._cached_unlocked("written_shares", lambda: written_shares(run))

    def head_effects(
        self, target: Target, ablation: Ablation = "zero", *, progress: Progress | None = None
    ) -> HeadEffects:
        """Effect on a target of switching off each head in turn.

        Of an encoder-decoder, the heads of this part, ``of("cross").why.head_effects(target)``; the target is always what its
        decoder writes.

        Parameters
        ----------
        target : Target
        ablation : {"zero", "mean"} or HeadMeans
            What the head's ``A v`` becomes: 0, its mean over the positions of the text, or its mean over
            many texts (`attn_widget.corpus.head_means`).
        progress : callable, optional
            Called with ``(heads done, L * H)``; an exception that it raises cancels the work.

        Returns
        -------
        HeadEffects
            ``effects`` float32 [L, H], with the divergence of the distributions and the gradient's guess.

        Raises
        ------
        InputError, InputTypeError, NotAvailableError
            As in `contributions`.

        Examples
        --------
        >>> from attn_widget import analyze, target
        >>> a = analyze("The keys to the cabinet are here.", tagger=None, progress=False)
        >>> a.why.head_effects(target(position=6, token="are", masked=True)).effects.shape
        (6, 12)
        """
        require_torch("An effect of heads")
        from attn_widget.features.why.effects import head_effects

        check_callable(progress, "progress")
        writing = self._analysis.model.writing
        where, run, bound = writing.why._bound(target)
        run.encoder.check_ablation(ablation)
        own = None if self._analysis.run is None else self._analysis.run.encoder.part
        computed = where._cached_unlocked(
            ("head_effects", bound.as_target(target), ablation, own),
            lambda: head_effects(run, target, bound, ablation, progress, own),
        )
        return computed if computed.target == target else replace(computed, target=target)

    def logit_lens(self, target: Target) -> LogitLens:
        """A word piece's logit, probability and rank according to each layer's hidden state.

        Parameters
        ----------
        target : Target
            A word piece's logit, or the difference of two.

        Returns
        -------
        LogitLens
            ``values``, ``probabilities`` and ``ranks`` [L + 1]; entry 0 is of the embeddings, the last one is
            what the model says.

        Raises
        ------
        InputError, InputTypeError, NotAvailableError
            As in `contributions`; a target that is no word piece.

        Examples
        --------
        >>> from attn_widget import analyze, target
        >>> a = analyze("The keys to the cabinet are here.", tagger=None, progress=False)
        >>> a.why.logit_lens(target(position=6, token="are", masked=True)).ranks.shape
        (7,)
        """
        require_torch("The logit lens")
        from attn_widget.features.why.lens import logit_lens

        _where, run, bound = self._bound(target)
        return logit_lens(run, target, bound)

    def components(self, target: Target) -> Components:
        """A next token's logit as a sum over heads, feed-forward networks and the embedding: direct logit attribution.

        Parameters
        ----------
        target : Target
            Of a decoder: the logit of a token after a position, or the difference of two.

        Returns
        -------
        Components
            ``heads`` float32 [L, H], ``mlps`` float32 [L], ``embedding`` and ``bias``, which add up to the target.

        Raises
        ------
        InputError, InputTypeError, NotAvailableError
            As in `contributions`; an encoder, or a model whose norms follow the residual sums.

        References
        ----------
        Elhage et al. (2021), A Mathematical Framework for Transformer Circuits.
        """
        require_torch("A decomposition")
        from attn_widget.features.why.components import components

        where, run, bound = self._bound(target)
        key = ("components", bound.as_target(target))
        visit = where.model._visit_layers
        computed = where._cached_unlocked(key, lambda: components(run, target, bound, visit))
        return computed if computed.target == target else replace(computed, target=target)

    def copying(self) -> Float32:
        """Copying score of every head, -1 to 1, from the weights alone: the same for every text.

        Above 0, a head that looks at a token raises the logit of this token, as induction heads do; below 0, it lowers
        it. The path is embedding, values, output projection and unembedding, past all other layers: the sum of its
        eigenvalues over the sum of their sizes.

        Returns
        -------
        float32 [L, H]
            NaN for a head whose weights are 0.

        Raises
        ------
        NotAvailableError
            Only attention is known; an encoder, or a model whose norms follow the residual sums.

        References
        ----------
        Elhage et al. (2021), A Mathematical Framework for Transformer Circuits.
        """
        require_torch("A copying score")
        from attn_widget.features.why.copying import copying_scores

        run = self._analysis._require_model("copying scores", of_tokens=True)
        return self._analysis._cached_unlocked("copying", lambda: copying_scores(run))

    def _bound(self, target: Target) -> tuple[Analysis, Run, BoundTarget]:
        """The analysis that a target is of (the position masked, where it says so), its run, and where it is."""
        require_torch("A target")
        from attn_widget.features.why.bound_target import bind

        self._analysis.trace.check_one_pass("A contribution")
        run = self._analysis._require_model("contributions", of_tokens=True)
        bound = bind(run, check_target(target))
        position = target.position
        hidden = [masked.token for masked in self._analysis.model.masked]
        if not target.masked or position is None or position in hidden:
            return self._analysis, run, bound
        masked = self._masked_at(position)
        return masked, masked._require_model("contributions"), bound

    def _masked_at(self, position: int) -> Analysis:
        """The run with one more token masked; the latest is kept for the next method."""
        with self._analysis._lock:
            masked_at: tuple[int, Analysis] | None = self._analysis._cache.get("masked_at")
            if masked_at is None or masked_at[0] != position:
                chosen = [*(masked.token for masked in self._analysis.model.masked), position]
                masked_at = self._analysis._cache["masked_at"] = (
                    position,
                    self._analysis.mask(chosen),
                )
            return masked_at[1]

    def _rolled(self, quantity: str, progress: Progress | None = None) -> Float32:
        if quantity == "weights":
            return self._analysis.rollout()
        return self._analysis.mixing.rollout(quantity, progress=progress)  # pyright: ignore[reportArgumentType]
