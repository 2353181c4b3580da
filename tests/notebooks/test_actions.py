"""Actions in a real kernel: what a run's thread says reaches the page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from attn_widget.protocol.pack import unpack

LIMIT_S = 60
WIDGET = 'import attn_widget as aw; w = aw.show("the cat sat on the mat", token=2, progress=False)'

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def client() -> Iterator[BlockingKernelClient]:
    manager, client = start_new_kernel()
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture
def comm_id(client: BlockingKernelClient) -> str:
    """A new widget in the kernel, by the id of its comm."""
    return evaluate(client, WIDGET, "w.model_id")


def evaluate(client: BlockingKernelClient, code: str, expression: str) -> Any:
    reply = client.execute_interactive(
        code, user_expressions={"value": expression}, timeout=LIMIT_S, output_hook=lambda _: None
    )
    assert reply["content"]["status"] == "ok", reply["content"]
    text = reply["content"]["user_expressions"]["value"]["data"]["text/plain"]
    return text.strip("'")


def act(client: BlockingKernelClient, comm_id: str, **action: Any) -> None:
    """What the page sends by anywidget's `invoke`."""
    command = {"id": "1", "kind": "anywidget-command", "name": "act", "msg": action}
    data = {"method": "custom", "content": command}
    message = client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
    client.shell_channel.send(message)


def messages(client: BlockingKernelClient) -> Iterator[dict[str, Any]]:
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        yield client.get_iopub_msg(timeout=LIMIT_S)
    raise TimeoutError


def updates(client: BlockingKernelClient, comm_id: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """What the page hears, message by message: traits that changed with buffers, or an answer."""
    for message in messages(client):
        content = message["content"]
        if message["msg_type"] == "comm_msg" and content["comm_id"] == comm_id:
            data = content["data"]
            yield data.get("state", data.get("content")), message["buffers"]


def test_a_run_of_the_page_arrives_as_one_message(
    client: BlockingKernelClient, comm_id: str
) -> None:
    act(client, comm_id, kind="run", text="dogs bark at night", text_pair=None)
    heard: list[dict[str, Any]] = []
    pictures: list[tuple[dict[str, Any], list[Any]]] = []
    answered = False
    for state, buffers in updates(
        client, comm_id
    ):  # the answer may come before or after the picture
        heard.append(state)
        answered |= state.get("kind") == "anywidget-command-response"
        pictures += [(state, buffers)] if buffers else []
        if answered and pictures:
            break
    assert {"status": "running"} in heard
    ((shown, buffers),) = pictures
    assert shown["text"] == "dogs bark at night"
    # Another text opens anew: on its own strongest word, not on the token chosen in the last one.
    assert shown["status"] == "ready" and shown["token"] is not None
    assert [run["text"] for run in shown["history"]] == [
        "dogs bark at night", "the cat sat on the mat",
    ]  # fmt: skip
    meta, _ = unpack(bytes(buffers[0]))
    assert meta["text"] == "dogs bark at night"
    cell = 'other = aw.show("dogs bark at night", progress=False)'
    same = "[w.layer, w.head, w.token] == [other.layer, other.head, other.token]"
    assert evaluate(client, cell, same) == "True"


def test_the_page_hears_of_a_run_while_a_cell_works(
    client: BlockingKernelClient, comm_id: str
) -> None:
    cell = 'import time; w._act({"kind": "mask", "tokens": [2]}, []); time.sleep(15)'
    asked = client.execute(cell)
    for message in messages(client):
        idle = message["content"].get("execution_state") == "idle"
        assert not (idle and message["parent_header"]["msg_id"] == asked), "the cell was quicker"
        state = message["content"].get("data", {}).get("state", {})
        if state.get("masked") == [2]:
            break
    assert state["status"] == "ready"
    client.get_shell_msg(timeout=LIMIT_S)
    assert evaluate(client, "pass", "w.token") == "2"
