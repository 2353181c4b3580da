"""Hostile messages of the page, damaged files and command lines; see `tests.fuzz`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat

import attn_widget as aw
from attn_widget.__main__ import main as command_line
from attn_widget.checks import short_repr
from attn_widget.features import tasks
from attn_widget.features.exports.notebook import LivePages
from tests.fuzz.good import ASKED, SLICES
from tests.fuzz.hostile import nested
from tests.fuzz.run import GIVE_UP, SECONDS, Fault, Result, alarm, why_bare
from tests.fuzz.world import TEXT, World
from tests.unit.made_gguf import write_gguf

MAX_THREADS = 24  # of a widget's own: what computes slices, runs a text, tells progress
PLAIN: tuple[Callable[[], Any], ...] = (  # what JSON can carry, and some that it cannot
    lambda: None, lambda: True, lambda: 0, lambda: -1, lambda: 1, lambda: 1.5, lambda: float("nan"),
    lambda: 2**53, lambda: 10**30, lambda: 10**5000, lambda: "", lambda: "weights", lambda: "a\ud800",
    lambda: "a" * 100_000, list, dict, lambda: [0, 1], lambda: [1, 0], lambda: [[0, 0]], lambda: [None],
    lambda: nested(7), lambda: nested(500), lambda: {"kind": []}, lambda: {"kind": "weights"},
    lambda: "cross", lambda: {"part": "encoder"}, lambda: {"part": []}, lambda: [["cross", 0, 0]],
    lambda: {"position": 1, "token": 5}, lambda: [["head", 0, 0]], lambda: [0] * 20_000, lambda: {1: 2},
)  # fmt: skip
FIELDS = (
    *ASKED,
    "of",
    "heads",
    "run",
    "sites",
    "target",
    "start",
    "example",
    "index",
    "by",
    "kind",
    "part",
    "output",
    "source",
)


class Hammer:
    """One hostile act after another, each timed and judged as `tests.fuzz` says."""

    def __init__(self, report: Callable[[str], None] | None) -> None:
        self.result = Result()
        self._report = report

    def strike(self, label: str, call: Callable[[], Any]) -> Any:
        """Do ``call``; its result, or None where it was refused."""
        why, trace, given = "", "", None
        signal.setitimer(signal.ITIMER_REAL, GIVE_UP)
        begun = time.process_time()
        try:
            given = call()
            self.result.returned += 1
        except SystemExit as error:  # of argparse
            self.result.refused[f"exit {error.code}"] += 1
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            why = why_bare(error, error.__traceback__)
            self.result.refused[type(error).__name__] += 1
            trace = "".join(traceback.format_exception(error, limit=-6))[-3000:] if why else ""
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        took = time.process_time() - begun
        self.result.slowest = sorted([*self.result.slowest, (took, label)], reverse=True)[:10]
        self.result.calls += 1
        if not why and took > SECONDS:
            why = f"took {took:.1f} s"
        if why:
            self.fault(label, why, trace)
        return given

    def fault(self, label: str, why: str, trace: str = "") -> None:
        self.result.faults.append(Fault(self.result.calls, label, why, trace))
        if self._report is not None:
            self._report(f"#{self.result.calls} {label}: {why}\n{trace}")


def judged(
    seed: int,
    report: Callable[[str], None] | None,
    act: Callable[[Hammer, random.Random, World], None],
) -> Result:
    """The result of ``act``, with its objects made and taken away."""
    hammer, world = Hammer(report), World()
    previous = signal.signal(signal.SIGALRM, alarm)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            act(hammer, random.Random(seed), world)
    finally:
        signal.signal(signal.SIGALRM, previous)
        world.close()
    return hammer.result


def messages(count: int, seed: int = 0, report: Callable[[str], None] | None = None) -> Result:
    """Send ``count`` hostile messages to widgets: requests, actions and states."""

    def act(hammer: Hammer, rng: random.Random, world: World) -> None:
        widgets = (
            *(world.shown, world.task_widget, world.profile_widget),
            *(world.outside_widget, world.parts_widget),
        )
        before = threading.active_count()
        for _ in range(count):
            widget = rng.choice(widgets)
            asked: Any = {
                "kind": rng.choice((*SLICES, "drop", "compared", "patched", "heads", "switch_off"))
            }
            for name in rng.sample(FIELDS, rng.choice((1, 2, 4))):
                asked[name] = rng.choice(PLAIN)() if rng.random() < 0.6 else rng.choice((0, 1))
            if rng.random() < 0.05:
                asked = rng.choice(PLAIN)()
            way = rng.choice(("_slice", "_slice", "_act", "set_state"))
            if way == "set_state":
                names = rng.sample(sorted(widget.trait_names(sync=True)), 2)
                asked = {name: rng.choice(PLAIN)() for name in names if not name.startswith("_")}
                hammer.strike(f"set_state of {sorted(asked)}", partial(widget.set_state, asked))
                continue
            if not hasattr(widget, way):
                continue
            label = f"{way} {short_repr(asked.get('kind') if isinstance(asked, dict) else asked)}"
            given = hammer.strike(label, partial(getattr(widget, way), asked, []))
            reply = given[0] if isinstance(given, tuple) else None
            if not isinstance(reply, dict) or not isinstance(reply.get("ok"), bool):
                hammer.fault(label, "no reply to the page")
            elif "bug" in reply.get("hint", ""):
                hammer.fault(label, f"called a bug: {reply['error']}")
            if threading.active_count() > before + MAX_THREADS:
                hammer.fault(label, f"{threading.active_count()} threads")

    return judged(seed, report, act)


def damaged(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """``content`` as a disk or a program might have left it."""
    at = rng.randrange(len(content) + 1)
    ways: dict[str, Callable[[], bytes]] = {
        "cut": lambda: content[:at],
        "a bit": lambda: content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :],
        "zeros": lambda: content[:at] + b"\0" * 64 + content[at + 64 :],
        "doubled": lambda: content + content,
        "empty": lambda: b"",
        "another": lambda: rng.choice(
            (b"[]", b"null", b"{}", b"[" * 100_000, b"\xff\xfe", b"3", b'{"a": 1}')
        ),
        "a mark": lambda: b"\xef\xbb\xbf" + content,
    }
    name = rng.choice([*ways])
    return name, ways[name]()


def files(count: int, seed: int = 0, report: Callable[[str], None] | None = None) -> Result:
    """Open ``count`` damaged files: models, GGUF files and what they became, classifiers, profiles, parts, indexes, tables,
    notebooks."""

    def act(hammer: Hammer, rng: random.Random, world: World) -> None:
        whole = world.folder / "whole"
        kinds = list(made(world, whole).items())
        for number in range(count):
            name, open_ = rng.choice(kinds)
            place = world.folder / f"damaged{number}"
            shutil.copytree(whole / name, place)
            file = rng.choice(sorted(path for path in place.rglob("*") if path.is_file()))
            how, content = damaged(file.read_bytes(), rng)
            file.write_bytes(content)
            hammer.strike(f"{name}: {how} in {file.name}", partial(open_, place))
            aw.unload()
            shutil.rmtree(place)

    return judged(seed, report, act)


def read_gguf(place: Path) -> None:
    """Open the GGUF file in a folder, with the cache beside it."""
    with patch.dict(os.environ, ATTN_WIDGET_CACHE=str(place / "cache")):
        aw.analyze("a cat", model=place / "tiny.gguf", tagger=None, progress=False)


def made(world: World, whole: Path) -> dict[str, Callable[[Path], Any]]:
    """A folder of each kind below ``whole``, and what opens a copy of it."""
    tiny, texts = world.tiny, ["Cats purr.", TEXT]
    for name in ("model", "gguf", "profile", "table", "notebook"):
        (whole / name).mkdir(parents=True)
    for part in tiny:
        part.save_pretrained(whole / "model")
    world.fitted.save(whole / "classifier")
    world.profile.save(whole / "profile" / "p.parquet")
    compared: dict[str, Any] = {"model": tiny, "progress": False}
    options: dict[str, Any] = {**compared, "tagger": None}
    aw.profile(texts, folder=str(whole / "folder"), **options)
    aw.compare.many([("he sat", "she sat")], resume=str(whole / "pairs"), **compared)
    aw.corpus.index(texts, whole / "index", layer=0, **options)
    checkpoint: dict[str, Any] = {"epochs": 1, "progress": False}
    tasks.fit_classifier(
        tiny, ["a cat", "a dog"], [0, 1], checkpoint=whole / "training", **checkpoint
    )
    write_gguf(whole / "gguf" / "tiny.gguf")
    read_gguf(whole / "gguf")
    (whole / "table" / "a.csv").write_text(Path(world.csv).read_text())
    (whole / "table" / "a.jsonl").write_text('{"text": "a cat"}\n' * 9)
    (whole / "table" / "a.json").write_text('[{"text": "a cat"}, {"text": "a dog"}]')
    (whole / "notebook" / "a.ipynb").write_text(json.dumps(NOTEBOOK))

    def read_tables(place: Path) -> None:
        for file in sorted(place.iterdir()):
            with contextlib.suppress(aw.AttnWidgetError):
                aw.profile(str(file), **options)
        tasks.read_csv(place / "a.csv", text="text", label="label", classes=("bad", "good"))

    def read_notebook(place: Path) -> None:
        try:
            notebook = json.loads((place / "a.ipynb").read_bytes())
        except (ValueError, RecursionError):
            return  # Jupyter reads the file, not we
        if isinstance(notebook, dict):
            LivePages().preprocess(nbformat.from_dict(notebook), {})

    return {
        "model": lambda place: aw.analyze("a cat", model=place, tagger=None, progress=False),
        "gguf": read_gguf,
        "classifier": lambda place: repr(tasks.load_classifier(place)),
        "profile": lambda place: repr(aw.Profile.load(place / "p.parquet")),
        "folder": lambda place: aw.profile(texts, folder=str(place), **options),
        "pairs": lambda place: aw.compare.many(
            [("he sat", "she sat")], resume=str(place), **compared
        ),
        "index": lambda place: aw.WordIndex.open(place, model=tiny).neighbors(world.analysis, 1, 2),
        "training": lambda place: tasks.fit_classifier(
            tiny, ["a cat", "a dog"], [0, 1], checkpoint=place, **checkpoint
        ),
        "table": read_tables,
        "notebook": read_notebook,
    }


OUTPUT = '<div class="attn-widget-output" data-version="0"></div>'
VIEW = {"application/vnd.jupyter.widget-view+json": {"model_id": "m"}, "text/html": OUTPUT}
STATE = {
    "application/vnd.jupyter.widget-state+json": {
        "state": {"m": {"state": {"a": "IPY_MODEL_b"}}, "b": {}}
    }
}
NOTEBOOK: dict[str, Any] = {
    "cells": [
        {
            "cell_type": "code",
            "outputs": [{"output_type": "display_data", "data": VIEW}],
            "source": "",
        }
    ],
    "metadata": {"widgets": STATE},
    "nbformat": 4,
    "nbformat_minor": 5,
}
OPTIONS = (
    "--pair", "--pairs", "--model", "--top-k", "--json", "-o", "--title", "--why", "--masked", "--against", "--engine",
    "--windows", "--truncation", "--file", "--layer", "--no", "--version", "--help",
)  # fmt: skip
WORDS = (
    "", " ", "a", "1", "-1", "99999999999999999999", "no/model", "\ud800", "a" * 5000, "5,1", "auto", "2=the",
    "class=1", "next", "/dev/null", "nowhere/a.html", ".", "{}", "[1]", "NaN", "the cat sat",
)  # fmt: skip


def lines(count: int, seed: int = 0, report: Callable[[str], None] | None = None) -> Result:
    """Run ``count`` hostile command lines in this process."""

    def act(hammer: Hammer, rng: random.Random, world: World) -> None:
        world.tiny[0].save_pretrained(world.folder / "m")
        world.tiny[1].save_pretrained(world.folder / "m")
        before = Path.cwd()
        os.chdir(world.folder)
        try:
            for _ in range(count):
                line = [rng.choice(("the cat sat", *WORDS))] if rng.random() < 0.9 else []
                if rng.random() < 0.8:
                    line += ["--model", "m"]
                for option in rng.sample(OPTIONS, rng.choice((1, 2, 3))):
                    line += [option, rng.choice(WORDS)] if rng.random() < 0.7 else [option]
                if rng.random() < 0.1:
                    rng.shuffle(line)
                said = io.StringIO()
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                    hammer.strike(
                        f"attn-widget {[word[:30] for word in line]}",
                        partial(command_line, list(line)),
                    )
                if "Traceback" in said.getvalue():
                    hammer.fault(str(line)[:200], "a traceback", said.getvalue()[-2000:])
        finally:
            os.chdir(before)

    return judged(seed, report, act)
