"""Every public name, and the parameters that it takes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import traitlets

import attn_widget as aw
from attn_widget.features import tasks
from attn_widget.page.spec import PageOptions
from tests.fuzz.good import GOOD
from tests.fuzz.world import OBJECTS, World

# Is raised; is a str.
NOT_CALLED = {"AttnWidgetError", "__version__", "corpus"}
COMMANDS = ("_slice", "_act")  # of the page: what it sends is hostile
PLUMBING = {"notify_change", "set_state"}  # of traitlets and ipywidgets: nobody calls them


@dataclass(frozen=True)
class Target:
    """Something public that can be called, read, set or copied."""

    name: str
    kind: str  # "call", "read", "set", "copy"
    of: str  # an object of `OBJECTS`, or a module
    attribute: str


def public(found: Any) -> list[str]:
    """Public attributes that this package gives an object."""
    ours: set[str] = set()
    for cls in type(found).__mro__:
        if cls.__module__.startswith("attn_widget"):
            ours.update(name for name in vars(cls) if not name.startswith("_"))
            ours.update(getattr(cls, "__annotations__", {}))
    known = set(dir(found)) - PLUMBING
    named = {name for name in ours & known if not name.startswith("_")}
    return sorted(named | {name for name in COMMANDS if hasattr(found, name)})


def unknown_parameters() -> list[str]:
    """Parameters of public names for which `GOOD` has no value."""
    world = World()
    missing: set[str] = set()
    try:
        for target in targets(world):
            if target.kind != "call":
                continue
            for parameter in parameters(getattr(owner_of(world, target), target.attribute)):
                if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                    continue
                if not any(key in GOOD for key in keys_of(world, target, parameter.name)):
                    missing.add(f"{target.name}({parameter.name})")
    finally:
        world.close()
    return sorted(missing)


def keys_of(world: World, target: Target, parameter: str) -> tuple[str, ...]:
    """Where `GOOD` may have a value: of this function, of this class, of any."""
    owner = type(owner_of(world, target)).__name__ if target.of in OBJECTS else target.of
    name = target.attribute
    loads = name.startswith("load_") and name != "load_classifier"
    return (
        f"{owner}.{name}.{parameter}",
        f"{'load_data' if loads else name}.{parameter}",
        f"{owner}.{parameter}",
        parameter,
    )


def targets(world: World) -> list[Target]:
    """Every public name, found."""
    every: list[Target] = []
    for module in (aw, tasks):
        short = "aw" if module is aw else "tasks"
        for name in dir(module):
            if name not in NOT_CALLED:
                every.append(Target(f"{short}.{name}", "call", short, name))
    every.append(Target("aw.Profile.load", "call", "Profile", "load"))
    for label, make in OBJECTS.items():
        found = make(world)
        traits = found.trait_names() if isinstance(found, traitlets.HasTraits) else ()
        for name in public(found):
            whole = f"{label}.{name}"
            attribute = inspect.getattr_static(type(found), name, None)
            if name in traits:
                every.append(Target(whole, "set", label, name))
            elif isinstance(attribute, property) or not callable(attribute):
                every.append(Target(whole, "read", label, name))
            else:
                every.append(Target(whole, "call", label, name))
        every.append(Target(f"pickle {label}", "copy", label, "pickle"))
        every.append(Target(f"copy {label}", "copy", label, "copy"))
    return every


def owner_of(world: World, target: Target) -> Any:
    if target.of in OBJECTS:
        return OBJECTS[target.of](world)
    return {"aw": aw, "tasks": tasks, "Profile": aw.Profile}[target.of]


def parameters(call: Any) -> list[inspect.Parameter]:
    """Parameters of a call, with the options of a page each by itself."""
    try:
        found = list(inspect.signature(call).parameters.values())
    except ValueError:
        return []
    if not found or found[-1].annotation != "Unpack[PageOptions]":
        return found
    options = PageOptions.__annotations__
    return found[:-1] + [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in options
    ]
