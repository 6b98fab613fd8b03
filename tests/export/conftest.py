"""Traces to export, and exporting them in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from funcgraph.cli import main
from funcgraph.export.formats import find_format

PROGRAM = """
    import asyncio, os, threading

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def numbers(n):
        for i in range(n):
            yield i

    async def fetch(name, times):
        for i in range(times):
            await asyncio.sleep(0)
            fib(2)
        return name

    async def handler(name, *, times):
        got = await fetch(name, times)
        if name == "c":
            raise KeyError(name)
        return got

    async def main():
        await asyncio.gather(*(handler(name, times=2) for name in "abc"), return_exceptions=True)

    def worker(label):
        return [fib(5), list(numbers(3)), label]

    def failing():
        raise ValueError("no")

    thread = threading.Thread(target=worker, args=('a "quoted", <b>text</b>',), name='<i>"w"\\n</i>')
    thread.start()
    thread.join()
    asyncio.run(main())
    kept = numbers(2)
    next(kept)
    child = os.fork()
    if child == 0:
        worker("child")
        os._exit(0)
    os.waitpid(child, 0)
    try:
        failing()
    except ValueError:
        pass
"""


def record(folder: Path, *options: str, name: str = "trace.fg") -> Path:
    """Record the program into a trace in a folder."""
    script, trace = folder / "app.py", folder / name
    script.write_text(dedent(PROGRAM))
    command = [sys.executable, "-m", "funcgraph", "record", "-o", str(trace), *options, str(script)]
    environment = {name: value for name, value in os.environ.items() if name != "FUNCGRAPH_SESSION"}
    subprocess.run(command, check=True, capture_output=True, env=environment, cwd=folder, timeout=60)
    return trace


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of threads, tasks, generators, a fork and exceptions, with arguments and results."""
    return record(tmp_path_factory.mktemp("recorded"), "-l", "__main__.*", "--args", "--retval")


@pytest.fixture(scope="session")
def thresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace that has only ends.

    It has no generators: the end of one that is closed may be there alone, as a slice that is no call.
    """
    functions = [
        f"__main__.{name}" for name in ("fib", "worker", "fetch", "handler", "main", "failing", "<module>")
    ]
    options = [word for name in functions for word in ("-l", name)]
    return record(tmp_path_factory.mktemp("thresh"), *options, "--thresh", "1")


def need_modules(form: str) -> None:
    """Skip the test if what a format needs has no release for this Python."""
    for name in find_format(form).modules:
        pytest.importorskip(name)


@dataclass
class Ran:
    status: int
    out: str
    err: str


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Return a function that runs a command line in this process."""

    def run(*words: object) -> Ran:
        capfd.readouterr()
        status = main([str(word) for word in words])
        return Ran(status, *capfd.readouterr())

    return run


@pytest.fixture
def export(command: Callable[..., Ran], tmp_path: Path) -> Callable[..., Path]:
    """Return a function that exports a trace into a file with this suffix."""

    def run(trace: Path, form: str, suffix: str, *options: object) -> Path:
        need_modules(form)
        output = tmp_path / f"out{suffix}"
        ran = command("export", form, trace, "-o", output, *options)
        assert ran.status == 0, ran.err
        return output

    return run


@pytest.fixture
def summary(command: Callable[..., Ran]) -> Callable[..., dict[str, Any]]:
    """Return a function that returns what `funcgraph summary --json` prints."""

    def run(trace: Path, *options: object) -> dict[str, Any]:
        ran = command("summary", "--json", trace, *options)
        assert ran.status == 0, ran.err
        shown: dict[str, Any] = json.loads(ran.out)
        return shown

    return run
