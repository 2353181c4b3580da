"""Mutation testing on a seeded sample: finds small changes that the unit tests miss.

The operators are those of cosmic-ray, which this script needs besides the development environment
(``pip install cosmic-ray``). It replaces cosmic-ray's runner for speed: torch and the other large packages are
imported once, each mutant runs in a fork, and only the mutated module's own test files run. No file
of the checkout changes, since the fork imports the mutated source from memory.

Run it as ``python -m scripts.mutants figures analysis protocol --count 60 --seed 7``; one JSON line a
mutant goes to ``--out``. ``--again FILE`` runs the survivors of such a file once more.
"""

from __future__ import annotations

import argparse
import ast
import collections
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numpy", "scipy.sparse.csgraph", "scipy.stats", "sklearn.manifold", "pandas", "torch")
# The files that test a module, fastest first; a room's own line stands for modules not named.
TESTS = {
    "figures": "analysis_metrics analysis_patterns analysis_rollout",
    "figures/metrics": "analysis_metrics analysis_analysis",
    "figures/quartiles": "analysis_metrics",
    "figures/patterns": "analysis_patterns",
    "figures/marginals": "analysis_patterns analysis_specialization",
    "figures/rollout": "analysis_rollout",
    "figures/flow": "analysis_rollout",
    "figures/roles": "analysis_roles",
    "figures/specialization": "analysis_specialization",
    "figures/tables": "analysis_metrics analysis_analysis",
    "analysis": "analysis_analysis analysis_external analysis_merge",
    "analysis/merge": "analysis_merge",
    "analysis/external": "analysis_external",
    "analysis/locate_tokens": "analysis_external",
    "analysis/opening": "opening",
    "analysis/first_token": "analysis_merge classification",
    "analysis/model": "analysis_analysis classification slices_of_models",
    "analysis/texts": "analysis_analysis mask opening",
    "analysis/comparison_text": "analysis_analysis mask slices",
    "analysis/comparison_texts": "analysis_analysis mask slices",
    "protocol": "slices slices_of_models mask protocol",
    "protocol/pack": "pack",
    "protocol/paint": "mask opening slices",
    "protocol/selection": "wrong_arguments export_tables snapshot",
    "features/corpus/source": "profile_widget",
    "features/inside/hidden": "inside_hidden",
    "features/inside/slices": "inside_slices",
    "features/sentences/isa": "sentences",
    "features/tree/influence": "influence",
    "protocol/request": "slices",
    "protocol/slices/attention": "slices slices_of_models classification",
    "protocol/answer": "protocol slices slices_of_models",
}


def modules(rooms: Sequence[str]) -> list[str]:
    """``figures/metrics`` and so on, of each room or module named."""
    package = ROOT / "attn_widget"
    paths = [
        path
        for room in rooms
        for path in (
            sorted((package / room).glob("*.py"))
            if (package / room).is_dir()
            else [package / f"{room}.py"]
        )
    ]
    return [
        str(path.relative_to(package).with_suffix("")) for path in paths if path.stem != "__init__"
    ]


def comparable(source: str) -> str:
    """The code of ``source`` without annotations, which are never evaluated."""

    class Strip(ast.NodeTransformer):
        def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
            node.annotation = ast.Name("_", ast.Load())
            return self.generic_visit(node)

        def visit_arg(self, node: ast.arg) -> ast.AST:
            node.annotation = None
            return node

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            node.returns = None
            return self.generic_visit(node)

    return ast.dump(Strip().visit(ast.parse(source)))


def mutants(module: str) -> Iterator[dict[str, Any]]:
    """Every change of the module that cosmic-ray knows, but for those that leave the code as it was."""
    from cosmic_ray.ast import ast_nodes, get_ast  # pyright: ignore[reportMissingImports]
    from cosmic_ray.plugins import get_operator, operator_names  # pyright: ignore[reportMissingImports]

    source = (ROOT / "attn_widget" / f"{module}.py").read_text("utf-8")
    nodes = list(ast_nodes(get_ast(source)))
    for name in operator_names():
        if "Variable" in name or name.endswith(("_Is", "_IsNot", "RemoveDecorator")):
            continue
        operator = get_operator(name)()
        positions = (place for node in nodes for place in operator.mutation_positions(node))
        for occurrence, (start, _) in enumerate(positions):
            yield {
                "module": module,
                "operator": name.removeprefix("core/"),
                "occurrence": occurrence,
                "line": start[0],
                "column": start[1],
            }


def mutated(mutant: dict[str, Any]) -> str | None:
    """The module's source with the mutant in it; None where the code stays the same."""
    from cosmic_ray.mutating import mutate_code  # pyright: ignore[reportMissingImports]
    from cosmic_ray.plugins import get_operator  # pyright: ignore[reportMissingImports]

    source = (ROOT / "attn_widget" / f"{mutant['module']}.py").read_text("utf-8")
    code = mutate_code(source, get_operator(f"core/{mutant['operator']}")(), mutant["occurrence"])
    try:
        return code if code and comparable(code) != comparable(source) else None
    except SyntaxError:
        return None


def sample(rooms: Sequence[str], count: int, seed: int) -> list[dict[str, Any]]:
    """``count`` mutants a room, at places drawn without repetition; one operator is drawn a place."""
    chosen: list[dict[str, Any]] = []
    for room in rooms:
        draw = random.Random(f"{seed} {room}")
        places: dict[tuple[str, int, int], list[dict[str, Any]]] = collections.defaultdict(list)
        for module in modules([room]):
            for mutant in mutants(module):
                places[module, mutant["line"], mutant["column"]].append(mutant)
        order = sorted(places)
        draw.shuffle(order)
        wanted = len(chosen) + count
        for place in order:
            mutant = draw.choice(places[place])
            if mutated(mutant) is not None:
                chosen.append(mutant)
            if len(chosen) == wanted:
                break
    return chosen


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a source in memory."""

    def __init__(self, module: str, source: str) -> None:
        self.name = "attn_widget." + module.replace("/", ".")
        self.path = str(ROOT / "attn_widget" / f"{module}.py")
        self.source = source

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, self.path, "exec"), module.__dict__)


def survives(module: str, source: str | None, timeout: float) -> str:
    """``killed``, ``survived`` or ``timeout``, from the module's tests in a process of their own."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        if source is not None:
            sys.meta_path.insert(0, Mutated(module, source))
        import pytest

        names = TESTS.get(module, TESTS[module.split("/")[0]]).split()
        files = [
            str(path) for name in names for path in sorted(ROOT.glob(f"tests/**/test_{name}.py"))
        ]
        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", *files])
        os._exit(int(code))
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if status == 0 else "killed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rooms", nargs="*", help="figures, analysis/merge ...")
    parser.add_argument("--count", type=int, default=60, help="mutants a room")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--timeout", type=float, default=300, help="seconds a mutant")
    parser.add_argument("--out", type=Path, default=Path("build/mutants.jsonl"))
    parser.add_argument("--again", type=Path, help="run the survivors of this file")
    options = parser.parse_args()
    for name in HEAVY:
        importlib.import_module(name)
    if options.again:
        lines = options.again.read_text("utf-8").splitlines()
        chosen = [mutant for mutant in map(json.loads, lines) if mutant["result"] == "survived"]
    else:
        chosen = sample(options.rooms, options.count, options.seed)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    totals: collections.Counter[tuple[str, str]] = collections.Counter()
    with options.out.open("w", encoding="utf-8") as out:
        for mutant in chosen:
            source = mutated(mutant)
            if source is None:
                continue
            mutant["result"] = survives(mutant["module"], source, options.timeout)
            mutant["code"] = source.splitlines()[mutant["line"] - 1].strip()
            totals[mutant["module"].split("/")[0], mutant["result"]] += 1
            print(json.dumps(mutant), file=out, flush=True)
    for (room, result), number in sorted(totals.items()):
        print(f"{room:10} {result:9} {number}")


if __name__ == "__main__":
    main()
