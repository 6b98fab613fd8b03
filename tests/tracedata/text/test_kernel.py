"""Traces that trace-cmd recorded on a kernel: their text, figures and events.

The judge is stock trace-cmd: what it prints of the same file. data/ has traces of a Linux 7.2 kernel that
trace-cmd 3.1.6 recorded; formats and symbols that they do not need were taken out. kerneldat.py writes
others.
"""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import kerneldat
import pytest
from kerneldat import (
    KernelTrace,
    common,
    entry,
    format_text,
    function,
    leave,
    mark,
    old_entry,
    old_leave,
    retaddr_entry,
)
from sizes import NIGHTLY
from tracefile import COMPRESSIONS, Sections, Task, Trace

import funcgraph
from funcgraph.tracedata import Selection, TraceError, TraceFile

pytestmark = pytest.mark.one_python

S = 1_000_000_000
ONE, TWO, THREE = 0xFFFFFFFF81000100, 0xFFFFFFFF81000200, 0xFFFFFFFF81000300
DATA = Path(__file__).parents[1] / "data"
SAMPLES = ("graph", "fprobe", "two_instances")

needs_trace_cmd = pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")


def ours(path: Path) -> str:
    return b"".join(TraceFile(path).report()).decode()


def trace_cmd(path: Path, *words: str) -> str:
    """Return trace-cmd's text. With -N it prints events by their own formats, and no plugin of it does."""
    result = subprocess.run(
        ["trace-cmd", "report", *words, "-i", str(path)], capture_output=True, timeout=60, check=True
    )
    return result.stdout.decode("utf-8", "backslashreplace")


def converted(source: Path, target: Path, *words: str) -> Path:
    """Let trace-cmd write a trace in another version."""
    command = ["trace-cmd", "convert", "-i", str(source), "-o", str(target), *words]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    return target


# ---- recorded traces


@pytest.mark.parametrize("name", ["fprobe", "two_instances"])
def test_a_recorded_trace_gives_the_text_that_trace_cmd_gave(name: str) -> None:
    assert ours(DATA / f"{name}.dat") == (DATA / f"{name}.txt").read_text()


@needs_trace_cmd
@pytest.mark.parametrize("words", [(), ("--file-version", "6"), ("--compression", "none")], ids=" ".join)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_recorded_trace_prints_as_trace_cmd_prints_it(
    name: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    path = DATA / f"{name}.dat"
    if words:
        path = converted(path, tmp_path / "trace.dat", *words)
    assert ours(path) == trace_cmd(path)


def test_summary_and_open_read_a_recorded_trace() -> None:
    path = DATA / "graph.dat"
    rows = {row.name: row for row in TraceFile(path).summary()}
    with funcgraph.open(path) as trace:
        calls = Counter(call.function.name for call in trace.calls() if call.function)
        kinds = Counter(event.kind for event in trace.events())
    assert kinds == {"entry": 835, "return": 835}
    assert {name: row.calls for name, row in rows.items()} == calls
    assert rows["_raw_spin_lock"].calls == 24
    # The longest line of trace-cmd's text with this function has "+ 52.298 us".
    assert rows["_raw_spin_lock"].max_ns == 52_298


def test_an_instance_is_read_alone() -> None:
    read = TraceFile(DATA / "two_instances.dat")
    text = b"".join(read.report(buffers=read.find_buffers(["one"]))).decode()
    lines = (DATA / "two_instances.txt").read_text().splitlines(keepends=True)
    assert text == lines[0] + "".join(line.removeprefix("one: ") for line in lines if line.startswith("one:"))


# ---- made traces


def random_trace(seed: int) -> KernelTrace:
    """Return a trace of tasks that call, return and move between CPUs, in one or more instances."""
    rng = random.Random(seed)
    old = rng.random() < 0.3
    trace = KernelTrace(
        cpus=rng.choice([1, 2, 4]),
        buffers=rng.choice([("",), ("", "second"), ("", "a", "longer name")]),
        clock=rng.choice(["[local] global", "local [mono]", "[x86-tsc]", "[counter]", ""]),
        names_clocks=rng.random() < 0.5,
        cmdlines="63 work\n64 other task\n7 a-very-long-name-of-a-task\n",
    )
    if old:
        trace.ftrace = [kerneldat.OLD_ENTRY, kerneldat.OLD_EXIT, kerneldat.PRINT]
    make_entry: Callable[..., bytes] = old_entry if old else entry
    make_exit: Callable[..., bytes] = old_leave if old else leave
    tasks = [63, 64, 7, 0, 123456]
    stacks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    cpus = dict.fromkeys(tasks, 0)
    time = 1000
    for step in range(rng.choice([50, 600])):
        time += rng.choice([0, 1, 77, 950, 12_000, 1_300_000, 200_000_000])
        pid, buffer = rng.choice(tasks), rng.randrange(len(trace.buffers))
        if rng.random() < 0.1:
            cpus[pid] = rng.randrange(trace.cpus)
            # trace-cmd 3.1.6 loses the order of time when it folds a call that ends on another CPU.
            time += 1
            for number in range(len(trace.buffers)):
                trace.add(cpus[pid], time, mark(pid, ONE, b"moved\n"), buffer=number)
            time += 1
        cpu = cpus[pid]
        stack = stacks.setdefault((pid, buffer), [])
        lost = None
        if rng.random() < 0.7 and len(stack) < 12:
            if rng.random() < 0.02:
                lost = rng.choice([-1, 5, 12345])
            func = rng.choice([ONE, ONE + 4, TWO, THREE, THREE + 255, 0x1234])
            record = make_entry(pid, func, len(stack))
            stack.append((func, time))
            trace.add(cpu, time, record, buffer=buffer, lost=lost)
            if rng.random() < 0.5:
                stack.pop()
                time += rng.choice([0, 3, 999])
                trace.add(cpu, time, make_exit(pid, func, len(stack), time - 500, time), buffer=buffer)
        elif stack:
            func, began = stack.pop()
            depth = len(stack)
            trace.add(cpu, time, make_exit(pid, func, depth, min(began, time), time), buffer=buffer)
        else:
            trace.add(cpu, time, make_exit(pid, TWO, 3, time - 5, time + step), buffer=buffer)
    return trace


@needs_trace_cmd
@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 12))
def test_a_made_trace_prints_as_trace_cmd_prints_it(seed: int, tmp_path: Path) -> None:
    path = random_trace(seed).save(tmp_path / "trace.dat")
    assert ours(path) == trace_cmd(path)


@pytest.mark.parametrize("counts_itself", [True, False])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_version_7_is_read_with_each_compression(
    compression: str, counts_itself: bool, tmp_path: Path
) -> None:
    """trace-cmd leaves the number of chunks out of a lane's size. Lanes may have any CPU's number."""
    trace = KernelTrace(cpus=1)
    for n in range(400):
        trace.add(0, S + 2 * n, entry(63, ONE, 0))
        trace.add(0, S + 2 * n + 1, leave(63, ONE, 0, S, S + n))
    sections = Sections(compression)
    parts = [(number, sections.put(number, part)) for number, part in trace.parts().items()]
    data = trace.lanes[0][0].data()
    pages = [data[at : at + kerneldat.PAGE] for at in range(0, len(data), kerneldat.PAGE)]
    option = bytearray(sections.put_buffer([pages]))
    cpu, offset, size = struct.unpack("<IQQ", option[-20:])
    if compression != "none" and not counts_itself:
        size -= 4
    option[-20:] = struct.pack("<IQQ", cpu + 5, offset, size)
    options = [(number, struct.pack("<Q", at)) for number, at in parts]
    sections.put_options([(4, b"[local] global\0"), (8, struct.pack("<I", 8)), *options])
    sections.put_options([(3, bytes(option))])
    path = tmp_path / "trace.dat"
    path.write_bytes(sections.out)
    lines = ours(path).splitlines()
    assert (lines[0], len(lines)) == ("cpus=8", 401)
    assert lines[-1] == (
        "            work-63    [005]     1.000001: funcgraph_entry:        0.399 us   |  one();"
    )


DURATIONS = [9_999, 10_000, 10_001, 100_001, 1_000_001, 10_000_001, S + 1, 12_345_678_901, 99_999_999_999_999]


@needs_trace_cmd
def test_durations_and_unknown_addresses_print_as_in_trace_cmd(tmp_path: Path) -> None:
    trace = KernelTrace()
    for number, duration in enumerate(DURATIONS):
        trace.add(1, S + 1000 * number, leave(999, THREE + 5, 3, 0, duration))
    trace.add(1, 5 * S, entry(0, 0x1234, 1))
    trace.add(1, 5 * S + 10, leave(0, 0x1235, 1, 5, 4))  # it ends before it begins
    trace.add(1, 5 * S + 20, entry(0, ONE + 0x50, 70))
    trace.add(1, 5 * S + 500, entry(0, ONE + 0x350, 2))  # after the last symbol
    trace.add(1, 123456 * S, entry(1234567, ONE - 1, 2))  # before the first one
    trace.add(1, 123456 * S + 5, entry(63, ONE, 0), lost=12)
    trace.add(1, 123456 * S + 6, entry(63, ONE, 0), lost=-1)
    path = trace.save(tmp_path / "trace.dat")
    assert ours(path) == trace_cmd(path)


@needs_trace_cmd
@pytest.mark.parametrize("clock", ["local", "uptime", "x86-tsc", "unheard-of"])
@pytest.mark.parametrize(
    "options",
    [
        [],
        [(7, b"1000000001\0")],
        [(7, b"-500000000\0"), (1, b"0x1e8480\0")],
        [(14, struct.pack("<IIQ", 3 << 10, 9, 1000)), (1, b"2000000\0")],
    ],
    ids=["plain", "offset", "date", "tsc2nsec"],
)
def test_times_are_those_that_trace_cmd_prints(
    options: list[tuple[int, bytes]], clock: str, tmp_path: Path
) -> None:
    trace = KernelTrace(cpus=1, clock=f"[{clock}] other", options=options)
    for time in (3 * S, 3 * S + 499, 3 * S + 1500, 40 * S + 123_456_789, 123_456_789 * S):
        trace.add(0, time, entry(63, ONE, 0))
    path = trace.save(tmp_path / "trace.dat")
    assert ours(path) == trace_cmd(path)


@needs_trace_cmd
@pytest.mark.parametrize("seed", range(6))
def test_of_symbols_with_one_address_the_name_is_the_one_that_trace_cmd_finds(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    count = (2, 3, 7, 40, 500, 3000)[seed]
    addresses = [0xFFFFFFFF81000000 + 16 * rng.randrange(count) for _ in range(count)]
    lines = [
        f"{address:016x} {rng.choice('TtdDbWVAa')} {rng.choice(['f', 'g.', '$'])}{number}"
        for number, address in enumerate(addresses)
    ]
    trace = KernelTrace(cpus=1, kallsyms="".join(line + rng.choice(["\n", "\t[m]\n"]) for line in lines))
    for number, address in enumerate(sorted(set(addresses))[:200]):
        for inside in (0, 1, 17):
            trace.add(0, S + 1000 * number + inside, entry(63, address + inside, 0))
    path = trace.save(tmp_path / "trace.dat")
    assert ours(path) == trace_cmd(path)


@needs_trace_cmd
def test_function_print_and_retaddr_events_print_by_their_formats(tmp_path: Path) -> None:
    trace = KernelTrace(cpus=1)
    trace.add(0, S, mark(63, ONE + 4, b"hello\n"))
    trace.add(0, S, mark(63, 5, b"no newline"))
    trace.add(0, S, mark(63, 5, b"a" * 300))
    trace.add(0, S + 5, mark(63, THREE, b"two\nlines\n\n"))
    trace.add(0, 2 * S, function(63, ONE + 4, TWO))
    trace.add(0, 2 * S + 1, function(63, TWO, 0))
    trace.add(0, 2 * S + 2, retaddr_entry(63, THREE, 1, ONE + 4))
    trace.add(0, 2 * S + 3, retaddr_entry(63, 4, 1, 5))
    path = trace.save(tmp_path / "trace.dat")
    assert ours(path) == trace_cmd(path, "-N")


@needs_trace_cmd
def test_lines_of_an_instance_alone_have_its_name(tmp_path: Path) -> None:
    trace = KernelTrace(cpus=1, buffers=("", "one"))
    trace.add(0, S, entry(63, ONE, 0), buffer=1)
    path = trace.save(tmp_path / "trace.dat")
    assert ours(path) == trace_cmd(path)
    path = converted(path, tmp_path / "7.dat", "--file-version", "7")
    assert ours(path) == trace_cmd(path)


STACK = format_text(
    "kernel_stack",
    4,
    [("int", "size", 8, 4, 1), ("unsigned long", "caller[8]", 16, 64, 0)],
    '"\\t=> %ps\\n\\t=> %ps\\n", (void *)REC->caller[0], (void *)REC->caller[1]',
)


@needs_trace_cmd
@pytest.mark.parametrize("depth", [0, 1, 8, 12])
def test_a_stack_has_all_its_callers(depth: int, tmp_path: Path) -> None:
    trace = KernelTrace(cpus=1, ftrace=[STACK, kerneldat.PRINT])
    callers = [ONE + 4 + 0x100 * (n % 5) for n in range(depth)]
    trace.add(0, S, common(4, 63) + struct.pack(f"<iI{depth}Q", depth, 0, *callers))
    trace.add(0, S + 5, mark(63, ONE, b"after\n"))
    path = trace.save(tmp_path / "trace.dat")
    assert ours(path) == trace_cmd(path)


# ---- where this differs from trace-cmd on purpose


def test_a_loss_before_the_end_of_a_call_is_shown(tmp_path: Path) -> None:
    trace = KernelTrace(cpus=1)
    trace.add(0, S, entry(63, ONE, 0))
    trace.add(0, S + 9000, leave(63, ONE, 0, 0, 5000), lost=7)
    path = trace.save(tmp_path / "trace.dat")
    assert ours(path).splitlines()[1:] == [
        "            work-63    [000]     1.000000: funcgraph_entry:                   |  one() {",
        "CPU:0 [7 EVENTS DROPPED]",
        "            work-63    [000]     1.000009: funcgraph_exit:         5.000 us   |  }",
    ]
    read = TraceFile(path)
    assert (read.lost, read.buffers[0].lost, read.events) == (7, 7, 2)


def test_an_event_without_a_format_has_its_number(tmp_path: Path) -> None:
    trace = KernelTrace(cpus=1)
    trace.add(0, S, common(777, 63) + bytes(8))
    path = trace.save(tmp_path / "trace.dat")
    assert ours(path).splitlines()[1:] == [
        "            work-63    [000]     1.000000: [UNKNOWN EVENT]:      no format for the event 777"
    ]


def test_texts_in_events_cannot_harm_a_terminal(tmp_path: Path) -> None:
    trace = KernelTrace(cpus=1, cmdlines="63 w\x1b[31mork\n", kallsyms="100 T o\x1b[1mne\n200 T two\n")
    trace.add(0, S, entry(63, 0x100, 0))
    trace.add(0, S, mark(63, 0x100, b"\x1b[2Jgone\x9b\xff\n"))
    text = ours(trace.save(tmp_path / "trace.dat"))
    assert "\x1b" not in text and "\\x1b[2Jgone" in text and "\\x1b[31mork-63" in text


# ---- figures and calls


def moving_trace(path: Path) -> Path:
    """A task that goes to another CPU in the middle of a call, while others run there."""
    trace = KernelTrace(cpus=2)
    trace.add(0, 1000, entry(63, ONE, 0))
    trace.add(1, 1100, entry(64, ONE, 0))
    trace.add(0, 1200, entry(63, TWO, 1))
    trace.add(0, 1300, leave(63, TWO, 1, 1200, 1300, retval=5))
    trace.add(1, 1400, entry(63, TWO, 1))
    trace.add(1, 1500, entry(0, THREE, 0))
    trace.add(0, 1500, entry(0, THREE, 0))
    trace.add(1, 1600, leave(63, TWO, 1, 1400, 1600))
    trace.add(1, 1700, leave(63, ONE, 0, 1000, 1700, retval=2**64 - 22))
    trace.add(0, 1800, leave(64, ONE, 0, 1100, 1800))
    trace.add(0, 1900, leave(0, THREE, 0, 1500, 1900))
    trace.add(1, 2000, leave(0, THREE, 0, 1500, 2000))
    return trace.save(path)


def test_a_call_goes_on_when_its_task_moves_to_another_cpu(tmp_path: Path) -> None:
    path = moving_trace(tmp_path / "trace.dat")
    rows = {row.name: row for row in TraceFile(path).summary()}
    assert {name: (row.calls, row.total_ns, row.self_ns) for name, row in rows.items()} == {
        "one": (2, 1400, 1100),
        "two": (2, 300, 300),
        "three [mod]": (2, 900, 900),
    }
    with funcgraph.open(path) as trace:
        calls = [
            (c.function and c.function.qualname, c.parent and c.parent.qualname, c.duration_ns, c.depth)
            for c in trace.calls()
        ]
    assert calls == [
        ("two", "one", 100, 1),
        ("two", "one", 200, 1),
        ("one", None, 700, 0),
        ("one", None, 700, 0),
        ("three", None, 400, 0),
        ("three", None, 500, 0),
    ]


@dataclass
class Thread:
    """A thread of `moving_threads`: it makes the same calls in a kernel's trace and in one of ours."""

    task: Task
    cpu: int
    calls: list[tuple[int, int]] = field(default_factory=list)


def moving_threads(seed: int, folder: Path) -> tuple[Path, Path]:
    """Write a kernel's trace whose threads go from CPU to CPU, and a trace of ours with the same events."""
    rng = random.Random(seed)
    kernel, own = KernelTrace(cpus=3, clock="[mono]"), Trace(["m.one", "m.two", "m.three"])
    threads = [Thread(own.task(tid, "work"), 0) for tid in (63, 64, 65)]
    time = 1000
    for _ in range(300):
        time += rng.choice([1, 20, 300])
        thread = rng.choice(threads)
        tid, depth = thread.task.tid, len(thread.calls)
        if rng.random() < 0.3:
            thread.cpu = rng.randrange(3)
        if rng.random() < 0.5 and depth < 5:
            func = rng.randrange(3)
            thread.calls.append((func, time))
            kernel.add(thread.cpu, time, entry(tid, (ONE, TWO, THREE)[func], depth))
            thread.task.enter(time, func, depth)
        elif depth:
            func, began = thread.calls.pop()
            record = leave(tid, (ONE, TWO, THREE)[func], depth - 1, began, time)
            kernel.add(thread.cpu, time, record)
            thread.task.leave(time, func, depth - 1, calltime=began)
    return kernel.save(folder / "kernel.dat"), own.save(folder / "own.dat")


@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 10))
@pytest.mark.parametrize(
    "selection",
    [
        Selection(functions=["*two"]),
        Selection(graph=["*two"]),
        Selection(graph=["*one"], max_depth=2),
        Selection(max_depth=1),
        Selection(longer_us=0.4),
        Selection(functions=["*two", "*three*"], longer_us=1),
    ],
    ids=["functions", "graph", "graph-levels", "levels", "longer", "functions-longer"],
)
def test_a_selection_nests_the_calls_of_threads_that_move(
    seed: int, selection: Selection, tmp_path: Path
) -> None:
    def selected(path: Path) -> list[tuple[object, ...]]:
        with funcgraph.open(path) as trace:
            return [
                (e.time_ns, e.task.tid, e.kind, e.function and e.function.qualname.split()[0], e.depth)
                for e in trace.events(select=selection)
            ]

    kernel, own = moving_threads(seed, tmp_path)
    assert selected(kernel) == selected(own) != []


def test_a_loss_before_a_call_that_is_not_selected_stays_with_its_cpu(tmp_path: Path) -> None:
    trace = KernelTrace(cpus=2)
    trace.add(0, 1000, entry(63, ONE, 0))
    trace.add(0, 1100, entry(63, TWO, 1), lost=5)
    trace.add(1, 1200, entry(64, THREE, 0))
    trace.add(1, 1250, leave(64, THREE, 0, 1200, 1250))
    trace.add(0, 1300, leave(63, TWO, 1, 1100, 1300))
    trace.add(1, 9000, entry(64, THREE, 0))
    trace.add(0, 9400, leave(63, ONE, 0, 1000, 9400))
    trace.add(1, 9500, leave(64, THREE, 0, 9000, 9500))
    path = trace.save(tmp_path / "trace.dat")
    for selection in (Selection(functions=["one", "three*"]), Selection(longer_us=0.4)):
        text = b"".join(TraceFile(path).report(select=selection)).decode()
        lines = [line for line in text.splitlines() if "DROPPED" in line or "work" in line]
        assert lines[-2] == "CPU:0 [5 EVENTS DROPPED]" and lines[-1].endswith("}")
        assert text.count("DROPPED") == 1


def test_open_has_results_arguments_and_callers(tmp_path: Path) -> None:
    trace = KernelTrace(cpus=1)
    trace.add(0, 1000, entry(63, ONE, 0, (5, 2**64 - 1)))
    trace.add(0, 1100, leave(63, ONE, 0, 1000, 1100, retval=2**64 - 22))
    trace.add(0, 1200, retaddr_entry(63, THREE, 0, ONE + 0x10))
    trace.add(0, 1300, entry(63, TWO, 0, tuple(range(20))))
    with funcgraph.open(trace.save(tmp_path / "trace.dat")) as read:
        first, second, third, fourth = read.events()
        assert [task.name for task in read.tasks] == ["work"]
        assert (read.nr_events, read.lost, read.clock) == (4, 0, "local")
    assert first.function is not None and third.caller is not None and third.function is not None
    assert (first.function.name, first.arguments) == ("one", {"arg0": 5, "arg1": -1})
    assert (second.result, second.duration_ns) == (-22, 100)
    assert (third.function.name, third.caller.name, third.caller_line) == ("three [mod]", "one", 0x10)
    assert list(fourth.arguments.values()) == list(range(16))


def test_an_int_below_zero_is_an_error_number(tmp_path: Path) -> None:
    """The kernel extends the sign of a result whose upper half is zero."""
    trace = KernelTrace()
    for time, result in ((1000, 2**32 - 2), (1100, 2**31), (1200, 2**64 - 2)):
        trace.add(0, time, entry(63, ONE, 0))
        trace.add(0, time + 50, leave(63, ONE, 0, time, time + 50, retval=result))
    with funcgraph.open(trace.save(tmp_path / "trace.dat")) as read:
        assert [event.result for event in read.events() if event.kind == "return"] == [-2, 2**31, -2]


def test_open_gives_fields_of_other_events_by_their_formats() -> None:
    with funcgraph.open(DATA / "fprobe.dat") as trace:
        event = next(trace.events())
        described = trace.formats[event.number]
    assert (event.kind, described.system, described.name) == ("other", "fprobes", "h")
    values = described.values(event.payload)
    assert values["ret"] == values["count"] == 5


def test_only_the_tasks_that_are_asked_for_are_shown(tmp_path: Path, command: Callable[..., object]) -> None:
    path = moving_trace(tmp_path / "trace.dat")
    ran = command("report", "-i", path, "--task", "other task")
    assert ran.out.splitlines()[1:] == [  # type: ignore[attr-defined]
        "      other task-64    [001]     0.000001: funcgraph_entry:                   |  one() {",
        "      other task-64    [000]     0.000002: funcgraph_exit:         0.700 us   |  }",
    ]


def test_options_of_the_report_are_refused(command: Callable[..., object]) -> None:
    path = DATA / "graph.dat"
    ran = command("report", "-i", path, "-O", "funcgraph-abstime")
    assert (ran.status, ran.out, ran.err) == (  # type: ignore[attr-defined]
        2,
        "",
        f"funcgraph: {path}: a kernel's trace is printed as trace-cmd prints it: it has no options -O\n",
    )


# ---- damage


def whole_reading(path: Path) -> None:
    """Read all that can be read; only a TraceError of one line may come of it."""

    def calls(path: Path) -> None:
        with funcgraph.open(path) as trace:
            list(trace.calls())

    for read in (ours, calls, lambda path: TraceFile(path).summary()):
        try:
            read(path)
        except TraceError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("name", ["graph", "two_instances"])
def test_a_cut_off_trace_is_refused_or_whole_up_to_there(name: str, tmp_path: Path) -> None:
    whole = (DATA / f"{name}.dat").read_bytes()
    path = tmp_path / "trace.dat"
    for size in [*range(0, 200, 7), *range(200, len(whole), len(whole) // 23)]:
        path.write_bytes(whole[:size])
        with pytest.raises(TraceError):
            TraceFile(path).summary()


@pytest.mark.parametrize("seed", range(60 if NIGHTLY else 3))
def test_a_damaged_trace_gives_one_clear_error(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    trace = random_trace(seed)
    trace.systems = {"test": [format_text("event", 300, [("char", "text[8]", 8, 8, 0)], '"%s", REC->text')]}
    trace.add(0, 10**12, common(300, 63) + b"damaged\0")
    whole = trace.build()
    path = tmp_path / "trace.dat"
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 3, 20])):
            place = rng.randrange(len(data))
            width = rng.choice([1, 2, 4, 8])
            data[place : place + width] = rng.choice([0, 1, 2**31, 2**64 - 1, rng.getrandbits(64)]).to_bytes(
                8, "little"
            )[:width]
        path.write_bytes(data)
        whole_reading(path)


def test_events_before_damage_are_printed(tmp_path: Path) -> None:
    trace = KernelTrace(cpus=1)
    trace.add(0, S, entry(63, ONE, 0))
    trace.add(0, S + 5, common(10, 63) + b"too short")
    read = TraceFile(trace.save(tmp_path / "trace.dat"))
    pieces = []
    with pytest.raises(TraceError, match="a record is shorter than its event's format says"):
        pieces += list(read.report())
    assert read.events == 1


def test_an_instance_that_lies_nowhere_is_damage(tmp_path: Path) -> None:
    data = bytearray(KernelTrace(buffers=("", "second")).build())
    place = data.index(b"second\0")
    data[place - 8 : place] = bytes(8)
    path = tmp_path / "trace.dat"
    path.write_bytes(data)
    with pytest.raises(TraceError, match="damaged: it has 2 lanes, and names of 2 buffers"):
        TraceFile(path)


def test_a_symbol_ends_where_the_next_one_begins(tmp_path: Path) -> None:
    trace = KernelTrace(cpus=1, kallsyms="100 T one\n140 T two\n140 t alias\n200 T last\n")
    for address in (0x100, 0x144, 0x200, 0x204):
        trace.add(0, S, entry(63, address, 0))
    with funcgraph.open(trace.save(tmp_path / "trace.dat")) as read:
        sizes = {function.qualname: function.size_bytes for function in read.functions}
    assert (sizes["one"], sizes["last"], sizes["0x204"]) == (0x40, 1, 0)
    assert sizes.get("two", sizes.get("alias")) == 0xC0


def test_a_trace_of_funcgraphs_without_its_end_is_no_kernels_trace(tmp_path: Path) -> None:
    trace = KernelTrace(systems={"funcgraph": []})
    with pytest.raises(TraceError, match="truncated, or not recorded by funcgraph"):
        TraceFile(trace.save(tmp_path / "trace.dat"))
