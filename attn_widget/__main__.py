"""`python -m attn_widget "text"`: predictions on the screen, or with ``--json`` the whole analysis."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from attn_widget.errors import AttnWidgetError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 2 for input that cannot be used."""
    parser = argparse.ArgumentParser(
        prog="attn-widget", description="See inside a BERT-family model."
    )
    parser.add_argument("text")
    parser.add_argument("--pair", metavar="TEXT", help="a second segment")
    parser.add_argument("--model", help="hub name or folder; the embedded model unless given")
    parser.add_argument("--json", action="store_true", help="print the whole analysis as JSON")
    parser.add_argument(
        "--top-k", type=int, default=5, metavar="K", help="predictions a position (5)"
    )
    parser.add_argument(
        "--masked", action="store_true", help="predict each position with a mask in its place"
    )
    parser.add_argument("--truncation", action="store_true", help="cut a text that is too long")
    options = parser.parse_args(arguments)
    from attn_widget.analysis.document import document
    from attn_widget.show import analyze
    from attn_widget.widget.pack import to_json

    mode = "masked" if options.masked else "as_is"
    try:
        analysis = analyze(
            options.text,
            options.pair,
            model=options.model,
            truncation=options.truncation,
            progress=not options.json,
        )
        if options.json:
            whole = to_json(document(analysis, top_k=options.top_k, mode=mode))
            print(json.dumps(whole, ensure_ascii=True, allow_nan=False))
            return 0
        predictions = analysis.predictions(options.top_k, mode)
    except AttnWidgetError as error:
        print(f"attn-widget: {error}", file=sys.stderr)
        return 2
    for token, words, probabilities in zip(
        analysis.tokens, predictions.tokens, predictions.probabilities, strict=True
    ):
        row = "  ".join(f"{word} {p:.3f}" for word, p in zip(words, probabilities, strict=True))
        print(f"{token.text:12}  {row}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
