"""The built files of the page."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request


def bundle(name: str) -> str:
    """The text of a built file of the page.

    Raises `FileNotFoundError`: the page was not built: this is a checkout without ``npm run build``.
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


@answers("code")
def later_views(_asked: object, _request: Request) -> Answer:
    """The compressed module of the views that come after the first picture (``js/src/views/lazy-views.ts``)."""
    return {}, {"code": np.frombuffer(built("rest.deflate"), dtype=np.uint8)}
