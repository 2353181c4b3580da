"""Writes measured figures where the documents quote them, between two comments."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent


def parts(document: str, name: str) -> tuple[str, str, str]:
    """A document before, between and after the comments of ``name``.

    Raises
    ------
    ValueError
        It has no such comments.
    """
    text = (ROOT / document).read_text(encoding="utf-8")
    begin, end = (
        f"<!-- {name}: written by python -m benchmarks.{name} -->\n",
        f"<!-- end of {name} -->",
    )
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{document} has no place for {name}: {begin.strip()} ... {end}")
    before, rest = text.split(begin)
    quoted, after = rest.split(end)
    return before + begin, quoted, end + after


def quoted(document: str, name: str) -> str:
    """The figures of ``name`` as the document has them."""
    return parts(document, name)[1].strip()


def fill(document: str, name: str, figures: str) -> None:
    """Write the figures of ``name`` into a document."""
    before, _, after = parts(document, name)
    (ROOT / document).write_text(f"{before}\n{figures.strip()}\n\n{after}", encoding="utf-8")
    print(f"wrote {document}: {name}")
