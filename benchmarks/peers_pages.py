"""A peer's page of given attention tensors; run by the environment of `benchmarks.peers`, which has the peers.

``python peers_pages.py PEER TENSORS.npy TOKENS.json PAGE.html``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

# Code that a peer's page would fetch, by its place in the folder that is served.
LOCAL = {
    "https://cdnjs.cloudflare.com/ajax/libs/require.js/2.3.6/require.min.js": "npm/node_modules/requirejs/require.js",
    "https://cdnjs.cloudflare.com/ajax/libs/d3/5.7.0/d3.min": "npm/node_modules/d3/dist/d3.min",
    "https://cdnjs.cloudflare.com/ajax/libs/jquery/2.0.0/jquery.min": "npm/node_modules/jquery/dist/jquery.min",
}


def bertviz_head_view(weights: Any, tokens: list[str]) -> str:
    import torch
    from bertviz import head_view  # pyright: ignore[reportMissingImports]

    tensors = [torch.from_numpy(layer)[None] for layer in weights]
    return head_view(tensors, tokens, html_action="return").data


def bertviz_model_view(weights: Any, tokens: list[str]) -> str:
    import torch
    from bertviz import model_view  # pyright: ignore[reportMissingImports]

    tensors = [torch.from_numpy(layer)[None] for layer in weights]
    return model_view(tensors, tokens, html_action="return").data


def circuitsvis_one_layer(weights: Any, tokens: list[str]) -> str:
    from circuitsvis.attention import attention_heads  # pyright: ignore[reportMissingImports]

    return attention_heads(attention=weights[0], tokens=tokens).local_src


def inspectus(weights: Any, tokens: list[str]) -> str:
    import inspectus as library  # pyright: ignore[reportMissingImports]
    from IPython.core import display_functions

    parts: list[str] = []

    def keep(shown: Any, **_: Any) -> None:
        parts.append(shown.data)

    import IPython.display

    IPython.display.display = display_functions.display = keep
    # It draws nothing for WordPiece's "##".
    library.attention(weights, [token.replace("##", "") for token in tokens])
    return "".join(parts)


def main() -> None:
    peer, tensors, tokens, page = sys.argv[1:]
    weights = np.load(tensors)
    text = globals()[peer](weights, json.loads(Path(tokens).read_text()))
    for there, here in LOCAL.items():
        text = text.replace(there, here)
    Path(page).write_text(f'<!doctype html><meta charset="utf-8"><body>{text}</body>')


if __name__ == "__main__":
    main()
