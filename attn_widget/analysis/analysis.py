"""Analysis: the figures of one run, computed when they are first asked for and then kept."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attn_widget.analysis.accessor import accessor
from attn_widget.analysis.attention import AttentionFigures
from attn_widget.analysis.base import Origin
from attn_widget.analysis.heads import HeadFigures
from attn_widget.analysis.merge import Groups, MergedTrace, group_tokens, merge_language
from attn_widget.analysis.mixing import MixingFigures
from attn_widget.analysis.model import ModelFigures, earlier, require_predictions
from attn_widget.checks import check_callable, check_count, check_flag, slice_in
from attn_widget.errors import NotAvailableError
from attn_widget.features import with_features
from attn_widget.figures.metrics import Metrics
from attn_widget.host.frames import dataframe, head_records
from attn_widget.language import Language, annotate
from attn_widget.model.encoder import Ablation, HeadAddress
from attn_widget.model.predictions import Mode, Predictions
from attn_widget.model.tokenizing import check_mask
from attn_widget.model.tokens import Token
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

if TYPE_CHECKING:
    from pandas import DataFrame

    from attn_widget.features.public import OfAnalysis, OfHeads, OfModel  # pyright: ignore[reportMissingModuleSource]
else:
    OfAnalysis = with_features("analysis", AttentionFigures)
    OfHeads = with_features("heads", HeadFigures)
    OfModel = with_features("model", ModelFigures)


class Heads(OfHeads):
    __doc__ = HeadFigures.__doc__


class Model(OfModel):
    __doc__ = ModelFigures.__doc__
    _analysis: Analysis

    @property
    def unablated(self) -> Analysis:
        """The run with all of its heads; this run itself if none is switched off."""
        return self._analysis._unablated or self._analysis

    @property
    def writing(self) -> Analysis:
        """The analysis that targets are of: of an encoder-decoder's run that of its decoder, whatever part this is."""
        of_model = self._analysis.run is not None and self._analysis.base is None
        return (
            self._analysis.of("decoder")
            if of_model and self._analysis.part in ("encoder", "cross")
            else self._analysis
        )


class Analysis(OfAnalysis):
    """All figures of a model's run on one text.

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

    heads = accessor(Heads)
    mixing = accessor(MixingFigures)
    model = accessor(Model)

    def view(
        self, *, words: bool = False, special: bool = True, renormalize: bool = True
    ) -> Analysis:
        """The same run between words instead of tokens, or without special tokens.

        Parameters
        ----------
        words : bool
            Merge the tokens of a word: mean over its query rows, sum over its key columns, so that
            rows still sum to 1. Of cross-attention, rows are words of the target and columns words of the source.
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
        NotAvailableError
            Words of a source whose text is not known.

        Examples
        --------
        >>> import numpy as np
        >>> from attn_widget import from_attentions
        >>> a = from_attentions(np.full((1, 1, 3, 3), 1 / 3), ["un", "##do", "it"], tagger=None)
        >>> a.view(words=True).attention(0, 0).round(2).tolist()
        [[0.67..., 0.33...], [0.67..., 0.33...]]
        """
        words, special = check_flag(words, "words"), check_flag(special, "special")
        renormalize = check_flag(renormalize, "renormalize")
        if self.base is not None:
            return self.base.view(words=words, special=special, renormalize=renormalize)
        every = (*self.trace.tokens, *self.trace.key_tokens)
        special = special or not any(token.special for token in every)
        renormalize = renormalize or special
        if not words and special:
            return self
        key = ("view", words, special, renormalize)
        return self._cached(key, lambda: self._make_view(words, special, renormalize))

    def mask(self, tokens: Iterable[int], *, progress: Progress | None = None) -> Analysis:
        """Rerun the text with these tokens read as the mask token: an intervention.

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
            A position that does not exist, or of a special token.
        NotAvailableError
            Tensors from outside, a tokenizer without a mask token, or a view.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> a = analyze("the cat sat on the mat", progress=False)
        >>> b = a.mask([2])
        >>> [token.text for token in b.tokens[:4]], b.model.masked[0].text, b.mask([]) is a
        (['[CLS]', 'the', '[MASK]', 'sat'], 'cat', True)
        """
        check_callable(progress, "progress")
        run = self._require_masks()
        original = self._unmasked or self
        chosen = checked_mask(self, tokens)
        if chosen == tuple(hidden.token for hidden in self.model.masked):
            return self
        if not chosen:
            return original
        again = run.mask(chosen, progress=progress)
        origin = Origin(
            unmasked=original,
            unablated=None if self._unablated is None else self._unablated.mask(chosen),
            find_language=lambda: relabel(original.language, again.trace.tokens),
            compare_with=self._compare_with,
        )
        return Analysis(again.trace, run=again, tagger=self._tagger, origin=origin)

    def ablate(
        self,
        heads: Iterable[HeadAddress],
        ablation: Ablation = "zero",
        *,
        progress: Progress | None = None,
    ) -> Analysis:
        """Rerun the text with these heads switched off: an intervention.

        What a head hands to the output projection, ``A v``, becomes zero, its mean over the positions of
        the text, or its mean over many texts. Its own weights stay in sight; every later layer, and what the model says, change.

        Parameters
        ----------
        heads : iterable of (int, int), or of (str, int, int)
            Layer and head, whatever is switched off here already; ``[]`` switches all on again. Of an encoder-decoder also
            ``(part, layer, head)``, where (layer, head) is of this part.
        ablation : {"zero", "mean"} or HeadMeans
            `attn_widget.corpus.head_means` gives means over many texts.
        progress : callable, optional
            Called with ``(layers done, n_layers)``; an exception that it raises cancels the run.

        Returns
        -------
        Analysis
            ``heads_off`` names the heads.

        Raises
        ------
        InputError, InputTypeError
            A head that does not exist or is given twice, all of them, or means of another model.
        NotAvailableError
            Tensors from outside, a family whose layers are not known, or a view.
        NotFiniteError
            The changed model gives NaN or infinite numbers.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> a = analyze("the cat sat on the mat", progress=False)
        >>> b = a.ablate([(2, 1)])
        >>> b.model.heads_off, b.ablate([]) is a
        (((2, 1),), True)
        """
        run = self._require_model(
            "another run", where="Heads are switched off in the model's own run"
        )
        check_callable(progress, "progress")
        encoder = run.encoder.without(heads, ablation)
        unablated = self._unablated or self
        off = encoder.addresses_off or encoder.heads_off
        if not off:
            return unablated
        now = run.encoder.addresses_off or run.encoder.heads_off
        if (off, ablation) == (now, run.encoder.ablation):
            return self
        again = run.with_encoder(encoder, progress=progress)
        origin = Origin(
            unmasked=None
            if self._unmasked is None
            else self._unmasked.ablate(encoder.heads_off, ablation),
            unablated=unablated,
            find_language=lambda: unablated.language,
            compare_with=self._compare_with,
        )
        return Analysis(again.trace, run=again, tagger=self._tagger, origin=origin)

    def _require_masks(self) -> Run:
        """The run, where tokens of it can be masked."""
        run = self._require_model("another run", where="Masks are for the model's own tokens")
        if run.encoder.parts:
            raise NotAvailableError(
                f"{run.encoder.name} is an encoder-decoder, and masked runs of one are not known here.",
                "Zero the source's values: of('cross').mixing.matrix('value_zeroing', layer).",
            )
        return run

    # Figures that need nothing else

    @property
    def metrics(self) -> Metrics:
        """The attention metrics of every head, float32 [L, H] each; see `layer_metrics`."""
        return self.heads.metrics_at()

    def to_dataframe(self) -> DataFrame:
        """One row per head: ``layer``, ``head``, every metric (needs pandas)."""
        if not self.trace.square:
            return dataframe(
                head_records(**{**self.metrics.as_dict(), **self.heads.monotony.as_dict()})
            )
        columns = {**self.metrics.as_dict(), **self.heads.specialization.raw}
        return dataframe(head_records(**columns))

    def predictions(
        self,
        top_k: int = 5,
        mode: Mode | None = None,
        *,
        rows: slice | None = None,
        progress: Progress | None = None,
    ) -> Predictions:
        """The language-model head's best ``top_k`` tokens for every position.

        Parameters
        ----------
        top_k : int
            1 to the size of the vocabulary.
        mode : {"as_is", "masked", "next"}, optional
            Of an encoder, ``"as_is"`` (the default) or ``"masked"``, which replaces each position by the mask token
            in turn, a pass each. Of a decoder, ``"next"``: the token that follows each position.
        rows : slice, optional
            These positions alone.
        progress : callable, optional
            Called with ``(done, positions)`` after each batch; an exception that it raises cancels the work.

        Raises
        ------
        NotAvailableError
            The checkpoint has no language-model head, or one that does not predict in this mode, or (``"masked"``)
            its tokenizer has no mask token.
        InputError, InputTypeError
            An unknown mode, ``top_k`` out of range, or ``rows`` without a position.
        """
        run, mode = require_predictions(self, mode)
        top_k = check_count(top_k, "top_k", 1, run.encoder.vocab_size)
        check_callable(progress, "progress")
        wanted = range(self.trace.n_tokens)[slice_in(rows, self.trace.n_tokens, "rows")]

        def find() -> Predictions:
            arrays = run.guess(mode, wanted, top_k, progress)
            tokens = [run.encoder.token_texts(row) for row in arrays["ids"].tolist()]
            positions = tuple(self.trace.tokens[i] for i in wanted)
            before: dict[str, Any] = earlier(run, wanted, arrays) if mode == "next" else {}
            there: dict[str, Any] = {"positions": positions, "at": tuple(wanted)}
            return Predictions(mode=mode, tokens=tokens, **there, **arrays, **before)

        whole = len(wanted) == self.trace.n_tokens
        return self._cached_unlocked(("predictions", mode, top_k), find) if whole else find()

    def __repr__(self) -> str:
        keys = "" if self.trace.square else f" by {self.trace.n_keys}"
        part = "" if self.part == "self" else f" ({self.part})"
        return (
            f"<Analysis of {self.trace.n_tokens}{keys} positions{part}, {self.trace.n_layers} layers of "
            f"{self.trace.n_heads} heads>"
        )

    def _make_view(self, words: bool, special: bool, renormalize: bool) -> Analysis:
        tokens = self.language.tokens if words else self.trace.tokens
        groups = group_tokens(tokens, words=words, special=special)
        if words:
            merged = merge_language(self.language, groups, words=True)
            positions = merged.tokens
        else:
            merged = None
            positions = tuple(tokens[i] for i in groups.first)
        key_tokens, keys = (None, None) if self.trace.square else self._merged_keys(words, special)
        trace = MergedTrace(
            self.trace,
            positions,
            groups,
            renormalize=renormalize,
            key_tokens=key_tokens,
            keys=keys,
        )
        origin = Origin(
            base=self, find_language=lambda: merge_language(self.language, groups, words=words)
        )
        return Analysis(
            trace,
            run=self.run,
            language=merged,
            text=self.text,
            text_pair=self.text_pair,
            origin=origin,
        )

    def _merged_keys(self, words: bool, special: bool) -> tuple[tuple[Token, ...], Groups]:
        """The source's positions of a view of cross-attention, and their groups."""
        if not words:
            tokens = self.trace.key_tokens
            groups = group_tokens(tokens, words=False, special=special)
            return tuple(tokens[i] for i in groups.first), groups
        if "encoder" in self._part_names:
            language = self.of("encoder").language
        elif self.model.source_text is not None:
            language = annotate(self.trace.key_tokens, self.model.source_text, tagger=self._tagger)
        else:
            raise NotAvailableError(
                "Words of the source need its text, and only its tokens were given.",
                "Give encoder_tokens and encoder_attentions, with the text of the source.",
            )
        groups = group_tokens(language.tokens, words=True, special=special)
        return merge_language(language, groups, words=True).tokens, groups


def relabel(language: Language, tokens: Sequence[Token]) -> Language:
    """The same words, sentences and tags over tokens of which some have another text and id."""
    renamed = tuple(
        replace(tagged, text=token.text, id=token.id)
        for tagged, token in zip(language.tokens, tokens, strict=True)
    )
    return replace(language, tokens=renamed)


def checked_mask(analysis: Analysis, tokens: Iterable[int]) -> tuple[int, ...]:
    """``tokens`` as `Analysis.mask` takes them, sorted and each once; raises what it raises, at once."""
    return check_mask(analysis._require_masks().encoder, analysis.trace.tokens, tokens)


def checked_heads_off(
    analysis: Analysis, heads: Iterable[HeadAddress]
) -> tuple[tuple[int, int], ...] | tuple[tuple[str, int, int], ...]:
    """``heads`` as `Analysis.ablate` takes them, sorted, of an encoder-decoder with their parts; raises what it raises, at once."""
    where = "Heads are switched off in the model's own run"
    encoder = analysis._require_model("another run", where=where).encoder.without(heads)
    return encoder.addresses_off or encoder.heads_off
