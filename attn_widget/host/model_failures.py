"""Errors that a model's own code raises, in words."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any

from attn_widget.checks import first_line
from attn_widget.errors import AttnWidgetError, NotAvailableError
from attn_widget.host.installed import imported

LIBRARIES = ("torch", "transformers")


@contextmanager
def named_failures(network: Any, name: str) -> Generator[None]:
    """Name the model whose code fails in the block; errors of other code, such as callbacks, pass as they are.

    ``name``: its name in the message.
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
    """True if the line that raised ``error`` is torch's, transformers' or of the file that defines the model."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    # A mode that looks at the model's calls (`__torch_function__`) stands between it and torch.
    while frames and frames[-1].f_code.co_name == "__torch_function__":
        frames.pop()
    if not frames:
        return False
    file = Path(frames[-1].f_code.co_filename)
    own = getattr(sys.modules.get(type(network).__module__), "__file__", None)
    folders = [
        Path(str(library.__file__)).parent
        for library in map(imported, LIBRARIES)
        if library is not None
    ]
    return str(file) == own or any(folder in file.parents for folder in folders)
