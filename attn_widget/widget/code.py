"""The page's code, once a kernel: widgets refer to one model that holds it.

A host stores the state of every model in a saved notebook. Were the code (136 kB) in the state of each
widget, ten widgets would cost 1.4 MB. Views that few open at once are no part of it: the page asks for
them (`later_views`) when its first picture is drawn.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets as t

from attn_widget.host.installed import imported
from attn_widget.host.notice import notebook_shell
from attn_widget.protocol.built import bundle


class PageCode(anywidget.AnyWidget):
    """Holds the page's code, and is never shown."""

    # Declared, because a path on the class would be read when the package is imported.
    _esm = t.Unicode().tag(sync=True)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take nothing from the page, and undo there what it has changed."""
        self.send_state([name for name in sync_data if self.has_trait(name)])


_shared: PageCode | None = None


def page_code() -> dict[str, Any]:
    """Traits that bring the page to a widget: ``_esm``, and ``_code`` where it can be shared.

    Shared in the kernel of a notebook. marimo shares equal modules by itself and has no manager of
    models; in Colab each output is a page of its own.
    """
    global _shared
    if notebook_shell() is None or imported("google.colab") is not None:
        return {"_esm": bundle("widget.js")}
    if _shared is None or _shared.comm is None:  # closed, with all widgets of the kernel
        _shared = PageCode(_esm=bundle("widget.js"))
    return {"_esm": bundle("stub.js"), "_code": _shared}
