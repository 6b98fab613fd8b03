"""Processes without a control socket are attached to at the same time: a bad one holds up nobody."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from conftest import Funcgraph
from running import PROGRAMS, Running

from funcgraph.attach import connecting, deadline, serving
from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.attach.group import MOST_AT_ONCE, PLACE_S, AttachGroup
from funcgraph.control.client import NotServedError

WAIT_S = 60


class Made:
    """A connection that notes what becomes of it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.calls: list[str] = []

    def call(self, name: str) -> None:
        self.calls.append(name)

    def close(self) -> None:
        self.calls.append("close")


class Attacher:
    """Stands for attaching: counts those that are made at the same time."""

    def __init__(self, act: Callable[[int, Deadline], None]) -> None:
        self._act = act
        self._lock = threading.Lock()
        self.made: dict[int, Made] = {}
        self.running = self.most = 0

    def attach(self, pid: int, *, borrows: bool, within: Deadline) -> Made:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            self._act(pid, within)
            with self._lock:
                return self.made.setdefault(pid, Made(pid))
        finally:
            with self._lock:
                self.running -= 1


@pytest.fixture
def attaching(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Attacher]:
    """Return a function that replaces attaching; no process serves a socket."""

    def refuse(pid: int) -> None:
        raise NotServedError

    def replace(act: Callable[[int, Deadline], None]) -> Attacher:
        attacher = Attacher(act)
        monkeypatch.setattr(connecting, "connect", refuse)
        monkeypatch.setattr(connecting, "_attached", attacher.attach)
        return attacher

    return replace


def connect_all(pids: list[int]) -> Iterator[tuple[int, Any]]:
    return connecting.connect_all(pids, borrows=True)


@pytest.mark.one_python
def test_sixteen_are_attached_to_at_the_same_time_and_no_more(
    attaching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "AttachGroup", partial(AttachGroup, lambda: 0.0))
    together = threading.Barrier(MOST_AT_ONCE)
    attacher = attaching(lambda pid, within: together.wait(WAIT_S))
    pids = [*range(3 * MOST_AT_ONCE, 0, -1)]
    assert [(pid, made.pid) for pid, made in connect_all(pids)] == [(pid, pid) for pid in pids]
    assert (MOST_AT_ONCE, attacher.most) == (16, 16)


@pytest.mark.one_python
def test_those_that_do_not_end_hold_up_nobody(attaching: Any) -> None:
    """Broken: they were attached to one after the other, and the first had its time limit first."""
    bad, good = [*range(1, MOST_AT_ONCE)], [*range(100, 200)]
    left = {*good}
    all_good = threading.Event()

    def act(pid: int, within: Deadline) -> None:
        if pid in bad:
            assert all_good.wait(WAIT_S)
            raise AttachError(pid, "no safe moment came")
        left.discard(pid)
        if not left:
            all_good.set()

    attaching(act)
    made = list(connect_all([*bad, *good]))
    assert [pid for pid, _ in made] == [*bad, *good]
    assert [str(one) for _, one in made[: len(bad)]] == [f"process {pid}: no safe moment came" for pid in bad]
    assert [one.pid for _, one in made[len(bad) :]] == good


@pytest.mark.one_python
def test_those_that_wait_give_their_places_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: each sixteen that could not be attached to cost the whole time limit once more."""
    now = 100.0
    with AttachGroup(lambda: now) as group, ExitStack() as turns:
        for pid in range(3 * MOST_AT_ONCE):
            turns.enter_context(group.turn(pid))
            if pid % MOST_AT_ONCE == MOST_AT_ONCE - 1:
                now += PLACE_S
        waits: list[float] = []
        monkeypatch.setattr(threading.Condition, "wait", lambda self, seconds: waits.append(seconds))
        turns.enter_context(group.turn(1000))
        assert waits == []  # the oldest one's second is over
        now -= PLACE_S / 4

        def wait(self: threading.Condition, seconds: float) -> None:
            nonlocal now
            waits.append(seconds)
            now += seconds

        monkeypatch.setattr(threading.Condition, "wait", wait)
        turns.enter_context(group.turn(1001))
        assert waits == [PLACE_S / 4]
        monkeypatch.undo()


@pytest.mark.one_python
def test_a_place_that_was_given_up_is_not_free_once_more() -> None:
    now = 100.0
    with AttachGroup(lambda: now) as group, ExitStack() as turns:
        with ExitStack() as slow:
            for pid in range(MOST_AT_ONCE):
                slow.enter_context(group.turn(pid))
            now += PLACE_S
            for pid in range(MOST_AT_ONCE):
                turns.enter_context(group.turn(100 + pid))
        assert group._wait_s() == PLACE_S


@pytest.mark.one_python
def test_connecting_and_attaching_have_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: a process could keep a command for the limit twice."""
    now = 100.0
    limits: list[float] = []

    def connect(pid: int, timeout_s: float) -> NoReturn:
        nonlocal now
        limits.append(timeout_s)
        now += 6
        raise NotServedError

    def run_in(pid: int, code: str, timeout_s: float, **others: object) -> str:
        limits.append(timeout_s)
        return ""

    monkeypatch.setattr(serving, "connect", connect)
    monkeypatch.setattr(serving, "run_in", run_in)
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: now))
    assert serving.attach(1, 10.0)
    assert limits == [10.0, 4.0]


@pytest.mark.one_python
def test_a_caller_that_goes_leaves_all_processes_as_they_were(attaching: Any) -> None:
    """After the first error: those that are being made are given up, the others' sockets are given back."""
    others = threading.Semaphore(0)
    ended: list[int] = []

    def act(pid: int, within: Deadline) -> None:
        if pid == 1:
            for _ in range(4):
                assert others.acquire(timeout=WAIT_S)
            raise AttachError(pid, "odd")
        others.release()
        if pid == 5:  # it goes on until it is given up
            while not within.is_over():
                threading.Event().wait(0.01)
            ended.append(pid)

    attacher = attaching(act)
    reached = connect_all([1, 2, 3, 4, 5])
    assert str(next(reached)[1]) == "process 1: odd"
    assert next(reached)[1] is attacher.made[2]
    reached.close()  # type: ignore[attr-defined]
    assert ended == [5] and attacher.running == 0
    assert {pid: made.calls for pid, made in attacher.made.items()} == {
        2: [], 3: ["give_back", "close"], 4: ["give_back", "close"], 5: ["give_back", "close"]
    }  # fmt: skip


@pytest.mark.one_python
def test_none_begins_after_a_group_was_given_up() -> None:
    with AttachGroup() as group:
        group.cancel()
        with pytest.raises(AttachError, match="process 7: interrupted"), group.turn(7):
            pass


@pytest.mark.one_python
def test_the_gil_is_handed_over_soon_while_threads_of_programs_are_stopped(attaching: Any) -> None:
    before, seen = sys.getswitchinterval(), []
    attaching(lambda pid, within: seen.append(sys.getswitchinterval()))
    assert len(list(connect_all([1, 2, 3]))) == 3
    assert [round(seconds, 6) for seconds in seen] == [0.0001] * 3
    assert sys.getswitchinterval() == before


@pytest.mark.one_python
def test_several_programs_are_attached_to_and_recorded_beside_one_that_is_stopped(fg: Funcgraph) -> None:
    program = "import time\ndef turn(): time.sleep(0.001)\nready()\nwhile True: turn()"
    with Running(program) as one, Running(program) as other, Running(PROGRAMS["sleeping"]) as stopped:
        stopped.process.send_signal(signal.SIGSTOP)
        words = [stopped.pid, one.pid, other.pid, stopped.pid]
        done = fg.run("attach", "--timeout", "1", *map(str, words))
        lines = [f"process {pid}: attached\n" for pid in (one.pid, other.pid)]
        assert (done.returncode, done.stdout) == (2, "".join(lines))
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith(f"funcgraph: process {stopped.pid}: ")
        for running in (one, other):
            fg.run("detach", str(running.pid))
        pids = f"{one.pid},{other.pid}"
        done = fg.run("record", "-P", pids, "-l", "__main__.turn", "-o", fg.trace, "--", "sleep", "0.2")
        assert done.returncode == 0, done.stderr
        stopped.process.send_signal(signal.SIGCONT)
        assert [running.end() for running in (one, other, stopped)] == [(7, "", "")] * 3
