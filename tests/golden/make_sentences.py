"""Sentences of texts with line breaks as Python finds them without nupunkt, for the page's engine.

python -m tests.golden.make_sentences
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from attn_widget.language import segment
from tests.unit.test_language_lines import CASES, PROSE, spans_of


def texts() -> list[str]:
    found = ["".join(parts) for parts in CASES]
    for width in (48, 60, 72, 100):
        for newline in ("\n", "\r\n"):
            found.append(newline.join(textwrap.wrap(PROSE, width)))
        found.append(
            "\n".join(textwrap.wrap(PROSE, width, initial_indent="- ", subsequent_indent="  "))
        )
    return [
        *found,
        "",
        "\n\n a",
        "a\n",
        "\u2029a\u0085b\x0bc",
        "😀 “Yes.” He left! Why?\n😀\nWhat 2.\n3. Go.",
    ]


def main() -> None:
    segment.has_nupunkt = lambda: False
    golden = [{"text": text, "spans": spans_of(text)} for text in texts()]
    path = Path(__file__).parent / "sentences.json"
    path.write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
