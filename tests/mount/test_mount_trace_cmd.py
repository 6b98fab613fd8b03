"""Stock trace-cmd records a program on its mount, and reads what it recorded.

trace-cmd knows one place of tracefs: a library that is preloaded (tracefs_shim.c) shows it the mount there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import extension
import pytest

from mount.mounted import HERE, TIMEOUT_S, mount_process
from mount.shop_program import end_program, start_program

pytestmark = pytest.mark.one_python

#: Two threads call at the same time: the trace has two lanes.
TWO_THREADS = """
import funcgraph, shop, sys, threading, time

def work():
    while True:
        shop.pay(3)
        time.sleep(0.002)

threading.Thread(target=work, daemon=True).start()
funcgraph.serve()
print("serves", flush=True)
work()
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("trace-cmd") is None:
        pytest.skip("Debian's package trace-cmd is not installed")
    if os.geteuid() != 0:
        pytest.skip("trace-cmd records as root alone")
    return extension.compile_library(tmp_path_factory.mktemp("shim"), HERE / "tracefs_shim.c")


@pytest.fixture(scope="module")
def tracing(fuse: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The mount of a program with two busy threads."""
    folder = tmp_path_factory.mktemp("shop")
    process = start_program(folder, TWO_THREADS)
    try:
        with mount_process(process.pid, folder / "tracing"):
            yield folder / "tracing"
    finally:
        end_program(process)


class TraceCmd:
    """Runs trace-cmd on a mount."""

    def __init__(self, tracing: Path, shim: Path, folder: Path) -> None:
        self._folder = folder
        (folder / "mounts").write_text("tracefs /sys/kernel/tracing tracefs rw,relatime 0 0\n")
        self._environment = {
            **os.environ,
            "LD_PRELOAD": str(shim),
            "FG_TRACEFS": str(tracing),
            "FG_MOUNTS": str(folder / "mounts"),
        }

    def run(self, *words: str) -> str:
        """Return what it prints."""
        done = subprocess.run(
            ["trace-cmd", *words],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def record(self, *words: str) -> list[str]:
        """Record for half a second; return the lines of the report, which knows no mount."""
        self.run("record", *words, "sleep", "0.5")
        words = ("trace-cmd", "report", "trace.dat")
        done = subprocess.run(words, cwd=self._folder, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


@pytest.fixture
def trace_cmd(tracing: Path, shim: Path, tmp_path: Path) -> Iterator[TraceCmd]:
    command = TraceCmd(tracing, shim, tmp_path)
    yield command
    command.run("reset")


def test_record_has_the_function_graph_of_all_threads(trace_cmd: TraceCmd) -> None:
    lines = trace_cmd.record("-p", "function_graph", "-l", "shop.*")
    text = "\n".join(lines)
    tids = set(re.findall(r"-(\d+) +\[\d+\] ", text))
    lanes = set(re.findall(r"\[(\d+)\] ", text))
    assert len(tids) == 2
    if os.sysconf("SC_NPROCESSORS_CONF") > 1:  # trace-cmd reads as many lanes as there are CPUs
        assert len(lanes) == 2
    nested = r"funcgraph_entry: +\|  shop\.pay\(\) \{\n.*funcgraph_entry: .*\|    shop\.tax\(\);\n.*\|  \}"
    assert re.search(nested, text)


def test_record_has_the_function_tracers_calls(trace_cmd: TraceCmd) -> None:
    lines = trace_cmd.record("-p", "function", "-l", "shop.tax")
    assert any(re.search(r"function: +shop\.tax", line) for line in lines)
    assert not any("shop.pay" in line and "<--" not in line for line in lines if "function:" in line)


def test_record_has_events_with_their_values(trace_cmd: TraceCmd, tracing: Path) -> None:
    (tracing / "kprobe_events").write_text("p:pay shop.pay amount=amount:s32\n")
    lines = trace_cmd.record("-e", "kprobes", "-f", "amount == 3")
    assert any(re.search(r"pay: +\(shop\.pay\) amount=3", line) for line in lines)
    trace_cmd.run("reset")
    (tracing / "kprobe_events").write_text("\n")


def test_list_and_stat_show_the_programs(trace_cmd: TraceCmd) -> None:
    assert "py:raise" in trace_cmd.run("list", "-e").split()
    assert "shop.pay" in trace_cmd.run("list", "-f").split()
    assert "Buffer size" in trace_cmd.run("stat")
