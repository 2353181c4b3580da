"""Figures of influence: what attention carries, and what matters for what the model says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from attn_widget.analysis.attention import AttentionFigures
from attn_widget.checks import check_callable, check_choice, check_flag, index_in
from attn_widget.errors import InputError
from attn_widget.figures.arrays import Float32

if TYPE_CHECKING:
    from typing_extensions import Self

    from attn_widget.figures.mixing import OutputDecomposition
    from attn_widget.influence.bound_target import BoundTarget
    from attn_widget.influence.contributions import Contributions
    from attn_widget.influence.effects import HeadEffects
    from attn_widget.influence.lens import LogitLens
    from attn_widget.influence.methods import Method
    from attn_widget.influence.mixing import Mixing
    from attn_widget.influence.targets import Target
    from attn_widget.model.encoder import Ablation
    from attn_widget.trace.forward import Progress
    from attn_widget.trace.run import Run


class InfluenceFigures(AttentionFigures):
    """Measures beyond a row of weights (docs/influence.md)."""

    def mixing(
        self,
        kind: Mixing,
        layer: int,
        head: int | None = None,
        *,
        progress: Progress | None = None,
    ) -> Float32:
        """Mixing by a layer, or a head, from each token (column) to each token (row), float32 [n, n].

        Parameters
        ----------
        kind : {"norms", "mixing", "alti", "value_zeroing"}
            ``norms``: ``||sum_h A^h_ij v_j^h W_O^h||`` (Kobayashi et al. 2020). ``mixing``: the same
            with the residual and LayerNorm (Kobayashi et al. 2021). ``alti``: by how much the output
            comes nearer in L1 (Ferrando et al. 2022). ``value_zeroing``: how far the layer's output
            turns when a token's values are zero (Mohebbi et al. 2023). Rows of the last two sum to 1.
        layer : int
            0 to L - 1.
        head : int, optional
            For ``norms`` only: ``||A_ij v_j W_O||`` of one head.
        progress : callable, optional
            Called with ``(done, all)``; an exception that it raises cancels the work.

        Raises
        ------
        InputError, InputTypeError
            No such kind, layer or head; a head where the quantity is of a layer.
        NotAvailableError
            Only attention is known, or the family's layers are not.

        Notes
        -----
        In a view rows of a word's pieces are averaged and columns added, as weights are. Lengths
        (``norms``, ``mixing``) are then a sum of lengths, and are not scaled where special tokens are
        left out.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> a = analyze("the cat sat", tagger=None, progress=False)
        >>> a.mixing("norms", 2).shape, a.mixing("alti", 2).sum(axis=1).round(5).tolist()
        ((5, 5), [1.0, 1.0, 1.0, 1.0, 1.0])
        """
        if self.base is not None:
            return self._merged(kind, self.base.mixing(kind, layer, head, progress=progress))
        kind, run = self._mixing(kind)
        check_callable(progress, "progress")
        layer = index_in(layer, self.n_layers, "layer")
        if head is None:
            return self._mixing_layers(run, kind, [layer], progress)[0]
        if kind != "norms":
            raise InputError(
                f"head is given, and {kind!r} is a quantity of a layer: the residual and the norm "
                "follow the sum of all heads.",
                "Leave head out, or take kind='norms'.",
            )
        from attn_widget.influence.mixing import norms_of_heads

        return norms_of_heads(run, layer)[index_in(head, self.n_heads, "head")]

    def mixing_matrices(
        self, kind: Mixing, *, per_head: bool = False, progress: Progress | None = None
    ) -> Float32:
        """`mixing` of every layer, float32 [L, n, n]; of every head, [L, H, n, n], with ``per_head``.

        Parameters
        ----------
        kind : {"norms", "mixing", "alti", "value_zeroing"}
        per_head : bool
            For ``norms`` only.
        progress : callable, optional

        Raises
        ------
        InputError, InputTypeError, NotAvailableError
            As in `mixing`.
        """
        if self.base is not None:
            matrices = self.base.mixing_matrices(kind, per_head=per_head, progress=progress)
            return self._merged(kind, matrices)
        kind, run = self._mixing(kind)
        check_callable(progress, "progress")
        if not check_flag(per_head, "per_head"):
            return np.stack(self._mixing_layers(run, kind, [*range(self.n_layers)], progress))
        if kind != "norms":
            raise InputError(
                f"per_head is True, and {kind!r} is a quantity of a layer.",
                "Leave per_head out, or take kind='norms'.",
            )
        from attn_widget.influence.mixing import norms_of_heads

        return np.stack([norms_of_heads(run, layer) for layer in range(self.n_layers)])

    def mixing_ratio(self, layer: int) -> Float32:
        """How much of each output of a layer's attention block comes from other positions, float32 [n].

        ``||sum_{j != i} g_i(z_ij)|| / (||sum_{j != i} g_i(z_ij)|| + ||g_i(z_ii)||)``, 0 to 1.

        Raises
        ------
        InputError, NotAvailableError
            As in `mixing`.
        """
        run = self._require_model("mixing ratios", of_tokens=True)
        from attn_widget.influence.mixing import ratio_of  # needs torch, as the model does

        layer = index_in(layer, self.n_layers, "layer")
        return self._once(("mixing_ratio", layer), lambda: ratio_of(run, layer))

    def value_lengths(self, layer: int) -> Float32:
        """``||v_j^h W_O^h||`` of a layer's heads, float32 [H, n]: a weight times it is an entry of ``norms``.

        Raises
        ------
        InputError, NotAvailableError
            As in `mixing`; or heads are off.
        """
        run = self._require_model("values", of_tokens=True)
        from attn_widget.influence.mixing import lengths_of  # needs torch, as the model does

        return lengths_of(run, index_in(layer, self.n_layers, "layer"))

    def mixing_rollout(
        self, kind: Mixing, layer: int | None = None, *, progress: Progress | None = None
    ) -> Float32:
        """Rollout of a mixing quantity after a layer (the last one by default), float32 [n, n].

        In a view it is the rollout of the tokens, merged. Row-normalized matrices are multiplied without an identity, because ``mixing``, ``alti`` and
        ``value_zeroing`` hold the residual already; ``norms`` get it as weights do in `rollout`.

        Raises
        ------
        InputError, InputTypeError, NotAvailableError
            As in `mixing`.
        """
        from attn_widget.figures.mixing import mixing_rollout

        if self.base is not None:
            return self._merged("rollout", self.base.mixing_rollout(kind, layer, progress=progress))
        kind, run = self._mixing(kind)
        check_callable(progress, "progress")
        last = self.n_layers - 1 if layer is None else index_in(layer, self.n_layers, "layer")
        matrices = self._mixing_layers(run, kind, [*range(last + 1)], progress)
        return list(mixing_rollout(matrices, add_identity=kind == "norms"))[-1]

    def decompose_output(self, layer: int, query: int) -> OutputDecomposition:
        """A position's output of a layer's attention block as a sum of one vector for each token.

        Parameters
        ----------
        layer : int
        query : int
            The position ``i`` of the output.

        Returns
        -------
        OutputDecomposition
            ``sum_j g_i(z_ij) + g_i(b_O) + beta = y_i``.

        Raises
        ------
        InputError, NotAvailableError
            As in `mixing`.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> parts = analyze("the cat sat", tagger=None, progress=False).decompose_output(2, 1)
        >>> parts.vectors.shape, parts.gap < 1e-4
        ((5, 384), True)
        """
        from attn_widget.influence.mixing import output_of

        run = self._require_model("layers", of_tokens=True)
        layer = index_in(layer, self.n_layers, "layer")
        return output_of(run, layer, index_in(query, self.n_tokens, "query"))

    def contributions(
        self,
        target: Target,
        method: Method = "decomposition",
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
            to the target, with a bias), ``"gradient_x_input"``, ``"integrated_gradients"`` (needs
            Captum), ``"occlusion"`` (each word masked in turn). Unsigned: ``"attention_gradient"``, and
            the target's row of the rollout of ``"weights"``, ``"norms"``, ``"mixing"``, ``"alti"`` or
            ``"value_zeroing"``.
        progress : callable, optional
            Called with ``(done, all)`` by the methods that take many passes.

        Raises
        ------
        InputError, InputTypeError
            No target, no such method, a position of a special token, a token that is not one entry of
            the vocabulary, a class that is none.
        NotAvailableError
            A model without such a head, a family whose layers are not known, or positions are words.

        Examples
        --------
        >>> from attn_widget import analyze, target
        >>> a = analyze("The keys to the cabinet are here.", tagger=None, progress=False)
        >>> number = target(position=6, token="are", against="is", masked=True)
        >>> c = a.contributions(number)
        >>> c.values.shape, c.gap < 1e-3
        ((10,), True)
        """
        from attn_widget.influence.contributions import contributions
        from attn_widget.influence.methods import METHODS

        check_choice(method, "method", METHODS)
        check_callable(progress, "progress")
        where, run, bound = self._bound(target)
        tokens = where.language.tokens
        computed = where._freely(
            ("contributions", bound.as_target(target), method),
            lambda: contributions(run, target, bound, method, tokens, where._rolled, progress),
        )
        return computed if computed.target == target else replace(computed, target=target)

    def head_effects(
        self, target: Target, ablation: Ablation = "zero", *, progress: Progress | None = None
    ) -> HeadEffects:
        """Effect on a target of switching off each head in turn.

        Parameters
        ----------
        target : Target
        ablation : {"zero", "mean"} or HeadMeans
            What the head's ``A v`` becomes: 0, its mean over the positions of the text, or its mean over
            many texts (`attn_widget.head_means`).
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
        >>> a.head_effects(target(position=6, token="are", masked=True)).effects.shape
        (6, 12)
        """
        from attn_widget.influence.effects import head_effects

        check_callable(progress, "progress")
        where, run, bound = self._bound(target)
        run.encoder.check_ablation(ablation)
        computed = where._freely(
            ("head_effects", bound.as_target(target), ablation),
            lambda: head_effects(run, target, bound, ablation, progress),
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
        >>> a.logit_lens(target(position=6, token="are", masked=True)).ranks.shape
        (7,)
        """
        from attn_widget.influence.lens import logit_lens

        _where, run, bound = self._bound(target)
        return logit_lens(run, target, bound)

    def _bound(self, target: Target) -> tuple[Self, Run, BoundTarget]:
        """The analysis that a target is of (the position masked, where it says so), its run, and where it is."""
        from attn_widget.influence.bound_target import bind
        from attn_widget.influence.targets import check_target

        self.trace.check_one_pass("A contribution")
        run = self._require_model("contributions", of_tokens=True)
        bound = bind(run, check_target(target))
        position = target.position
        hidden = [masked.token for masked in self.masked]
        if not target.masked or position is None or position in hidden:
            return self, run, bound
        masked = self._masked_at(position)
        return masked, masked._require_model("contributions"), bound

    def mask(self, tokens: Iterable[int], *, progress: Progress | None = None) -> Self:
        """The same text run again with these tokens read as the mask token: `Analysis.mask`."""
        raise NotImplementedError

    def _masked_at(self, position: int) -> Self:
        """The run with one more token masked; the latest is kept for the next method."""
        with self.lock:
            known: tuple[int, Self] | None = self._cache.get("masked_at")
            if known is None or known[0] != position:
                chosen = [*(masked.token for masked in self.masked), position]
                known = self._cache["masked_at"] = (position, self.mask(chosen))
            return known[1]

    def _rolled(self, quantity: str, progress: Progress | None = None) -> Float32:
        if quantity == "weights":
            return self.rollout()
        return self.mixing_rollout(quantity, progress=progress)  # pyright: ignore[reportArgumentType]

    def _merged(self, kind: str, matrices: Float32) -> Float32:
        """A quantity of the base [..., n, n] over the positions of this view, [..., m, m]."""
        from attn_widget.analysis.merge import MergedTrace

        assert isinstance(self.trace, MergedTrace)
        return self.trace.merged(matrices, lengths=kind in ("norms", "mixing"))

    def _mixing(self, kind: object) -> tuple[Mixing, Run]:
        """``kind``, if it is one, and the run that it is computed from."""
        run = self._require_model("values", of_tokens=True)
        from attn_widget.influence.mixing import MIXINGS

        check_choice(kind, "kind", MIXINGS)
        return kind, run  # pyright: ignore[reportReturnType]

    def _mixing_layers(
        self, run: Run, kind: Mixing, layers: list[int], progress: Progress | None
    ) -> list[Float32]:
        from attn_widget.influence.mixing import mixing_layers

        with self.lock:
            known: dict[tuple[str, int], Float32] = self._cache.setdefault("mixing", {})
            missing = [layer for layer in layers if (kind, layer) not in known]
        # It may take seconds, and other figures are asked for meanwhile.
        computed = mixing_layers(run, kind, missing, progress)
        for layer, matrix in zip(missing, computed, strict=True):
            known[kind, layer] = matrix
        return [known[kind, layer] for layer in layers]
