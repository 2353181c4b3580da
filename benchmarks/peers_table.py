"""The results of `benchmarks.peers` as the table of docs/peers.md: ``python -m benchmarks.peers_table``."""

from __future__ import annotations

import json

from benchmarks.documents import ROOT, fill
from benchmarks.peers import RESULTS
from benchmarks.peers_picture import TOOLS

LENGTHS = (32, 128, 512)
COLUMNS = ("page, MB", "to picture, ms")


def table(results: list[dict[str, str]]) -> str:
    """Page and time to the drawn picture of every tool, for each length.

    Examples
    --------
    >>> row = {"peer": "inspectus", "tokens": "32", "page, MB": "1.11", "to picture, ms": "209"}
    >>> print(table([row]).splitlines()[-1])
    | inspectus | 1.11 | – | – | 209 | – | – |
    """
    cells = {(row["peer"], int(row["tokens"])): row for row in results}
    names = {"page, MB": "page, MB", "to picture, ms": "to the picture, ms"}
    heads = [f"{names[column]}, {n} tokens" for column in COLUMNS for n in LENGTHS]
    rows = [
        [title, *(cells.get((tool, n), {}).get(column, "–") for column in COLUMNS for n in LENGTHS)]
        for tool, (title, _) in TOOLS.items()
        if any((tool, n) in cells for n in LENGTHS)
    ]
    lines = [["", *heads], ["---", *["--:"] * len(heads)], *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


if __name__ == "__main__":
    fill("docs/peers.md", "peers_table", table(json.loads((ROOT / RESULTS).read_text("utf-8"))))
