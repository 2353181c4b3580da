"""Packages that the embedded model's pictures do without: PyTorch, transformers, scikit-learn, SciPy, regex, extras."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from attn_widget.errors import NotAvailableError

IN_BROWSER = sys.platform == "emscripten"  # Pyodide
# By module: the name, and what pip installs.
PACKAGES = {
    "torch": ("PyTorch", "torch transformers"),
    "transformers": ("transformers", "torch transformers"),
    "huggingface_hub": ("transformers", "torch transformers"),  # which brings it
    "sklearn": ("scikit-learn", "scikit-learn"),
    "scipy": ("SciPy", "scipy"),
    "safetensors": ("safetensors", "safetensors"),
    "tokenizers": ("tokenizers", "tokenizers"),
    "pyarrow": ("pyarrow", '"attn-widget[pandas]"'),
    "pandas": ("pandas", '"attn-widget[pandas]"'),
    "matplotlib": ("matplotlib", '"attn-widget[tasks]"'),
    "regex": ("the package regex", "regex"),
    "PIL": ("Pillow", '"attn-widget[vision]"'),
}
NOT_IN_BROWSERS = ("torch", "transformers", "huggingface_hub")


def imported(name: str) -> ModuleType | None:
    """A module whose import has ended; None of one that is not imported, or whose import goes on, on whatever thread.

    A package stands in ``sys.modules`` from the beginning of its import, without most of its names.
    """
    module = sys.modules.get(name)
    return None if getattr(getattr(module, "__spec__", None), "_initializing", False) else module


def has_torch() -> bool:
    """True if torch is installed; it is not imported."""
    return _is_found("torch")


def _is_found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of an import hook that hides it
        return False
    except ValueError:  # a module that was made by hand
        return imported(module) is not None


def import_torch_early() -> None:
    """Import torch on a thread, where it is installed: what is asked for soon need not wait for it."""
    # Here, so that the package is imported by the standard library alone: set-up does that.
    from attn_widget.host.threads import HAS_THREADS, in_background

    def load() -> None:
        with suppress(Exception):  # reported where it is needed
            import_module("torch")

    if HAS_THREADS and "torch" not in sys.modules and has_torch():
        in_background(load, name="attn_widget: import torch")


def require(module: str, what: str) -> None:
    """Import a package of `PACKAGES`, which ``what`` needs.

    ``what``: the beginning of a sentence, in the singular. Raises `NotAvailableError`: it is not installed; the
    hint is the command that installs it, or a place where it runs.
    """
    with needing(what):
        import_module(module)


@contextmanager
def needing(what: str) -> Generator[None]:
    """Turn a failed import of a package of `PACKAGES` into an error that says what needs it.

    ``what``: the beginning of a sentence, in the singular. Raises `NotAvailableError`: as `require`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in PACKAGES:
            raise
        name, wanted = PACKAGES[module]
        if IN_BROWSER and module in NOT_IN_BROWSERS:
            raise NotAvailableError(
                f"{what} needs {name}, which does not run in a browser.",
                "Use a kernel on your machine: pip install attn-widget jupyterlab",
            ) from error
        raise NotAvailableError(
            f"{what} needs {name}, which is not installed.",
            f"Run: {'%' if IN_BROWSER else ''}pip install {wanted}",
        ) from error


def require_extra(module: str, problem: str, extra: str) -> None:
    """Refuse what needs a module of an extra, where it is not installed; it is not imported.

    ``problem``: the message up to the name of the package: "Data frames need pandas". ``extra``: of attn-widget.
    """
    if not _is_found(module):
        raise NotAvailableError(
            f"{problem}, which is not installed.", f'Run: pip install "attn-widget[{extra}]"'
        )


def require_torch(what: str, *, transformers: bool = False) -> None:
    """`require` torch, and `transformers` where asked for."""
    require("torch", what)
    if transformers:
        require("transformers", what)
