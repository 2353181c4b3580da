"""What goes wrong, in words: what was given, what was expected, what to do next."""

from __future__ import annotations


class AttnWidgetError(Exception):
    """Base of every error that this package raises on purpose.

    Parameters
    ----------
    message : str
        What was given and what was expected.
    hint : str
        What to do next; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


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


class SliceError(AttnWidgetError, ValueError):
    """A request from the page that does not fit the analysis."""
