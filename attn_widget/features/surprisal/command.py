"""`attn-widget surprisal TEXTS`: the words of a file of texts with their surprisal, as a table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from attn_widget.command import SWITCH, Option, add_options, ended, parse, say
from attn_widget.errors import InputError
from attn_widget.host.files import destination, write

OPTIONS = {
    "model": Option("hub name or folder; the embedded model unless given", {}),
    "output": Option("table to write (.csv, .tsv, .jsonl or .parquet); the screen unless given", {"metavar": "TABLE"}),
    "column": Option("column of the texts; text unless given", {}),
    "sums": Option("sums over tokens, without the correction for where words end", SWITCH),
    "folder": Option("folder in which finished texts are kept, to go on from there", {}),
    "workers": Option("models that read in parallel, by Ray", {"metavar": "N", "type": int}),
}  # fmt: skip
WRITERS: dict[str, Callable[[Any], bytes]] = {
    ".csv": lambda table: table.to_csv(index=False).encode(),
    ".tsv": lambda table: table.to_csv(index=False, sep="\t").encode(),
    ".jsonl": lambda table: table.to_json(orient="records", lines=True, force_ascii=False).encode(),
    ".parquet": lambda table: table.to_parquet(index=False),
}


def main(arguments: Sequence[str]) -> int:
    """`attn-widget surprisal TEXTS`: a row for each word."""
    parser = argparse.ArgumentParser(
        prog="attn-widget surprisal",
        description="Surprisal of every word of a file of texts (one a line, CSV, JSON, Parquet), in bits.",
    )
    parser.add_argument("texts", metavar="TEXTS", help="file, glob or address")
    add_options(parser, OPTIONS)
    return ended(write_surprisals, parse(parser, OPTIONS, arguments))


def write_surprisals(options: argparse.Namespace) -> None:
    """The table as a file, or on the screen."""
    from attn_widget.features.surprisal.run import surprisals

    target = None if options.output is None else destination(options.output)
    if target is not None and target.suffix.lower() not in WRITERS:
        raise InputError(f"{str(target)!r} has the suffix {target.suffix!r}, expected one of {', '.join(WRITERS)}.", f"Use {target.with_suffix('.csv').name!r}.")  # fmt: skip
    table = surprisals(
        options.texts,
        column=options.column,
        model=options.model,
        correction=not options.sums,
        folder=options.folder,
        engine="local" if options.workers is None else "ray",
        workers=options.workers,
        progress=target is not None,
    )
    for note in table.attrs["notes"]:
        say(note)
    if target is None:
        say(table[["text_id", "index", "word", "surprisal", "entropy"]].to_string(index=False))
        return
    table.attrs = {}  # of which not every format can write all
    write(target, WRITERS[target.suffix.lower()](table))
    say(f"wrote {target} ({len(table):,} words)")
