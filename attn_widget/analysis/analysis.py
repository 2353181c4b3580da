"""Analysis: the figures of one run, computed when they are first asked for and then kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from attn_widget.analysis.arrays import Float32, Head, Tau
from attn_widget.analysis.first_token import FirstToken, first_token, sum_positions
from attn_widget.analysis.flow import attention_flow
from attn_widget.analysis.hidden import (
    HiddenPath,
    Residuals,
    hidden_path,
    residual_bars,
    residuals,
)
from attn_widget.analysis.influence import Influence, influence_tree
from attn_widget.analysis.marginals import Marginals, layer_marginals, stack_marginals
from attn_widget.analysis.merge import MergedTrace, group_tokens
from attn_widget.analysis.metrics import (
    TAU,
    Metrics,
    compute_metrics,
    layer_metrics,
    stack_metrics,
    threshold,
)
from attn_widget.analysis.patterns import Patterns, positional_patterns
from attn_widget.analysis.roles import Roles, head_roles
from attn_widget.analysis.rollout import layer_change, mean_heads, rollout
from attn_widget.analysis.sentences import SentenceAttention
from attn_widget.analysis.specialization import Specialization, specialize
from attn_widget.analysis.tables import dataframe, head_records
from attn_widget.checks import check_seed, index_in, indices_in
from attn_widget.errors import InputError, NotAvailableError

if TYPE_CHECKING:
    from attn_widget.analysis.beside import TextBeside
    from attn_widget.capture import Progress
    from attn_widget.classification import ClassProbabilities
    from attn_widget.encoding import Masked
    from attn_widget.inside import EmbeddingParts, LayerParts
    from attn_widget.language import Language, Word
    from attn_widget.predictions import Mode, Predictions, Softmax
    from attn_widget.run import Run
    from attn_widget.tokens import Token
    from attn_widget.trace import Trace

Value = TypeVar("Value")
LIKELIEST = 5  # classes whose gradients come together: one pass forward serves them all
KEPT_LAYERS = 4  # whose parts are kept: some 20 MB each for 512 tokens, 768 wide


class Analysis:
    """Everything that is known about what a model did with one text.

    Made by `attn_widget.analyze` and `attn_widget.from_attentions`. Figures are computed when they
    are first asked for, and kept.

    Parameters
    ----------
    trace : Trace
        What the forward pass left.
    run : Run, optional
        What the encoder can still be asked; None for tensors from outside.
    language : Language, optional
        Words, sentences and tags; by default found with `tagger` when a figure needs them.
    tagger : "auto", None, spaCy pipeline or callable
        See `attn_widget.language.annotate`.
    text, text_pair : str, optional
        By default those of `run`.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        run: Run | None = None,
        language: Language | None = None,
        tagger: Any = "auto",
        text: str | None = None,
        text_pair: str | None = None,
    ) -> None:
        self.trace = trace
        self.run = run
        self.text = text if run is None else run.encoding.text
        self.text_pair = text_pair if run is None else run.encoding.text_pair
        self.lock: Any = threading.RLock()  # of the figures; the encoder's own is taken inside it
        self.base: Analysis | None = None
        self.beside: tuple[TextBeside, ...] = ()
        self._unmasked: Analysis | None = None
        self._tagger = tagger
        self._find_language: Callable[[], Language] = self._annotate
        self._cache: dict[object, Any] = {}
        self._layers: dict[int, LayerParts] = {}  # asked for last; the latest one stands last
        if language is not None:
            self._cache["language"] = language

    # What was read

    @property
    def n_layers(self) -> int:
        """Number of layers, L."""
        return self.trace.n_layers

    @property
    def n_heads(self) -> int:
        """Heads in each layer, H."""
        return self.trace.n_heads

    @property
    def n_tokens(self) -> int:
        """Positions, n: tokens, or words in a merged view."""
        return self.trace.n_tokens

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The n positions; with words, sentences and tags once `language` was asked for."""
        found: Language | None = self._cache.get("language")
        return self.trace.tokens if found is None else found.tokens

    @property
    def truncated(self) -> dict[str, int] | None:
        """``{"limit", "length"}`` in tokens when the text was cut, else None."""
        return None if self.run is None else self.run.encoding.truncated

    @property
    def masked(self) -> tuple[Masked, ...]:
        """Tokens that `mask` has replaced, with what stands there in the text; of the base, in a view."""
        return () if self.run is None else self.run.encoding.masked

    @property
    def vocab_size(self) -> int:
        """Entries in the model's vocabulary."""
        return self._running("a vocabulary").encoder.vocab_size

    @property
    def language(self) -> Language:
        """Words, sentences, parts of speech and entities, aligned with the tokens."""
        return self._once("language", lambda: self._find_language())

    @property
    def words(self) -> tuple[Word, ...]:
        """The words of the text."""
        return self.language.words

    def view(
        self, *, words: bool = False, special: bool = True, renormalize: bool = True
    ) -> Analysis:
        """The same run between words instead of tokens, or without special tokens.

        Parameters
        ----------
        words : bool
            Merge the tokens of a word: mean over its query rows, sum over its key columns, so that
            rows still sum to 1.
        special : bool
            Keep special tokens, each by itself.
        renormalize : bool
            Rescale rows to sum to 1 where special tokens are left out; otherwise a row sums to the
            share that stayed.

        Returns
        -------
        Analysis
            Every figure of attention is over the merged positions; ``base`` is this analysis.

        Raises
        ------
        InputError
            Nothing would be left.

        Examples
        --------
        >>> from attn_widget import from_attentions
        >>> a = from_attentions(np.full((1, 1, 3, 3), 1 / 3), ["un", "##do", "it"], tagger=None)
        >>> a.view(words=True).attention(0, 0).round(2).tolist()
        [[0.67..., 0.33...], [0.67..., 0.33...]]
        """
        if self.base is not None:
            return self.base.view(words=words, special=special, renormalize=renormalize)
        special = special or not any(token.special for token in self.trace.tokens)
        renormalize = renormalize or special
        if not words and special:
            return self
        key = ("view", words, special, renormalize)
        return self._once(key, lambda: self._make_view(words, special, renormalize))

    def mask(self, tokens: Iterable[int], *, progress: Progress | None = None) -> Analysis:
        """The same text run again with these tokens read as the mask token: an intervention.

        The ids are replaced after tokenizing, so everything else stays what and where it was. Words,
        sentences and tags are those of the text, and so is the token of which predictions give the
        rank and probability.

        Parameters
        ----------
        tokens : iterable of int
            Positions of the text, whatever is masked here already; ``[]`` takes all masks off.
        progress : callable, optional
            Called with ``(layers done, n_layers)``; an exception that it raises cancels the run.

        Returns
        -------
        Analysis
            ``masked`` names what was replaced. Without masks, the analysis of the text itself.

        Raises
        ------
        InputError, InputTypeError
            A position that is not there, or of a special token.
        NotAvailableError
            Tensors from outside, a tokenizer without a mask token, or a view.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> a = analyze("the cat sat on the mat", progress=False)
        >>> b = a.mask([2])
        >>> [token.text for token in b.tokens[:4]], b.masked[0].text, b.mask([]) is a
        (['[CLS]', 'the', '[MASK]', 'sat'], 'cat', True)
        """
        run = self._running("another run", where="Masks are for the model's own tokens")
        original = self._unmasked or self
        chosen = self.check_mask(tokens)
        if chosen == tuple(hidden.token for hidden in self.masked):
            return self
        if not chosen:
            return original
        again = run.mask(chosen, progress=progress)
        found = Analysis(again.trace, run=again, tagger=self._tagger)
        found._unmasked = original
        found.beside = self.beside
        found._find_language = lambda: relabel(original.language, again.trace.tokens)
        return found

    def check_mask(self, tokens: Iterable[int]) -> tuple[int, ...]:
        """``tokens`` as `mask` takes them, sorted and each once; raises what `mask` raises, at once."""
        from attn_widget.encoding import check_mask

        run = self._running("another run", where="Masks are for the model's own tokens")
        return check_mask(run.encoder, self.trace.tokens, tokens)

    # Attention of one head

    def attention(
        self, layer: int, head: Head, rows: slice | None = None, cols: slice | None = None
    ) -> Float32:
        """Attention weights, float32 [n, n] or the rows (queries) and columns (keys) asked for.

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
            A layer or head that is not there.
        """
        return self.trace.weights(layer, head, rows, cols)

    def scores(
        self, layer: int, head: int, rows: slice | None = None, cols: slice | None = None
    ) -> Float32:
        """Scaled scores with the model's mask and bias, float32 [n, n]; their softmax is `attention`.

        ``-inf`` where the mask forbids.

        Raises
        ------
        NotAvailableError
            For ``"mean"``, and where only weights are known.
        """
        return self.trace.scores(layer, head, rows, cols)

    def queries(self, layer: int, head: int) -> Float32:
        """Queries of one head, float32 [n, head_dim]."""
        return self.trace.queries(layer, head)

    def keys(self, layer: int, head: int) -> Float32:
        """Keys of one head, float32 [n, head_dim]."""
        return self.trace.keys(layer, head)

    def values(self, layer: int, head: int) -> Float32:
        """Values of one head, float32 [n, head_dim]."""
        return self.trace.values(layer, head)

    # Figures of every head

    @property
    def metrics(self) -> Metrics:
        """The six attention metrics of every head, float32 [L, H] each; see `layer_metrics`."""
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
        threshold(tau, self.n_tokens)  # refuses what is no threshold
        if tau == TAU and not mean_head:
            return self._walk()[0]
        key = ("metrics", tau, mean_head)
        return self._once(key, lambda: compute_metrics(self.trace, tau, mean_head=mean_head))

    @property
    def marginals(self) -> Marginals:
        """What each key receives in every head, and the sums near the diagonal."""
        return self._walk()[1]

    @property
    def specialization(self) -> Specialization:
        """The seven specialisation metrics of every head; see `specialize`."""
        return self._once("specialization", self._specialize)

    @property
    def patterns(self) -> Patterns:
        """Mean weight of every head on the previous and the next token; see `positional_patterns`."""

        def find() -> Patterns:
            allowed = [self.trace.allowed(layer) for layer in range(self.n_layers)]
            return positional_patterns(self.marginals, allowed)

        return self._once("patterns", find)

    def roles(self, seed: int = 0) -> Roles:
        """Heads clustered by their specialisation on this text; see `head_roles`.

        Raises
        ------
        NotAvailableError
            Nothing tells the heads apart.
        InputError, InputTypeError
            ``seed`` is no int from 0 to 2**32 - 1.
        """
        seed = check_seed(seed)
        key = ("roles", seed)
        if key not in self._cache:  # found without the lock: to load scikit-learn takes seconds
            found = head_roles(self.specialization.zscores(), seed)
            return self._once(key, lambda: found)
        return self._cache[key]

    def to_dataframe(self) -> Any:
        """One row a head: ``layer``, ``head``, every metric (needs pandas)."""
        columns = {**self.metrics.as_dict(), **self.specialization.raw}
        return dataframe(head_records(columns))

    # Figures across heads and layers

    @property
    def sentences(self) -> SentenceAttention:
        """Attention between the sentences of the text."""
        return self._once("sentences", self._sentences)

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
            A token, layer, head or count that is not there or no int, or a tree too large to read.
        """
        allowed = scores = None
        if head == "rollout":
            weights = self.rollout(layer)
            masked = any(self.trace.allowed(i) is not None for i in range(self.n_layers))
            allowed = weights > 0 if masked else None
        else:
            weights = self.attention(layer, head)
            allowed = self.trace.allowed(layer)
            if head != "mean" and self.trace.has_scores:
                scores = self.scores(layer, head)
        keep = None if special else np.array([not t.special for t in self.trace.tokens])
        return influence_tree(
            weights, token, top_k=top_k, depth=depth, scores=scores, keep=keep, allowed=allowed
        )

    def rollout(self, layer: int | None = None) -> Float32:
        """Attention rollout after a layer (the last one by default), float32 [n, n].

        Row ``i``: how much of position ``i`` comes from each input token (Abnar & Zuidema 2020).
        """
        steps = self._once("rollout", lambda: list(rollout(mean_heads(self.trace))))
        return steps[-1 if layer is None else index_in(layer, self.n_layers, "layer")]

    def flow(self, token: int, keys: Sequence[int] | None = None) -> Float32:
        """Maximum flow from a token of the last layer to input tokens; see `attention_flow`."""
        token = index_in(token, self.n_tokens, "token")
        keys = None if keys is None else indices_in(keys, self.n_tokens, "keys")
        key = ("flow", token, None if keys is None else tuple(keys))
        return self._once(key, lambda: attention_flow(list(mean_heads(self.trace)), token, keys))

    @property
    def layer_change(self) -> Float32:
        """Jensen-Shannon distance from each layer's mean head to the next, float32 [L - 1]."""
        return self._once("layer_change", lambda: layer_change(mean_heads(self.trace)))

    # What needs the model

    @property
    def hidden_states(self) -> Float32:
        """Embeddings' output and every layer's output, float32 [L + 1, n, d].

        Raises
        ------
        NotAvailableError
            Only attention is known, or positions are words.
        """
        states = self.trace.hidden_states
        if states is None:
            why = "belong to single tokens" if self.base is not None else "are not known"
            raise NotAvailableError(f"Hidden states {why}.", self._where_to_ask)
        return states

    @property
    def hidden_path(self) -> HiddenPath:
        """Norms, cosines to the layer before, and one 2-D picture of all hidden states."""
        states = self.hidden_states
        return self._once("hidden_path", lambda: hidden_path(states))

    @property
    def embeddings(self) -> EmbeddingParts:
        """Token, position and segment embeddings, their sum and its norm; see `EmbeddingParts`."""
        run = self._running("embeddings", of_tokens=True)
        return self._once("embeddings", run.embeddings)

    def inside(self, layer: int) -> LayerParts:
        """Everything that a layer computes beside attention weights; see `LayerParts`.

        Parameters
        ----------
        layer : int
            0 to L - 1.
        """
        run = self._running("layers", of_tokens=True)
        layer = index_in(layer, self.n_layers, "layer")
        with self.lock:
            found = self._layers.pop(layer, None)
            found = run.inside(layer) if found is None else found
            self._layers[layer] = found
            while len(self._layers) > KEPT_LAYERS:
                del self._layers[next(iter(self._layers))]
            return found

    def ffn(self, layer: int) -> Float32:
        """Post-activations of a layer's feed-forward network, float32 [n, intermediate_size]."""
        return self.inside(layer).ffn_activation

    @property
    def residuals(self) -> Residuals:
        """How much attention and FFN change each token in every layer, ``||out - in|| / ||in||``."""
        run = self._running("layers", of_tokens=True)

        def find() -> Residuals:
            bars: list[tuple[Float32, Float32]] = []
            run.visit_layers(lambda parts: bars.append(residual_bars(parts)))
            return residuals(bars)

        return self._once("residuals", find)

    @property
    def parameters(self) -> dict[str, int]:
        """How many trained numbers each part of the model has."""
        return self._once("parameters", self._running("parameters").parameters)

    @property
    def positions(self) -> Float32:
        """The model's learned position embeddings, float32 [max_length, e]."""
        return self._once("positions", self._running("position embeddings").positions)

    def predictions(
        self,
        top_k: int = 5,
        mode: Mode = "as_is",
        *,
        rows: slice | None = None,
        progress: Progress | None = None,
    ) -> Predictions:
        """What the masked-LM head says at every position, or at ``rows``; see `Run.predictions`."""
        run = self._running("predictions", of_tokens=True)
        return run.predictions(top_k, mode, rows=rows, progress=progress)

    def softmax(
        self,
        position: int,
        token_ids: Sequence[int] | None = None,
        mode: Mode = "as_is",
        top_k: int = 20,
    ) -> Softmax:
        """The softmax over the vocabulary at one position, opened up; see `Run.softmax`."""
        run = self._running("predictions", of_tokens=True)
        return run.softmax(position, token_ids, mode, top_k)

    @property
    def classification(self) -> ClassProbabilities | None:
        """The classifier's outputs with their softmax or sigmoids; None without a classifier.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> analyze("the cat sat", progress=False).classification is None
        True
        """
        return None if self.run is None else self.run.classification

    def first_token(self, head: Head = "mean", *, words: bool = True) -> FirstToken:
        """Where the first token looks in the last six layers (all of a model with fewer).

        Parameters
        ----------
        head : int or "mean"
        words : bool
            Over the words of the text, with the share of special tokens apart; or over all tokens.

        Returns
        -------
        FirstToken
            ``weights`` float32 [k, m].

        Examples
        --------
        >>> from attn_widget import analyze
        >>> looks = analyze("Cats purr.", tagger=None, progress=False).first_token()
        >>> looks.layers, looks.positions
        ((0, 1, 2, 3, 4, 5), ('Cats', 'purr', '.'))
        >>> (looks.weights.sum(axis=1) + looks.special).round(5).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        """
        if self.base is not None:
            return self.base.first_token(head, words=words)
        tokens = self.language.tokens if words else self.trace.tokens
        texts = [text for text in (self.text, self.text_pair) if text is not None]
        return first_token(self.trace, tokens, texts, head, words=words)

    def class_gradient(self, label: int | str, *, words: bool = False) -> Float32:
        """How a class's logit changes with each score of the first token, float32 [L, H, n].

        ``d z_c / d S[l, h, 0, j]``, in logits per unit of scaled score, everything after that score
        recomputed: above 0, a longer look at ``j`` speaks for the class. Attention is the same for
        all classes; this is what differs. Of two classes, the difference is the gradient of their
        log odds (of a softmax).

        Parameters
        ----------
        label : int or str
            A class of `classification`: its index, or its name.
        words : bool
            Over words, [L, H, m], the positions of `first_token`: all tokens of a word at once.

        Raises
        ------
        InputError
            A class that is not there.
        NotAvailableError
            The model does not classify texts, or this is a view.

        References
        ----------
        Wiegreffe & Pinter (2019), Attention is not not Explanation, EMNLP. Chefer, Gur & Wolf (2021),
        Transformer Interpretability Beyond Attention Visualization, CVPR.
        """
        run = self._running("class gradients", of_tokens=True)
        found = self.classification
        if found is None or found.task != "sequence":
            raise NotAvailableError(
                f"{run.encoder.name} does not classify texts, so no class has a gradient.",
                "Load a checkpoint for sequence classification.",
            )
        index = class_index(label, found.labels)
        with self.lock:
            known: dict[int, Float32] = self._cache.setdefault("class_gradients", {})
            if index not in known:
                best = [] if known else np.argsort(-found.logits)[:LIKELIEST].tolist()
                wanted = list(dict.fromkeys([index, *best]))
                known.update(zip(wanted, run.class_gradients(wanted), strict=True))
            gradient = known[index]
        if not words:
            return gradient
        flat = gradient.reshape(-1, self.n_tokens)
        _, sums, _ = sum_positions(flat, self.language.tokens, words=True)
        return sums.reshape(*gradient.shape[:2], -1)

    @property
    def next_sentence(self) -> ClassProbabilities:
        """Whether ``text_pair`` follows ``text``, by the model's next-sentence head."""
        return self._running("a next-sentence head").next_sentence

    def __repr__(self) -> str:
        return (
            f"<Analysis of {self.n_tokens} positions, {self.n_layers} layers of "
            f"{self.n_heads} heads>"
        )

    # How it is kept

    def _once(self, key: object, compute: Callable[[], Value]) -> Value:
        with self.lock:
            if key not in self._cache:
                self._cache[key] = compute()
            return self._cache[key]

    def _walk(self) -> tuple[Metrics, Marginals]:
        """All that is read off the matrices themselves, in one pass over them."""

        def walk() -> tuple[Metrics, Marginals]:
            metrics: list[dict[str, Float32]] = []
            marginals: list[Marginals] = []
            for layer in range(self.n_layers):
                weights = self.trace.layer_weights(layer)
                metrics.append(layer_metrics(weights, self.trace.allowed(layer)))
                marginals.append(layer_marginals(weights))
            return stack_metrics(metrics, TAU), stack_marginals(marginals)

        return self._once("walk", walk)

    def _specialize(self) -> Specialization:
        from attn_widget.language import key_sets

        sets, reasons = key_sets(self.language)
        first = self.tokens[0].special
        return specialize(self.marginals, sets, reasons, first_is_summary=first)

    def _sentences(self) -> SentenceAttention:
        found = self.language
        members: list[list[int]] = [[] for _ in found.sentences]
        for i, token in enumerate(found.tokens):
            if token.sentence is not None and not token.special:
                members[token.sentence].append(i)
        return SentenceAttention(self.trace, members, [s.text for s in found.sentences])

    def _annotate(self) -> Language:
        from attn_widget.language import annotate

        if self.text is None:
            raise NotAvailableError(
                "Words and sentences need the text, and only tokens were given.", "Pass text=."
            )
        return annotate(self.trace.tokens, self.text, self.text_pair, tagger=self._tagger)

    def _make_view(self, words: bool, special: bool, renormalize: bool) -> Analysis:
        from attn_widget.analysis.view import merge_language

        tokens = self.language.tokens if words else self.trace.tokens
        groups = group_tokens(tokens, words=words, special=special)
        if words:
            merged = merge_language(self.language, groups, words=True)
            positions = merged.tokens
        else:
            merged = None
            positions = tuple(tokens[i] for i in groups.first)
        trace = MergedTrace(self.trace, positions, groups, renormalize=renormalize)
        view = Analysis(
            trace, run=self.run, language=merged, text=self.text, text_pair=self.text_pair
        )
        view.base = self
        view._find_language = lambda: merge_language(self.language, groups, words=words)
        return view

    @property
    def _where_to_ask(self) -> str:
        if self.base is not None:
            return "Ask the analysis that this view was made from: its base."
        return "Use analyze(text, model=...)."

    def _running(self, what: str, *, of_tokens: bool = False, where: str = "") -> Run:
        """The run, where it can be asked for ``what``; ``where`` is said of a view instead."""
        if self.run is None:
            raise NotAvailableError(
                f"Attention tensors were given, and no model to ask for {what}.",
                "Use analyze(text, model=...).",
            )
        if (of_tokens or where) and self.base is not None:
            where = where or f"The model's {what} are for its own tokens"
            raise NotAvailableError(f"{where}, and this view changes them.", self._where_to_ask)
        return self.run


def class_index(label: int | str, labels: Sequence[str]) -> int:
    """The index of a class given by index or by name."""
    if isinstance(label, str):
        if labels.count(label) != 1:
            known = ", ".join(map(repr, labels[:10]))
            why = "is the name of several classes" if label in labels else "is no class"
            raise InputError(f"{label!r} {why}.", f"The classes: {known}; an index works too.")
        return labels.index(label)
    return index_in(label, len(labels), "label")


def relabel(language: Language, tokens: Sequence[Token]) -> Language:
    """The same words, sentences and tags over tokens of which some have another text and id."""
    renamed = tuple(
        replace(tagged, text=token.text, id=token.id)
        for tagged, token in zip(language.tokens, tokens, strict=True)
    )
    return replace(language, tokens=renamed)
