"""Notice in a cell while a model is loaded: the outline of the widget, and the current step.

The notice is an output of its own, which the widget replaces; if loading fails it is taken away. Nothing of it is
left in a saved notebook. Outside a notebook a bar on stderr takes its place (`attn_widget.model.checkpoint`).
"""

from __future__ import annotations

import html
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from attn_widget.host.installed import imported

_BONE = "border-radius:4px;background:rgba(128,128,128,.14)"
_WORDS = (30, 52, 38, 75, 30, 60, 45, 90, 38, 45)  # px, like a line of text
_HEIGHT = 460  # px, of the picture's place, as in js/src/style/b-frame.css


def notebook_shell() -> Any | None:
    """The running IPython shell of a notebook kernel, or None (a script, a terminal, marimo)."""
    if imported("IPython") is None:
        return None
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell if shell is not None and getattr(shell, "kernel", None) is not None else None


class LoadingNotice:
    """The output of the running cell until there is a picture.

    ``show``: displays a mimebundle and returns a handle with ``update``, as `IPython.display.display` does.
    """

    def __init__(self, show: Any) -> None:
        self._show = show
        self._handle: Any = None
        self._content: tuple[str, int | None] | None = None

    def say(self, text: str, share: float | None = None) -> None:
        """Tell what is being done, and how much of it is done (0 to 1, None if unknown)."""
        content = (text, None if share is None else round(100 * share))
        if content == self._content:
            return
        self._content = content
        data = {"text/plain": f"{text} …", "text/html": notice_html(*content)}
        if self._handle is None:
            self._handle = self._show(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    @property
    def is_shown(self) -> bool:
        """True once it is displayed."""
        return self._handle is not None

    def take(self) -> Any:
        """The handle of the output, for what takes the notice's place; None if there was no notice."""
        handle, self._handle = self._handle, None
        return handle

    def clear(self) -> None:
        """Take the notice away, unless something has taken its place."""
        handle = self.take()
        if handle is not None:
            handle.update({}, raw=True)


def notice_html(text: str, percent: int | None) -> str:
    """The outline of the widget with a line of text, as HTML without scripts.

    >>> "Loading a&lt;b" in notice_html("Loading a<b", 20)
    True
    """
    words = "".join(f'<i style="{_BONE};width:{width}px;height:16px"></i>' for width in _WORDS)
    done = "" if percent is None else f" {percent}%"
    return (
        '<div class="attn-widget-loading" role="status" style="max-width:1400px;padding:12px;'
        'box-sizing:border-box;font:13px/20px var(--jp-ui-font-family,system-ui,sans-serif)">'
        f"<div>{html.escape(text)} …{done}</div>"
        f'<div aria-hidden="true" style="display:flex;gap:8px;padding:8px 0;overflow:hidden">{words}</div>'
        '<div aria-hidden="true" style="display:grid;grid-template-columns:minmax(196px,31%) 1fr;'
        f'gap:28px;height:{_HEIGHT}px;margin-top:12px">'
        f'<i style="{_BONE};height:220px"></i><i style="{_BONE}"></i></div></div>'
    )


_current: ContextVar[LoadingNotice | None] = ContextVar("attn_widget_loading_notice", default=None)


def current_notice() -> LoadingNotice | None:
    """The notice of the cell that loads a model, if any."""
    return _current.get()


def tell(text: str) -> None:
    """Tell the reader of the running cell what is being loaded; where no notice is wanted, do nothing."""
    notice = _current.get()
    if notice is not None:
        notice.say(text)


def tell_on(text: str) -> None:
    """Tell what follows the loading, where something was loaded."""
    notice = _current.get()
    if notice is not None and notice.is_shown:
        notice.say(text)


@contextmanager
def loading_notice(wanted: bool) -> Generator[None]:
    """A notice in the running notebook cell from the first word of `tell` to the end; outside a notebook or unless ``wanted``, none."""
    if not wanted or _current.get() is not None or notebook_shell() is None:
        yield
        return
    from IPython.display import display

    notice = LoadingNotice(display)
    token = _current.set(notice)
    try:
        yield
    finally:
        _current.reset(token)
        notice.clear()
