"""Torch's threads: as many as the work can feed, never more than there were, and the user's own number afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Generator

import pytest
import torch

import attn_widget as aw
from attn_widget.host.threads import SPLIT, torch_threads
from attn_widget.trace.forward import inference_mode, threads_for
from tests.unit.tiny_models import build

FOUR = 4


@pytest.fixture(autouse=True)
def four_threads(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(FOUR)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("values", "threads"), [(1, 1), (SPLIT, 1), (SPLIT + 1, 2), (10**9, FOUR)])
def test_threads_follow_the_work(values: int, threads: int) -> None:
    with torch_threads() as choose:
        choose(values)
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == FOUR


def test_a_pass_within_a_figure_may_take_more_and_gives_them_back() -> None:
    with torch_threads() as choose:
        choose(1)
        with torch_threads() as choose_more:
            choose_more(3 * SPLIT)
            assert torch.get_num_threads() == 3
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == FOUR


def test_threads_that_begin_meanwhile_do_not_keep_the_lower_number() -> None:
    entered, leave = threading.Event(), threading.Event()
    after: list[int] = []

    def work() -> None:
        with torch_threads() as choose:
            choose(1)
            entered.set()
            leave.wait(60)
        after.append(torch.get_num_threads())

    with torch_threads() as choose:
        choose(1)
        thread = threading.Thread(target=work)
        thread.start()
        assert entered.wait(60)
    leave.set()
    thread.join(60)
    late = threading.Thread(target=lambda: after.append(torch.get_num_threads()))
    late.start()
    late.join(60)
    assert [torch.get_num_threads(), *after] == [FOUR, FOUR, FOUR]


def test_number_of_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", str(FOUR))
    with torch_threads() as choose:
        choose(1)
        assert torch.get_num_threads() == FOUR


def test_short_text_runs_on_one_thread_and_a_long_one_on_more() -> None:
    encoder = aw.load(build("bert"))
    seen: list[int] = []
    layer = encoder.network.base_model.encoder.layer[0]
    hook = layer.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    try:
        short = aw.analyze("the cat", model=encoder, progress=False)
        short.rollout()
        assert seen == [1]
        with torch.no_grad():
            encoder.network.base_model(torch.ones(1, 8, dtype=torch.long))
        assert seen == [1, FOUR]  # a pass of the user's own
        many = 2 * SPLIT // (8 * encoder.hidden_size)
        inputs = {"input_ids": torch.ones(many, 8, dtype=torch.long)}
        with inference_mode(encoder), threads_for(encoder, inputs):
            encoder.network.base_model(**inputs)
        assert seen == [1, FOUR, 2]
    finally:
        hook.remove()


@pytest.mark.parametrize(
    ("given", "first", "expected"),
    [(None, "", "passive"), ("active", "", "active"), (None, "import torch", "None")],
    ids=["unset", "set by the user", "after torch"],
)
def test_waiting_threads_give_their_core_away(given: str | None, first: str, expected: str) -> None:
    settings = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    settings |= {} if given is None else {"OMP_WAIT_POLICY": given}
    code = f"{first}\nimport attn_widget, os\nprint(os.environ.get('OMP_WAIT_POLICY'))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected
