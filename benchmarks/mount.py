"""The figures of `funcgraph mount`: writing a filter and reading trace_pipe, of another process."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import Bench, Figure, at_least, at_most

_FILTER_MS, _LINES_S = 25, 300_000
_BLOCK = 128 << 10  # what cat reads at a time
_ROUNDS_OF_CALLS = 20  # of 10,000 functions: fewer lines than the buffer holds
_BUFFER_KB = 65536


class _Mounted:
    """A program whose tracefs is mounted at a folder."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder = process, folder

    def call_all(self, times: int) -> None:
        """Have the program call each of its functions."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{times}\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def write(self, name: str, text: str) -> None:
        """echo TEXT > NAME"""
        file = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            os.write(file, f"{text}\n".encode())
        finally:
            os.close(file)

    def pipe_lines(self) -> int:
        """Read trace_pipe until it is empty; return how many lines there were."""
        file = os.open(self._folder / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        lines = 0
        try:
            while data := os.read(file, _BLOCK):
                lines += data.count(b"\n")
        except BlockingIOError:
            pass
        finally:
            os.close(file)
        return lines


@contextmanager
def _mounted(bench: Bench) -> Iterator[_Mounted]:
    folder = bench.folder / "tracing"
    folder.mkdir(exist_ok=True)
    command = bench.plain("served_functions.py")
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=bench.folder, env=bench.environment, **pipes) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            bench.run([*bench.funcgraph, "mount", str(folder), "-P", str(process.pid)])
            try:
                yield _Mounted(process, folder)
            finally:
                bench.run(["umount", "--lazy", str(folder)])
        finally:
            process.kill()


def _elapsed_ms(mounted: _Mounted, text: str) -> float:
    begin = time.perf_counter()
    mounted.write("set_ftrace_filter", text)
    return (time.perf_counter() - begin) * 1e3


def mount(bench: Bench) -> Iterator[Figure]:
    """Measure a mount. Yields nothing but the reason where none can be made."""
    try:
        with _mounted(bench) as mounted:
            mounted.write("set_ftrace_filter", "many.*")
            mounted.write("current_tracer", "function_graph")
            mounted.call_all(1)
            texts = ["many.f1*", "many.*"] * bench.rounds
            yield at_most(
                "mount: `echo PATTERN > set_ftrace_filter`, 10,000 functions",
                statistics.median(_elapsed_ms(mounted, text) for text in texts),
                _FILTER_MS,
                " ms",
                1,
            )
            rates = [_lines_per_s(bench, mounted) for _ in range(bench.rounds)]
            label = f"mount: lines of trace_pipe in a second, read by {_BLOCK >> 10} KiB"
            yield at_least(label, statistics.median(rates), _LINES_S, digits=0)
    except RuntimeError as error:
        yield Figure("mount", f"not measured: {str(error).splitlines()[-1]}")


def _lines_per_s(bench: Bench, mounted: _Mounted) -> float:
    """Record calls, and read what was recorded."""
    mounted.write("buffer_size_kb", str(_BUFFER_KB))
    mounted.call_all(bench.sized(_ROUNDS_OF_CALLS))
    mounted.write("tracing_on", "0")
    begin = time.perf_counter()
    lines = mounted.pipe_lines()
    rate = lines / (time.perf_counter() - begin)
    mounted.write("tracing_on", "1")
    return rate


ALL = {"mount": mount}
