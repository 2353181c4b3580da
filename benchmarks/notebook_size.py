"""Bytes of a saved notebook with ten widgets of 64 tokens on the embedded model, and what display costs.

``python -m benchmarks.notebook_size``
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbconvert import NotebookExporter
from traitlets.config import Config

WIDGETS = 10
LIMIT = 3_000_000  # bytes
TEXT = (
    "The big trophy did not fit into the brown suitcase because it was too large, so the man carried "
    "it home in his arms. His wife laughed when she saw him at the door of their little house in {}, "
    "and she asked him why he had not taken a taxi instead of walking all the way."
)
PLACES = (
    "Paris", "London", "Rome", "Berlin", "Madrid", "Vienna", "Oslo", "Prague", "Athens", "Lisbon",
)  # fmt: skip
STATE = "application/vnd.jupyter.widget-state+json"
LIVE = Config({"Exporter": {"preprocessors": ["attn_widget.features.exports.notebook.LivePages"]}})


def notebook(saved: str) -> Any:
    """Ten widgets, then the time that each one's mimebundle takes."""
    code = nbformat.v4.new_code_cell
    shows = [
        code(
            f"w = aw.show({TEXT.format(place)!r}, layer={i % 6}, head={i}, saved={saved!r}, progress=False)"
        )
        for i, place in enumerate(PLACES[:WIDGETS])
    ]
    timed = code(
        "import time\nbegun = time.perf_counter()\n_ = w._repr_mimebundle_()\n"
        "print(w.analysis.trace.n_tokens, time.perf_counter() - begun)"
    )
    document = nbformat.v4.new_notebook(cells=[code("import attn_widget as aw"), *shows, timed])
    NotebookClient(document, timeout=600, kernel_name="python3", store_widget_state=True).execute()
    return document


def size(document: Any) -> int:
    return len(nbformat.writes(document).encode())


def parts(document: Any) -> dict[str, int]:
    """Bytes by kind of data in the outputs, and those of the stored state."""
    sums: dict[str, int] = {}
    for cell in document.cells:
        for output in cell.get("outputs", []):
            for kind, value in output.get("data", {}).items():
                sums[kind] = sums.get(kind, 0) + len(json.dumps(value))
    state = document.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    sums["state"] = len(json.dumps(state))
    return sums


def main() -> None:
    print("| saved | state stored | MB | under 3 MB | html | png | state | mimebundle |")
    print("|---|---|---|---|---|---|---|---|")
    for saved in ("page", "picture", "none"):
        stored = notebook(saved)
        tokens, seconds = stored.cells[-1].outputs[0].text.split()
        stored.cells.pop()
        bare = nbformat.from_dict(stored)
        del bare.metadata["widgets"]
        live = nbformat.reads(NotebookExporter(config=LIVE).from_notebook_node(stored)[0], 4)
        for name, document in (("yes", stored), ("no", bare), ("LivePages", live)):
            if name == "LivePages" and saved != "page":
                continue
            kinds = parts(document)
            shown = [kinds.get(kind, 0) for kind in ("text/html", "image/png", "state")]
            print(
                f"| {saved} | {name} | {size(document) / 1e6:.2f} | {'yes' if size(document) < LIMIT else 'NO'} | "
                + " | ".join(f"{value / 1e3:.0f} kB" for value in shown)
                + f" | {float(seconds) * 1e3:.0f} ms |"
            )
    print(f"\n{WIDGETS} widgets of {tokens} tokens")


def show_seconds(repeats: int = 10) -> None:
    """Time that `display` adds to `show()`, in this process."""
    import attn_widget as aw
    from attn_widget.page.output import outputs

    aw.show("warm up", progress=False)
    shows: list[float] = []
    made: dict[str, list[float]] = {"page": [], "picture": []}
    for place in (PLACES * repeats)[:repeats]:
        begun = time.perf_counter()
        widget = aw.show(TEXT.format(place), progress=False)
        shows.append(time.perf_counter() - begun)
        for saved, found in made.items():
            widget.saved = saved
            begun = time.perf_counter()
            outputs(widget._shown, code=False)
            found.append(time.perf_counter() - begun)
        widget.close()
    print(f"show() {statistics.median(shows) * 1e3:.0f} ms", end="")
    for saved, found in made.items():
        print(f", and {saved} {statistics.median(found) * 1e3:.0f} ms", end="")
    print()


if __name__ == "__main__":
    main()
    show_seconds()
