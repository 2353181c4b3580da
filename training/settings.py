"""Read `config.toml`, with overrides from the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIG = Path(__file__).with_name("config.toml")

Settings = dict[str, dict[str, Any]]


def read_settings(path: Path = CONFIG, overrides: list[str] | None = None) -> Settings:
    """Read the configuration and apply overrides written as ``section.key=value``.

    A value is TOML; a string needs no quotes, which a shell would take away.

    Raises
    ------
    KeyError
        If an override names a section or key that the configuration does not have.
    ValueError
        If its value is not of the kind that stands there.

    Examples
    --------
    >>> changed = read_settings(overrides=["train.schedule=linear", "train.total_tokens=20_000_000"])
    >>> changed["train"]["schedule"], changed["train"]["total_tokens"]
    ('linear', 20000000)
    """
    settings: Settings = tomllib.loads(path.read_text())
    for override in overrides or []:
        name, _, value = override.partition("=")
        section, _, key = name.partition(".")
        if key not in settings.get(section, {}):
            known = ", ".join(f"{s}.{k}" for s, keys in settings.items() for k in keys)
            raise KeyError(f"no setting {name!r}; known settings: {known}")
        settings[section][key] = parse_value(value, settings[section][key], name)
    return settings


def parse_value(text: str, present: Any, name: str) -> Any:
    """``text`` as a value like the ``present`` one."""
    try:
        value = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        value = text
    fits = isinstance(value, type(present)) and isinstance(value, bool) == isinstance(present, bool)
    if fits or (isinstance(present, float) and type(value) is int):
        return value
    kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    raise ValueError(f"{name}={text}: expected {kind[type(present)]}, as in {name}={present}")


def build_parser(docstring: str | None) -> argparse.ArgumentParser:
    """A parser with ``--config`` and ``--set``, described by a docstring's first line."""
    parser = argparse.ArgumentParser(description=(docstring or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    return parser
