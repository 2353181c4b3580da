"""The rooms of the package: imports point down, nothing stands in a circle, no folder and no file is too full."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import networkx as nx
import pytest

from attn_widget.features import FEATURES
from scripts.public_names import STUB, stub

PACKAGE = Path(__file__).parents[2] / "attn_widget"
# From the ground up: a room imports what stands before it, and nothing that stands after it.
ROOMS = (
    "_version", "errors", "checks", "host", "command", "model", "trace", "language", "figures", "influence", "analysis",
    "protocol", "page", "widget", "api", "__init__", "__main__",
)  # fmt: skip
MAX_AT_THE_TOP = 6
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def imported(path: Path) -> set[str]:
    """Modules of the package that a file imports: at the top, in functions, and for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if below(name) in MODULES else str(node.module) for name in names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {below(name) for name in names if name.split(".")[0] == "attn_widget"}
    return found


def below(name: str) -> str:
    """Without the package: ``""`` where it is the package itself, whose file is ``__init__``."""
    return name.removeprefix("attn_widget").removeprefix(".") or "__init__"


EDGES = [
    (name, other)
    for name, path in MODULES.items()
    for other in sorted(imported(path))
    if other != name
]


CORE = [name for name in MODULES if not name.startswith("features")]


def feature_of(name: str) -> str | None:
    """The feature whose folder a module is in; None of the core and of the registry."""
    feature = name.split(".")[1] if name.startswith("features.") else None
    return (
        None if feature == "public" else feature
    )  # what type checkers read, written from the registry


@pytest.mark.parametrize("name", CORE)
def test_imports_point_down(name: str) -> None:
    room = ROOMS.index(name.split(".")[0])
    below_it = [b for a, b in EDGES if a == name and not b.startswith("features")]
    upward = [b for b in below_it if ROOMS.index(b.split(".")[0]) > room]
    assert upward == [], f"{name} imports from a room above its own"


def test_every_feature_has_a_folder_and_a_line() -> None:
    assert sorted(FEATURES) == sorted(
        path.name
        for path in (PACKAGE / "features").iterdir()
        if path.name != "__pycache__" and path.is_dir()
    )


@pytest.mark.parametrize("name", CORE)
def test_no_file_of_the_core_names_a_feature(name: str) -> None:
    imports = {feature_of(b) for a, b in EDGES if a == name} - {None}
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    paths = {
        word.split(".")[2]
        for word in words
        if isinstance(word, str) and word.startswith("attn_widget.features.")
    }
    assert {*imports, *paths} == set()


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_imports_what_its_line_declares(name: str) -> None:
    others = {feature_of(b) for a, b in EDGES if feature_of(a) == name} - {None, name}
    assert sorted(others) == sorted(FEATURES[name].uses)


def test_nothing_stands_in_a_circle() -> None:
    components = nx.strongly_connected_components(nx.DiGraph(EDGES))
    assert [sorted(found) for found in components if len(found) > 1] == []


def test_type_checkers_read_what_the_registry_says() -> None:
    def told(text: str) -> list[str]:
        lines = {ast.unparse(node) for node in ast.parse(text).body}
        return sorted(line for line in lines if not line.startswith("from typing import"))

    assert told(STUB.read_text(encoding="utf-8")) == told(stub()), "make catalog"


def test_a_widget_is_known_at_the_top_alone() -> None:
    asks = [
        name
        for name, path in MODULES.items()
        if name.split(".")[0] in ROOMS[: ROOMS.index("widget")]
        and any(
            word in path.read_text(encoding="utf-8")
            for word in ("import anywidget", "import ipywidgets")
        )
    ]
    assert asks == []


def test_the_top_of_the_package_is_short() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= MAX_AT_THE_TOP


def test_every_dependency_is_imported() -> None:
    # The tested Pythons begin with 3.10, which has no tomllib.
    text = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.split("\ndependencies = [\n")[1].split("\n]")[0]
    names = re.findall(r'^\s*"([\w-]+)', listed, re.MULTILINE)
    modules = {name: {"scikit-learn": "sklearn"}.get(name, name) for name in names}
    imports = {
        name.split(".")[0]
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    missing = {name for name, module in modules.items() if module not in imports}
    assert missing <= (set() if "tasks" in FEATURES else {"scikit-learn"})  # its scores need it
