"""Figures of all heads: ``a.heads``."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attn_widget.analysis.accessor import Accessor
from attn_widget.analysis.attention import AttentionFigures
from attn_widget.analysis.base import known_language
from attn_widget.analysis.model import ModelFigures
from attn_widget.checks import (
    check_choice,
    check_flag,
    check_seed,
    index_in,
    indices_in,
)
from attn_widget.errors import NotAvailableError
from attn_widget.figures.alignment import Monotony, alignment
from attn_widget.figures.arrays import Bool, Float32, Head, Tau
from attn_widget.figures.choice import kinds_of
from attn_widget.figures.flow import attention_flow
from attn_widget.figures.long import walk_heads
from attn_widget.figures.marginals import Marginals
from attn_widget.figures.metrics import (
    TAU,
    Metrics,
    compute_metrics,
    threshold,
)
from attn_widget.figures.patterns import Patterns, head_patterns
from attn_widget.figures.roles import Roles, head_roles
from attn_widget.figures.rollout import layer_change, mean_heads
from attn_widget.figures.specialization import Specialization, specialize
from attn_widget.figures.word_alignment import (
    STEPS,
    Step,
    WordAlignment,
    align_words,
    tokens_in,
    word_spans,
)
from attn_widget.language import key_sets
from attn_widget.model.tokens import Token
from attn_widget.trace.base import LONG_TOKENS

UNORDERED = "It is of tokens in the order of a text, and none was read."


class HeadFigures(Accessor[AttentionFigures]):
    """Figures of all heads, and of paths through them: ``a.heads``."""

    def metrics_at(self, tau: Tau = TAU, *, mean_head: bool = False) -> Metrics:
        """The attention metrics with another threshold of sparsity, or of the mean heads.

        Parameters
        ----------
        tau : float or "uniform"
            0.01 as published, or ``1 / n``.
        mean_head : bool
            Of each layer's mean matrix, a pseudo-head: arrays are [L, 1].
        """
        threshold(tau, self._analysis.trace.n_keys)  # refuses what is no threshold
        mean_head = check_flag(mean_head, "mean_head")
        if tau == TAU and not mean_head:
            return self._analysis._walk()[0]
        key = ("metrics", tau, mean_head)
        if (
            self._analysis.trace.n_tokens > LONG_TOKENS
            and self._analysis.trace.square
            and not mean_head
        ):
            return self._analysis._cached(key, lambda: walk_heads(self._analysis.trace, tau)[0])
        return self._analysis._cached(
            key, lambda: compute_metrics(self._analysis.trace, tau, mean_head=mean_head)
        )

    @property
    def marginals(self) -> Marginals:
        """Attention that each key receives in every head, and the sums near the diagonal."""
        return self._analysis._walk()[1]

    @property
    def specialization(self) -> Specialization:
        """The seven specialization metrics of every head; see `specialize`."""
        self._analysis.trace.check_square(
            "A specialization (weight on kinds of words, on itself and far away)"
        )
        return self._analysis._cached("specialization", self._specialize)

    @property
    def patterns(self) -> Patterns:
        """Mean weight of every head on neighbors and on repeated tokens; see `head_patterns`."""
        trace = self._analysis.trace
        trace.check_square("A pattern (weight on neighbors and repeated tokens)")
        if ModelFigures(self._analysis).wordless:
            raise NotAvailableError(UNORDERED)

        def find() -> Patterns:
            rest = None
            if trace.has_rest:
                rest = np.stack([trace.rest(layer).mean(axis=1) for layer in range(trace.n_layers)])
            return head_patterns(
                self.marginals, self._analysis._masks(), kinds_of(trace.tokens), rest
            )

        return self._analysis._cached("patterns", find)

    def roles(self, seed: int = 0) -> Roles:
        """Heads clustered by their specialization on this text: k-means, with k in 2..8 by silhouette.

        Parameters
        ----------
        seed : int
            The same seed gives the same roles.

        Raises
        ------
        NotAvailableError
            Nothing tells the heads apart.
        InputError, InputTypeError
            ``seed`` is no int from 0 to 2**32 - 1.
        """
        seed = check_seed(seed)
        if ModelFigures(self._analysis).wordless:
            raise NotAvailableError(UNORDERED)
        key = ("roles", seed)
        if key not in self._analysis._cache:  # found without the lock
            roles = head_roles(self.specialization.zscores(), seed)
            return self._analysis._cached(key, lambda: roles)
        return self._analysis._cache[key]

    @property
    def monotony(self) -> Monotony:
        """Source place that each target token expects, and whether heads go through the source in order; see `Monotony`.

        Raises
        ------
        NotAvailableError
            Queries and keys are one text.
        """
        self._check_two_texts()
        layers = (
            self._analysis.trace.layer_weights(layer)
            for layer in range(self._analysis.trace.n_layers)
        )
        return self._analysis._cached("alignment", lambda: alignment(list(layers)))

    def word_alignment(
        self, layer: int, head: Head = "mean", *, step: Step = "read"
    ) -> WordAlignment:
        """The source word that each target word looks at most, for an alignment file.

        Words are what stands between white space, as in such files; of a target word's weights the mean over its tokens is
        taken, of a source word's the sum.

        Parameters
        ----------
        layer : int
            0 to L - 1.
        head : int or "mean"
            One head, or the mean of the layer's.
        step : {"read", "written"}
            The rows of a target token: the step that reads it, which mostly aligns better (Chen et al. 2020), or the one
            that writes it.

        Raises
        ------
        NotAvailableError
            Queries and keys are one text, or the text of one of them is not known.
        InputError, InputTypeError
            No such layer, head or step.

        Examples
        --------
        >>> import numpy as np
        >>> from attn_widget import from_attentions
        >>> cross = np.array([[[[0.1, 0.9], [0.8, 0.2]]]])
        >>> a = from_attentions(cross, ["Haus", "das"], keys=["the", "house"], tagger=None)
        >>> a.heads.word_alignment(0, 0).to_pharaoh()
        '1-0 0-1'
        """
        self._check_two_texts()
        if self._analysis.base is not None:
            return HeadFigures(self._analysis._whole).word_alignment(layer, head, step=step)
        check_choice(step, "step", STEPS)
        target, source = self._analysis.text, ModelFigures(self._analysis).source_text
        if target is None or source is None:
            raise NotAvailableError("Words of both texts are needed, and only tokens were given.")

        def members(text: str, tokens: Sequence[Token]) -> Bool:
            spans = [None if token.special else (token.start, token.end) for token in tokens]
            return tokens_in(word_spans(text), spans)

        rows = members(target, self._analysis.trace.tokens)
        columns = members(source, self._analysis.trace.key_tokens)
        pairs, weights = align_words(self._analysis.trace.weights(layer, head), rows, columns, step)
        return WordAlignment(pairs, weights, tuple(source.split()), tuple(target.split()))

    @property
    def rollout_limit(self) -> tuple[int, int, float] | None:
        """The first layer whose rollout the masks explain; None where there is none.

        With the token that uniform attention gives most to from the last position, and the share that it gets:
        more than `MASK_EXPLAINS` (`attn_widget.figures.rollout.rollout_of_mask`).
        """
        return self._analysis._rollout_limit()

    @property
    def no_rollout(self) -> str | None:
        """Why no layer has a rollout, or attention flow: of an encoder-decoder's decoder and of cross-attention. Else None."""
        if self._analysis.part == "self":
            return None
        try:
            self._analysis._check_rolls("Rollout")
        except NotAvailableError as error:
            return error.message
        return None

    def flow(self, token: int, keys: Sequence[int] | None = None) -> Float32:
        """Maximum flow from a token of the last layer to each token of the input separately, 0 to 1.

        Through the layers' mean heads and residuals (Abnar & Zuidema 2020). Flows to different tokens share
        edges, so they do not sum to 1.

        Parameters
        ----------
        token : int
            Position in the last layer.
        keys : sequence of int, optional
            Input tokens; by default all n.

        Returns
        -------
        float32 [n] or [len(keys)]

        Raises
        ------
        InputError
            A position out of range, or a text that is too long (about 500 tokens in 12 layers).
        InputTypeError
            ``keys`` is no list of positions.
        NotAvailableError
            SciPy is not installed.
        """
        self._analysis._check_rolls("Attention flow")
        token = index_in(token, self._analysis.trace.n_tokens, "token")
        keys = None if keys is None else indices_in(keys, self._analysis.trace.n_tokens, "keys")
        key = ("flow", token, None if keys is None else tuple(keys))
        return self._analysis._cached(
            key, lambda: attention_flow(list(mean_heads(self._analysis.trace)), token, keys)
        )

    @property
    def layer_change(self) -> Float32:
        """Jensen-Shannon distance from each layer's mean head to the next, float32 [L - 1]."""
        return self._analysis._cached(
            "layer_change", lambda: layer_change(mean_heads(self._analysis.trace))
        )

    def _check_two_texts(self) -> None:
        if self._analysis.trace.square:
            hint = 'Ask of("cross") for it.' if "cross" in self._analysis._part_names else ""
            raise NotAvailableError(
                "An alignment is of two texts, and here queries and keys are the same tokens.", hint
            )

    def _specialize(self) -> Specialization:
        sets, reasons = key_sets(known_language(self._analysis))
        first = self._analysis.tokens[0].special
        masks = self._analysis._masks()
        if ModelFigures(self._analysis).wordless:
            reasons["long_range"] = UNORDERED
        return specialize(self.marginals, sets, reasons, first_is_summary=first, allowed=masks)
