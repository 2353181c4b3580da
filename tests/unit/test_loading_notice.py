"""While a model is loaded the cell tells so, and nothing of it is left afterwards: checked in a real kernel."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from attn_widget.host.notice import LoadingNotice, notice_html

WIDGET = "application/vnd.jupyter.widget-view+json"
CELLS = {
    "nothing there": "aw.show('hello', model='./no_such_folder')",
    "first": "w = aw.show('the cat sat')",
    "warm": "v = aw.show('the dog sat')",
    "silent": "aw.unload(); u = aw.show('the bird sat', progress=False)",
    "loaded alone": "aw.unload(); e = aw.load()",
    "no text": "aw.unload(); aw.show('')",
}


class Messages(NotebookClient):
    """Keeps all that is displayed, also what is replaced later."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[tuple[int, str, dict[str, Any]]] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        kind = msg["msg_type"]
        if kind in ("display_data", "update_display_data"):
            self.seen.append((cell_index, kind, msg["content"]["data"]))
        return super().process_message(msg, cell, cell_index)


@pytest.fixture(scope="module")
def run() -> Messages:
    code = nbformat.v4.new_code_cell
    notebook = nbformat.v4.new_notebook(
        cells=[code("import attn_widget as aw"), *(code(source) for source in CELLS.values())]
    )
    client = Messages(notebook, timeout=300, kernel_name="python3", allow_errors=True)
    client.execute()
    return client


def seen(run: Messages, name: str) -> list[tuple[str, dict[str, Any]]]:
    index = list(CELLS).index(name) + 1
    return [(kind, data) for at, kind, data in run.seen if at == index]


def left(run: Messages, name: str) -> list[Any]:
    """The outputs of a cell that say something."""
    cell = run.nb.cells[list(CELLS).index(name) + 1]
    return [one for one in cell.outputs if one.get("data") or one["output_type"] != "display_data"]


def test_the_first_cell_tells_what_is_loaded_and_then_shows_the_widget_in_its_place(
    run: Messages,
) -> None:
    shown = seen(run, "first")
    told = [data["text/plain"] for _, data in shown[:-1]]
    assert told == ["Loading attn_widget/mini …", "Running the model …"]
    assert [kind for kind, _ in shown] == ["display_data"] + ["update_display_data"] * len(told)
    assert WIDGET in shown[-1][1]
    (output,) = left(run, "first")
    assert WIDGET in output["data"]


@pytest.mark.parametrize("name", ["warm", "silent"])
def test_a_cell_that_loads_nothing_or_wants_no_progress_shows_the_widget_alone(
    run: Messages, name: str
) -> None:
    assert [kind for kind, _ in seen(run, name)] == ["display_data"]
    assert WIDGET in seen(run, name)[0][1]


def test_nothing_is_left_of_a_model_that_was_loaded_by_itself(run: Messages) -> None:
    assert len(seen(run, "loaded alone")) > 1
    assert left(run, "loaded alone") == []


@pytest.mark.parametrize("name", ["nothing there", "no text"])
def test_nothing_but_the_error_is_left_of_a_cell_that_fails(run: Messages, name: str) -> None:
    assert [output["output_type"] for output in left(run, name)] == ["error"]


def test_no_line_of_the_saved_notebook_says_that_something_is_loading(run: Messages) -> None:
    assert "Loading " not in nbformat.writes(run.nb)


def test_a_notice_is_sent_when_it_says_something_new_and_escapes_what_it_says() -> None:
    sent: list[Any] = []

    class Handle:
        def update(self, data: Any, **_: Any) -> None:
            sent.append(data)

    def show(data: Any, **_: Any) -> Handle:
        sent.append(data)
        return Handle()

    notice = LoadingNotice(show)
    for share in (None, 0.1, 0.101, 0.2):
        notice.say("Loading <b>", share)
    assert [data["text/html"].count("&lt;b&gt;") for data in sent] == [1, 1, 1]
    assert "<b>" not in sent[0]["text/html"]
    notice.clear()
    notice.clear()
    assert sent[3:] == [{}]
    assert "script" not in notice_html("x", 3)
