"""LivePages takes our widgets out of a notebook, and nothing else."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from nbformat.sign import MemorySignatureStore, NotebookNotary

import attn_widget as aw
from attn_widget.features.exports.notebook import STATE, VIEW, LivePages
from attn_widget.page.output import code_element, outputs, version
from attn_widget.widget.captured import METADATA


def model(name: str, **state: Any) -> dict[str, Any]:
    return {"model_name": name, "model_module": "m", "state": state}


def page(made_by: str, *, code: str = "") -> str:
    return f'<div class="attn-widget-output" data-version="{made_by}">page\n{code}</div>'


def notebook(*outputs: dict[str, Any], state: dict[str, Any] | None = None) -> Any:
    cells = [
        nbformat.v4.new_code_cell(
            "", outputs=[nbformat.v4.new_output("display_data", data=data)] if data else []
        )
        for data in outputs
    ]
    metadata = {} if state is None else {"widgets": {STATE: {"state": state}}}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def live(given: Any) -> Any:
    return LivePages().preprocess(given, {})[0]


STORED = {
    "ours": model("AnyModel", _code="IPY_MODEL_code", layout="IPY_MODEL_a"),
    "second": model("AnyModel", _code="IPY_MODEL_code", layout="IPY_MODEL_b"),
    "code": model("AnyModel", _esm="..."),
    "a": model("LayoutModel"),
    "b": model("LayoutModel"),
    "box": model("VBoxModel", children=["IPY_MODEL_slider"], layout="IPY_MODEL_c"),
    "slider": model("IntSliderModel"),
    "c": model("LayoutModel"),
}
BOX = {VIEW: {"model_id": "box"}, "text/plain": "VBox"}


def shown(name: str, made_by: str = version(), code: str = "") -> dict[str, Any]:
    return {VIEW: {"model_id": name}, "text/html": page(made_by, code=code), "text/plain": name}


def test_drops_our_widgets_with_what_only_they_refer_to() -> None:
    found = live(notebook(shown("ours"), shown("second"), BOX, state=dict(STORED)))
    assert set(found.metadata["widgets"][STATE]["state"]) == {"box", "slider", "c"}
    assert [VIEW in cell.outputs[0].data for cell in found.cells] == [False, False, True]


def test_keeps_what_a_widget_that_stays_refers_to() -> None:
    bare = {VIEW: {"model_id": "second"}, "text/plain": "no page beside it"}
    found = live(notebook(shown("ours"), bare, state=dict(STORED)))
    kept = set(found.metadata["widgets"][STATE]["state"])
    assert {"second", "code", "b"} <= kept
    assert not {"ours", "a"} & kept


def test_pictures_take_the_place_of_widgets() -> None:
    widget = aw.show("the cat sat", saved="picture", progress=False)
    output = outputs(widget._shown, "picture", code=False)
    widget.close()
    found = live(notebook({VIEW: {"model_id": "ours"}, **output}, BOX, state=dict(STORED)))
    assert found.cells[0].outputs[0].data == output  # without the code of a page
    assert VIEW in found.cells[1].outputs[0].data
    assert "ours" not in found.metadata["widgets"][STATE]["state"]


def test_leaves_no_empty_state() -> None:
    only = {name: STORED[name] for name in ("ours", "code", "a")}
    assert "widgets" not in live(notebook(shown("ours"), state=only)).metadata


def test_adds_the_shared_part_once_where_it_is_missing() -> None:
    found = live(notebook(shown("ours"), {}, shown("second")))
    texts = [cell.outputs[0].data["text/html"] for cell in found.cells if cell.outputs]
    assert [text.count(code_element()) for text in texts] == [1, 0]


def test_adds_nothing_to_what_is_complete_or_made_of_lines() -> None:
    lines = page(version(), code=code_element()).splitlines(keepends=True)
    given = notebook({VIEW: {"model_id": "ours"}, "text/html": lines})
    assert live(given).cells[0].outputs[0].data["text/html"] == lines


def test_says_when_the_shared_part_is_of_another_version(caplog: pytest.LogCaptureFixture) -> None:
    step = LivePages()
    step.log.propagate = True
    with caplog.at_level(logging.WARNING):
        found = step.preprocess(notebook(shown("ours", made_by="0ld")), {})[0]
    assert "0ld" in caplog.text
    assert code_element() not in found.cells[0].outputs[0].data["text/html"]


def test_leaves_a_notebook_without_our_widgets_as_it_is() -> None:
    given = notebook(BOX, state={name: STORED[name] for name in ("box", "slider", "c")})
    before = nbformat.writes(given)
    assert nbformat.writes(live(given)) == before


def server(folder: Path) -> LargeFileManager:
    """What a Jupyter server reads and saves files with, our hook set."""
    notary = NotebookNotary(data_dir=str(folder), store_factory=MemorySignatureStore)
    hook = "attn_widget.features.exports.notebook.before_saving"
    return LargeFileManager(root_dir=str(folder), notary=notary, pre_save_hook=hook)


def test_a_server_saves_pages_for_widgets_and_trusts_them(tmp_path: Path) -> None:
    given = notebook(shown("ours"), BOX, state=dict(STORED))
    for cell in given.cells:
        cell.metadata.trusted = True
    manager = server(tmp_path)
    manager.save({"type": "notebook", "format": "json", "content": given}, "a.ipynb")
    first, box = manager.get("a.ipynb")["content"].cells
    assert set(first.outputs[0].data) == {"text/html", "text/plain"}
    assert VIEW in box.outputs[0].data
    assert first.metadata.trusted is True


def test_a_server_saves_other_files_as_they_are(tmp_path: Path) -> None:
    text = page("someone") + code_element()
    manager = server(tmp_path)
    manager.save({"type": "file", "format": "text", "content": text}, "a.html")
    assert manager.get("a.html")["content"] == text


def test_the_part_of_a_server_needs_no_torch() -> None:
    code = "import sys, attn_widget.features.exports.notebook; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("more", "stays"),
    [([], False), ([{"output_type": "stream", "text": "a"}], True), (None, False)],
)
def test_an_output_of_ours_alone_goes_and_one_with_something_else_stays(
    more: list[dict[str, Any]] | None, stays: bool
) -> None:
    """``more`` beside the widget in its stored state; None without any."""
    state = dict(STORED)
    if more is not None:
        data = {VIEW: {"model_id": "ours"}}
        held = [{"output_type": "display_data", "data": data, "metadata": {}}, *more]
        state["out"] = model("OutputModel", outputs=held)
    given = notebook({VIEW: {"model_id": "out"}}, shown("room"), BOX, state=state)
    given.cells[1].outputs[0].metadata = {METADATA: {"output": "out", "widget": "ours"}}
    found = live(given)
    assert [len(cell.outputs) for cell in found.cells] == [int(stays), 1, 1]
    kept = set(found.metadata["widgets"][STATE]["state"])
    assert {"ours", "out"} <= kept if stays else not {"ours", "out"} & kept
    assert {"box", "slider", "second"} <= kept
