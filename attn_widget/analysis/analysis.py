"""Analysis: the figures of one run, computed when they are first asked for and then kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attn_widget.analysis.base import Origin
from attn_widget.analysis.merge import Groups, MergedTrace, group_tokens, merge_language
from attn_widget.analysis.mixing import MixingFigures
from attn_widget.analysis.model import ModelFigures
from attn_widget.checks import check_callable, check_flag
from attn_widget.errors import NotAvailableError
from attn_widget.features import with_features
from attn_widget.language import Language, annotate
from attn_widget.model.encoder import Ablation, HeadAddress
from attn_widget.model.tokenizing import check_mask
from attn_widget.model.tokens import Token
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

if TYPE_CHECKING:
    from attn_widget.features.public import OfAnalysis  # pyright: ignore[reportMissingModuleSource]
else:
    OfAnalysis = with_features("analysis", MixingFigures)


class Analysis(OfAnalysis, ModelFigures):
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
        >>> [token.text for token in b.tokens[:4]], b.masked[0].text, b.mask([]) is a
        (['[CLS]', 'the', '[MASK]', 'sat'], 'cat', True)
        """
        check_callable(progress, "progress")
        run = self._require_masks()
        original = self._unmasked or self
        chosen = self.check_mask(tokens)
        if chosen == tuple(hidden.token for hidden in self.masked):
            return self
        if not chosen:
            return original
        again = run.mask(chosen, progress=progress)
        origin = Origin(
            unmasked=original,
            intact=None if self._intact is None else self._intact.mask(chosen),
            find_language=lambda: relabel(original.language, again.trace.tokens),
            beside=self.beside,
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
            `attn_widget.head_means` gives means over many texts.
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
        >>> b.heads_off, b.ablate([]) is a
        (((2, 1),), True)
        """
        run = self._require_model(
            "another run", where="Heads are switched off in the model's own run"
        )
        check_callable(progress, "progress")
        encoder = run.encoder.without(heads, ablation)
        intact = self._intact or self
        off = encoder.addresses_off or encoder.heads_off
        if not off:
            return intact
        now = run.encoder.addresses_off or run.encoder.heads_off
        if (off, ablation) == (now, run.encoder.ablation):
            return self
        again = run.with_encoder(encoder, progress=progress)
        origin = Origin(
            unmasked=None
            if self._unmasked is None
            else self._unmasked.ablate(encoder.heads_off, ablation),
            intact=intact,
            find_language=lambda: intact.language,
            beside=self.beside,
        )
        return Analysis(again.trace, run=again, tagger=self._tagger, origin=origin)

    def check_mask(self, tokens: Iterable[int]) -> tuple[int, ...]:
        """``tokens`` as `mask` takes them, sorted and each once; raises what `mask` raises, at once."""
        run = self._require_masks()
        return check_mask(run.encoder, self.trace.tokens, tokens)

    def _require_masks(self) -> Run:
        """The run, where tokens of it can be masked."""
        run = self._require_model("another run", where="Masks are for the model's own tokens")
        if run.encoder.parts:
            raise NotAvailableError(
                f"{run.encoder.name} is an encoder-decoder, and masked runs of one are not known here.",
                "Zero the source's values: of('cross').mixing('value_zeroing', layer).",
            )
        return run

    def check_heads_off(
        self, heads: Iterable[HeadAddress]
    ) -> tuple[tuple[int, int], ...] | tuple[tuple[str, int, int], ...]:
        """``heads`` as `ablate` takes them, sorted, as `addresses_off` has them; raises what `ablate` raises, at once."""
        where = "Heads are switched off in the model's own run"
        encoder = self._require_model("another run", where=where).encoder.without(heads)
        return encoder.addresses_off or encoder.heads_off

    @property
    def intact(self) -> Analysis:
        """The run with all of its heads; this run itself if none is switched off."""
        return self._intact or self

    def __repr__(self) -> str:
        keys = "" if self.trace.square else f" by {self.n_keys}"
        part = "" if self.part == "self" else f" ({self.part})"
        return (
            f"<Analysis of {self.n_tokens}{keys} positions{part}, {self.n_layers} layers of "
            f"{self.n_heads} heads>"
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
        if "encoder" in self.parts:
            language = self.of("encoder").language
        elif self.source_text is not None:
            language = annotate(self.trace.key_tokens, self.source_text, tagger=self._tagger)
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
