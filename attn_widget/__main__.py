"""`attn-widget "text"`: predictions on the screen, the whole analysis as JSON, or a page that stays alive."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

from attn_widget._version import __version__
from attn_widget.command import (
    OUTPUT,
    SWITCH,
    TITLE,
    TRUNCATION,
    Option,
    add_options,
    ended,
    flag,
    parse,
    say,
)
from attn_widget.features import declared, loaded

OPTIONS = {
    "output": OUTPUT,
    "title": TITLE,
    "written": Option("what an encoder-decoder writes for the text, or a decoder as its turn in a chat", {"metavar": "TEXT"}, (), ("windows",)),
    "generate": Option("let a decoder or an encoder-decoder write up to N tokens", {"metavar": "N", "type": int}, (), ("windows",)),
    "pair": Option("a second segment", {"metavar": "TEXT"}),
    "model": Option("hub name or folder; the embedded model unless given", {}),
    "json": Option("print the whole analysis as JSON", SWITCH, (), ("output",)),
    "top_k": Option("predictions per position (5); a page has all that it can show", {"metavar": "K", "type": int}, (), ("output",)),
    "masked": Option("predict each position with a mask in its place", SWITCH),
    "windows": Option(
        'read a text that is too long in overlapping windows; "auto": as long as the model allows', {"metavar": "SIZE,OVERLAP"},
        (), ("truncation",),
    ),
    "truncation": TRUNCATION,
}  # fmt: skip


class Command(Protocol):
    """Function that a feature's ``commands`` name: runs a command on what follows its name; returns the exit status."""

    def __call__(self, arguments: Sequence[str], /) -> int: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 2 for input that cannot be used."""
    arguments = [*(sys.argv[1:] if arguments is None else arguments)]
    commands = dict(declared("commands"))
    if arguments[:1] and arguments[0] in commands and len(arguments) > 1:
        run: Command = loaded(commands[arguments[0]])
        return run(arguments[1:])
    features = [loaded(path) for _, path in declared("options")]
    known = dict(OPTIONS)
    for feature in features:
        known |= feature.OPTIONS
    parser = argparse.ArgumentParser(
        prog="attn-widget", description="See inside a BERT-family model."
    )
    parser.add_argument("text", nargs="?")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    add_options(parser, known)
    options = parse(parser, known, arguments)
    instead = [name for name, option in known.items() if option.texts]
    if sum(getattr(options, name) is not None for name in ("text", *instead)) != 1:
        other = "".join(f", or {flag(name)} {known[name].texts}" for name in instead)
        parser.error(f"give a text{other}")
    if options.windows is not None:
        options.windows = windows_written(options.windows) or parser.error(
            f"--windows is {options.windows!r}, expected auto or two numbers: --windows 256,64"
        )
    work = partial(write_page_of, features) if options.output is not None else print_analysis
    return ended(partial(prepared, features, work), options)


def prepared(
    features: Sequence[Any],
    work: Callable[[argparse.Namespace], None],
    options: argparse.Namespace,
) -> None:
    """The work, after what the features do to the options."""
    for feature in features:
        if hasattr(feature, "prepare"):
            feature.prepare(options)
    work(options)


def windows_written(written: str) -> Literal[True] | tuple[int, int] | None:
    """``--windows`` as `analyze` takes it; None where it is neither "auto" nor two numbers.

    >>> windows_written("auto"), windows_written("256, 64"), windows_written("256")
    (True, (256, 64), None)
    """
    match = re.fullmatch(r"(\d{1,9})\s*,\s*(\d{1,9})", written.strip())
    return True if written == "auto" else (int(match[1]), int(match[2])) if match else None


def write_page_of(features: Sequence[Any], options: argparse.Namespace) -> None:
    """A page of one text, or what a feature writes instead."""
    from attn_widget.host.files import destination
    from attn_widget.page.spec import PageSpec

    target = destination(options.output)  # before the model runs
    PageSpec(title=options.title)
    run: dict[str, Any] = {"model": options.model, "truncation": options.truncation}
    written = (
        feature.write(options, target, run) for feature in features if hasattr(feature, "write")
    )
    path = next(filter(None, written), None) or write_one(features, options, target, run)
    say(f"wrote {path} ({path.stat().st_size / 1e6:.2f} MB)")


def write_one(
    features: Sequence[Any], options: argparse.Namespace, target: Path, run: dict[str, Any]
) -> Path:
    """The page of one text, with what features add to it."""
    from attn_widget.analysis.texts import analyze
    from attn_widget.page.saving import save_page
    from attn_widget.page.shown import ShownSource
    from attn_widget.page.spec import PageSpec
    from attn_widget.protocol.run_source import RunSource
    from attn_widget.protocol.selection import Selection

    analysis = analyze(
        options.text,
        options.pair,
        windows=options.windows or False,
        output=options.written,
        generate=options.generate or 0,
        **run,
    )
    if options.masked:
        analysis.predictions(mode="masked")  # a page has those that were computed before
    selection: dict[str, Any] = {}
    page: dict[str, Any] = {}
    for feature in features:
        if hasattr(feature, "on_page"):
            selected, asked = feature.on_page(options, analysis)
            selection, page = {**selection, **selected}, {**page, **asked}
    if "cross" in analysis.model.parts and not selection:
        analysis = analysis.of("cross")
    shown = ShownSource(RunSource(analysis), Selection(**selection))
    return save_page([shown], target, PageSpec(title=options.title, **page))


def print_analysis(options: argparse.Namespace) -> None:
    """Predictions as a table, or the whole analysis as JSON."""
    from attn_widget.analysis.report_json import document
    from attn_widget.analysis.texts import analyze
    from attn_widget.protocol.pack import to_json

    mode = "masked" if options.masked else None
    top_k = 5 if options.top_k is None else options.top_k
    analysis = analyze(
        options.text,
        options.pair,
        model=options.model,
        truncation=options.truncation,
        windows=options.windows or False,
        output=options.written,
        generate=options.generate or 0,
        progress=not options.json,
    )
    if options.json:
        whole = to_json(document(analysis, top_k=top_k, mode=mode))
        print(json.dumps(whole, ensure_ascii=True, allow_nan=False))
        return
    predictions = analysis.predictions(top_k, mode)
    for token, words, probabilities in zip(
        analysis.tokens, predictions.tokens, predictions.probabilities, strict=True
    ):
        row = "  ".join(f"{word} {p:.3f}" for word, p in zip(words, probabilities, strict=True))
        say(f"{token.text:12}  {row}")


if __name__ == "__main__":
    sys.exit(main())
