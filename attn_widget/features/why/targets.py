"""Targets: one number that the model gave, which contributions and effects are measured on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from attn_widget.checks import (
    LONGEST_WORD,
    check_characters,
    check_choice,
    check_count,
    check_flag,
    check_kind,
    known_keywords,
    short_repr,
)
from attn_widget.errors import InputError, InputTypeError

Kind = Literal["token", "class", "next_sentence", "similarity"]
SIMILARITIES = ("cosine", "dot", "maxsim")
MAX_SHOWN = 40  # characters of another text in the name of a target
EXAMPLES = (
    'target(position=3, token="are", against="is"), target(label="positive") or '
    'target(next_sentence=True) or target(similar_to="another text").'
)


@dataclass(frozen=True)
class Target:
    """One number in a model's output. `target` makes it.

    Attributes
    ----------
    position : int or None
        Where a word piece is predicted, or a token classified.
    token : str, int or None
        A word piece or its id.
    against : str, int or None
        The word piece, or class, whose logit is subtracted.
    label : str, int or None
        A class or its index.
    masked : bool
        Whether the position is read as the mask token.
    next_sentence : bool
    similar_to : str, Analysis or None
        The text whose similarity to this one counts.
    similarity : {"cosine", "dot", "maxsim"} or None
        Of which kind; None: the one that the model is made for.
    as_passage : bool
        Late interaction: whether this run's text is the passage, and the other one the query.

    Raises
    ------
    InputError, InputTypeError
        As `target` does.
    """

    position: int | None = None
    token: str | int | None = None
    against: str | int | None = None
    label: str | int | None = None
    masked: bool = False
    next_sentence: bool = False
    similar_to: Any = None
    similarity: str | None = None
    as_passage: bool = False

    def __post_init__(self) -> None:
        position = self.position
        checked = {
            "masked": check_flag(self.masked, "masked"),
            "next_sentence": check_flag(self.next_sentence, "next_sentence"),
            "token": _entry(self.token, "token"),
            "against": _entry(self.against, "against"),
            "label": _entry(self.label, "label"),
            "position": None if position is None else check_count(position, "position", 0),
            "similar_to": _other(self.similar_to),
            "as_passage": check_flag(self.as_passage, "as_passage"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self._check_together()

    def _check_together(self) -> None:
        similar = self.similar_to is not None
        chosen = [self.token is not None, self.label is not None, self.next_sentence, similar]
        if sum(chosen) != 1:
            what = "several are given" if any(chosen) else "no number of the model is named"
            raise InputError(
                f"Expected one of token, label, next_sentence and similar_to; {what}.", EXAMPLES
            )
        more = (self.position, self.against, self.masked) != (None, None, False)
        if more and (self.next_sentence or similar):
            name = "similar_to" if similar else "next_sentence=True"
            raise InputError(f"{name} takes no position, against or masked.", EXAMPLES)
        if self.similarity is not None:
            check_choice(self.similarity, "similarity", SIMILARITIES)
        if not similar and (self.similarity is not None or self.as_passage):
            raise InputError("similarity and as_passage go with similar_to.", EXAMPLES)
        if self.token is not None and self.position is None:
            raise InputError(
                f"token is {short_repr(self.token)} and position is missing.",
                "Give the position where it is predicted: target(position=3, token=...).",
            )
        if self.label is not None and self.masked:
            raise InputError(
                "masked=True is for a token at a position, and a label is given.",
                "Mask words with Analysis.mask() first.",
            )
        if self.against is not None and self.against in (self.token, self.label):
            raise InputError(
                f"{'label' if self.token is None else 'token'} and against are both "
                f"{short_repr(self.against)}, so their difference is always 0.",
                "Name two, or leave against out.",
            )

    @property
    def kind(self) -> Kind:
        """Kind of output: a word piece, a class, the next-sentence head, or an embedding's similarity."""
        if self.similar_to is not None:
            return "similarity"
        if self.next_sentence:
            return "next_sentence"
        return "class" if self.token is None else "token"

    def __str__(self) -> str:
        if self.next_sentence:
            return "logit of 'is next'"
        if self.similar_to is not None:
            text = self.other_text
            text = text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
            return f"{self.similarity or 'similarity'} with {text!r}"
        word = self.label if self.token is None else self.token
        where = "" if self.position is None else f" at position {self.position}"
        minus = "" if self.against is None else f" - logit of {self.against!r}"
        return f"logit of {word!r}{minus}{where}{' (masked)' if self.masked else ''}"

    @property
    def other_text(self) -> str:
        """The text that ``similar_to`` names; empty for another kind."""
        other = self.similar_to
        if isinstance(other, str):
            return other
        run = getattr(other, "run", None)  # of an image what was read of it
        return str(getattr(other, "text", None) or getattr(run and run.encoding, "note", ""))


@known_keywords
def target(
    *,
    position: int | None = None,
    token: str | int | None = None,
    against: str | int | None = None,
    label: str | int | None = None,
    masked: bool = False,
    next_sentence: bool = False,
    similar_to: Any = None,
    similarity: str | None = None,
    as_passage: bool = False,
) -> Target:
    """The number that contributions explain: a logit, the difference of two, or a similarity to another text.

    Parameters
    ----------
    position : int, optional
        Where `token` is predicted; the token that is classified, with a token classifier.
    token : str or int, optional
        A word piece of the vocabulary, or its id: its logit by the language-model head.
    against : str or int, optional
        Another word piece, or with `label` another class: its logit is subtracted.
    label : str or int, optional
        A class of the model's classifier, by name or index: its logit.
    masked : bool
        Read the position as the mask token.
    next_sentence : bool
        The logit of "is next" of the next-sentence head.
    similar_to : str or Analysis, optional
        Another text: the similarity of the two embeddings, with the other one held. The model has to be a sentence
        embedder, or to be given a pooling (`Encoder.with_pooling`). A str is read as it stands, without a prompt.
    similarity : {"cosine", "dot", "maxsim"}, optional
        By default the one that the model is made for.
    as_passage : bool
        Late interaction: this run's text is the passage, the other one the query.

    Raises
    ------
    InputError
        None of `token`, `label`, `next_sentence` and `similar_to`, or several; a token without its position.
    InputTypeError
        A value of another type.

    Examples
    --------
    >>> print(target(position=4, token="are", against="is", masked=True))
    logit of 'are' - logit of 'is' at position 4 (masked)
    >>> target(token="are")
    Traceback (most recent call last):
    ...
    attn_widget.errors.InputError: token is 'are' and position is missing. ...
    """
    return Target(
        position, token, against, label, masked, next_sentence, similar_to, similarity, as_passage
    )


def check_target(value: object) -> Target:
    """``value``, if it is a target."""
    check_kind(value, Target, "target", f"For example {EXAMPLES}")
    assert isinstance(value, Target)
    return value


def _other(value: Any) -> Any:
    """A text, or an analysis: this room is below theirs."""
    if value is None or hasattr(value, "run"):
        return value
    if not isinstance(value, str):
        raise InputTypeError(
            f"similar_to is {short_repr(value)}, expected a text or an Analysis.",
            "target(similar_to='another text'), or of an image target(similar_to=analyze(image)).",
        )
    if not value or value.isspace():
        raise InputError("similar_to holds no text.", EXAMPLES)
    return check_characters(value, "similar_to")


def _entry(value: object, name: str) -> str | int | None:
    if value is None:
        return None
    if isinstance(value, str):
        if not 0 < len(value) <= LONGEST_WORD:
            raise InputError(
                f"{name} is {short_repr(value)}, expected 1 to {LONGEST_WORD} characters.", EXAMPLES
            )
        return str(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputTypeError(f"{name} is {short_repr(value)}, expected a str or an int.", EXAMPLES)
    return check_count(value, name, 0, 2**31 - 1)
