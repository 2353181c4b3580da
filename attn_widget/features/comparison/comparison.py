"""Comparison: two runs side by side, and the difference of every figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.checks import check_callable, check_choice, check_count
from attn_widget.checks.rounding import largest_first
from attn_widget.errors import NotAvailableError
from attn_widget.features.comparison.base import Change, ComparisonBase
from attn_widget.features.comparison.outputs import classes, predictions
from attn_widget.features.comparison.proposals import proposals
from attn_widget.features.why.targets import Target, check_target
from attn_widget.figures.arrays import Float32
from attn_widget.host.frames import dataframe
from attn_widget.host.installed import needing
from attn_widget.host.results import Result
from attn_widget.trace.forward import Progress

if TYPE_CHECKING:
    from pandas import DataFrame

    from attn_widget.features.comparison.patching import Recovery, RecoveryOf


class Comparison(Result, ComparisonBase):
    """Two runs side by side. `compare` makes it.

    Parameters
    ----------
    a, b : Analysis
    alignment : Alignment, optional
        By default found from the words of the two texts.
    key_alignment : Alignment, optional
        In cross-attention that of the two sources.

    Attributes
    ----------
    alignment : Alignment
        Matched words and tokens, and what is unmatched; in cross-attention those of the targets, the queries.
    key_alignment : Alignment
        The same of the keys: ``alignment`` itself, but in cross-attention that of the sources.
    """

    def metrics(self) -> dict[str, Change]:
        """Every metric of every head in both runs, and of cross-attention its alignment: key to `Change` of arrays [L, H].

        Heads of B are those of `matching` where the models differ in shape.
        """
        of_a, of_b = (
            run.metrics.as_dict() | (run.heads.monotony.as_dict() if run.part == "cross" else {})
            for run in (self.a, self.b)
        )
        if self.same_shape:
            return {key: Change(of_a[key], of_b[key]) for key in of_a if key in of_b}
        partner = self._partner()
        there = partner[..., 0] >= 0
        return {
            key: Change(
                of_a[key],
                np.where(there, of_b[key][partner[..., 0], partner[..., 1]], np.nan),
            )
            for key in of_a
            if key in of_b
        }

    def predictions(
        self, top_k: int = 5, mode: Literal["as_is", "masked", "next"] | None = None
    ) -> list[dict[str, Any]]:
        """Predictions of the language-model heads at matched tokens, before and after.

        Parameters
        ----------
        top_k : int
            The best entries of either run.
        mode : {"as_is", "masked", "next"}, optional
            ``"masked"`` replaces each token by the mask token in turn: a pass for each. Of decoders, ``"next"``, which is
            their default: the token after each.

        Returns
        -------
        list of dict
            ``position_a, position_b, token, before, after, log_odds``: probabilities in A and in B, and
            ``logit(after) - logit(before)``. Entries that one vocabulary has not are left out.

        Raises
        ------
        InputError, InputTypeError
            ``top_k`` out of range, or an unknown mode.
        NotAvailableError
            A model without a language-model head, or (``"masked"``) without a mask token; an encoder and a decoder;
            the encoder of an encoder-decoder. Cross-attention has those of what its decoder writes.

        Examples
        --------
        >>> from attn_widget import compare
        >>> c = compare("he [MASK] it", "she [MASK] it", tagger=None, progress=False)
        >>> sorted(c.predictions(1)[0])
        ['after', 'before', 'log_odds', 'position_a', 'position_b', 'token']
        """
        if self.part == "encoder":
            raise NotAvailableError(
                "The encoder of an encoder-decoder predicts no tokens.",
                "Compare what the decoders write: compare(a.of('decoder'), b.of('decoder')).",
            )
        a, b = self.a.model.writing, self.b.model.writing
        mode = b.model.default_mode if mode is None else mode
        check_choice(mode, "mode", ("as_is", "masked", "next"))
        sizes = [run.model.vocab_size or 0 for run in (a, b)]
        if not all(sizes):
            raise NotAvailableError("A or B has no vocabulary, so it predicts no tokens.")
        top_k = check_count(top_k, "top_k", 1, min(sizes))
        key = f"predictions {top_k} {mode}"
        if key not in self._known:
            self._known[key] = predictions(a, b, self.alignment.tokens, top_k, mode)
        return [dict(record) for record in self._known[key]]

    def classes(self) -> list[dict[str, Any]]:
        """Answers of the classifiers, before and after: ``label, before, after, log_odds``.

        Raises
        ------
        NotAvailableError
            No classifier of texts, or classifiers with other labels.
        """
        return classes(self.a, self.b)

    def states(self) -> Float32:
        """Cosine of the two hidden states of every matched token, float32 [L + 1, m].

        Raises
        ------
        NotAvailableError
            Models of another depth or width, no hidden states, or no matched token.

        Examples
        --------
        >>> from attn_widget import compare
        >>> compare("he sat", "she sat", tagger=None, progress=False).states().shape
        (7, 3)
        """
        if self.part == "cross":
            raise NotAvailableError(
                "Cross-attention has no hidden states of its own.",
                "Compare those of encoder or decoder: compare(a.of('decoder'), b.of('decoder')).",
            )
        of_a, of_b = self._positions()
        a, b = self.a.model.hidden_states, self.b.model.hidden_states
        if a.shape[2] != b.shape[2]:
            raise NotAvailableError(
                f"A's hidden states are {a.shape[2]} wide and B's {b.shape[2]}, so they have no cosine."
            )
        if len(a) != len(b):
            raise NotAvailableError(
                f"A has {len(a) - 1} layers and B {len(b) - 1}, so no layer stands for another."
            )
        a, b = a[:, of_a].astype(np.float64), b[:, of_b].astype(np.float64)
        norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
        dots = (a * b).sum(axis=-1)
        cosines = np.divide(dots, norms, out=np.full(dots.shape, np.nan), where=norms > 0)
        return cosines.astype(np.float32)

    def heads(self) -> list[tuple[int, int]]:
        """Heads of A as (layer, head), the one farthest from its partner first.

        Raises
        ------
        NotAvailableError
            No token is matched.

        Examples
        --------
        >>> from attn_widget import compare
        >>> c = compare("he sat", "she sat", tagger=None, progress=False)
        >>> len(c.heads())
        72
        """
        distances = np.nan_to_num(self.distances().distances, nan=-1)
        return [divmod(k, distances.shape[1]) for k in largest_first(distances)]

    def summary(self, top: int = 3) -> str:
        """One line: the heads that differ most, their distances, and the median of all.

        Parameters
        ----------
        top : int
            Heads that are named.

        Raises
        ------
        InputError, InputTypeError
            ``top`` is no positive int.
        NotAvailableError
            No token is matched.

        Examples
        --------
        >>> from attn_widget import compare
        >>> compare("he sat", "he sat", tagger=None, progress=False).summary(1)
        'heads that differ most: L0 H0 0.000; median of 72 heads 0.000 (Jensen-Shannon, at most 0.833)'
        """
        top = check_count(top, "top", 1, self.a.trace.n_layers * self.a.trace.n_heads)
        distances = self.distances().distances
        named = ", ".join(
            f"L{layer} H{head} {distances[layer, head]:.3f}" for layer, head in self.heads()[:top]
        )
        median = float(np.nanmedian(distances))
        return (
            f"heads that differ most: {named}; median of {distances.size} heads {median:.3f} "
            "(Jensen-Shannon, at most 0.833)"
        )

    def patch(self, sites: Iterable[Any], *, progress: Progress | None = None) -> Analysis:
        """Rerun B with parts of A's run in place of its own.

        Parameters
        ----------
        sites : iterable of tuple
            ``("head", layer, head)`` or ``("head", layer, head, position)``: what the head hands on,
            ``A v``. ``("attention", layer, position)``, ``("mlp", layer, position)``: what the block adds
            to the residual stream. ``("state", layer, position)``: the hidden state that enters the
            layer, or with ``layer == L`` leaves the last. Positions are B's; without one, every matched
            token. ``[]`` is B itself. In an encoder-decoder heads alone, of the part that is compared, or of the one
            that stands before the layer: ``("head", "cross", layer, head)``.
        progress : callable, optional
            Called with ``(layers done, n_layers)``.

        Returns
        -------
        Analysis
            The patched run of B's text.

        Raises
        ------
        InputError, InputTypeError
            Anything but sites; a site out of range, given twice, or at an unmatched token.
        NotAvailableError
            Tensors from outside, a view, or models of different shape.

        References
        ----------
        Vig et al. (2020), "Investigating Gender Bias in Language Models Using Causal Mediation Analysis".

        Examples
        --------
        >>> from attn_widget import compare
        >>> c = compare("he sat", "she sat", tagger=None, progress=False).align([(1, 1)])
        >>> c.patch([("head", 2, 3), ("state", 1, 1)])
        <Analysis of 4 positions, 6 layers of 12 heads>
        """
        with needing("Patching"):
            from attn_widget.features.comparison.patching import patch

        check_callable(progress, "progress")
        return patch(self, sites, progress)

    def recovery(
        self, target: Target, of: RecoveryOf = "heads", *, progress: Progress | None = None
    ) -> Recovery:
        """Share of A's target that each part of A's run restores in B.

        ``(s_patched - s_B) / (s_A - s_B)``: 0 is nothing, 1 all of it; below and beyond are shown as they are.

        Parameters
        ----------
        target : Target
            `attn_widget.target` makes it; a position is B's, and A's is the matched one.
        of : {"heads", "states", "attention", "mlp"}
        progress : callable, optional
            Called with ``(done, all)``; an exception that it raises cancels the work.

        Returns
        -------
        Recovery
            ``values`` float64 [L, H], or [L, n] of B's positions with NaN at unmatched ones.

        Raises
        ------
        InputError, InputTypeError
            No target, an unmatched position, or a target that is the same in both runs.
        NotAvailableError
            As in `patch`; a model without the target's head.

        Examples
        --------
        >>> from attn_widget import compare, target
        >>> c = compare("The keys are here.", "The key are here.", tagger=None, progress=False)
        >>> number = target(position=3, token="are", against="is", masked=True)
        >>> c.recovery(number, "heads").values.shape
        (6, 12)
        """
        with needing("Patching"):
            from attn_widget.features.comparison.patching import RECOVERED, recovery

        check_choice(of, "of", RECOVERED)
        check_callable(progress, "progress")
        key = f"recovery {of} {check_target(target)!r}"
        if key not in self._known:
            self._known[key] = recovery(self, target, of, progress)
        return self._known[key]

    @property
    def recoveries(self) -> tuple[Recovery, ...]:
        """Grids that `recovery` has computed so far; a saved page holds them."""
        return tuple(
            recovery for name, recovery in self._known.items() if name.startswith("recovery ")
        )

    def proposals(self) -> list[Target]:
        """Targets that distinguish the two runs, the best one first; positions are B's.

        The classes, or the predictions, whose log-odds change most; empty where there are none.

        Examples
        --------
        >>> from attn_widget import compare
        >>> c = compare("he has [MASK] hat", "she has [MASK] hat", tagger=None, progress=False)
        >>> c.proposals()[0].position
        3
        """
        if "proposals" not in self._known:
            self._known["proposals"] = proposals(self, self.predictions)
        return self._known["proposals"]

    def to_dataframe(self) -> DataFrame:
        """One row for each head: its distance, and every metric's two values (needs pandas).

        Returns
        -------
        pandas.DataFrame
            Columns as in `HeadDistances.to_records`, then ``KEY_a`` and ``KEY_b`` of every metric.

        Raises
        ------
        NotAvailableError
            pandas is not installed, or no token is matched.
        """
        metrics: Mapping[str, Change] = self.metrics()
        rows: list[dict[str, Any]] = []
        for record in self.distances().to_records():
            at = record["layer"], record["head"]
            for key, change in metrics.items():
                record[f"{key}_a"], record[f"{key}_b"] = float(change.a[at]), float(change.b[at])
            rows.append(record)
        return dataframe(rows)
