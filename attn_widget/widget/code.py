"""The page's code, once a kernel: widgets refer to one model that holds it.

A host stores the state of every model in a saved notebook. Were the code (136 kB) in the state of each
widget, ten widgets would cost 1.4 MB. Views that few open at once are no part of it: the page asks for
them (`later_views`) when its first picture is drawn.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import anywidget
import numpy as np
import traitlets as t

if TYPE_CHECKING:
    from attn_widget.protocol.request import Request
    from attn_widget.protocol.slices import Answer


def bundle(name: str) -> str:
    """The text of a built file of the page.

    Raises
    ------
    FileNotFoundError
        The page was not built: this is a checkout without ``npm run build``.
    """
    return built(name).decode("utf-8")


def built(name: str) -> bytes:
    """A built file of the page; raises as `bundle` does."""
    path = files("attn_widget") / "static" / name
    if not path.is_file():
        raise FileNotFoundError(
            f"attn_widget/static/{name} is missing: build the page first (`make build`)."
        )
    return path.read_bytes()


def later_views(_asked: object, _request: Request) -> Answer:
    """The compressed module of the views that come after the first picture (``js/src/views/lazy-views.ts``)."""
    return {}, {"code": np.frombuffer(built("rest.deflate"), dtype=np.uint8)}


class PageCode(anywidget.AnyWidget):
    """Holds the page's code, and is never shown."""

    # Declared, because a path on the class would be read when the package is imported.
    _esm = t.Unicode().tag(sync=True)


_shared: PageCode | None = None


def page_code() -> dict[str, Any]:
    """Traits that bring the page to a widget: ``_esm``, and ``_code`` where it can be shared.

    Shared in the kernel of a notebook. marimo shares equal modules by itself and has no manager of
    models; in Colab each output is a page of its own.
    """
    from attn_widget.host.notice import notebook_shell

    global _shared
    if notebook_shell() is None or "google.colab" in sys.modules:
        return {"_esm": bundle("widget.js")}
    if _shared is None or _shared.comm is None:  # closed, with all widgets of the kernel
        _shared = PageCode(_esm=bundle("widget.js"))
    return {"_esm": bundle("stub.js"), "_code": _shared}
