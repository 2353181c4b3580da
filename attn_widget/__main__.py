"""`attn-widget "text"`: predictions on the screen, the whole analysis as JSON, or a page that stays alive."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attn_widget._version import __version__
from attn_widget.errors import AttnWidgetError, InputError
from attn_widget.host.installed import needing

if TYPE_CHECKING:
    from attn_widget.features.similarity import Ranking, Similarity


class Option(NamedTuple):
    """An option of a command: its arguments for argparse, and the options that it needs or excludes."""

    help: str
    takes: dict[str, Any]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


SWITCH: dict[str, Any] = {"action": "store_true"}
PIPE_CLOSED = 141  # exit status of a command that SIGPIPE ends
OUTPUT = Option("write a page that needs no kernel and no network", {"metavar": "PAGE"})
TITLE = Option("of the page", {}, needs=("output",))
OPTIONS = {
    "file": Option("texts, one per line (- reads standard input)", {"metavar": "FILE"}, ("output",), ("pair", "masked")),
    "pairs": Option(
        "pairs of texts to compare, one per line, separated by a tab", {"metavar": "FILE"}, ("output",),
        ("pair", "against", "why", "engine", "light", "masked"),
    ),
    "output": OUTPUT,
    "title": TITLE,
    "written": Option("what an encoder-decoder writes for the text", {"metavar": "TEXT"}, (), ONE_RUN := ("pairs", "against", "file", "windows", "engine", "light")),
    "generate": Option("let a decoder or an encoder-decoder write up to N tokens", {"metavar": "N", "type": int}, (), ONE_RUN),
    "pair": Option("a second segment", {"metavar": "TEXT"}),
    "against": Option(
        "another text to compare with: writes a page of both runs and their difference", {"metavar": "TEXT"},
        ("output",), ("file", "why", "masked", "pair"),
    ),
    "model": Option("hub name or folder; the embedded model unless given", {}),
    "json": Option("print the whole analysis as JSON", SWITCH, (), ("output",)),
    "top_k": Option("predictions per position (5); a page has all that it can show", {"metavar": "K", "type": int}, (), ("output",)),
    "masked": Option("predict each position with a mask in its place", SWITCH),
    "why": Option('explain it in the page: "[MASK]=are,is"', {"metavar": "TARGET", "action": "append"}, ("output",), ("file",)),
    "engine": Option("include the model, so that the page runs any text typed into it", SWITCH, ("output",), ("why", "masked", "against")),
    "light": Option("include an engine of half the size, which is less exact", SWITCH, ("output",), ("why", "masked", "against")),
    "assets": Option('weights of --engine in a script: "beside" or a folder', {"metavar": "FOLDER"}, ("engine",), ("light",)),
    "max_bytes": Option(
        "maximum size of the page; parts left out are listed", {"metavar": "N", "type": int}, ("output",),
        ("engine", "light", "against", "file", "pairs"),
    ),
    "windows": Option(
        'read a text that is too long in overlapping windows; "auto": as long as the model allows', {"metavar": "SIZE,OVERLAP"},
        (), ("pairs", "against", "file", "truncation"),
    ),
    "truncation": Option("truncate a text that is too long", SWITCH),
}  # fmt: skip
SIMILARITY = {
    "model": Option("hub name or folder; all-MiniLM-L6-v2 unless given", {}),
    "pooling": Option("of a model that names none: mean, cls, last, max ...", {}),
    "prompt": Option("put before both texts, or the name of a prompt", {}),
    "output": OUTPUT,
    "title": TITLE,
    "engine": Option("include the model, so that both texts can be typed", SWITCH, ("output",)),
    "top_k": Option("pairs or passages to print (10); a page has all", {"metavar": "K", "type": int}, (), ("output",)),
    "truncation": OPTIONS["truncation"],
}  # fmt: skip


def flag(name: str) -> str:
    """An option as it is typed."""
    return "-o PAGE" if name == "output" else f"--{name.replace('_', '-')}"


def add_options(parser: argparse.ArgumentParser, options: dict[str, Option]) -> None:
    for name, option in options.items():
        short = ["-o"] if name == "output" else []
        parser.add_argument(*short, f"--{name.replace('_', '-')}", help=option.help, **option.takes)


def parse(
    parser: argparse.ArgumentParser, options: dict[str, Option], arguments: Sequence[str]
) -> argparse.Namespace:
    """The options, each with all that it needs and none that it excludes."""
    found = parser.parse_args(arguments)
    given = {name for name in options if getattr(found, name) not in (None, False)}
    for name in [name for name in options if name in given]:
        for other in options[name].needs:
            if other not in given:
                parser.error(f"{flag(name)} needs {flag(other)}")
        for other in options[name].without:
            if other in given:
                parser.error(f"{flag(name)} cannot be combined with {flag(other)}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 2 for input that cannot be used."""
    arguments = [*(sys.argv[1:] if arguments is None else arguments)]
    if arguments[:1] == ["similarity"] and len(arguments) > 1:
        return compare_meanings(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="attn-widget", description="See inside a BERT-family model."
    )
    parser.add_argument("text", nargs="?")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    add_options(parser, OPTIONS)
    options = parse(parser, OPTIONS, arguments)
    if [options.text, options.file, options.pairs].count(None) != 2:
        parser.error("give a text, or --file with texts, or --pairs with pairs of texts")
    if options.light:
        options.engine = "light"
    if options.windows is not None:
        options.windows = windows_written(options.windows) or parser.error(
            f"--windows is {options.windows!r}, expected auto or two numbers: --windows 256,64"
        )
    return _ended(write_pages if options.output is not None else print_analysis, options)


def _ended(work: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> int:
    """Do the work; its exit status."""
    try:
        with needing("This command"):
            work(options)
        sys.stdout.flush()
    except BrokenPipeError:  # of `| head`, which has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except (AttnWidgetError, OSError) as error:
        print(f"attn-widget: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def windows_written(written: str) -> Literal[True] | tuple[int, int] | None:
    """``--windows`` as `analyze` takes it; None where it is neither "auto" nor two numbers.

    Examples
    --------
    >>> windows_written("auto"), windows_written("256, 64"), windows_written("256")
    (True, (256, 64), None)
    """
    match = re.fullmatch(r"(\d{1,9})\s*,\s*(\d{1,9})", written.strip())
    return True if written == "auto" else (int(match[1]), int(match[2])) if match else None


def say(line: str) -> None:
    """Print a line; what the terminal has no characters for is written as escapes."""
    encoding = sys.stdout.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding))


def write_pages(options: argparse.Namespace) -> None:
    """One text as a page, or the lines of a file as a report."""
    from attn_widget.analysis.texts import analyze
    from attn_widget.features.comparison.inputs import compare
    from attn_widget.features.exports.report import report
    from attn_widget.features.why.target_written import target_written
    from attn_widget.host.files import destination
    from attn_widget.page.page import write_page
    from attn_widget.page.saved_run import ExportOptions, PageOptions, saved_run
    from attn_widget.page.saving import save_page
    from attn_widget.protocol.run_source import RunSource
    from attn_widget.protocol.selection import Selection

    export = ExportOptions(title=options.title)
    target = destination(options.output)  # before the model runs
    run: dict[str, Any] = {"model": options.model, "truncation": options.truncation}
    live: dict[str, Any] = {"engine": options.engine, "assets": options.assets or "inside"}
    if options.against is not None:
        compared = compare(options.text, options.against, **run)
        path = save_page([compared], target, {"title": options.title})
    elif options.pairs is not None:
        pairs = [compare(*pair, **run) for pair in read_pairs(options.pairs)]
        path = report(pairs, target, title=options.title)
    elif options.file is None:
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
        targets = [target_written(analysis, target) for target in options.why or ()] or None
        chosen = Selection(view="why" if options.why else "attention")
        if "cross" in analysis.parts and not options.why:
            analysis = analysis.of("cross")
        source = RunSource(analysis)
        if options.engine:
            path = save_page([(source, chosen)], target, PageOptions(title=options.title, **live))
        elif options.max_bytes is not None:
            limited = PageOptions(title=options.title or source.title, why=targets)
            path = save_page(
                [(source, chosen)], target, {**limited, "max_bytes": options.max_bytes}
            )
        else:
            saved = saved_run(source, chosen, replace(export, why=targets))
            path = write_page(target, [saved], saved.title, "stack")
    else:
        texts = read_lines(options.file)
        path = report(texts, target, title=options.title, **live, **run)
    say(f"wrote {path} ({path.stat().st_size / 1e6:.2f} MB)")


def compare_meanings(arguments: Sequence[str]) -> int:
    """`attn-widget similarity A B`: the score and its strongest pairs of words; with several B, a ranking."""
    parser = argparse.ArgumentParser(
        prog="attn-widget similarity",
        description="Why are two texts similar, by a sentence embedder or a reranker? Several B are ranked.",
    )
    parser.add_argument("a", metavar="A")
    parser.add_argument("b", metavar="B", nargs="+")
    add_options(parser, SIMILARITY)
    return _ended(show_similarity, parse(parser, SIMILARITY, arguments))


def show_similarity(options: argparse.Namespace) -> None:
    """A page, or the largest numbers on the screen."""
    from attn_widget.features.similarity import Ranking, similarity
    from attn_widget.host.files import destination

    target = None if options.output is None else destination(options.output)
    chosen = {n: getattr(options, n) for n in ("model", "pooling", "prompt", "truncation")}
    texts: Any = options.b if len(options.b) > 1 else options.b[0]
    result = similarity(options.a, texts, tagger=None, **chosen)
    if target is not None:
        for note in result.notes:
            say(note)
        path = result.to_html(target, title=options.title, engine=options.engine)
        say(f"wrote {path} ({path.stat().st_size / 1e6:.2f} MB)")
    elif isinstance(result, Ranking):
        print_ranking(result, options.top_k or 10)
    else:
        print_similarity(result, options.top_k or 10)


def print_similarity(compared: Similarity, top: int) -> None:
    """The score, the pairs of words that are largest in size, and what the rest adds."""
    for note in compared.notes:
        say(note)
    say(f"{compared.kind} {compared.score:.4f}")
    if compared.probability is not None:
        say(f"sigmoid {compared.probability:.4f}")
        explained = compared.contributions()
        own = [i for i, token in enumerate(explained.tokens) if not token.special]
        for i in sorted(own, key=lambda i: -abs(explained.values[i]))[:top]:
            say(f"{explained.values[i]:+8.4f}  {explained.tokens[i].surface}")
        return
    pairs = compared.pairs(top)
    for pair in pairs:
        say(f"{pair.value:+8.4f}  {pair.a} - {pair.b}")
    bias = float(compared.biases.sum()) if compared.kind != "maxsim" else 0.0
    rest = compared.score - bias - sum(pair.value for pair in pairs)
    say(f"{rest:+8.4f}  all other pairs")
    if compared.kind != "maxsim":
        say(f"{bias:+8.4f}  biases")


def print_ranking(ranking: Ranking, top: int) -> None:
    """The best passages with their scores, and those that failed."""
    for note in ranking.notes:
        say(note)
    for index, score, passage in ranking.top(top):
        say(f"{score:8.4f}  {index + 1:3}  {passage}")
    for index, reason in ranking.failed.items():
        say(f"{'-':>8}  {index + 1:3}  {reason}")


def read_lines(name: str) -> list[str]:
    """The lines of a UTF-8 file that are not blank, whatever the locale's encoding.

    A line ends where an editor ends it: U+2028 and form feeds stay in their text.
    """
    called = "standard input" if name == "-" else repr(name)
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        whole = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{called} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{called} is not UTF-8.", "Save it as UTF-8 text.") from error
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", whole) if line.strip()]
    if not lines:
        raise InputError(f"{called} holds no text.", "Give one text per line.")
    return lines


def read_pairs(name: str) -> list[tuple[str, str]]:
    """The two texts of each line of a file, with a tab between."""
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(read_lines(name), 1):
        texts = [text.strip() for text in line.split("\t")]
        if len(texts) != 2 or not all(texts):
            raise InputError(
                f"Line {number} of {name!r} that is not blank has {len(texts)} texts, expected 2.",
                "Give two texts per line, separated by a tab.",
            )
        pairs.append((texts[0], texts[1]))
    return pairs


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
