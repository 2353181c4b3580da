"""Figures that need the model that ran: hidden states, layers, predictions, classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attn_widget.analysis.base import AnalysisBase
from attn_widget.analysis.first_token import FirstToken, first_token, sum_positions
from attn_widget.checks import check_flag, index_in
from attn_widget.checks.rounding import largest_first
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32, Head
from attn_widget.figures.hidden import HiddenPath, Residuals, hidden_path, residual_bars, residuals
from attn_widget.model.classification import class_index

if TYPE_CHECKING:
    from attn_widget.model.classification import ClassProbabilities
    from attn_widget.model.predictions import Mode, Predictions, Softmax
    from attn_widget.trace.embeddings import EmbeddingParts
    from attn_widget.trace.forward import Progress
    from attn_widget.trace.layer_activations import LayerParts

LIKELIEST = 5  # classes whose gradients come together: one pass forward serves them all
KEPT_LAYERS = 4  # whose parts are kept: some 20 MB each for 512 tokens, 768 wide


class ModelFigures(AnalysisBase):
    """Figures that need the model, or its outputs besides attention."""

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
        run = self._require_model("embeddings", of_tokens=True)
        return self._once("embeddings", run.embeddings)

    def inside(self, layer: int) -> LayerParts:
        """Everything that a layer computes except attention weights; see `LayerParts`.

        Parameters
        ----------
        layer : int
            0 to L - 1.
        """
        run = self._require_model("layers", of_tokens=True)
        layer = index_in(layer, self.n_layers, "layer")
        with self.lock:
            parts = self._layers.pop(layer, None)
            parts = run.inside(layer) if parts is None else parts
            self._layers[layer] = parts
            while len(self._layers) > KEPT_LAYERS:
                del self._layers[next(iter(self._layers))]
            return parts

    def ffn(self, layer: int) -> Float32:
        """Post-activations of a layer's feed-forward network, float32 [n, intermediate_size].

        Parameters
        ----------
        layer : int
        """
        return self.inside(layer).ffn_activation

    @property
    def residuals(self) -> Residuals:
        """How much attention and FFN change each token in every layer, ``||out - in|| / ||in||``."""
        run = self._require_model("layers", of_tokens=True)

        def find() -> Residuals:
            bars: list[tuple[Float32, Float32]] = []
            run.visit_layers(lambda parts: bars.append(residual_bars(parts)))
            return residuals(bars)

        return self._once("residuals", find)

    @property
    def parameters(self) -> dict[str, int]:
        """Number of trained parameters in each part of the model."""
        return self._once("parameters", self._require_model("parameters").parameters)

    @property
    def positions(self) -> Float32:
        """The model's learned position embeddings, float32 [max_length, e]."""
        return self._once("positions", self._require_model("position embeddings").positions)

    def predictions(
        self,
        top_k: int = 5,
        mode: Mode = "as_is",
        *,
        rows: slice | None = None,
        progress: Progress | None = None,
    ) -> Predictions:
        """The masked-LM head's best ``top_k`` tokens for every position.

        Parameters
        ----------
        top_k : int
            1 to the size of the vocabulary.
        mode : {"as_is", "masked"}
            ``"masked"`` replaces each position by the mask token in turn, a pass each.
        rows : slice, optional
            These positions alone.
        progress : callable, optional
            Called with ``(done, positions)`` after each batch; an exception that it raises cancels the work.

        Raises
        ------
        NotAvailableError
            The checkpoint has no masked-LM head, or (``"masked"``) its tokenizer no mask token.
        InputError, InputTypeError
            An unknown mode, ``top_k`` out of range, or ``rows`` without a position.
        """
        run = self._require_model("predictions", of_tokens=True)
        return run.predictions(top_k, mode, rows=rows, progress=progress)

    def softmax(
        self,
        position: int,
        token_ids: Sequence[int] | None = None,
        mode: Mode = "as_is",
        top_k: int = 20,
    ) -> Softmax:
        """The softmax over the vocabulary at one position, opened up: logits, exponentials and their sum.

        Parameters
        ----------
        position : int
        token_ids : sequence of int, optional
            Entries of the vocabulary to list; by default the best ``top_k``.
        mode, top_k
            As in `predictions`.

        Raises
        ------
        NotAvailableError
            As in `predictions`.
        InputError, InputTypeError
            An unknown mode; a position, an id or ``top_k`` out of range.
        """
        run = self._require_model("predictions", of_tokens=True)
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
        """Where the first token looks in the last six layers (or all, if there are fewer).

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
        words = check_flag(words, "words")
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
            A class that does not exist.
        NotAvailableError
            The model does not classify texts, or this is a view.

        References
        ----------
        Wiegreffe & Pinter (2019), Attention is not not Explanation, EMNLP. Chefer, Gur & Wolf (2021),
        Transformer Interpretability Beyond Attention Visualization, CVPR.
        """
        run = self._require_model("class gradients", of_tokens=True)
        classes = self.classification
        if classes is None or classes.task != "sequence":
            raise NotAvailableError(
                f"{run.encoder.name} does not classify texts, so no class has a gradient.",
                "Load a checkpoint for sequence classification.",
            )
        index, words = class_index(label, classes.labels), check_flag(words, "words")
        with self.lock:
            known: dict[int, Float32] = self._cache.setdefault("class_gradients", {})
            if index not in known:
                best = [] if known else largest_first(classes.logits)[:LIKELIEST]
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
        return self._require_model("a next-sentence head").next_sentence
