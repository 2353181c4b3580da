"""The pieces of the site that need no Sphinx: which pages there are, how links are rewritten, what the checker finds."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import attn_widget
from attn_widget.features import tasks
from scripts.site import cards, documents, examples, gallery, kept, links, reference, tutorials
from scripts.site.places import ROOT, SETTINGS
from scripts.tutorials import HIDDEN


@pytest.mark.parametrize("module", [attn_widget, tasks])
def test_every_public_name_has_one_page(module: object) -> None:
    of_module = [entry for entry in reference.all_entries() if entry.module == module.__name__]
    pages = {entry.name.split(".")[0] for entry in of_module}
    names = set(module.__all__) - {"__version__"}
    assert sorted(pages) == sorted(names), "name it in a group of scripts/site/reference.py"


def test_no_two_pages_are_one_file_where_case_is_ignored() -> None:
    paths = ["reference/index", *(entry.document.lower() for entry in reference.all_entries())]
    assert len(set(paths)) == len(paths)


def test_the_page_of_a_class_has_its_own_members_and_none_of_ipywidgets() -> None:
    attributes, methods = reference.members(attn_widget.AttentionWidget)
    assert {"layer", "token", "saved", "selection"} <= set(attributes)
    assert {"to_html", "run", "save_png"} <= set(methods)
    assert not {"observe", "set_state", "act", "slice"} & {*attributes, *methods}
    page = reference.page(reference.Entry("AttentionWidget", "attn_widget"))
    assert ".. automethod:: attn_widget.AttentionWidget.to_html" in page


def test_every_entry_begins_with_a_sentence() -> None:
    for entry in reference.all_entries():
        assert re.match(r"[A-Z`].*[.!?]$", entry.summary), f"{entry.full_name}: {entry.summary}"
        assert inspect.getdoc(entry.value), entry.full_name


def test_every_method_describes_its_parameters() -> None:
    """As numpydoc asks when the site is built (PR01), with the exceptions that `site/conf.py` makes."""
    missing: list[str] = []
    for entry in reference.all_entries():
        if not inspect.isclass(entry.value) or entry.name == "FittedClassifier":
            continue
        for name in reference.members(entry.value)[1]:
            method = getattr(entry.value, name)
            names = [
                {"VAR_KEYWORD": "**", "VAR_POSITIONAL": "*"}.get(parameter.kind.name, "")
                + parameter.name
                for parameter in inspect.signature(method).parameters.values()
                if parameter.name not in ("self", "cls")
            ]
            text = inspect.getdoc(method) or ""
            section = text.partition("Parameters\n----------\n")[2].partition("\n---")[0]
            described = re.findall(
                r"[\w*]+", " ".join(re.findall(r"^\S.*$", section, re.MULTILINE))
            )
            if "As in `mixing`" not in text and not {*names} <= {*described}:
                missing.append(f"{entry.full_name}.{name}: {sorted({*names} - {*described})}")
    assert missing == []


def test_every_document_is_in_the_sidebar() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SETTINGS.glob("*.md"))
    listed = set(re.findall(r"^(?:.*<)?([\w/.-]+?)>?$", "\n".join(toctrees(text)), re.MULTILINE))
    missing = {name.removesuffix(".md") for name in documents.documents()} - listed
    assert missing == set(), "name it in a toctree of site/guide.md"


def toctrees(text: str) -> list[str]:
    return re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_every_tutorial_is_in_the_sidebar() -> None:
    text = (ROOT / documents.TUTORIALS).read_text(encoding="utf-8")
    names = {Path(path).stem for path in documents.notebooks()}
    assert names == set(documents.contents(text).split()) & names


def test_links_of_the_documents_lead_to_files() -> None:
    for name in documents.documents():
        pieces = documents.CODE.split((ROOT / name).read_text(encoding="utf-8"))[::2]
        for found in documents.LINK.finditer("".join(pieces)):
            path = (ROOT / name).parent / found["path"].partition("#")[0]
            assert path.exists(), f"{name}: {found['path']}"


def test_a_picture_with_a_dark_twin_follows_the_site() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = documents.page("README.md", readme, None)
    assert "<picture>" not in text
    pictures = readme.count("<picture>")
    assert text.count(":class: only-dark") == text.count(":class: only-light") == pictures > 0
    assert text.startswith("# ")


# Pages for people who change the project, in a checkout.
FOR_CONTRIBUTORS = {
    "CHANGELOG.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/extending.md", "docs/protocol.md", "docs/robustness.md",
    "docs/testing.md", "js/engine/README.md", "training/README.md",
}  # fmt: skip
MAKE = re.compile(r"`make(?: [\w-]+)*`|^make [\w-]+(?=$| +&&| +#)", re.MULTILINE)


def test_pages_speak_to_readers_who_have_no_checkout() -> None:
    names = [name for name in documents.documents() if name not in FOR_CONTRIBUTORS]
    texts = {
        name: documents.page(name, (ROOT / name).read_text(encoding="utf-8"), None)
        for name in names
    }
    texts |= {path.name: path.read_text(encoding="utf-8") for path in SETTINGS.glob("*.md")}
    for name in documents.notebooks():
        cells = tutorials.visible(nbformat.read(ROOT / name, as_version=4))
        texts[name] = "\n\n".join(cell.source for cell in cells)
    texts |= {
        entry.document: inspect.getdoc(entry.value) or "" for entry in reference.all_entries()
    }
    assert {name: found for name, text in texts.items() if (found := MAKE.findall(text))} == {}
    assert "checkout -->" not in "".join(texts.values())
    marked = "a\n\n<!-- checkout -->\nb\n\nc\n<!-- end of checkout -->\n\nd<!-- checkout -->, e<!-- end of checkout -->\n\nf"
    assert documents.page("docs/x.md", marked, None) == "a\n\nd\n\nf"
    assert MAKE.findall("```sh\nmake build && pip\n```\n`make site`\nmake demo  # sets up\nmake sense of it") == ["make build", "`make site`", "make demo"]  # fmt: skip


def test_a_link_to_a_file_that_is_no_page_leads_to_the_repository() -> None:
    text = "[the license](../LICENSE) and `[a](b)`"
    address = "https://example.org/aw"
    found = documents.page("docs/x.md", text, address)
    assert found == f"[the license]({address}/blob/HEAD/LICENSE) and `[a](b)`"


def test_the_gallery_shows_the_code_that_is_run_and_leads_to_pages() -> None:
    entries = [entry for part in gallery.PARTS.values() for entry in part]
    names = [entry.name for entry in entries]
    others = {example.name for example in examples.EXAMPLES}
    assert len({*names}) == len(names) and not others & {*names}, "each has a file of its own"
    text = gallery.page(dict.fromkeys(names, ""))
    for entry in entries:
        assert isinstance(ast.parse(entry.code, mode="eval").body, ast.Call)
        assert entry.code in text and f'data-aw-file="{entry.name}"' in text
        (path,) = re.findall(r"\]\(([^)]+)\.md\)", entry.more)
        assert any((ROOT / f"{path}{kind}").exists() for kind in (".md", ".ipynb")), path
    assert "`make" not in text


def test_what_is_kept_is_made_again_only_from_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "KEPT", tmp_path)
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    first, other = "0" * 16, "1" * 16
    asked = [kept.kept("a", name, make) for name in (first, first, other, other)]
    assert asked == [0, 0, 1, 1] and made == [0, 1]
    assert [path.name for path in tmp_path.iterdir()] == [f"a-{other}.json"]


def test_the_tutorials_stand_as_cards_in_three_paths(tmp_path: Path) -> None:
    index = (ROOT / documents.TUTORIALS).read_text(encoding="utf-8")
    found = cards.listed(index)
    assert {card.name for card in found} == {Path(path).stem for path in documents.notebooks()}
    assert re.findall("^## (.*)$", index, re.MULTILINE)[:3] == ["Teach", "Research", "Debug"]
    (tmp_path / "tutorials").mkdir()
    (tmp_path / "tutorials" / "induction.png").write_bytes(b"")
    text = cards.with_cards(index, tmp_path)
    assert text.count('class="card-link"') == len(found) and text.count('class="cards"') == 3
    assert text.count("<img") == 1, "no picture of a notebook that never ran"
    assert all(f"{card.minutes} minutes · {card.level}" in text for card in found)
    assert "`make" not in text


def test_a_tutorials_checks_are_on_no_page() -> None:
    cell, check = (nbformat.v4.new_code_cell(source) for source in ("print(1)", "assert 1 == 1"))
    check.metadata["tags"] = [HIDDEN]
    text = tutorials.markdown(nbformat.v4.new_notebook(cells=[cell, check]), "notebooks/a.ipynb")
    assert "print(1)" in text and "assert" not in text


def test_a_page_is_written_only_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.md"
    kept.write(path, "one")
    os.utime(path, (1, 1))
    kept.write(path, "one")
    assert path.stat().st_mtime == 1
    kept.write(path, "two")
    assert path.read_text() == "two" and path.stat().st_mtime > 1


def test_an_output_of_the_widget_becomes_a_place_without_code() -> None:
    output = (
        '<div class="attn-widget-output" data-version="0a" data-title="a &quot;cat&quot;" data-text="-">\n'
        '<img src="data:image/png;base64,AA==" alt="A">\n<p>Caption</p>\n'
        '<script type="text/plain" class="aw-data" data-run="0" data-chunk="paint">AB</script>\n'
        '<script type="text/plain" class="attn-widget-code" data-version="0a">CD</script>\n'
        "<script>(() => { look(); })();</script>\n</div>"
    )
    place = tutorials.place(output)
    assert place.startswith('<div class="aw-place" data-title="a &quot;cat&quot;">')
    assert 'data-chunk="paint">AB</script>' in place
    assert "attn-widget-code" not in place
    assert "look()" not in place


GOOD = '<a href="other.html#here">a</a> <img src="data:,"> <a href="https://example.org/x">b</a>'


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (GOOD, None),
        ('<a href="none.html">a</a>', "no such file"),
        ('<a href="other.html#there">a</a>', "no such place on that page"),
        ('<a href="#nowhere">a</a>', "no such place on that page"),
        ('<a href="/other.html">a</a>', "from the top of a host"),
        ('<a href="folder/">a</a>', "a folder"),
        ('<a href="../elsewhere.html">a</a>', "no such file"),
        ('<script src="https://cdn.example.org/x.js"></script>', "loaded from elsewhere"),
        ('<link rel="stylesheet" href="//fonts.example.org/css">', "loaded from elsewhere"),
        ("<style>@import url(https://example.org/a.css);</style>", "loaded from elsewhere"),
        ('<img srcset="a.png 1x, https://example.org/b.png 2x">', "loaded from elsewhere"),
        ('<a href="javascript:void 0">a</a>', "no address that a link can have"),
    ],
)
def test_the_link_checker_names_what_is_wrong(
    tmp_path: Path, page: str, problem: str | None
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "other.html").write_text('<h2 id="here">A place</h2>')
    (tmp_path / "index.html").write_text(f"<!doctype html>\n{page}")
    found = links.check(tmp_path)
    if problem is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith("index.html:2: ")
        assert problem in found[0]


def test_a_style_sheet_may_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>")
    (tmp_path / "a.css").write_text('p { background: url("https://example.org/a.png") }')
    assert "loaded from elsewhere" in links.check(tmp_path)[0]


def test_the_checker_is_a_command_that_fails(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<a href="none.html">a</a>')
    done = subprocess.run(
        [sys.executable, "-m", "scripts.site.links", tmp_path], cwd=ROOT, capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 1
    assert "none.html (no such file)" in done.stdout
