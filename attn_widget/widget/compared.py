"""A comparison in the output of a cell: its page, in a frame that asks no kernel."""

from __future__ import annotations

import html

from attn_widget.comparison.comparison import Comparison
from attn_widget.host.notice import notebook_shell
from attn_widget.page.compared import compared_html, title_of

HEIGHT = 900  # px


def show_compared(comparison: Comparison) -> None:
    """Display both runs and their difference in the running cell; outside a notebook, do nothing."""
    if notebook_shell() is None:
        return
    from IPython.display import display

    # A bundle, because IPython.display.HTML warns of frames.
    display({"text/html": frame_of(comparison), "text/plain": repr(comparison)}, raw=True)


def frame_of(comparison: Comparison) -> str:
    """A sandboxed frame with the comparison's page."""
    source = html.escape(compared_html(comparison), quote=True)
    name = html.escape(title_of(comparison), quote=True)
    return (
        f'<iframe sandbox="allow-scripts allow-downloads allow-modals" title="{name}" width="100%" '
        f'height="{HEIGHT}" style="border: 0" srcdoc="{source}"></iframe>'
    )
