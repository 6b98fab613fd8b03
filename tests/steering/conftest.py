"""Fixtures: this process as one that can be steered, and others that run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import funcgraph
from funcgraph import cli
from funcgraph.command_support import processes as _processes
from funcgraph.control.client import connect
from funcgraph.settings.table import TOP
from funcgraph.steering.folder import Process
from steering.local import LocalRemote

import_module("work")  # whose functions the tests trace

Verb = Callable[..., Any]
Run = Callable[..., str]
Shop = subprocess.Popen[str]
Shops = Callable[[], Shop]

#: Pays all the time.
SHOP = textwrap.dedent("""
    import sys, threading

    def price(amount):
        return 2 * amount

    def pay(amount):
        return price(amount)

    if __name__ == "__main__":
        import funcgraph, shop
        funcgraph.serve()
        print("serves", flush=True)
        done = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.read(), done.set()), daemon=True).start()
        amount = 0
        while not done.wait(0.002):
            amount += 1
            shop.pay(amount)
""")


@pytest.fixture
def remote() -> Iterator[LocalRemote]:
    """Return the tracefs of this process. Afterwards it has neither instances nor events nor errors."""
    remote = LocalRemote()
    yield remote
    for instance in list(funcgraph.instances().values()):
        instance.close()
    for file in ("dynamic_events", "error_log"):
        remote.write_text(file, "")
    funcgraph.instances()[TOP].close()


@pytest.fixture
def process(remote: LocalRemote) -> Process:
    """Return this process as one that can be steered."""
    return Process(os.getpid(), remote)


@pytest.fixture
def verb(process: Process, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Verb:
    """Return a function that runs `funcgraph WORDS...` on this process, and returns what it prints."""

    def run(*words: str, status: int = 0) -> str:
        capsys.readouterr()
        assert cli.run([*words]) == status, capsys.readouterr().err
        return capsys.readouterr().out

    monkeypatch.setattr(_processes, "_running", lambda: [os.getpid()])
    monkeypatch.setattr(_processes, "_connect", lambda pids, borrows: [(pid, process) for pid in pids])
    return run


@pytest.fixture
def top(process: Process) -> funcgraph.Instance:
    """Return the top instance."""
    process.instance().read("current_tracer")  # which makes it
    return funcgraph.instances()[TOP]


# ---- other processes


class Running:
    """Processes of SHOP: a test takes some, and those that still run serve the next one.

    Args:
        runtime: the folder for their sockets.
    """

    def __init__(self, runtime: Path) -> None:
        self.runtime = runtime
        self.idle: list[Shop] = []
        (runtime / "shop.py").write_text(SHOP)

    def take(self) -> Shop:
        """Return one that runs and traces nothing."""
        if self.idle:
            return self.idle.pop()
        child = subprocess.Popen(
            [sys.executable, "-B", "shop.py"],
            cwd=self.runtime,
            env={**os.environ, "XDG_RUNTIME_DIR": str(self.runtime)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None and child.stdout.readline() == "serves\n"
        return child

    def put_back(self, child: Shop) -> list[str]:
        """Take one back that nobody uses; return the instances that were left in it."""
        if child.poll() is not None:
            child.communicate()
            return []
        with connect(child.pid) as process:
            left = process.list("instances")
        assert cli.main(["reset", "-P", str(child.pid), "-t", "-a", "-d"]) == 0
        self.idle.append(child)
        return left


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """Return the processes of all tests."""
    runtime = Path(tempfile.mkdtemp(prefix="fgtest-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    running = Running(runtime)
    yield running
    for child in running.idle:
        child.communicate()  # which ends it
        assert child.returncode == 0
    shutil.rmtree(runtime)


@pytest.fixture
def fg(fg: Any, running: Running) -> Any:
    """Return the commands, which find the sockets of these processes."""
    fg.env["XDG_RUNTIME_DIR"] = str(running.runtime)
    return fg


@pytest.fixture
def shop(running: Running, in_process: Verb) -> Iterator[Shops]:
    """Return a function that returns one more process. No test leaves an instance in one."""
    taken: list[Shop] = []

    def take() -> Shop:
        taken.append(running.take())
        return taken[-1]

    yield take
    assert [running.put_back(child) for child in taken] == [[]] * len(taken)


@pytest.fixture
def run(in_process: Verb) -> Run:
    """Return a function that runs a command that does what it should, and returns what it prints."""

    def run(*words: object) -> str:
        done = in_process(*words)
        assert (done.returncode, done.stderr) == (0, ""), done
        printed: str = done.stdout
        return printed

    return run
