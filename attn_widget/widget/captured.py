"""Widgets displayed inside `ipywidgets.Output`: what they leave for readers without a kernel.

A front end moves whatever is displayed there into the state of the `Output`, which notebooks do not store as a rule. So the pages
of these widgets stand below, in an output of the cell itself, next to a widget that takes no room while there is a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attn_widget.host.installed import imported
from attn_widget.host.notice import notebook_shell

VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = "attn_widget"  # of such an output; `LivePages` reads it

_waiting: dict[str, tuple[str, Any, Callable[[], dict[str, str]]]] = {}


def takes(widget: Any, outputs: Callable[[], dict[str, str]]) -> bool:
    """True if an `Output` takes what is displayed now; ``outputs`` of ``widget`` are then displayed at the end of the cell.

    What a button or a slider displays belongs to no cell, and is not kept.
    """
    shell = notebook_shell()
    if shell is None or imported("ipywidgets") is None:
        return False
    header: dict[str, Any] = (shell.kernel.get_parent() or {}).get("header", {})
    output = output_of(header.get("msg_id"))
    if output is None:
        return False
    if header.get("msg_type") == "execute_request":
        if not _waiting:
            shell.events.register("post_execute", after_cell)
        _waiting[widget.model_id] = (output, widget, outputs)
    return True


def output_of(message: str | None) -> str | None:
    """The model of the `Output` that takes what this message displays."""
    from ipywidgets import Output

    every = [one for one in alive() if isinstance(one, Output)]
    return next((one.model_id for one in every if message and one.msg_id == message), None)


def alive() -> list[Any]:
    """The widgets that live; ipywidgets has no public list of them."""
    from ipywidgets.widgets import widget as module

    instances: dict[str, Any] = getattr(module, "_instances", {})
    return list(instances.values())


def after_cell() -> None:
    """Display the pages of widgets that an `Output` has taken."""
    from IPython.display import display
    from ipywidgets import Box

    shell = notebook_shell()
    if shell is not None:
        shell.events.unregister("post_execute", after_cell)
    waiting = list(_waiting.values())
    _waiting.clear()
    for output, widget, outputs in waiting:
        made = outputs()
        if made:
            without_room = Box(layout={"display": "none"})
            view = {"version_major": 2, "version_minor": 0, "model_id": without_room.model_id}
            data = {"text/plain": repr(widget), VIEW: view, **made}
            display(data, raw=True, metadata={METADATA: {"output": output, "widget": widget.model_id}})  # fmt: skip
