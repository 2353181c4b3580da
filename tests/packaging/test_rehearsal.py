"""The rehearsal of a release finds what it is for: an install from elsewhere, a pre-release taken, a file left behind."""

from __future__ import annotations

import hashlib
import re
import tarfile
import urllib.request
import zipfile
from pathlib import Path

import pytest

from attn_widget._version import __version__
from scripts.rehearsal import (
    ROOT,
    VERSION_FILE,
    Rehearsal,
    build_next,
    environment_of,
    next_version,
    publish,
    served,
    version_in,
)

INFO = "attn_widget-{0}.dist-info"


def small_wheel(folder: Path, version: str) -> Path:
    """A wheel of our name with one module that prints its version."""
    path = folder / f"attn_widget-{version}-py3-none-any.whl"
    info = INFO.format(version)
    files = {
        "attn_widget/__init__.py": "",
        "attn_widget/__main__.py": f"print('attn-widget {version}')\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: attn-widget\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return path


def test_the_index_is_a_page_of_links_with_the_hash_of_each_file(tmp_path: Path) -> None:
    wheels = [small_wheel(tmp_path, version) for version in ("1.0.0", "1.0.1.dev0")]
    for wheel in wheels:  # one after the other: the page lists what is there
        publish([wheel], tmp_path / "index")
    with served(tmp_path / "index") as address:
        with urllib.request.urlopen(f"{address}/simple/attn-widget/") as reply:
            page = reply.read().decode()
        found = dict(re.findall(r'<a href="([^"#]+)#sha256=([0-9a-f]{64})">', page))
        assert found == {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in wheels
        }
        with urllib.request.urlopen(f"{address}/simple/attn-widget/{wheels[0].name}") as reply:
            assert reply.read() == wheels[0].read_bytes()


def test_a_user_installs_upgrades_and_uninstalls(tmp_path: Path) -> None:
    index = tmp_path / "index"
    publish([small_wheel(tmp_path, "1.0.0")], index)
    with served(index) as address:
        user = Rehearsal(tmp_path, address)
        with pytest.raises(SystemExit):  # none of the environment that runs the tests is there
            user.version()
        user.installed()
        assert user.version() == "1.0.0"
        publish([small_wheel(tmp_path, "1.0.1.dev0")], index)
        user.pip("install", "--upgrade", "attn-widget")
        assert user.version() == "1.0.0"
        user.installed("--upgrade", "--pre")
        assert user.version() == "1.0.1.dev0"
        (user.place / "left.txt").write_text("")
        (user.home / ".attn_widget").mkdir()
        (user.home / ".attn_widget" / "cache").write_text("")
        assert user.uninstall() == {"left.txt", ".attn_widget/cache"}


def test_the_next_version_is_built_from_what_the_sdist_holds(tmp_path: Path) -> None:
    project = tmp_path / "attn_widget-1.2.3"
    (project / "attn_widget").mkdir(parents=True)
    (project / VERSION_FILE).write_text('"""The version."""\n\n__version__ = "1.2.3"\n')
    (project / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: attn-widget\nVersion: 1.2.3\n")
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "attn-widget"\nrequires-python = ">=3.10"\ndynamic = ["version"]\n'
        f'[tool.hatch.version]\npath = "{VERSION_FILE}"\n'
        '[tool.hatch.build.targets.wheel]\npackages = ["attn_widget"]\n'
    )
    sdist = tmp_path / "attn_widget-1.2.3.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(project, project.name)
    wheel = build_next(sdist, tmp_path / "unpacked", tmp_path / "out")
    assert wheel.name == "attn_widget-1.2.4.dev0-py3-none-any.whl"


def test_versions_are_those_of_the_package() -> None:
    assert version_in(ROOT) == __version__
    assert next_version("0.9.9") == "0.9.10.dev0"


def test_a_user_has_no_checkout_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    env = environment_of(tmp_path)
    assert "PYTHONPATH" not in env and env["HOME"] == str(tmp_path)
