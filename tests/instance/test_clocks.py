"""trace_clock: all of the kernel's clocks. Those that do not count nanoseconds show whole numbers, as the
kernel prints them, and leave durations as they are.

Failed before: counter, uptime, perf and x86-tsc were refused.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from traced import leaf, outer

import funcgraph

pytestmark = pytest.mark.one_python

ALL = ["local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai", "x86-tsc"]
COUNTING = ["counter", "uptime", "x86-tsc"]
IDS = {"boot": time.CLOCK_BOOTTIME, "mono_raw": time.CLOCK_MONOTONIC_RAW, "tai": time.CLOCK_TAI}


def traced(clock: str, **settings: Any) -> funcgraph.Instance:
    options = "funcgraph-abstime nofuncgraph-cpu"
    settings = {"tracer": "function_graph", "options": options, "filter": "traced.*", **settings}
    i = funcgraph.Instance("clocks", **settings)
    i.trace_clock = clock
    return i


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def counts(text: str) -> list[int]:
    """Return the numbers in the first column, each of which is at least twelve characters wide."""
    assert all(re.match(r"[ \d]{12,} \|  ", line) for line in body(text)), text
    return [int(line.partition("|")[0]) for line in body(text)]


def test_the_kernels_names_are_offered_in_the_kernels_order() -> None:
    with traced("perf") as i:
        assert i.files["trace_clock"] == "local global counter uptime [perf] mono mono_raw boot tai x86-tsc\n"


@pytest.mark.parametrize("clock", [name for name in ALL if name not in COUNTING])
def test_clocks_of_time_show_seconds(clock: str) -> None:
    identity = IDS.get(clock, time.CLOCK_MONOTONIC)
    with traced(clock) as i:
        before = time.clock_gettime(identity)
        leaf(1)
        after = time.clock_gettime(identity)
        (line,) = body(i.trace())
    assert before - 0.001 <= float(line.partition("|")[0]) <= after + 0.001


def test_counter_numbers_the_events_of_all_threads_in_their_order() -> None:
    """Two threads call in turns, so that each knows when it was its turn."""

    def turns(mine: threading.Semaphore, other: threading.Semaphore) -> None:
        for _ in range(10):
            mine.acquire()
            leaf(1)
            other.release()

    first, second = threading.Semaphore(1), threading.Semaphore(0)
    with traced("counter", options="funcgraph-abstime nofuncgraph-cpu funcgraph-proc") as i:
        threads = [threading.Thread(target=turns, args=pair) for pair in ((first, second), (second, first))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        text = i.trace()
    # A call is one line, with the number of its entry; its exit has the next number.
    calls = [line for line in body(text) if "leaf" in line]
    assert [int(line[:12]) for line in calls] == list(range(1, 41, 2))
    tasks = [line.split("|")[1].strip() for line in calls]
    assert tasks == [tasks[0], tasks[1]] * 10 and tasks[0] != tasks[1]


def test_counter_numbers_nested_calls_and_leaves_durations() -> None:
    with traced("counter") as i:
        outer()
        text = i.trace()
    assert counts(text) == [1, 2, 3, 5, 7, 8, 10]
    assert all(re.search(r"\d+\.\d+ us", line) for line in body(text) if not line.endswith("{"))


def test_tsc_shows_cycles_and_uptime_hundredths_of_a_second() -> None:
    with traced("x86-tsc") as i:
        outer()
        cycles = counts(i.trace())
        assert cycles == sorted(cycles) and cycles[0] > 1_000_000
        i.trace_clock = "uptime"
        before = time.monotonic()
        jiffies = counts(i.trace())
        assert all(0 <= before * 100 - jiffy < 6000 for jiffy in jiffies)


def test_the_function_layout_shows_numbers_as_the_kernel() -> None:
    with traced("counter", tracer="function", options="") as i:
        leaf(1)
        leaf(2)
        lines = body(i.trace())
    assert [re.sub(r"^.*\[\d+\] ", "", line).partition("traced")[0] for line in lines] == [
        "            1: ",
        "            2: ",
    ]


@pytest.mark.parametrize("clock", COUNTING)
def test_the_file_says_the_clock(clock: str, tmp_path: Path) -> None:
    with traced(clock) as i:
        outer()
        i.save(tmp_path / "trace.dat")
        expected = counts(i.trace())
    assert f"[{clock}]\0".encode() in (tmp_path / "trace.dat").read_bytes()
    if shutil.which("trace-cmd"):
        text = subprocess.run(
            ["trace-cmd", "report", "-i", str(tmp_path / "trace.dat")],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        ).stdout
        shown = re.findall(r"\[\d+\] *([\d.]+): ", text)
        if clock != "uptime":  # trace-cmd takes it for nanoseconds
            assert [int(number) for number in shown] == expected
