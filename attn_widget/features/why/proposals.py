"""Targets that a text suggests by itself: what a reader would ask about first."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.opening_words import word_ids
from attn_widget.checks.rounding import first_largest, largest_first
from attn_widget.errors import AttnWidgetError
from attn_widget.features.why.targets import Target
from attn_widget.host.installed import has_torch
from attn_widget.language.function_words import FUNCTION_WORDS
from attn_widget.language.whole_words import beginnings
from attn_widget.model.predictions import probabilities
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

MOST = 6
PIECE = "##"
TELLING_TOKENS = (
    2_048  # that may run to find the most telling word: some 2 s of bert-base on two cores
)
TELLING_WORDS = 4  # looked at in any case
CHOICES = 10  # among which two words are looked for
CLOSE = 0.05  # a second word is a question from so much of the first one's probability on
TELLING_ROWS = 512  # of a decoder's text, before its last token
CERTAIN = 0.99  # a probability from which on no other choice is a question


def proposals(analysis: Analysis, progress: Progress | None = None) -> list[Target]:
    """Targets to begin with, the best one first; empty where the model has no head for one, or torch is not installed.

    The two likeliest classes, of a token classifier those of `_labeled_token`; the two likeliest words at each mask; otherwise the two likeliest at the word that tells
    most (`telling_word`), masked. Of a decoder, two words that may follow a token (`_next_word`).

    >>> from attn_widget import analyze
    >>> a = analyze("The keys to the cabinet [MASK] here.", tagger=None, progress=False)
    >>> proposals(a)[0].position, proposals(a)[0].masked
    (6, False)
    >>> b = analyze("The cat sat on the mat.", tagger=None, progress=False)
    >>> b.run.encoder.token_texts([proposals(b)[0].token, proposals(b)[0].against])
    ['sat', 'fell']
    """
    run = analysis.run
    if run is None or not has_torch():
        return []
    analysis.trace.check_one_pass("A contribution")
    targets: list[Target | None] = []
    if run.encoder.classifier == "sequence":
        targets += _classes(analysis)
    if run.encoder.classifier == "token":
        targets.append(_labeled_token(analysis))
    if run.encoder.has_lm and run.encoder.predicts == "next":
        targets.append(_next_word(analysis, run))
    elif run.encoder.has_lm:
        masks = _masks(run)
        targets += [_between(analysis, position, CHOICES) for position in masks]
        if not masks:
            targets += [_most_telling(run, progress)]
    if analysis.text_pair is not None and analysis.run is not None:
        try:
            run.next_sentence  # noqa: B018  # pyright: ignore[reportUnusedExpression]
            targets.append(Target(next_sentence=True))
        except AttnWidgetError:
            pass
    return [target for target in targets if target is not None][:MOST]


def asks_every_word(run: Run) -> bool:
    """True if `proposals` masks one word after another, to find the one that tells most."""
    return run.encoder.has_lm and run.encoder.predicts != "next" and not _masks(run)


def _classes(analysis: Analysis) -> list[Target]:
    classes = analysis.model.classification
    if classes is None:
        return []
    order = largest_first(classes.logits)
    return [Target(label=order[0], against=order[1] if len(order) > 1 else None)]


def _labeled_token(analysis: Analysis) -> Target | None:
    """The two likeliest classes of the token whose class leads most, among those without the text's most frequent class.

    That one is "outside" as a rule, so that a name comes before the words that are none.
    """
    classes = analysis.model.classification
    plain = [i for i, token in enumerate(analysis.trace.tokens) if not token.special]
    if classes is None or not plain:
        return None
    likeliest = np.array([largest_first(row)[:2] for row in classes.logits[plain]])
    labels, usual = likeliest[:, 0].tolist(), Counter(likeliest[:, 0].tolist()).most_common(1)[0][0]
    rare = [k for k, label in enumerate(labels) if label != usual] or [*range(len(plain))]
    leads = np.take_along_axis(classes.logits[plain], likeliest, axis=1)[rare]
    chosen = rare[first_largest(leads[:, 0] - leads[:, -1])]
    label, *others = likeliest[chosen].tolist()
    return Target(position=plain[chosen], label=label, against=others[0] if others else None)


def _next_word(analysis: Analysis, run: Run) -> Target | None:
    """The two likeliest words after the last token, if the first choice is a content word and a second one is not far behind.

    Otherwise after the token whose second word is the likeliest, of those after which the text goes on with one of the two; of a text
    that the model wrote the end of, where it did. The two likeliest entries after the last token where there is none.
    """
    tokens = run.trace.tokens
    plain = [i for i, token in enumerate(tokens) if not token.special]
    if not plain:
        return None
    last, written = plain[-1], run.encoding.written
    first = len(tokens) - written - 1 if written else max(0, last - TELLING_ROWS)
    found = analysis.predictions(top_k=CHOICES, rows=slice(first, last + 1))
    own = [*run.encoding.text_ids[first + 1 : last + 1], None]
    best: tuple[float, Target] | None = None
    for row in reversed(range(last + 1 - first)):
        ids, shares = found.ids[row].tolist(), found.probabilities[row].tolist()
        texts = run.encoder.token_texts(ids)
        open_ = beginnings(texts)
        words = [k for k, text in enumerate(texts) if _begins_content(text) and text not in open_]
        if len(words) < 2 or words[0] != 0 or shares[0] >= CERTAIN:
            continue
        one, other = words[:2]
        target, share = Target(first + row, ids[one], ids[other]), shares[other]
        if own[row] is None and share >= CLOSE * shares[one]:
            return target
        following = first + row + 1
        said = following <= last and not (
            tokens[following].special or tokens[following].boilerplate
        )
        if said and own[row] in (ids[one], ids[other]) and (best is None or share > best[0]):
            best = share, target
    return best[1] if best else _between(analysis, last)


def _begins_content(text: str) -> bool:
    """True of an entry that begins a content word, and of three letters or more, as shorter ones are mostly pieces."""
    return text[:1] in "Ġ▁" and len(text) > 3 and text[1:].isalpha() and _is_content(text)


def _masks(run: Run) -> list[int]:
    """Positions that the model reads as the mask token."""
    mask = run.encoder.mask_token_id
    return [
        i
        for i, token_id in enumerate(run.encoding.arrays["input_ids"][0].tolist())
        if token_id == mask
    ]


def _between(analysis: Analysis, position: int, choices: int = 2) -> Target:
    """The likeliest word at a mask, or after a token, against the next one."""
    ids = analysis.predictions(top_k=choices, rows=slice(position, position + 1)).ids[0].tolist()
    first, *others = _two_words(analysis.run, ids)
    return Target(position, first, others[0] if others else None)


def _two_words(run: Run | None, ids: list[int]) -> list[int]:
    """The first two entries that are words, no pieces like ##r and no marks; the first two of all where there are none."""
    if run is None or len(ids) <= 2:
        return ids
    texts = run.encoder.token_texts(ids)
    words = [one for one, text in zip(ids, texts, strict=True) if _is_word(text)]
    return words[:2] if len(words) > 1 else ids[:2]


def _most_telling(run: Run, progress: Progress | None) -> Target | None:
    """The likeliest entry at the most telling word, masked, against the next one, or the text's word where that is neither."""
    if run.encoder.mask_token_id is None:
        return None
    position = telling_word(run, progress)
    if position is None:
        return None
    ids = run.guess("masked", [position], CHOICES, None)["ids"][0].tolist()
    first, second = _two_words(run, ids)
    own = int(run.encoding.text_ids[position])
    asks = own not in (first, second) and _is_content(run.encoder.token_texts([own])[0])
    return Target(position, first, own if asks else second, masked=True)


def telling_word(run: Run, progress: Progress | None = None) -> int | None:
    """The word whose masked prediction tells most; None for a text of special tokens alone.

    Its first choice gains most from the rest of the text: the largest p log(p / q), where q is the probability of the
    same entry at a mask that is the whole text. Equal up to rounding, the first one. Candidates are words of one token that
    stand once in the text, with a content word as first and as second choice, one of which is the text's own, and a first
    choice that is not all but certain. A text without such a word has wider candidates: words that stand several times,
    words that the model does not expect, then function words likewise, any token.
    Of a text with too many words to mask each, some are looked at, evenly spread.

    ``run``: with a masked-LM head and a mask token. ``progress``: called with ``(done, words)`` after each batch.
    """
    tokens = run.trace.tokens
    plain = [i for i, token in enumerate(tokens) if not token.special]
    known = [i for i in plain if run.encoding.text_ids[i] != run.encoder.reader.unk_token_id]
    plain = known or plain  # a word that the model does not know is no question
    words = word_ids(tokens).tolist()
    # Not the s of "model's", which begins where the token before it ends.
    free = [
        i for i in plain if i == 0 or tokens[i - 1].special or tokens[i - 1].end < tokens[i].start
    ]
    single = [i for i in free if words[i] >= 0 and words.count(words[i]) == 1]
    at = _spread(single or plain, max(TELLING_TOKENS // len(tokens), TELLING_WORDS))
    if not at:
        return None
    guesses = run.guess("masked", at, 2, progress)
    ids, shares = guesses["ids"], guesses["probabilities"][:, 0]
    own = [run.encoding.text_ids[i] for i in at]
    choices = [run.encoder.token_texts(row) for row in ids.tolist()]
    named = [all(map(_is_word, texts)) for texts in choices]
    content = [all(map(_is_content, texts)) for texts in choices]
    open_ = (shares < CERTAIN).tolist()
    close = [mine in row for mine, row in zip(own, ids.tolist(), strict=True)]
    alone = [[*run.encoding.text_ids].count(mine) == 1 for mine in own]
    gained = shares * np.log(shares / _without_text(run)[ids[:, 0]])
    for allowed in (
        np.array([content, open_, close, alone]).all(axis=0),
        np.array([content, open_, close]).all(axis=0),
        np.array([content, open_]).all(axis=0),
        np.array([named, close, alone]).all(axis=0),
        np.array([named, close]).all(axis=0),
        np.array(named),
        np.ones(len(at), dtype=np.bool_),
    ):
        if allowed.any():
            return at[first_largest(np.where(allowed, gained, np.nan))]
    return None


def _spread(items: list[int], most: int) -> list[int]:
    """At most ``most`` of them, evenly spread."""
    if len(items) <= most:
        return items
    return [items[i] for i in np.linspace(0, len(items) - 1, most).round().astype(int)]


def _is_word(text: str) -> bool:
    return not text.startswith(PIECE) and any(letter.isalnum() for letter in text)


def _is_content(text: str) -> bool:
    return _is_word(text) and text.strip("Ġ▁ ").lower() not in FUNCTION_WORDS


def _without_text(run: Run) -> NDArray[np.float64]:
    """Probabilities at a mask that is the whole text, float64 [vocabulary]."""
    encoding = run.encoder.encode("a")
    position = next(i for i, token in enumerate(encoding.tokens) if not token.special)
    logits = Run(run.encoder, encoding, run.trace).masked_logits([position])
    return probabilities(logits)[0]
