"""Figures that need the model that ran: hidden states, layers, predictions, classes."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.accessor import Accessor
from attn_widget.analysis.attention import AttentionFigures
from attn_widget.analysis.comparison_text import ComparisonText
from attn_widget.analysis.first_token import FirstToken, first_token
from attn_widget.checks import (
    check_choice,
    check_count,
    check_flag,
    check_seed,
    index_in,
    indices_in,
)
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32, Head
from attn_widget.figures.choice import Choice, kinds_of
from attn_widget.figures.marginals import layer_marginals, stack_marginals
from attn_widget.figures.patterns import Patterns, head_patterns, mean_patterns
from attn_widget.model.classification import ClassProbabilities
from attn_widget.model.encoding import Masked
from attn_widget.model.predictions import Mode, Softmax, open_softmax
from attn_widget.model.tokens import Token
from attn_widget.trace import Trace
from attn_widget.trace.base import to_numpy
from attn_widget.trace.layer_activations import LayerParts, inside, visit_layers
from attn_widget.trace.probe import repeated_tokens
from attn_widget.trace.run import Run

KEPT_LAYERS = 4  # whose parts are kept: some 20 MB each for 512 tokens, 768 wide
KEPT_BYTES = 80_000_000  # of all layers, kept where they take no more


def earlier(
    run: Run, wanted: Sequence[int], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, Float32]:
    """Rank, probability and surprisal of the tokens at ``wanted`` positions, each predicted at the position before."""
    names = ("rank", "probability", "surprisal")
    rows = {position: row for row, position in enumerate(wanted)}
    before = [position - 1 for position in wanted]
    missing = [position for position in before if position >= 0 and position not in rows]
    others = run.guess("next", missing, 1, None) if missing else {}
    found: dict[str, Float32] = {}
    for name in names:
        own = arrays[f"original_{name}"]
        more = dict(zip(missing, others[f"original_{name}"], strict=True)) if missing else {}
        found[f"earlier_{name}"] = np.array(
            [np.nan if at < 0 else own[rows[at]] if at in rows else more[at] for at in before],
            np.float32,
        )
    return found


class ModelFigures(Accessor[AttentionFigures]):
    """The model of the run: its input, its parts and its outputs; ``a.model``."""

    @property
    def hidden_states(self) -> Float32:
        """Embeddings' output and every layer's output, float32 [L + 1, n, d].

        Raises
        ------
        NotAvailableError
            Only attention is known, or positions are words.
        """
        states = self._analysis.trace.hidden_states
        if states is None:
            why = (
                "are not known"
                if self._analysis.run is None
                else "are several vectors for each token and layer"
            )
            why = "belong to single tokens" if self._analysis.base is not None else why
            asked = self._analysis.run is not None and self._analysis.base is None
            raise NotAvailableError(
                f"Hidden states {why}.", "" if asked else self._analysis._where_to_ask
            )
        return states

    def queries(self, layer: int, head: int) -> Float32:
        """Queries of one head, float32 [n, head_dim].

        Parameters
        ----------
        layer, head : int
        """
        return self._analysis.trace.queries(layer, head)

    def keys(self, layer: int, head: int) -> Float32:
        """Keys of one head, float32 [n, head_dim].

        Parameters
        ----------
        layer, head : int
        """
        return self._analysis.trace.keys(layer, head)

    def values(self, layer: int, head: int) -> Float32:
        """Values of one head, float32 [n, head_dim].

        Parameters
        ----------
        layer, head : int
        """
        return self._analysis.trace.values(layer, head)

    def layer(self, layer: int) -> LayerParts:
        """Everything that a layer computes except attention weights; see `LayerParts`.

        Parameters
        ----------
        layer : int
            0 to L - 1.
        """
        run = self._analysis._require_model("layers", of_tokens=True)
        layer = index_in(layer, self._analysis.trace.n_layers, "layer")
        with self._analysis._lock:
            kept = {**self._kept}
            if len(kept) == self._analysis.trace.n_layers:
                return kept[layer]
            parts = kept.pop(layer, None)
            parts = inside(run.encoder, run.encoding, layer) if parts is None else parts
            kept[layer] = parts
            while len(kept) > KEPT_LAYERS:
                del kept[next(iter(kept))]
            self._analysis._cache["layers"] = kept
            return parts

    @property
    def _kept(self) -> dict[int, LayerParts]:
        """Layers whose parts are kept, least recently used first."""
        return self._analysis._cache.get("layers", {})

    def _visit_layers(self, visit: Callable[[LayerParts], None]) -> None:
        """Show what each layer computes to ``visit``, first layer first; those of a short text are kept for the next visit.

        Raises `NotAvailableError`: a family whose layers are not known.
        """
        run = self._analysis._require_model("layers", of_tokens=True)
        n_layers, seen = self._analysis.trace.n_layers, dict[int, LayerParts]()

        def keep(parts: LayerParts) -> None:
            if n_layers * parts.nbytes <= KEPT_BYTES:
                seen[parts.layer] = parts
            visit(parts)

        with self._analysis._lock:
            kept = self._kept
        if len(kept) == n_layers:
            for layer in range(n_layers):
                visit(kept[layer])
            return
        visit_layers(run.encoder, run.encoding, keep)
        if len(seen) == n_layers:
            with self._analysis._lock:
                self._analysis._cache["layers"] = seen

    @property
    def next_token(self) -> str | None:
        """The likeliest token after the last one that the decoder of an encoder-decoder reads; None without a head that writes."""
        if "decoder" not in self._analysis._part_names or self._analysis.run is None:
            return None
        decoder = (
            self._analysis
            if self._analysis.base is not None or self._analysis.part == "decoder"
            else self._analysis.of("decoder")
        )
        run = decoder.run
        if run is None or not run.encoder.has_lm:
            return None
        last = run.trace.logits_tensor([run.trace.n_tokens - 1])[0]
        return run.encoder.token_texts([int(last.argmax())])[0]

    def softmax(
        self,
        position: int,
        token_ids: Sequence[int] | None = None,
        mode: Mode | None = None,
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
        run, mode = require_predictions(self._analysis, mode)
        size = run.encoder.vocab_size
        position = index_in(position, self._analysis.trace.n_tokens, "position")
        top_k = check_count(top_k, "top_k", 1, size) if token_ids is None else 0
        ids = [] if token_ids is None else indices_in(token_ids, size, "token_ids")
        find = run.masked_logits if mode == "masked" else run.trace.logits_tensor
        row = to_numpy(find([position])[0])
        if token_ids is None:
            ids = np.argsort(-row, kind="stable")[:top_k].tolist()
        return open_softmax(row, position, ids, run.encoder.token_texts(ids))

    def probe_patterns(self, seed: int = 0) -> Patterns:
        """Patterns of every head on random tokens that stand four times, not on the text: see `head_patterns`.

        A head with a high ``induction`` here looks at what followed a token the last time, whatever the tokens
        are. The mean over eight draws of 25 entries of the vocabulary; the text's first token stays in front where it is
        a special one.

        Parameters
        ----------
        seed : int
            The same seed gives the same tokens.

        Raises
        ------
        NotAvailableError
            Tensors from outside, or a view.
        InputError, InputTypeError
            ``seed`` is no int from 0 to 2**32 - 1.

        References
        ----------
        Olsson et al. (2022), In-context Learning and Induction Heads (prefix matching).
        """
        seed = check_seed(seed)
        run = self._analysis._require_model("a probe", of_tokens=True)

        def of_one(trace: Trace) -> Patterns:
            kinds = kinds_of(trace.tokens)
            masks = [trace.mask(layer) for layer in range(trace.n_layers)]
            sums = stack_marginals(
                [
                    layer_marginals(
                        trace.layer_weights(layer), Choice(mask, trace.n_tokens).queries, kinds
                    )
                    for layer, mask in enumerate(masks)
                ]
            )
            return head_patterns(sums, masks, kinds)

        def find() -> Patterns:
            return mean_patterns([of_one(trace) for trace in repeated_tokens(run, seed)])

        return self._analysis._cached_unlocked(("probe", seed), find)

    def text_before(self, position: int, token: int) -> str:
        """The text up to and with a position, and an entry of the vocabulary after it.

        Parameters
        ----------
        position, token : int

        Raises
        ------
        InputError
            A position or an entry that does not exist.
        NotAvailableError
            The model does not predict the token that follows.
        """
        run, mode = require_predictions(self._analysis, None)
        if mode != "next":
            raise NotAvailableError(
                f"{run.encoder.name} does not predict the token that follows, so no text is continued with it."
            )
        position = index_in(position, self._analysis.trace.n_tokens, "position")
        token = index_in(token, run.encoder.vocab_size, "token")
        ids = [token.id for token in self._analysis.trace.tokens[: position + 1]]
        return run.encoder.reader.decode(
            [*ids, token], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )

    @property
    def wordless(self) -> bool | None:
        """True of an input that is no text, such as an image; None of a text."""
        return True if self._analysis.run and self._analysis.run.encoding.wordless else None

    @property
    def default_mode(self) -> Mode:
        """``"next"`` of a decoder, else ``"as_is"``."""
        run = self._analysis.run
        return "next" if run is not None and run.encoder.predicts == "next" else "as_is"

    @property
    def classification(self) -> ClassProbabilities | None:
        """The classifier's outputs with their softmax or sigmoids; None without a classifier.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> analyze("the cat sat", progress=False).model.classification is None
        True
        """
        return None if self._analysis.run is None else self._analysis.run.classification

    def first_token(self, head: Head = "mean", *, words: bool = True) -> FirstToken:
        """Attention of the first token in the last six layers (or all, if there are fewer).

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
        >>> looks = analyze("Cats purr.", tagger=None, progress=False).model.first_token()
        >>> looks.layers, looks.positions
        ((0, 1, 2, 3, 4, 5), ('Cats', 'purr', '.'))
        >>> (looks.weights.sum(axis=1) + looks.special).round(5).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        """
        words = check_flag(words, "words")
        self._analysis.trace.check_square("The attention of the first token")
        if self._analysis.base is not None:
            return ModelFigures(self._analysis.base).first_token(head, words=words)
        tokens = self._analysis.language.tokens if words else self._analysis.trace.tokens
        texts = [
            text for text in (self._analysis.text, self._analysis.text_pair) if text is not None
        ]
        return first_token(self._analysis.trace, tokens, texts, head, words=words)

    @property
    def next_sentence(self) -> ClassProbabilities:
        """Probability that ``text_pair`` follows ``text``, by the model's next-sentence head."""
        return self._analysis._require_model("a next-sentence head").next_sentence

    @property
    def compare_with(self) -> tuple[ComparisonText, ...]:
        """The texts that its classes are compared with."""
        return self._analysis._compare_with

    @property
    def parts(self) -> tuple[str, ...]:
        """Kinds of attention of the run: ``("encoder", "decoder", "cross")`` of an encoder-decoder, else ``("self",)``.

        A view of words, or without special tokens, has the one that it is of.
        """
        return self._analysis._part_names

    @property
    def vocab_size(self) -> int:
        """Entries in the model's vocabulary."""
        return self._analysis._require_model("a vocabulary").encoder.vocab_size

    @property
    def truncated(self) -> dict[str, int] | None:
        """``{"limit", "length"}`` in tokens if the text was truncated, else None."""
        return None if self._analysis.run is None else self._analysis.run.encoding.truncated

    @property
    def heads_off(self) -> tuple[tuple[int, int], ...]:
        """Heads that `ablate` has switched off, as (layer, head); of an encoder-decoder, those of this part."""
        return () if self._analysis.run is None else self._analysis.run.encoder.heads_off

    @property
    def addresses_off(self) -> tuple[tuple[int, int], ...] | tuple[tuple[str, int, int], ...]:
        """`heads_off`; of an encoder-decoder those of all its parts, as (part, layer, head)."""
        addresses = () if self._analysis.run is None else self._analysis.run.encoder.addresses_off
        return addresses or self.heads_off

    @property
    def masked(self) -> tuple[Masked, ...]:
        """Tokens that `mask` has replaced, with the text's own tokens; in a view, those of the base."""
        return () if self._analysis.run is None else self._analysis.run.encoding.masked

    @property
    def generated(self) -> tuple[Token, ...]:
        """Tokens at the end of the text that the model wrote itself (``generate=``); in a view, those of the base."""
        if self._analysis.base is not None:
            return ModelFigures(self._analysis.base).generated
        count = 0 if self._analysis.run is None else self._analysis.run.encoding.written
        return self._analysis.tokens[self._analysis.trace.n_tokens - count :]

    @property
    def source_text(self) -> str | None:
        """The text that an encoder-decoder reads, whatever part this is; None where it is not known."""
        both = None if self._analysis.run is None else self._analysis.run.encoding.both
        return self._analysis._whole._texts.get("encoder") if both is None else both.source.text

    @property
    def key_tokens(self) -> tuple[Token, ...]:
        """The m keys: `tokens`, or of cross-attention the source's tokens."""
        if self._analysis.trace.square:
            return self._analysis.tokens
        if "encoder" in self._analysis.trace.parts:
            return self._analysis.of("encoder").tokens
        return self._analysis.trace.key_tokens


def require_predictions(analysis: AttentionFigures, mode: Mode | None) -> tuple[Run, Mode]:
    """The run, where it can predict tokens, and the mode."""
    run = analysis._require_model("predictions", of_tokens=True)
    encoder = run.encoder
    mode = ModelFigures(analysis).default_mode if mode is None else mode
    check_choice(mode, "mode", ("as_is", "masked", "next"))
    if not encoder.has_lm:
        raise NotAvailableError(
            f"{encoder.name} {encoder.lacks_lm}, so it predicts no tokens.",
            "Load a checkpoint with one, such as the embedded model or bert-base-uncased.",
        )
    if (mode == "next") != (encoder.predicts == "next"):
        what = "token that follows" if encoder.predicts == "next" else "token at"
        raise NotAvailableError(
            f"The language-model head of {encoder.name} predicts the {what} each position, so mode "
            f"{mode!r} is not available.",
            f"Use mode={ModelFigures(analysis).default_mode!r}.",
        )
    if mode == "masked" and encoder.mask_token_id is None:
        raise NotAvailableError(
            f"The tokenizer of {encoder.name} has no mask token.", "Use mode='as_is'."
        )
    return run, mode
