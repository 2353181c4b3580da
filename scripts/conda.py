"""The conda package of ``recipe/recipe.yaml``, built, tested and installed without a server: ``python -m scripts.conda [--dist dist]``.

rattler-build takes the recipe as it is and the sdist (built, or that of ``--dist``), and runs the recipe's own tests on the package. The package has
to hold what the wheel holds; installed in a new environment it draws a picture. Each step prints a line; the first that fails ends the run.

What the recipe needs comes from a channel in a temporary folder: the interpreter and the packages of this environment, repacked as they are, under
PyPI's names but for `CONDA`. The interpreter's shared libraries stay where they are. So this shows that the recipe is right, not what conda-forge has.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import sysconfig
import tempfile
import time
import zipfile
from importlib.metadata import Distribution, distributions, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from scripts.rehearsal import PICTURE, ROOT, build, environment_of, run, version_in
from scripts.sentence import SENTENCE

RECIPE = ROOT / "recipe/recipe.yaml"
CONDA = {"torch": "pytorch"}  # other names on conda-forge
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
LIBRARY = Path(f"lib/python{PYTHON}")  # of an environment, except on Windows
TOOLS = ("py-rattler", "py-rattler-build")
UNUSED = {"__pycache__", "include"}
ADDED_BY_PIP = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"}


def conda_name(name: str) -> str:
    """The name of a package of PyPI on conda-forge."""
    name = canonicalize_name(name)
    return CONDA.get(name, name)


def installed() -> dict[str, Distribution]:
    """The packages of this environment by their names on conda-forge."""
    found = distributions(path=[sysconfig.get_path("purelib")])
    return {conda_name(package.name): package for package in found}


def needs_of(package: Distribution) -> list[str]:
    """Packages that one requires here without extras, by conda's names; ranges are for ``pip check``."""
    wanted = map(Requirement, package.requires or [])
    return sorted(
        {conda_name(w.name) for w in wanted if not w.marker or w.marker.evaluate({"extra": ""})}
    )


def files_of(package: Distribution) -> dict[Path, Path]:
    """Path of each file by its place in an environment: modules and data, without bytecode, headers of C and commands."""
    found = {}
    for file in package.files or []:
        place = Path(os.path.normpath(LIBRARY / "site-packages" / file))
        path = Path(str(file.locate()))
        kept = place.parts[0] in {"lib", "share"} and UNUSED.isdisjoint(place.parts)
        if kept and path.is_file():
            found[place] = path
    return found


def interpreter() -> dict[Path, Path]:
    """The same of this Python: its executable and the standard library."""
    executable = Path(sys.base_prefix) / "bin" / f"python{PYTHON}"
    found = {Path("bin") / name: executable for name in (executable.name, "python3", "python")}
    standard = Path(sysconfig.get_path("stdlib"))
    others = UNUSED | {"site-packages", "dist-packages", "test"}
    for path in standard.rglob("*"):
        inner = path.relative_to(standard)
        if path.is_file() and others.isdisjoint(inner.parts):
            found[LIBRARY / inner] = path
    return found


def fill(channel: Path, wanted: list[str]) -> list[str]:
    """Make a channel with Python, these packages and all that they require; returns their names."""
    import rattler
    import rattler.index
    import rattler_build

    platform = str(rattler.platform.Subdir.current())
    (channel / "noarch").mkdir(parents=True)

    def add(name: str, version: str, files: dict[Path, Path], needs: list[str]) -> None:
        rattler_build.assemble_package(
            *(name, version, platform, "0", channel / platform),
            files=[rattler_build.FileEntry.from_paths(path, at) for at, path in files.items()],
            depends=needs,
            compression_level=0,
            detect_prefix=False,
        )

    add("python", ".".join(map(str, sys.version_info[:3])), interpreter(), [])
    here, names, waiting = installed(), ["python"], list(wanted)
    while waiting:
        name = waiting.pop()
        if name in names:
            continue
        names.append(name)
        needs = needs_of(here[name])
        waiting += needs
        number = Version(here[name].version).public
        add(name, number, files_of(here[name]), [f"python {PYTHON}.*", *needs])
    asyncio.run(rattler.index.index_fs(channel))
    return names


def held_by(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel but its list of them."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/RECORD")]
        return {name: archive.read(name) for name in names}


def differences(package: Path, wheel: Path) -> list[str]:
    """Files of an unpacked package that a wheel has otherwise or not at all, and the other way round."""
    modules = package / "site-packages"
    ours = {
        path.relative_to(modules).as_posix(): path.read_bytes()
        for path in modules.rglob("*")
        if path.is_file() and path.name not in ADDED_BY_PIP
    }
    theirs = held_by(wheel)
    return sorted(
        name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)
    )


def install(specs: list[str], channels: list[Path], place: Path, cache: Path) -> list[str]:
    """Solve and make an environment of conda; returns the names of its packages."""
    import rattler

    async def work() -> list[str]:
        sources = [channel.as_uri() for channel in channels]
        virtual = rattler.VirtualPackage.detect()
        records = await rattler.solve(sources, specs, virtual_packages=virtual)
        await rattler.install(records, place, cache_dir=cache, show_progress=False)
        return [record.name.normalized for record in records]

    return asyncio.run(work())


def main(words: list[str] | None = None) -> None:
    """Build, test, compare, install and draw, and print a line for each with the seconds it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dist", type=Path, help="folder with the wheel and the sdist")
    given = parser.parse_args(words)
    try:
        import rattler.package_streaming
        import rattler_build
    except ImportError:
        sys.exit(f"[conda] not installed: {' '.join(TOOLS)}; pip install them beside this package")
    begun = time.monotonic()

    def say(text: str) -> None:
        nonlocal begun
        print(f"[conda] {text} ({time.monotonic() - begun:.1f} s)", flush=True)
        begun = time.monotonic()

    with tempfile.TemporaryDirectory(prefix="aw-conda-") as name:
        folder = Path(name).resolve()
        number = version_in(ROOT)
        dist = folder / "dist"
        if given.dist is None:
            build(ROOT, dist, "sdist", "wheel")
        else:
            shutil.copytree(given.dist, dist)
        (wheel,) = dist.glob(f"attn_widget-{number}-*.whl")
        say(f"{'took' if given.dist else 'built'} the sdist and the wheel of {number}")

        (folder / "home").mkdir()
        env = environment_of(folder / "home")  # also of what rattler-build starts
        os.environ.pop("PYTHONPATH", None)
        os.environ.update(env, RATTLER_CACHE_DIR=str(folder / "cache"))

        (folder / "recipe").mkdir()  # its source is ../dist
        recipe = rattler_build.Stage0Recipe.from_file(shutil.copy(RECIPE, folder / "recipe"))
        (rendered,) = recipe.render()
        requirements = rendered.recipe.requirements
        wanted = [str(spec).split()[0] for spec in [*requirements.host, *requirements.run]]
        channel, out = folder / "channel", folder / "out"
        names = fill(channel, wanted)
        size = sum(path.stat().st_size for path in channel.rglob("*.conda")) / 1e6
        say(f"a channel of {len(names)} packages of this environment, {size:.0f} MB")

        result = rendered.run_build(
            tool_config=rattler_build.ToolConfiguration(test_strategy="native"),
            output_dir=out,
            channels=[channel.as_uri()],
        )
        (package,) = map(Path, result.packages)
        passed = [line.removeprefix("✔ ") for line in result.log if line.endswith("passed!")]
        say(
            f"rattler-build {version(TOOLS[1])}: {package.name}, {package.stat().st_size / 1e6:.1f} MB; {', '.join(passed)}"
        )

        rattler.package_streaming.extract(package, folder / "package")
        assert not (other := differences(folder / "package", wheel)), other
        licenses = sorted(path.name for path in (folder / "package/info/licenses").iterdir())
        say(
            f"it holds the {len(held_by(wheel))} files of the wheel, and licenses: {', '.join(licenses)}"
        )

        place = folder / "environment"
        records = install([f"attn-widget =={number}"], [out, channel], place, folder / "cache/pkgs")
        python = place / "bin/python"
        picture = run(python, "-c", PICTURE.format(text=SENTENCE), cwd=folder, env=env)
        drawn, file, shown, first = picture.splitlines()
        assert drawn == number and Path(file).is_relative_to(place), picture
        say(f"installed with {len(records) - 1} others, first picture: {shown}, {first} bytes")
        run(place / "bin/attn-widget", SENTENCE, "-o", "page.html", cwd=folder, env=env)
        say(f"attn-widget TEXT -o page.html: {(folder / 'page.html').stat().st_size / 1e6:.2f} MB")
    print("[conda] passed")


if __name__ == "__main__":
    main()
