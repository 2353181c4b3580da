"""Errors that a model's own code raises, in words."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attn_widget.checks import first_line
from attn_widget.errors import AttnWidgetError, NotAvailableError

LIBRARIES = ("torch", "transformers")


@contextmanager
def named_failures(network: Any, name: str) -> Generator[None]:
    """Name the model whose code fails in the block; errors of other code, such as callbacks, pass as they are.

    Parameters
    ----------
    network : torch.nn.Module
    name : str
        Its name in the message.

    Raises
    ------
    NotAvailableError
        With the error of the model's code as its cause.
    """
    try:
        yield
    except (MemoryError, AttnWidgetError):
        raise
    except Exception as error:
        if not _is_of_model(network, error):
            raise
        raise NotAvailableError(
            f"{name} cannot be run on this text: {type(error).__name__}: {first_line(error)}.",
            "If it runs outside attn_widget, pass its attention: from_attentions().",
        ) from error


def _is_of_model(network: Any, error: Exception) -> bool:
    """Whether the line that raised ``error`` is torch's, transformers' or of the file that defines the model."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None:
        return False
    file = Path(at.tb_frame.f_code.co_filename)
    own = getattr(sys.modules.get(type(network).__module__), "__file__", None)
    folders = [
        Path(str(sys.modules[name].__file__)).parent for name in LIBRARIES if name in sys.modules
    ]
    return str(file) == own or any(folder in file.parents for folder in folders)
