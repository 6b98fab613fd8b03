"""The recorder notices the end of a process that is not its child, with and without pidfds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from funcgraph.recorder.process import ProcessWatch

pytestmark = pytest.mark.one_python


@pytest.fixture(params=["pidfd", "proc"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test with pidfds, and without them as in a container that forbids them."""

    def forbidden(pid: int, flags: int = 0) -> int:
        os.kill(pid, 0)
        raise PermissionError(1, "Operation not permitted")

    if request.param == "proc":
        monkeypatch.setattr(os, "pidfd_open", forbidden)
    return str(request.param)


def test_process_is_gone_when_it_ended_also_before_it_is_waited_for(how: str) -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    watch = ProcessWatch(child.pid)
    assert not watch.gone()
    child.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while not watch.gone():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    child.communicate()
    assert watch.gone()


def test_waiting_lasts_until_the_end(how: str) -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    watch = ProcessWatch(child.pid)
    ended = threading.Event()

    def wait() -> None:
        watch.wait()
        ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not ended.wait(0.1)
    child.kill()
    thread.join()
    child.communicate()
    assert watch.gone()
    watch.wait()


def test_process_that_was_never_there_is_gone(how: str) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert ProcessWatch(child.pid).gone()


def test_a_later_process_with_the_same_id_is_another(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = ProcessWatch(os.getpid())
    if how == "proc":
        monkeypatch.setattr("funcgraph.recorder.process.start_time", lambda pid: "later")
        assert watch.gone()
    else:
        assert not watch.gone()
    watch.close()


def test_name_of_a_process_may_hold_anything() -> None:
    with open("/proc/self/comm", "r+") as file:
        before = file.read().strip()
        file.seek(0)
        file.write(") Z (")
    try:
        from funcgraph.recorder import process

        assert process.start_time(os.getpid()) is not None
    finally:
        with open("/proc/self/comm", "w") as file:
            file.write(before)
