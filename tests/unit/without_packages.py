"""A process without some packages: every public name, method, slice and command, and what each of them says.

``python -m tests.unit.without_packages scipy pyarrow`` prints, as JSON, the calls that end in anything but a result or an
error that names a missing package and how to install it, and how many errors did.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HIDDEN = tuple(sys.argv[1:])


class Hider:
    """A finder that has none of the packages."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Hider())  # pyright: ignore[reportArgumentType]

import numpy as np  # noqa: E402

import attn_widget as aw  # noqa: E402
from attn_widget.errors import AttnWidgetError  # noqa: E402

TEXT = "the cat sat on the mat"
FOLDER = Path(tempfile.mkdtemp())
# By name: arguments for methods that have some; names that stand for nothing else.
GIVEN: dict[str, tuple[Any, ...]] = {
    "attention": (1, 2), "scores": (1, 2), "head_output": (1, 2), "queries": (1, 2), "keys": (1, 2), "values": (1, 2),
    "mask": ([2],), "ablate": ([(1, 2)],), "position": ("cat",), "text_before": (2, 5), "flow": (1,), "rollout": (1,),
    "save": (FOLDER / "one.parquet",), "to_html": (FOLDER / "page.html",), "to_json": (FOLDER / "one.json",),
    "nearest": (2,), "difference": (0, 1), "top": (2,), "of": ("self",), "head": (1, 2), "layer": (1,),
    "contributions": (), "side": ("a",), "similarity": (TEXT,), "sentence": (0,), "hidden": (1,), "layer_weights": (1,),
}  # fmt: skip
RESULTS = (
    "analyze",
    "from_attentions",
    "compare",
    "profile",
    "similarity",
    "ranking",
    "compare_many",
)
if "tokenizers" in HIDDEN:  # another tokenizer reads the text, and nothing else differs
    RESULTS = ("analyze",)
SKIPPED = {"close", "show", "display"}  # show() of each result is among the calls below


def target() -> Any:
    return aw.target(position=2, token="cat")


def names() -> dict[str, Callable[[], Any]]:
    """A call of every public name."""
    pair = (TEXT, "a dog")
    calls: dict[str, Callable[[], Any]] = {
        "agreement": lambda: aw.corpus.agreement([TEXT] * 3, target=target(), progress=False),
        "analyze": lambda: aw.analyze(TEXT, progress=False),
        "as_html": lambda: aw.as_html(aw.analyze(TEXT, progress=False)),
        "close_all": lambda: aw.close_all(),
        "compare": lambda: aw.compare(*pair, progress=False),
        "compare_many": lambda: aw.compare.many([pair] * 3, progress=False),
        "faithfulness": lambda: aw.corpus.faithfulness([TEXT] * 3, target=target(), progress=False),
        "from_attentions": lambda: aw.from_attentions([np.full((1, 2, 2), 0.5)], ["a", "b"]),
        "head_means": lambda: aw.corpus.head_means([TEXT], progress=False),
        "index": lambda: aw.corpus.index([TEXT], FOLDER / "index", layer=2, progress=False),
        "load": lambda: aw.load(progress=False),
        "profile": lambda: aw.profile([TEXT] * 3, progress=False),
        "report": lambda: aw.report([TEXT], FOLDER / "report.html"),
        "show": lambda: aw.show(TEXT),
        "similarity": lambda: aw.similarity(*pair, model="attn_widget/mini", progress=False),
        "target": target,
        "to_html": lambda: aw.to_html(aw.analyze(TEXT, progress=False), FOLDER / "page.html"),
        "unload": lambda: None,
    }
    for name in aw.__all__:
        calls.setdefault(name, lambda name=name: getattr(aw, name))
    more: dict[str, Callable[[], Any]] = {
        "show of Why": lambda: aw.show(TEXT, view="why"),
        "show against": lambda: aw.show(TEXT, against="a dog"),
        "ranking": lambda: aw.similarity(
            TEXT, ["a", "b"], model="attn_widget/mini", progress=False
        ),
        "profile of Parquet": lambda: aw.profile(FOLDER / "texts.parquet", progress=False),
        "profile saved": lambda: aw.profile([TEXT] * 3, progress=False, save_to=FOLDER / "kept"),
        "engine": lambda: aw.show(TEXT).to_html(FOLDER / "live.html", engine=True),
        "to_html of a comparison": lambda: aw.to_html(
            aw.compare(*pair, progress=False), FOLDER / "c.html"
        ),
        "other model": lambda: aw.load("some/model", progress=False),
    }
    (FOLDER / "texts.parquet").write_bytes(b"PAR1")
    return {**calls, **more}


def commands() -> dict[str, Callable[[], Any]]:
    from attn_widget.__main__ import main

    lines = {
        "a text": [TEXT],
        "a page": [TEXT, "-o", str(FOLDER / "a.html")],
        "two texts": [TEXT, "--against", "a dog", "-o", str(FOLDER / "b.html")],
        "similarity": ["similarity", TEXT, "a dog", "--model", "attn_widget/mini"],
        "json": [TEXT, "--json"],
    }

    def run(line: list[str]) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            status = main(line)
        if status:
            raise SaidError(said.getvalue())

    return {f"attn-widget {name}": lambda line=line: run(line) for name, line in lines.items()}


class SaidError(Exception):
    """What the command line or a slice says instead of an answer."""


def methods(result: Any, called: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every public attribute and method of a result; those that need other arguments are left out."""
    for name in dir(type(result)):
        if name.startswith("_") or name in SKIPPED:
            continue

        def call(name: str = name) -> Any:
            value = getattr(result, name)
            if not callable(value):
                return value
            needed = [
                one.name
                for one in inspect.signature(value).parameters.values()
                if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
            ]  # fmt: skip
            if needed and needed[0] == "target":
                return value(target())
            if needed and needed[0] == "path":
                return value(FOLDER / ("one.parquet" if name == "save" else f"{name}.html"))
            return value(*GIVEN.get(name, ())) if not needed or name in GIVEN else None

        yield f"{called}.{name}", call


def slices() -> Iterator[tuple[str, Callable[[], Any]]]:
    from attn_widget.protocol import answer as protocol

    analysis = aw.analyze(TEXT, progress=False)
    common = {
        "layer": 1,
        "head": 2,
        "token": 2,
        "position": 2,
        "target": {"position": 2},
        "rows": [0, 2],
    }
    for kind in sorted(protocol.HANDLERS):

        def ask(kind: str = kind) -> None:
            for request in ({"kind": kind}, {"kind": kind, **common}):
                reply, _ = protocol.answer(analysis, request)
                if not reply["ok"] and "bug" in reply["hint"]:
                    raise SaidError(f"{reply['error']} {reply['hint']}")

        yield f"slice {kind}", ask


def main() -> None:
    failures: dict[str, str] = {}
    explained = 0

    def attempt(name: str, call: Callable[[], Any]) -> Any:
        nonlocal explained
        try:
            return call()
        except (AttnWidgetError, SaidError) as error:
            missing = "is not installed" in str(error) and "pip install" in str(error)
            explained += missing
            if isinstance(error, SaidError) and not missing:
                failures[name] = str(error)
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"
        return None

    warnings.simplefilter("ignore")
    with contextlib.redirect_stderr(io.StringIO()):
        results = {name: attempt(name, call) for name, call in names().items()}
        for name in RESULTS:
            if results[name] is not None:
                for called, call in methods(results[name], name):
                    attempt(called, call)
        for name, call in [*commands().items(), *slices()]:
            attempt(name, call)
    print(json.dumps({"failures": failures, "explained": explained}))


if __name__ == "__main__":
    main()
