"""Figures of attention, of one head and across all: they need the trace alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from attn_widget.analysis.base import AnalysisBase
from attn_widget.analysis.long.layered import LayeredWalk
from attn_widget.checks import (
    check_choice,
    check_flag,
    check_seed,
    index_in,
    indices_in,
    is_mean,
    slice_in,
)
from attn_widget.errors import NotAvailableError
from attn_widget.figures.alignment import Alignment, alignment
from attn_widget.figures.arrays import Bool, Float32, Head, Tau
from attn_widget.figures.choice import kinds_of
from attn_widget.figures.flow import attention_flow
from attn_widget.figures.influence import Influence, influence_tree
from attn_widget.figures.long import Visit, walk_heads
from attn_widget.figures.marginals import Marginals
from attn_widget.figures.metrics import (
    TAU,
    Metrics,
    compute_metrics,
    threshold,
)
from attn_widget.figures.patterns import Patterns, head_patterns
from attn_widget.figures.roles import Roles, head_roles
from attn_widget.figures.rollout import layer_change, mean_heads, rollout, rollout_of_mask
from attn_widget.figures.sentences import SentenceAttention
from attn_widget.figures.specialization import Specialization, specialize
from attn_widget.figures.word_alignment import (
    STEPS,
    Step,
    WordAlignment,
    align_words,
    tokens_in,
    word_spans,
)
from attn_widget.host.frames import dataframe, head_records
from attn_widget.host.memory import check_memory
from attn_widget.language import Language, key_sets
from attn_widget.model.tokens import Token
from attn_widget.trace.base import LONG_TOKENS
from attn_widget.trace.windows.masks import Mask, looks_back

MASK_EXPLAINS = (
    0.5  # share of the last position from which a rollout says more of the mask than of the model
)
ROLLOUT_BUFFERS = 3  # matrices besides those of the layers


class AttentionFigures(AnalysisBase):
    """Figures of the attention matrices."""

    # Attention of one head

    def attention(
        self, layer: int, head: Head, rows: slice | None = None, cols: slice | None = None
    ) -> Float32:
        """Attention weights, float32 [n, n] or the rows (queries) and columns (keys) asked for.

        Of cross-attention [n, m]: rows are target tokens, columns source tokens.

        Parameters
        ----------
        layer : int
            0 to L - 1.
        head : int or "mean"
            0 to H - 1; ``"mean"`` averages the layer's matrices.
        rows, cols : slice, optional

        Raises
        ------
        InputError
            A layer or head that does not exist, rows or columns that hold nothing.
        InputTypeError
            Rows or columns that are no slice.
        """
        return self.trace.weights(layer, head, *self._area(rows, cols))

    def scores(
        self, layer: int, head: int, rows: slice | None = None, cols: slice | None = None
    ) -> Float32:
        """Scaled scores with the model's mask and bias, float32 [n, n]; their softmax is `attention`.

        ``-inf`` where the mask forbids.

        Parameters
        ----------
        layer, head : int
        rows, cols : slice, optional
            Queries and keys; by default all.

        Raises
        ------
        NotAvailableError
            For ``"mean"``, and where only weights are known.
        InputError, InputTypeError
            As in `attention`.
        """
        return self.trace.scores(layer, head, *self._area(rows, cols))

    def queries(self, layer: int, head: int) -> Float32:
        """Queries of one head, float32 [n, head_dim].

        Parameters
        ----------
        layer, head : int
        """
        return self.trace.queries(layer, head)

    def keys(self, layer: int, head: int) -> Float32:
        """Keys of one head, float32 [n, head_dim].

        Parameters
        ----------
        layer, head : int
        """
        return self.trace.keys(layer, head)

    def values(self, layer: int, head: int) -> Float32:
        """Values of one head, float32 [n, head_dim].

        Parameters
        ----------
        layer, head : int
        """
        return self.trace.values(layer, head)

    # Figures of every head

    @property
    def metrics(self) -> Metrics:
        """The attention metrics of every head, float32 [L, H] each; see `layer_metrics`."""
        return self.metrics_at()

    def metrics_at(self, tau: Tau = TAU, *, mean_head: bool = False) -> Metrics:
        """The attention metrics with another threshold of sparsity, or of the mean heads.

        Parameters
        ----------
        tau : float or "uniform"
            0.01 as published, or ``1 / n``.
        mean_head : bool
            Of each layer's mean matrix, a pseudo-head: arrays are [L, 1].
        """
        threshold(tau, self.n_keys)  # refuses what is no threshold
        mean_head = check_flag(mean_head, "mean_head")
        if tau == TAU and not mean_head:
            return self._walk()[0]
        key = ("metrics", tau, mean_head)
        if self.n_tokens > LONG_TOKENS and self.trace.square and not mean_head:
            return self._cached(key, lambda: walk_heads(self.trace, tau)[0])
        return self._cached(key, lambda: compute_metrics(self.trace, tau, mean_head=mean_head))

    @property
    def marginals(self) -> Marginals:
        """Attention that each key receives in every head, and the sums near the diagonal."""
        return self._walk()[1]

    @property
    def specialization(self) -> Specialization:
        """The seven specialization metrics of every head; see `specialize`."""
        self.trace.check_square(
            "A specialization (weight on kinds of words, on itself and far away)"
        )
        return self._cached("specialization", self._specialize)

    @property
    def patterns(self) -> Patterns:
        """Mean weight of every head on neighbors and on repeated tokens; see `head_patterns`."""
        self.trace.check_square("A pattern (weight on neighbors and repeated tokens)")

        def find() -> Patterns:
            trace = self.trace
            rest = None
            if trace.has_rest:
                rest = np.stack([trace.rest(layer).mean(axis=1) for layer in range(self.n_layers)])
            return head_patterns(self.marginals, self._masks(), kinds_of(trace.tokens), rest)

        return self._cached("patterns", find)

    def roles(self, seed: int = 0) -> Roles:
        """Heads clustered by their specialization on this text: k-means, with k in 2..8 by silhouette.

        Parameters
        ----------
        seed : int
            The same seed gives the same roles.

        Raises
        ------
        NotAvailableError
            Nothing tells the heads apart, or scikit-learn is not installed.
        InputError, InputTypeError
            ``seed`` is no int from 0 to 2**32 - 1.
        """
        seed = check_seed(seed)
        key = ("roles", seed)
        if key not in self._cache:  # found without the lock: to load scikit-learn takes seconds
            roles = head_roles(self.specialization.zscores(), seed)
            return self._cached(key, lambda: roles)
        return self._cache[key]

    def to_dataframe(self) -> Any:
        """One row per head: ``layer``, ``head``, every metric (needs pandas)."""
        if not self.trace.square:
            return dataframe(head_records(**{**self.metrics.as_dict(), **self.alignment.as_dict()}))
        columns = {**self.metrics.as_dict(), **self.specialization.raw}
        return dataframe(head_records(**columns))

    @property
    def alignment(self) -> Alignment:
        """Source place that each target token expects, and whether heads go through the source in order; see `Alignment`.

        Raises
        ------
        NotAvailableError
            Queries and keys are one text.
        """
        self._check_two_texts()
        layers = (self.trace.layer_weights(layer) for layer in range(self.n_layers))
        return self._cached("alignment", lambda: alignment(list(layers)))

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
        >>> a.word_alignment(0, 0).to_pharaoh()
        '1-0 0-1'
        """
        self._check_two_texts()
        if self.base is not None:
            return self._whole.word_alignment(layer, head, step=step)
        check_choice(step, "step", STEPS)
        target, source = self.text, self.source_text
        if target is None or source is None:
            raise NotAvailableError("Words of both texts are needed, and only tokens were given.")

        def members(text: str, tokens: Sequence[Token]) -> Bool:
            spans = [None if token.special else (token.start, token.end) for token in tokens]
            return tokens_in(word_spans(text), spans)

        rows = members(target, self.trace.tokens)
        columns = members(source, self.trace.key_tokens)
        pairs, weights = align_words(self.trace.weights(layer, head), rows, columns, step)
        return WordAlignment(pairs, weights, tuple(source.split()), tuple(target.split()))

    def _check_two_texts(self) -> None:
        if self.trace.square:
            hint = 'Ask of("cross") for it.' if "cross" in self.parts else ""
            raise NotAvailableError(
                "An alignment is of two texts, and here queries and keys are the same tokens.", hint
            )

    # Figures across heads and layers

    @property
    def sentences(self) -> SentenceAttention:
        """Attention between the sentences of the text; of cross-attention from those of the target to those of the source."""
        if self.base is not None and not self.trace.square:
            raise NotAvailableError(
                "Attention between sentences of two texts is of their tokens.", self._where_to_ask
            )
        if "encoder" not in self.parts:
            self.trace.check_square("Attention between the sentences of a text")
        return self._cached("sentences", self._sentences)

    def influence(
        self,
        token: int,
        *,
        layer: int,
        head: int | Literal["mean", "rollout"],
        top_k: int = 3,
        depth: int = 3,
        special: bool = True,
    ) -> Influence:
        """The tree of tokens that a token looks at; see `influence_tree`.

        Parameters
        ----------
        token : int
            The root.
        layer : int
        head : int, "mean" or "rollout"
            One head, the layer's mean head, or rollout up to the layer.
        top_k, depth : int
            Children of each token; edges from the root to a leaf.
        special : bool
            Whether special tokens may be children.

        Raises
        ------
        InputError, InputTypeError
            A token, layer, head or count that does not exist or is no int, or a tree too large to read.
        """
        self.trace.check_square("A tree of influence")
        allowed = scores = None
        special = check_flag(special, "special")
        if isinstance(head, str) and head == "rollout":
            weights = self.rollout(layer)
            masked = any(self.trace.mask(i) is not None for i in range(self.n_layers))
            allowed = weights > 0 if masked else None
        else:
            weights = self.attention(layer, head)
            allowed = self.trace.allowed(layer)
            if not is_mean(head) and self.trace.has_scores:
                scores = self.scores(layer, head)  # pyright: ignore[reportArgumentType]
        keep = None if special else np.array([not t.special for t in self.trace.tokens])
        return influence_tree(
            weights, token, top_k=top_k, depth=depth, scores=scores, keep=keep, allowed=allowed
        )

    def rollout(self, layer: int | None = None) -> Float32:
        """Attention rollout after a layer (the last one by default), float32 [n, n].

        Row ``i``: how much of position ``i`` comes from each input token (Abnar & Zuidema 2020).

        Parameters
        ----------
        layer : int, optional
            0 to L - 1.

        Raises
        ------
        NotAvailableError
            The masks alone explain it: see `rollout_of_mask`. A causal mask does so after a few layers.
        """
        self._check_rolls("Rollout")
        layer = self.n_layers - 1 if layer is None else index_in(layer, self.n_layers, "layer")
        self._check_rollout(layer)
        if self.n_tokens > LONG_TOKENS and "rollout" not in self._cache:
            layers = self.n_layers + ROLLOUT_BUFFERS
            check_memory("Rollout", lambda n: 4 * layers * n**2, self.n_tokens)
        steps = self._cached("rollout", lambda: list(rollout(mean_heads(self.trace))))
        return steps[layer]

    @property
    def rollout_limit(self) -> tuple[int, int, float] | None:
        """The first layer whose rollout the masks explain; None where there is none.

        With the token that uniform attention gives most to from the last position, and the share that it gets:
        more than `MASK_EXPLAINS` (`attn_widget.figures.rollout.rollout_of_mask`).
        """
        masks = self._masks()
        if not any(looks_back(mask) for mask in {id(mask): mask for mask in masks}.values()):
            return None

        def first() -> tuple[int, int, float] | None:
            for layer in range(self.n_layers):
                token, share = rollout_of_mask(masks[: layer + 1], self.n_tokens)
                if share > MASK_EXPLAINS:
                    return layer, token, share
            return None

        return self._cached("rollout_limit", first)

    @property
    def no_rollout(self) -> str | None:
        """Why no layer has a rollout, or attention flow: of an encoder-decoder's decoder and of cross-attention. Else None."""
        if self.part == "self":
            return None
        try:
            self._check_rolls("Rollout")
        except NotAvailableError as error:
            return error.message
        return None

    def _check_rolls(self, what: str) -> None:
        """Refuse ``what``, which multiplies the layers' matrices, where these are not all that a layer reads."""
        self.trace.check_one_pass(what)
        self.trace.check_square(what)
        if self.part == "decoder":
            raise NotAvailableError(
                f"{what} follows attention through the layers, and between those of this decoder stands attention to "
                "the source, which has no place in it.",
                'Ask contributions() for the shares of source and target, or of("encoder") for a rollout.',
            )

    def _check_rollout(self, layer: int) -> None:
        """Refuse a rollout that says where the masks let attention go, and little of the model."""
        limit = self.rollout_limit
        if limit is None or layer < limit[0]:
            return
        token, share = rollout_of_mask(self._masks()[: layer + 1], self.n_tokens)
        raise NotAvailableError(
            f"A rollout to layer {layer} shows the mask, not the model: attention that is uniform over the "
            f"keys that the mask allows gives {share:.3f} of the last position to token {token} "
            f"({self.tokens[token].text}).",
            f"Choose {'' if limit[0] == 0 else f'a layer below {limit[0]}, '}the weights themselves, or the rollout "
            "of ALTI.",
        )

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
        self._check_rolls("Attention flow")
        token = index_in(token, self.n_tokens, "token")
        keys = None if keys is None else indices_in(keys, self.n_tokens, "keys")
        key = ("flow", token, None if keys is None else tuple(keys))
        return self._cached(key, lambda: attention_flow(list(mean_heads(self.trace)), token, keys))

    @property
    def layer_change(self) -> Float32:
        """Jensen-Shannon distance from each layer's mean head to the next, float32 [L - 1]."""
        return self._cached("layer_change", lambda: layer_change(mean_heads(self.trace)))

    def _area(self, rows: Any, cols: Any) -> tuple[slice, slice]:
        return slice_in(rows, self.n_tokens, "rows"), slice_in(cols, self.n_keys, "cols")

    def _walk(self) -> tuple[Metrics, Marginals]:
        """All figures of the matrices themselves, in one pass over them."""

        def walk() -> tuple[Metrics, Marginals]:
            layers = self._layered()
            layers.finish()
            return layers.result()

        return self._cached_unlocked("walk", walk)

    def _layered(
        self, visit: Visit | None = None, begin: Callable[[int], None] | None = None
    ) -> LayeredWalk:
        """The pass over all heads, or one that ``visit`` shares."""
        with self.lock:
            started: LayeredWalk | None = self._cache.get("layered")
            if visit is None and started is not None:
                return started
            walk = LayeredWalk(self.trace, visit, begin, self._cache.get("walk"))
            self._cache.setdefault("layered", walk)
            return walk

    def _specialize(self) -> Specialization:
        sets, reasons = key_sets(self.known_language)
        first = self.tokens[0].special
        masks = self._masks()
        return specialize(self.marginals, sets, reasons, first_is_summary=first, allowed=masks)

    def _masks(self) -> list[Mask | None]:
        return [self.trace.mask(layer) for layer in range(self.n_layers)]

    def _sentences(self) -> SentenceAttention:
        members, texts = _sentences_of(self.language)
        if self.trace.square:
            first = next((group for group in members if 0 in group), [])
            # Token 0 of a decoder takes most of the attention of every sentence, whatever the text.
            if len(first) > 1 and all(map(looks_back, self._masks())):
                first.remove(0)
            return SentenceAttention(self.trace, members, texts)
        keys, key_texts = _sentences_of(self.of("encoder").language)
        return SentenceAttention(self.trace, members, texts, keys, key_texts)


def _sentences_of(language: Language) -> tuple[list[list[int]], list[str]]:
    """The tokens and the text of each sentence."""
    members: list[list[int]] = [[] for _ in language.sentences]
    for i, token in enumerate(language.tokens):
        if token.sentence is not None and not token.special:
            members[token.sentence].append(i)
    return members, [sentence.text for sentence in language.sentences]


def walk(
    analysis: AttentionFigures, visit: Visit, begin: Callable[[int], None] | None = None
) -> LayeredWalk:
    """A pass that calls ``visit(layer, heads, area, weights)`` with all weights, float32 [heads, rows, cols].

    A layer comes whole; in long texts head by head, a block of rows at a time, from several threads.
    Metrics and marginals are computed in the same pass, so that no layer is computed twice.
    ``begin`` is called with each layer's number before its weights come.
    """
    return analysis._layered(visit, begin)  # pyright: ignore[reportPrivateUsage]
