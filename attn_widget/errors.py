"""Errors: each says what was given, what was expected and what to do next."""

from __future__ import annotations

from typing import Any, NoReturn, SupportsIndex

MAX_CHARACTERS = 1000  # of a message, and of a hint: what was given may be of any length
ENDING = 200  # of those, kept of the end, which says what was expected


def truncate(text: str) -> str:
    """``text``, or its beginning and its end when it has more than `MAX_CHARACTERS`.

    >>> len(truncate("a" * 100_000)), truncate("short")
    (1000, 'short')
    """
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[: MAX_CHARACTERS - ENDING - 3]} … {text[-ENDING:]}"


class AttnWidgetError(Exception):
    """Base of every error that this package raises on purpose.

    Parameters
    ----------
    message : str
        What was given and what was expected; shortened above `MAX_CHARACTERS`.
    hint : str
        What to do next; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = truncate(message)
        self.hint = truncate(hint)
        super().__init__(f"{self.message} {self.hint}".strip())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.hint)


class InputError(AttnWidgetError, ValueError):
    """A text, tensor or option that cannot be used as given."""


class InputTypeError(AttnWidgetError, TypeError):
    """An argument of the wrong type."""


class TooLongError(InputError):
    """A text with more tokens than the model allows."""


class ModelLoadError(AttnWidgetError, OSError):
    """A model or tokenizer that could not be loaded."""


class NotAvailableError(AttnWidgetError, LookupError):
    """A figure that this model or this trace cannot give (N/A), with the reason."""


class NotFiniteError(AttnWidgetError, ArithmeticError):
    """A model that gave NaN or infinite numbers, with the layer where they began."""


class NotEnoughMemoryError(AttnWidgetError, MemoryError):
    """Work that the free memory will not do, refused before it is tried."""


class SliceError(AttnWidgetError, ValueError):
    """A request from the page that does not fit the analysis."""


class NotPickled:
    """Mixin: `pickle`, `copy` and whoever uses them (joblib, multiprocessing) get a reason."""

    _WHY = "it holds a model's tensors and locks"
    _INSTEAD = ""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        self._refuse()

    def __copy__(self) -> Any:
        self._refuse()

    def __deepcopy__(self, memo: Any) -> Any:
        self._refuse()

    def _refuse(self) -> NoReturn:
        name = type(self).__name__
        article = "An" if name[0] in "AEIO" else "A"
        raise InputTypeError(
            f"{article} {name} can be neither pickled nor copied: {self._WHY}.", self._INSTEAD
        )
