"""The end of a process while a model runs in the background."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Each ends at the step after the one at which the process begins to end.
TASK = """
import threading
from attn_widget.protocol.tasks import Task
begun = threading.Event()
def work(progress):
    try:
        while True:
            begun.set()
            progress(0, 1)
    finally:
        print("ended", flush=True)
Task(None, work).start()
begun.wait(60)
"""
JOB = """
import threading
from attn_widget.widget.jobs import CancelledError, Job, LatestWorker
begun, step = threading.Event(), Job().step("Running")
def work():
    try:
        while True:
            begun.set()
            step(0, 1)
    except CancelledError:
        print("ended", flush=True)
LatestWorker("example").start(work)
begun.wait(60)
"""


@pytest.mark.parametrize("code", [TASK, JOB], ids=["task", "job"])
def test_work_ends_before_the_process(code: str) -> None:
    """A thread that comes back from torch's code later aborts the process: "terminate called without an active exception"."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
