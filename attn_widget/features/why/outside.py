"""Contributions that another library computed: checked against the tokens of a run, and then a method like any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_widget.checks import as_array, short_repr
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features.why.contributions import Contributions
from attn_widget.features.why.methods import METHOD_TEXTS
from attn_widget.features.why.targets import Target
from attn_widget.figures.arrays import Float32
from attn_widget.model.tokens import Token

MAX_ROWS = 10  # as many as there are methods
LONGEST_NAME = 30  # characters: the widest name of a method has 24
# "random" is the row of random orders in tables.
TAKEN = {
    "random",
    *METHOD_TEXTS,
    *(name.casefold() for texts in METHOD_TEXTS.values() for name in (texts.name, texts.short)),
}
EXAMPLE = 'For example contributions={"shap": values}, one number for each of analysis.tokens.'
WHICH_TOKENS = "[token.text for token in analysis.tokens] lists them."
PIECE_MARKS = ("##", "Ġ", "▁")  # of tokenizers, before what a token has of the text


@dataclass(frozen=True)
class OutsideContributions:
    """Numbers from elsewhere about one target of a run."""

    name: str  # the method's name
    target: Target  # by vocabulary ids and indices of classes
    about: str  # the target for readers: ``"are rather than is"``
    values: Float32  # [n]; in units of their own; NaN only at special tokens

    def contributions(
        self,
        target: Target,
        by_ids: Target,
        tokens: Sequence[Token],
        value: float,
        probability: float,
    ) -> Contributions:
        """The numbers as a method's answer about ``target``, which is ``by_ids``.

        Raises `NotAvailableError`: they are about another target.
        """
        if by_ids != self.target:
            raise NotAvailableError(
                f"The numbers of {self.name!r} are about another target: {self.about}.",
                "Explain that one, or give numbers for this one.",
            )
        return Contributions(
            method=self.name,
            target=target,
            tokens=tuple(tokens),
            values=self.values,
            signed=bool((self.values < 0).any()),
            value=value,
            probability=probability,
        )


def check_outside(
    contributions: object, tokens: Sequence[Token], row_names: Iterable[str] = ()
) -> dict[str, Float32]:
    """Values by name, float32 [n] each, if every one of ``tokens`` has a number.

    ``contributions``: see `attn_widget.Analysis.why.with_contributions`. ``row_names``: names that the run has already.
    Raises `InputError`: no or too many rows, a name that is taken or cannot be shown, values of another shape,
    tokens of another text, NaN at a token of the text, infinity. Raises `InputTypeError`: no mapping, a name that
    is no str, values that are no numbers.
    """
    if not isinstance(contributions, Mapping):
        raise InputTypeError(
            f"contributions is {short_repr(contributions)}, expected a dict of names and values.",
            EXAMPLE,
        )
    taken = [*row_names]
    if not 1 <= len(contributions) <= MAX_ROWS - len(taken):
        beside = f", and the run has {len(taken)} already" if taken else ""
        raise InputError(
            f"contributions has {len(contributions)} entries{beside}, expected 1 to {MAX_ROWS} in all.",
            EXAMPLE,
        )
    checked: dict[str, Float32] = {}
    for name, values in contributions.items():
        checked[_name(name, [*taken, *checked])] = _values(name, values, tokens)
    return checked


def _name(name: object, taken: Sequence[str]) -> str:
    if not isinstance(name, str):
        raise InputTypeError(
            f"A name in contributions is {short_repr(name)}, expected a str.", EXAMPLE
        )
    # Not printable: control characters, line breaks, and marks that turn the direction of a line.
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name.strip() == name):
        raise InputError(
            f"A name in contributions is {short_repr(name)}, expected 1 to {LONGEST_NAME} printable characters "
            "without spaces around them.",
            EXAMPLE,
        )
    if name.casefold() in {*TAKEN, *(name.casefold() for name in taken)}:
        raise InputError(
            f"{name!r} in contributions is the name of a row that is there already.",
            f"Choose another one, such as {'my ' + name!r}.",
        )
    return name


def _values(name: str, values: object, tokens: Sequence[Token]) -> Float32:
    numbers, own_tokens = _parts(values)
    label = f"contributions[{name!r}]"
    array = as_array(numbers, label)
    if array.dtype.kind not in "fiu":
        raise InputTypeError(f"{label} holds {array.dtype}, expected numbers.", EXAMPLE)
    if array.shape != (len(tokens),):
        raise InputError(
            f"{label} has the shape {array.shape}, expected ({len(tokens)},): one number for each token.",
            _remedy(array.shape, tokens),
        )
    if own_tokens is not None:
        _check_tokens(label, own_tokens, tokens)
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused below
        checked = array.astype(np.float32)
    wrong = [
        i
        for i, token in enumerate(tokens)
        if np.isinf(checked[i]) or (np.isnan(checked[i]) and not token.special)
    ]
    if wrong:
        first = wrong[0]
        raise InputError(
            f"{label} holds {float(checked[first])} at token {first} ({tokens[first].text}), expected a finite number of float32.",
            "NaN may stand at special tokens only; 0 says that a token adds nothing.",
        )
    return checked


def _parts(values: Any) -> tuple[Any, Any]:
    """Numbers, and the tokens that a record of Captum or an Explanation of SHAP names; None where nothing does."""
    if hasattr(values, "word_attributions"):
        return values.word_attributions, values.raw_input_ids
    of_shap = (getattr(values, "values", None), getattr(values, "data", None))
    if any(part is None or callable(part) for part in of_shap):  # a tensor, a table
        return values, None
    return of_shap


def _remedy(shape: tuple[int, ...], tokens: Sequence[Token]) -> str:
    n = len(tokens)
    if len(shape) > 1 and shape[:2] == (1, n):
        return "Take the text out of its batch: values[0]."
    if len(shape) > 1 and shape[0] == n:
        return "Choose one output, values[:, 1], or add up the numbers of an embedding, values.sum(-1)."
    plain = sum(not token.special for token in tokens)
    if shape == (plain,):
        return "Put NaN at the tokens that the tokenizer added; analysis.tokens has them."
    return WHICH_TOKENS


def _check_tokens(label: str, named: Any, tokens: Sequence[Token]) -> None:
    """Refuse tokens of another text or tokenizer; a masker of SHAP has ``""`` for special tokens."""
    names = list(np.asarray(named, dtype=object).reshape(-1))
    if len(names) != len(tokens):
        raise InputError(
            f"{label} names {len(names)} tokens, expected {len(tokens)}.", WHICH_TOKENS
        )
    for i, (name, token) in enumerate(zip(names, tokens, strict=True)):
        same = {_bare(token.text), _bare(token.surface), *([""] if token.special else [])}
        if _bare(str(name)) not in same and str(name) != str(token.id):
            raise InputError(
                f"{label} has {short_repr(name)} as token {i}, and this run has {token.text!r} there.",
                f"Compute them for the same text, with the tokenizer of the model. {WHICH_TOKENS}",
            )


def _bare(text: str) -> str:
    """The part of the text that a token stands for, however it is spelled."""
    text = text.strip()
    for mark in PIECE_MARKS:
        text = text.removeprefix(mark)
    return text.strip().casefold()
