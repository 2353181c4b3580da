"""The archive that the rated sentences are in: fetched by pip once, checked by hash at every use."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.util import find_spec
from pathlib import Path

from attn_widget.errors import NotAvailableError
from attn_widget.host.cache import CACHE_VARIABLE, cache_folder

VERSION = "3.3.2"
ARCHIVE = f"vaderSentiment-{VERSION}.tar.gz"
SHA256 = "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"
# An archive inside the archive.
INNER = f"vaderSentiment-{VERSION}/additional_resources/hutto_ICWSM_2014.tar.gz"
FOLDER = "hutto_ICWSM_2014"
PIP_SECONDS = 300
FULL = "the disk is full."
ROOM = f"Make room in it, or name another folder: cache=..., or {CACHE_VARIABLE}."


def member(name: str, cache: str | os.PathLike[str] | None = None) -> bytes:
    """One file of the inner archive, read in memory: nothing is unpacked to the disk.

    ``name``: ``"tweets_GroundTruth.txt"``. ``cache``: see `cache_folder`. Raises `NotAvailableError`: the archive
    is not in the cache and cannot be fetched, or has another hash.
    """
    outer = io.BytesIO(archive(cache))
    with tarfile.open(fileobj=outer, mode="r:gz") as tar:
        inner = io.BytesIO(_read(tar, INNER))
    with tarfile.open(fileobj=inner, mode="r:gz") as tar:
        return _read(tar, f"{FOLDER}/{name}")


def archive(cache: str | os.PathLike[str] | None = None) -> bytes:
    """The archive's bytes, fetched if need be; those that are returned have the right hash."""
    folder = cache_folder(cache)
    path = folder / ARCHIVE
    content = _whole(path)
    if content is not None:
        return content
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # On the disk of the cache, so that the last step is a rename: whole or not at all, and of two
        # processes at once the later one puts the same file in the place of the earlier one's.
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder) as part:
            fetched = _fetch(Path(part), folder)
            try:
                fetched.replace(path)
            except PermissionError:  # Windows, while another process reads the one that is there
                if _whole(path) is None:
                    raise
    except OSError as error:
        raise NotAvailableError(
            f"The cache {str(folder)!r} cannot be used: {error.strerror or error}.",
            ROOM,
        ) from error
    content = _whole(path)
    if content is None:
        raise NotAvailableError(
            f"{str(path)!r} was fetched but no longer exists.",
            "Load again; if this happens again, give another folder as cache.",
        )
    return content


def _whole(path: Path) -> bytes | None:
    """The cached file, if it is intact; anything else is fetched again."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return data if hashlib.sha256(data).hexdigest() == SHA256 else None


def _fetch(part: Path, folder: Path) -> Path:
    """Let pip fetch the archive into ``part``, from the index that pip is configured for."""
    wanted = part / "requirements.txt"
    wanted.write_text(f"vaderSentiment=={VERSION} --hash=sha256:{SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    # pip runs the archive's set-up code to learn its name: with --require-hashes, only after the check.
    command += ["--no-input", "--no-deps", "--no-binary", "vaderSentiment", "--require-hashes"]
    command += ["--requirement", str(wanted), "--dest", str(part)]
    if find_spec("setuptools"):  # otherwise pip fetches one for this run
        command.append("--no-build-isolation")
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, errors="replace", timeout=PIP_SECONDS
        )
        said = done.stderr + done.stdout
    except subprocess.TimeoutExpired:
        said = f"pip has not finished after {PIP_SECONDS} seconds"
    fetched = part / ARCHIVE
    if fetched.is_file() and _whole(fetched) is not None:
        return fetched
    reason = _reason(said)
    hint = (
        f"Put {ARCHIVE} into {str(folder)!r} (on a machine with a network: pip download --no-deps "
        f"--no-binary vaderSentiment vaderSentiment=={VERSION}) and load again."
    )
    other = (
        f" The file of this name in {str(folder)!r} is not the published one (sha256 {SHA256})."
        if (folder / ARCHIVE).is_file()
        else ""
    )
    raise NotAvailableError(
        f"vaderSentiment {VERSION}'s source archive could not be fetched: {reason}{other}",
        ROOM if reason == FULL else hint,
    )


def _reason(said: str) -> str:
    """Summary of pip's output, in one sentence."""
    lowered = said.casefold()
    if "do not match the hashes" in lowered:
        return f"the file that the index serves is not the published file (sha256 {SHA256})."
    if "no module named pip" in lowered:
        return "pip is not installed for this Python."
    if "no space left" in lowered or "disk quota" in lowered:
        return FULL
    errors = [line for line in said.splitlines() if line.startswith("ERROR")]
    last = (errors or said.strip().splitlines() or ["pip gave no reason"])[-1]
    return f"pip said {last.strip()!r}."


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    member = tar.extractfile(name)
    if member is None:
        raise NotAvailableError(f"{name!r} is not a file of the archive.")
    return member.read()
