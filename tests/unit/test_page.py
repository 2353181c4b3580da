"""The file of a saved page: whole or not at all, closed to what its data says."""

from __future__ import annotations

import html.parser
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError
from attn_widget.page.compress import inflate
from attn_widget.page.page import hash_of, page_parts
from attn_widget.protocol.built import built, bundle
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import TITLE_CHARACTERS

ROOT = Path(__file__).resolve().parents[2]
ATTACK = "</script><script>hit()</script><!-- ]]> ' \" \x00 \u2028 javascript:hit()"


@pytest.fixture(scope="module")
def widget() -> aw.AttentionWidget:
    return aw.show("the cat sat", layer=2, progress=False)


def test_a_page_carries_the_notices_of_the_code_in_it(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    text = aw.to_html(widget, tmp_path / "cat.html").read_text("utf-8")
    _, *scripts = code_of(text)
    notices = (ROOT / "THIRD-PARTY-LICENSES.txt").read_text("utf-8")
    lines = {
        re.sub(r" [\d.]+ \(", " (", line) for line in notices.splitlines()[4:] if line.strip("-")
    }
    assert sum(line.startswith("d3-") for line in lines) > 3
    assert [line for line in lines if line not in "".join(scripts)] == []
    # They are compressed, and the packages named outside.
    packages = {line.split(" ")[0] for line in lines if re.match(r"d3-|@?preact", line)}
    assert packages <= _named(text)
    # What a notebook loads first names its own; what it loads later has the notices of all.
    assert _named(bundle("widget.js").split("*/")[0]) == {"preact", "@preact/signals-core"}
    later = zlib.decompress(built("rest.deflate"), -zlib.MAX_WBITS).decode("utf-8")
    assert [line for line in lines if line not in later] == []


def _named(text: str) -> set[str]:
    return set(re.findall(r"d3-\w+|@?preact[\w/-]*", text))


def code_of(text: str) -> list[str]:
    """The styles of a page, and its scripts."""
    (packed,) = re.findall(r'id="aw-code">([^<]+)<', text)
    return inflate(packed).decode("utf-8").split("\0")


class Elements(html.parser.HTMLParser):
    """The elements of a page with their texts, as a browser's parser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)


def test_a_page_holds_its_code_once_and_every_layer_of_every_widget(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    path = aw.to_html([widget, widget], tmp_path / "two.html", layers=[1, 2], title="Two cats")
    found = Elements(path.read_text("utf-8")).found
    chunks = [a for tag, a, _ in found if tag == "script" and a.get("class") == "aw-data"]
    assert [(c["data-run"], c["data-chunk"]) for c in chunks] == [
        *(("0", name) for name in ("paint", "layer-2")),
        *(("1", name) for name in ("paint", "layer-2", "layer-1")),
        ("0", "layer-1"),  # after the script: the first picture does not wait for it
    ]
    assert sum(tag == "script" and not a for tag, a, _ in found) == 2  # one hides the picture
    assert ("title", {}, "Two cats") in [(t, a, text.strip()) for t, a, text in found]


def test_a_chunk_is_a_pack_that_says_its_errors(widget: aw.AttentionWidget, tmp_path: Path) -> None:
    text = aw.to_html(widget, tmp_path / "cat.html").read_text("utf-8")
    (chunk,) = [t for _, a, t in Elements(text).found if a.get("data-chunk") == "paint"]
    meta, _ = unpack(inflate(chunk))
    said = meta["snapshot"]
    assert said["layers"] == list(range(6)) and said["heads"] == list(range(12))
    assert 0 < said["error"] < 1e-3 and 0 < said["rollout_error"] < 1e-3
    assert said["selection"]["layer"] == 2


def test_data_cannot_leave_its_element(tmp_path: Path) -> None:
    hostile = aw.show(ATTACK, progress=False)
    text = aw.to_html(hostile, tmp_path / "hostile.html", title=ATTACK).read_text("utf-8")
    parsed = Elements(text).found
    scripts = [a for tag, a, _ in parsed if tag == "script"]
    assert sum(a == {} for a in scripts) == 2
    assert {a.get("type") for a in scripts} == {None, "text/plain", "application/json"}
    assert "<script>hit()" not in text
    (index,) = [t for _, a, t in parsed if a.get("id") == "aw-index"]
    assert json.loads(index)["layout"] == "stack"
    hostile.close()


def test_the_policy_names_the_page_s_own_code_and_nothing_else(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    text = aw.to_html(widget, tmp_path / "cat.html").read_text("utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    policy = html.unescape(policy)
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    started, unpack = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    css, script = code_of(text)
    assert (css, script) == (bundle("widget.css"), bundle("standalone.js"))
    (packed,) = re.findall(r'id="aw-lazy">([^<]+)<', text)
    lazy = inflate(packed).decode("utf-8")
    assert lazy == bundle("saved-lazy.js")
    hashes = " ".join(map(hash_of, (started, unpack, script, lazy)))
    assert f"script-src {hashes};" in policy
    assert f"style-src {hash_of(style)} {hash_of(css)};" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"layers": [6]}, "an entry of layers is 6"),
        ({"layers": []}, "layers is empty"),
        ({"heads": [-1]}, "an entry of heads is -1"),
        ({"heads": [True]}, "an entry of heads is True"),
        ({"heads": ["0"]}, "an entry of heads is '0'"),
        ({"views": ["atention"]}, "an entry of views is 'atention'.*Did you mean 'attention'"),
        ({"views": []}, "No view is left"),
    ],
)
def test_what_is_not_there_is_refused_and_nothing_is_written(
    widget: aw.AttentionWidget, tmp_path: Path, options: dict, said: str
) -> None:
    with pytest.raises((InputError, InputTypeError), match=said):
        aw.to_html(widget, tmp_path / "cat.html", **options)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_widget_is_refused(widget: aw.AttentionWidget, tmp_path: Path) -> None:
    with pytest.raises(InputTypeError, match="saves widgets and results, got str"):
        aw.to_html(["the cat"], tmp_path / "cat.html")  # type: ignore[list-item]
    with pytest.raises(InputError, match="no widget"):
        aw.to_html([], tmp_path / "cat.html")


@pytest.mark.parametrize("nothing", [None, 3])
def test_what_is_not_several_widgets_is_refused(nothing: object, tmp_path: Path) -> None:
    with pytest.raises(InputTypeError, match="saves widgets and results, got"):
        aw.to_html(nothing, tmp_path / "cat.html")  # pyright: ignore[reportArgumentType]


def test_a_result_is_saved_as_show_would_show_it(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    shown, given = (
        aw.to_html(one, tmp_path / f"{k}.html", views=["attention", "heads"]).read_bytes()
        for k, one in enumerate((aw.show(widget.analysis), widget.analysis))
    )
    assert (shown == given) is True  # a difference of megabytes is not written out
    profile = aw.profile([widget.analysis.text], tagger=None, progress=False)
    shown, given = (
        aw.to_html(one, tmp_path / f"{k}.html").read_bytes()
        for k, one in enumerate((aw.show(profile), profile))
    )
    assert (shown == given) is True  # a difference of megabytes is not written out
    both = aw.to_html([widget, profile, widget.analysis], tmp_path / "all.html")
    assert b'data-run="2"' in both.read_bytes()


def test_layers_and_heads_may_come_from_numpy_and_from_iterators(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    path = aw.to_html(
        [widget, widget],
        tmp_path / "cat.html",
        layers=np.argsort([3, 1, 2])[:2],  # pyright: ignore[reportArgumentType]
        heads=iter([0, np.int8(1)]),  # pyright: ignore[reportArgumentType]
    )
    for text in re.findall(r'data-chunk="paint">([^<]+)<', path.read_text("utf-8")):
        meta, _ = unpack(inflate(text))
        assert (meta["snapshot"]["layers"], meta["snapshot"]["heads"]) == ([1, 2], [0, 1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"layers": 3}, {"heads": np.array(3)}, {"views": 3}, {"layers": "01"}, {"title": 3},
        {"title": b"cats"},
    ],
)  # fmt: skip
def test_what_is_of_another_type_is_refused(
    widget: aw.AttentionWidget, tmp_path: Path, wrong: dict
) -> None:
    for save in (widget.to_html, lambda path, **options: aw.to_html(widget, path, **options)):
        with pytest.raises(InputTypeError, match=f"{next(iter(wrong))} is"):
            save(tmp_path / "cat.html", **wrong)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{"why": False}, {"layers": [1]}, {"heads": [2]}, {"views": ["tree"]}])  # fmt: skip
def test_options_of_runs_do_not_refuse_a_list_with_other_results(
    options: dict[str, object], widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    others = [
        aw.profile(["the cat sat", "a dog ran"], tagger=None, progress=False),
        aw.similarity("the cat sat", "a dog ran", model="attn_widget/mini", progress=False),
    ]
    page = aw.to_html([*others, widget], tmp_path / "page.html", **options)  # type: ignore[arg-type]
    text = page.read_text("utf-8")
    every = [unpack(inflate(data))[0] for data in re.findall(r'data-chunk="paint">([^<]+)<', text)]
    assert len(every) == 3
    (run,) = [meta for meta in every if not {"heads", "similarity"} >= {*meta["snapshot"]["views"]}]
    for name, value in options.items():
        if name == "why":
            assert "contributions" not in {entry["request"]["kind"] for entry in run["recorded"]}
        else:
            assert run["snapshot"][name] == value
    with pytest.raises(InputError):
        aw.to_html(others, tmp_path / "none.html", **options)  # type: ignore[arg-type]


def test_a_title_with_a_lone_surrogate_is_refused(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"title has a lone surrogate, U\+D800, at character 1"):
        aw.to_html(widget, tmp_path / "cat.html", title="a\ud800")
    with pytest.raises(InputError, match="lone surrogate"):
        aw.as_html(widget, title="a\ud800")
    with pytest.raises(InputTypeError, match="title is a int"):
        aw.as_html(widget, title=3)  # pyright: ignore[reportArgumentType]


def test_many_widgets_share_the_room_of_a_page_and_too_many_are_refused(
    widget: aw.AttentionWidget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = aw.to_html(widget, tmp_path / "one.html").stat().st_size
    five = aw.to_html([widget] * 5, tmp_path / "five.html").stat().st_size
    code = sum(len(part) for part in page_parts([], "", "stack"))
    assert five - code < 4 * (one - code)  # tensors share; the rows of the focus tokens do not
    monkeypatch.setattr("attn_widget.page.size_budget.MAX_BYTES", 1e6)
    with pytest.raises(InputError, match=r"these 20 widgets would .* report\(\)"):
        aw.to_html([widget] * 20, tmp_path / "many.html")
    assert not (tmp_path / "many.html").exists()


def test_a_closed_widget_is_refused(tmp_path: Path) -> None:
    closed = aw.show("the cat sat", progress=False)
    closed.close()
    with pytest.raises(aw.AttnWidgetError, match="closed"):
        aw.to_html(closed, tmp_path / "cat.html")
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_fails_half_way_leaves_the_old_one(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    path = tmp_path / "cats.html"
    path.write_text("old")

    def broken() -> Iterator[aw.AttentionWidget]:
        yield widget
        raise RuntimeError("the second one")

    with pytest.raises(RuntimeError, match="the second one"):
        aw.to_html(broken(), path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["cats.html"]


def test_a_page_takes_the_place_of_an_old_one_and_its_permissions(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    path = tmp_path / "cat.html"
    path.write_text("old")
    path.chmod(0o640)
    aw.to_html(widget, path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_size > 100_000
    assert [entry.name for entry in tmp_path.iterdir()] == ["cat.html"]


def test_places_that_cannot_be_written_are_named(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "figures").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        aw.to_html(widget, tmp_path)
    with pytest.raises(
        InputError, match=r"The folder .* does not exist. Did you mean '.*figures'\?"
    ):
        aw.to_html(widget, tmp_path / "figurs" / "cat.html")
    with pytest.raises(InputError, match=r"The folder .* does not exist"):
        aw.to_html(widget, tmp_path / "file" / "cat.html")
    with pytest.raises(InputError, match=r"'/proc/cat.html' cannot be written: "):
        aw.to_html(widget, "/proc/cat.html")
    with pytest.raises(InputError, match="more than the disk takes"):
        aw.to_html(widget, tmp_path / f"{'cat' * 100}.html")


def test_a_widget_is_written_to_a_path(widget: aw.AttentionWidget) -> None:
    for nothing in (None, 3):
        with pytest.raises(InputTypeError, match="expected a str or a path"):
            widget.to_html(nothing)  # pyright: ignore[reportArgumentType]


@contextmanager
def tiny_disk(folder: Path, size: str, *, read_only: bool = False) -> Generator[Path]:
    """A file system of its own; skips where this machine may not mount one."""
    place = folder / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("no right to mount; the limit on the size of files stands for it")
    try:
        (place / "cat.html").write_text("old")
        if read_only:
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    ("read_only", "said"), [(False, "No space left on device"), (True, "Read-only file system")]
)
def test_a_disk_that_is_full_or_read_only_keeps_the_old_page_and_nothing_else(
    widget: aw.AttentionWidget, tmp_path: Path, read_only: bool, said: str
) -> None:
    with tiny_disk(tmp_path, "300k", read_only=read_only) as disk:
        with pytest.raises(InputError, match=rf"'{disk}/cat.html' cannot be written: {said}"):
            widget.to_html(disk / "cat.html")
        assert (disk / "cat.html").read_text() == "old"
        assert [entry.name for entry in disk.iterdir()] == ["cat.html"]


FULL_DISK = """
import resource, sys
import attn_widget as aw
widget = aw.show("the cat sat", progress=False)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    aw.to_html(widget, sys.argv[1])
except aw.AttnWidgetError as error:
    print("refused:", error)
"""


def test_a_limit_on_the_size_of_files_leaves_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "cat.html"
    path.write_text("old")
    command = [sys.executable, "-c", FULL_DISK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("refused:") and "File too large" in done.stdout
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["cat.html"]


def test_every_widget_of_a_page_is_checked_before_the_first_is_packed(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    weights = np.full((1, 2, 3, 3), 1 / 3, dtype=np.float32)
    small = aw.AttentionWidget(aw.from_attentions(weights, list("abc"), tagger=None))
    before = set(widget.analysis._cache)
    with pytest.raises(InputError, match=r"an entry of layers is 2, expected 0 to 0"):
        aw.to_html([widget, small], tmp_path / "two.html", layers=[2])
    assert set(widget.analysis._cache) == before
    small.close()
    with pytest.raises(InputError, match="closed"):
        aw.to_html([widget, small], tmp_path / "two.html")
    assert list(tmp_path.iterdir()) == []


ENDLESS = """
import itertools, sys
import attn_widget as aw
widget = aw.show("the cat sat", progress=False)
aw.to_html(itertools.repeat(widget, 500), sys.argv[1])
"""


def test_a_process_that_is_killed_while_it_writes_leaves_the_old_page(tmp_path: Path) -> None:
    path = tmp_path / "cat.html"
    path.write_text("old")
    child = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)])
    try:
        deadline = time.monotonic() + 120
        while not any(entry.stat().st_size > 500_000 for entry in tmp_path.iterdir()):
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert path.read_text() == "old"


def test_long_titles_are_cut(widget: aw.AttentionWidget, tmp_path: Path) -> None:
    text = aw.to_html(widget, tmp_path / "cat.html", title="ab" * 500).read_text("utf-8")
    (title,) = re.findall("<title>(.*?)</title>", text)
    assert len(title) == TITLE_CHARACTERS
