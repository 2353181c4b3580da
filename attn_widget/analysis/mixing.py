"""Figures of mixing: what attention carries from token to token."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import numpy as np

from attn_widget.analysis.accessor import Accessor
from attn_widget.analysis.attention import AttentionFigures
from attn_widget.analysis.merge import MergedTrace
from attn_widget.checks import check_callable, check_choice, check_flag, index_in
from attn_widget.errors import InputError
from attn_widget.figures.arrays import Float32
from attn_widget.figures.catalog.choices import MIXINGS, Mixing
from attn_widget.figures.mixing import OutputDecomposition, mixing_rollout
from attn_widget.influence.mixing import (
    lengths_of,
    mixing_layers,
    norms_of_heads,
    of_block,
    output_of,
    ratio_of,
)
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

TOGETHER = 64  # tokens of a text for which a block is read once for all its quantities


class MixingFigures(Accessor[AttentionFigures]):
    """Measures beyond a row of weights (docs/influence.md, section 1): ``a.mixing``."""

    def matrix(
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
        >>> a.mixing.matrix("norms", 2).shape, a.mixing.matrix("alti", 2).sum(axis=1).round(5).tolist()
        ((5, 5), [1.0, 1.0, 1.0, 1.0, 1.0])
        """
        if self._analysis.base is not None:
            return self._merged(
                kind,
                MixingFigures(self._analysis.base).matrix(kind, layer, head, progress=progress),
            )
        kind, run = self._mixing(kind)
        check_callable(progress, "progress")
        layer = index_in(layer, self._analysis.trace.n_layers, "layer")
        if head is None:
            return self._mixing_layers(run, kind, [layer], progress)[0]
        if kind != "norms":
            raise InputError(
                f"head is given, and {kind!r} is a quantity of a layer: the residual and the norm "
                "follow the sum of all heads.",
                "Leave head out, or take kind='norms'.",
            )
        return norms_of_heads(run, layer)[index_in(head, self._analysis.trace.n_heads, "head")]

    def matrices(
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
        if self._analysis.base is not None:
            matrices = MixingFigures(self._analysis.base).matrices(
                kind, per_head=per_head, progress=progress
            )
            return self._merged(kind, matrices)
        kind, run = self._mixing(kind)
        check_callable(progress, "progress")
        if not check_flag(per_head, "per_head"):
            return np.stack(
                self._mixing_layers(run, kind, [*range(self._analysis.trace.n_layers)], progress)
            )
        if kind != "norms":
            raise InputError(
                f"per_head is True, and {kind!r} is a quantity of a layer.",
                "Leave per_head out, or take kind='norms'.",
            )
        return np.stack(
            [norms_of_heads(run, layer) for layer in range(self._analysis.trace.n_layers)]
        )

    def ratio(self, layer: int) -> Float32:
        """Share of each output of an attention block that comes from other positions, float32 [n].

        ``||sum_{j != i} g_i(z_ij)|| / (||sum_{j != i} g_i(z_ij)|| + ||g_i(z_ii)||)``, 0 to 1.

        Raises
        ------
        InputError, NotAvailableError
            As in `mixing`.
        """
        run = self._analysis._require_model("mixing ratios", of_tokens=True)
        layer = index_in(layer, self._analysis.trace.n_layers, "layer")
        return self._analysis._cached(("mixing_ratio", layer), lambda: ratio_of(run, layer))

    def value_lengths(self, layer: int) -> Float32:
        """``||v_j^h W_O^h||`` of a layer's heads, float32 [H, n]: a weight times it is an entry of ``norms``.

        Raises
        ------
        InputError, NotAvailableError
            As in `mixing`; or heads are off.
        """
        run = self._analysis._require_model("values", of_tokens=True)
        return lengths_of(run, index_in(layer, self._analysis.trace.n_layers, "layer"))

    def rollout(
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
        if self._analysis.base is not None:
            return self._merged(
                "rollout",
                MixingFigures(self._analysis.base).rollout(kind, layer, progress=progress),
            )
        self._analysis._check_rolls("A rollout")
        kind, run = self._mixing(kind)
        check_callable(progress, "progress")
        last = (
            self._analysis.trace.n_layers - 1
            if layer is None
            else index_in(layer, self._analysis.trace.n_layers, "layer")
        )
        if kind == "norms":
            self._analysis._check_rollout(last)
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
        >>> parts = analyze("the cat sat", tagger=None, progress=False).mixing.decompose_output(2, 1)
        >>> parts.vectors.shape, parts.gap < 1e-4
        ((5, 384), True)
        """
        run = self._analysis._require_model("layers", of_tokens=True)
        layer = index_in(layer, self._analysis.trace.n_layers, "layer")
        return output_of(run, layer, index_in(query, self._analysis.trace.n_tokens, "query"))

    def _merged(self, kind: str, matrices: Float32) -> Float32:
        """A quantity of the base [..., n, n] over the positions of this view, [..., m, m]."""
        assert isinstance(self._analysis.trace, MergedTrace)
        return self._analysis.trace.merged(matrices, lengths=kind in ("norms", "mixing"))

    def _mixing(self, kind: object) -> tuple[Mixing, Run]:
        """``kind``, if it is one, and the run that it is computed from."""
        run = self._analysis._require_model("values", of_tokens=True)
        check_choice(kind, "kind", MIXINGS)
        if kind in ("mixing", "alti"):
            self._analysis.trace.check_square(
                f"{kind!r}, which adds what a position keeps of itself,"
            )
        return kind, run  # pyright: ignore[reportReturnType]

    def _mixing_layers(
        self, run: Run, kind: Mixing, layers: list[int], progress: Progress | None
    ) -> list[Float32]:
        with self._analysis._lock:
            matrices: dict[tuple[str, int], Float32] = self._analysis._cache.setdefault(
                "mixing", {}
            )
            missing = [layer for layer in layers if (kind, layer) not in matrices]
        if kind in ("mixing", "alti") and self._analysis.trace.n_tokens <= TOGETHER:
            for done, layer in enumerate(missing, 1):
                both, ratio = of_block(run, layer)
                matrices.update(((name, layer), matrix) for name, matrix in both.items())
                self._analysis._cached(("mixing_ratio", layer), lambda ratio=ratio: ratio)
                if progress is not None:
                    progress(done, len(missing))
            missing = []
        # It may take seconds, and other figures are asked for meanwhile.
        computed = mixing_layers(run, kind, missing, progress)
        for layer, matrix in zip(missing, computed, strict=True):
            matrices[kind, layer] = matrix
        return [matrices[kind, layer] for layer in layers]
