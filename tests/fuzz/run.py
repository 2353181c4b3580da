"""Hostile calls, one after another, and what each came to."""

from __future__ import annotations

import copy
import inspect
import itertools
import os
import pickle
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import traitlets

import attn_widget as aw
from attn_widget.errors import AttnWidgetError
from tests.fuzz.good import ASKED, GOOD, SLICES
from tests.fuzz.hostile import HOSTILE, RefusedError
from tests.fuzz.targets import COMMANDS, Target, keys_of, owner_of, parameters, targets
from tests.fuzz.world import World

SECONDS = 10.0  # of the processor: a call on a busy machine takes longer
GIVE_UP = 300.0  # seconds after which a call is ended
LONGEST = 2100  # characters of a message with its hint
DRAWN = {"save_png", "save_svg"}  # start a browser
SELDOM = 8  # of so many turns, one goes to a call that takes seconds: a browser, a training, pip
SLOW = DRAWN | {
    "fit_classifier",
    "load_amazon",
    "load_films",
    "load_tweets",
    "load_editorials",
    "rated_sentences",
}


@dataclass
class Fault:
    number: int
    call: str
    why: str
    traceback: str


@dataclass
class Result:
    """What a run of the fuzzer found."""

    calls: int = 0
    returned: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    by_target: Counter[str] = field(default_factory=Counter)


class TooSlowError(BaseException):
    """A call was ended after `GIVE_UP` seconds."""


def good(world: World, rng: random.Random, target: Target, parameter: str) -> Any:
    """A value that works for a parameter."""
    key = next(key for key in keys_of(world, target, parameter) if key in GOOD)
    return rng.choice(GOOD[key](world))


def hostile(world: World, rng: random.Random) -> tuple[str, Any]:
    """Something of `HOSTILE`, or an object of ours that belongs elsewhere."""
    ours = {
        "an analysis": lambda: world.analysis,
        "a widget": lambda: world.outside_widget,
        "a profile": lambda: world.profile,
        "an encoder": lambda: world.encoder,
        "a model with NaN": lambda: world.broken,
        "a folder of a million layers": lambda: world.huge,
    }
    name = rng.choice([*HOSTILE, *ours])
    return name, {**HOSTILE, **ours}[name]()


def arguments(
    world: World, rng: random.Random, target: Target, call: Any
) -> tuple[list[Any], dict[str, Any], list[str]]:
    """Arguments of a call, and what was changed of them."""
    given: dict[str, Any] = {}
    changes: list[str] = []
    names = parameters(call)
    for parameter in names:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            if parameter.kind is parameter.VAR_KEYWORD and rng.random() < 0.5:
                option = rng.choice(
                    [
                        "layer",
                        "head",
                        "view",
                        "token",
                        "theme",
                        "special",
                        "layre",
                        "scale",
                        "group",
                        "pair",
                        "height",
                        "truncation",
                        "model",
                        "tagger",
                        "saved",
                        "metric",
                    ]
                )
                what, value = hostile(world, rng)
                given[option] = value
                changes.append(f"{option}={what}")
            continue
        must = parameter.default is parameter.empty or parameter.name in (
            "progress",
            "tagger",
            "model",
        )
        if must or rng.random() < 0.3:
            value = good(world, rng, target, parameter.name)
            given[parameter.name] = value
    open_ = [p.name for p in names if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if open_ and rng.random() < 0.9:
        for name in rng.sample(open_, min(len(open_), rng.choice((1, 1, 2)))):
            what, value = hostile(world, rng)
            given[name] = value
            changes.append(f"{name}={what}")
    positional: list[Any] = []
    for parameter in names:
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in given:
            positional.append(given.pop(parameter.name))
    if rng.random() < 0.03:
        given["layre"] = 3
        changes.append("layre=3")
    if target.attribute in COMMANDS and rng.random() < 0.9:
        asked: dict[str, Any] = {"kind": rng.choice(SLICES)}
        for key in rng.sample(ASKED, 4):
            what, value = hostile(world, rng)
            if rng.random() < 0.4:
                what, value = "1", 1
            asked[key] = value
            changes.append(f"{key}={what}")
        given["request"] = asked
    return positional, given, changes


def perform(world: World, rng: random.Random, target: Target) -> tuple[str, Callable[[], Any]]:
    """A call, in words and ready."""
    owner = owner_of(world, target)
    if target.kind == "read":
        return target.name, lambda: getattr(owner, target.attribute)
    if target.kind == "set":
        what, value = hostile(world, rng)
        return f"{target.name} = {what}", lambda: setattr(owner, target.attribute, value)
    if target.kind == "copy":
        how = pickle.dumps if target.attribute == "pickle" else copy.deepcopy
        return target.name, lambda: how(owner)
    call = getattr(owner, target.attribute)
    positional, given, changes = arguments(world, rng, target, call)
    return f"{target.name}({', '.join(changes)})", lambda: call(*positional, **given)


def why_bare(error: BaseException, entered: TracebackType | None) -> str:
    """Why an exception is a fault; empty when it is one of ours, in words that can be read."""
    if isinstance(error, TooSlowError):
        return f"ended after {GIVE_UP:.0f} s"
    if isinstance(error, RefusedError):
        return ""
    if isinstance(error, (AttnWidgetError, traitlets.TraitError)):
        return "" if len(str(error)) <= LONGEST else f"a message of {len(str(error)):,} characters"
    # Python's own word on a call that does not fit the signature: no frame of ours was entered.
    if isinstance(error, TypeError) and entered is None:
        return ""
    return f"bare {type(error).__name__}: {str(error)[:200]}"


def alarm(_signal: int, _frame: Any) -> None:
    raise TooSlowError


def run(
    calls: int, seed: int, *, slow: bool = True, report: Callable[[str], None] | None = None
) -> Result:
    """Make ``calls`` hostile calls.

    Parameters
    ----------
    slow : bool
        Also what starts a browser, a training or pip.
    report : callable, optional
        Called with each fault at once.
    """
    rng = random.Random(seed)
    result = Result()
    world = World()
    before, environment = Path.cwd(), dict(os.environ)
    os.chdir(world.folder)  # a str that could be a file's name may become one
    os.environ.update(PIP_NO_INDEX="1", HF_HUB_OFFLINE="1", ATTN_WIDGET_CACHE=cache_of())
    previous = signal.signal(signal.SIGALRM, alarm)
    limit = sys.getrecursionlimit()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, target in zip(range(calls), turns(targets(world), rng, slow), strict=False):
                call_one(world, rng, target, number, result, report)
                if number % 50 == 49:
                    aw.close_all()
    finally:
        sys.setrecursionlimit(limit)
        signal.signal(signal.SIGALRM, previous)
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        world.close()
    result.slowest = sorted(result.slowest, reverse=True)[:10]
    return result


def cache_of() -> str:
    from attn_widget.features.tasks.data.archive import cache_folder

    return str(cache_folder(None))


def turns(every: Sequence[Target], rng: random.Random, slow: bool) -> Iterator[Target]:
    """Every target in each round, in another order; slow ones seldom."""
    for turn in itertools.count():
        order = list(every)
        rng.shuffle(order)
        for target in order:
            if target.attribute not in SLOW or (slow and turn % SELDOM == 0):
                yield target


def call_one(
    world: World,
    rng: random.Random,
    target: Target,
    number: int,
    result: Result,
    report: Callable[[str], None] | None,
) -> None:
    label, call = perform(world, rng, target)
    why, trace = "", ""
    signal.setitimer(signal.ITIMER_REAL, GIVE_UP)
    begun = time.process_time()
    try:
        found = call()
        took = time.process_time() - begun
        if inspect.isgenerator(found):
            list(itertools.islice(found, 10_000))
        repr(found)
        if target.attribute in COMMANDS and not isinstance(found[0].get("ok"), bool):
            why = "no reply to the page"
        result.returned += 1
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        took = time.process_time() - begun
        entered = (
            error.__traceback__.tb_next.tb_next
            if error.__traceback__ and error.__traceback__.tb_next
            else None
        )
        why = why_bare(error, entered)
        result.refused[type(error).__name__] += 1
        if why:
            trace = "".join(traceback.format_exception(error, limit=-6))[-3000:]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if not why and took > SECONDS:
        why = f"took {took:.1f} s"
    result.calls += 1
    result.by_target[target.name] += 1
    result.slowest = sorted([*result.slowest, (took, label)], reverse=True)[:10]
    if why:
        result.faults.append(Fault(number, label, why, trace))
        if report is not None:
            report(f"#{number} {label}: {why}\n{trace}")
