"""Attention between the sentences of an `Analysis`."""

from __future__ import annotations

from attn_widget.analysis.attention import AttentionFigures
from attn_widget.analysis.units import numbered, units_of
from attn_widget.errors import NotAvailableError
from attn_widget.features.sentences.isa import SentenceAttention
from attn_widget.language import Language
from attn_widget.trace.windows.masks import looks_back


class SentenceFigures(AttentionFigures):
    @property
    def sentences(self) -> SentenceAttention:
        """Attention between the sentences of the text; of cross-attention from those of the target to those of the source.

        Of a text whose input names its parts, as a chat its turns, between these.
        """
        if self.base is not None and not self.trace.square:
            raise NotAvailableError(
                "Attention between sentences of two texts is of their tokens.", self._where_to_ask
            )
        if "encoder" not in self._part_names:
            self.trace.check_square("Attention between the sentences of a text")
        return self._cached("sentences", self._sentences)

    def _sentences(self) -> SentenceAttention:
        units = units_of(self) if self.trace.square else []
        members, texts = _sentences_in(self, units) if units else _sentences_of(self.language)
        if self.trace.square:
            first = next((group for group in members if 0 in group), [])
            # Token 0 of a decoder takes most of the attention of every sentence, whatever the text.
            if len(first) > 1 and all(map(looks_back, self._masks())):
                first.remove(0)
            found = SentenceAttention(self.trace, members, texts)
            if len(units) == 1:
                found.note = f"The text is one part ({texts[0][:40]}), so there is no other to compare it with."
            return found
        keys, key_texts = _sentences_of(self.of("encoder").language)
        return SentenceAttention(self.trace, members, texts, keys, key_texts)


def _sentences_in(
    analysis: AttentionFigures, units: list[tuple[str, int, int]]
) -> tuple[list[list[int]], list[str]]:
    """The tokens and the name of each part that the input names, in the place of sentences; special tokens where it has no other."""
    tokens = analysis.trace.tokens
    members: list[list[int]] = []
    for _, start, stop in units:
        plain = [i for i in range(start, stop) if not tokens[i].special]
        members.append(plain or [*range(start, stop)])
    return members, numbered([name for name, _, _ in units])


def _sentences_of(language: Language) -> tuple[list[list[int]], list[str]]:
    """The tokens and the text of each sentence."""
    members: list[list[int]] = [[] for _ in language.sentences]
    for i, token in enumerate(language.tokens):
        if token.sentence is not None and not token.special:
            members[token.sentence].append(i)
    return members, [sentence.text for sentence in language.sentences]
