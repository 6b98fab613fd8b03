"""The figures of trace files: their sizes, what writing one takes, and how quickly they are read."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks.exports import exports
from benchmarks.harness import Bench, Figure, at_least, at_most, median_of
from benchmarks.trees import trees

#: fib's argument, for traces of millions of events.
_FIB = 30
#: The same, for a trace that is read in Python.
_OPENED = 27
#: Calls of functions in random order; calls of a loop that does nothing else; rounds of sympy's integrate.
_SHUFFLED, _LOOP, _INTEGRATE = 2_000_000, 50_000_000, 4

#: The program whose trace is too small for the target of trace.dat.
_SMALL = "start-up of a program"

_FG_BYTES, _DAT_BYTES = 3, 7
_RECORDER_NS = 35
_END_S, _END_NS = 0.1, 5
_REPORT_RATE, _SUMMARY_RATE, _ITERATE_RATE = 5, 13, 50
_INTEGRATE_RATIO, _INTEGRATE_CALLS, _OF_JSON = 1.4, 10_000_000, 60
_LOOP_RATIO = 3.5
_FOLDED = 1.03


def _events(bench: Bench, trace: Path) -> int:
    code = "import funcgraph, sys; print(funcgraph.open(sys.argv[1]).nr_events)"
    return int(bench.run([bench.python, "-c", code, str(trace)]).stdout)


def _converted(bench: Bench, trace: Path, version: int) -> Path:
    output = trace.with_suffix(f".{version}.dat")
    bench.run([*bench.funcgraph, "convert", "--file-version", str(version), str(trace), str(output)])
    return output


def _million(count: float) -> str:
    return f"{count / 1e6:.1f} million"


def sizes(bench: Bench) -> Iterator[Figure]:
    """Measure the bytes of an event in each kind of file, for programs of several kinds."""
    for label, words in (
        (f"fib({_FIB})", bench.program("fib.py", _FIB, 1)),
        ("50 functions in random order", bench.program("shuffled.py", bench.sized(_SHUFFLED))),
        ("start-up of five processes", bench.program("start_up.py", 5)),
        (_SMALL, bench.program("start_up.py")),
    ):
        trace = bench.folder / "sizes.fg"
        bench.run([*bench.funcgraph, "record", "-q", "-o", str(trace), *words])
        yield from _sizes(bench, label, trace)


def _sizes(bench: Bench, label: str, trace: Path) -> Iterator[Figure]:
    events = _events(bench, trace)
    name = f"{label}, {_million(events)} events"
    yield at_most(f"{name}: an event of a .fg", trace.stat().st_size / events, _FG_BYTES, " bytes")
    # In a small trace names are a part of each event's bytes: the document says how large it must be.
    for version, limit in ((7, _DAT_BYTES if label != _SMALL else None), (6, None)):
        path = _converted(bench, trace, version)
        size = path.stat().st_size / events
        path.unlink()
        row = f"{name}: an event of a trace.dat, version {version}"
        yield at_most(row, size, limit, " bytes") if limit else Figure(row, f"{size:.2f} bytes")


def recorder(bench: Bench) -> Iterator[Figure]:
    """Measure the recorder's CPU time, and how long it takes to finish the file."""
    trace = bench.folder / "recorder.fg"
    many, few = (
        [str(bench.folder / "recorder.fg"), *bench.program("loop.py", calls)]
        for calls in (bench.sized(_LOOP // 2), 1000)
    )

    def cpu_s(words: list[str]) -> float:
        return float(bench.result(bench.plain("recorder_cpu.py", "-q", "-o", *words))["recorder_s"])

    rounds = bench.compare({"many": lambda: cpu_s(many), "few": lambda: cpu_s(few)})
    events = 2 * bench.sized(_LOOP // 2)
    spent = median_of(rounds, lambda one: (one["many"] - one["few"]) / events * 1e9)
    yield at_most("the recorder's CPU time, an event, calls without end", spent, _RECORDER_NS, " ns", 1)
    yield Figure(
        "the recorder's CPU time, its own start-up and end",
        f"{statistics.median(one['few'] for one in rounds) * 1e3:.0f} ms",
    )
    for label, words in (
        ("a thousand calls", bench.program("loop.py", 0)),
        (f"{_million(events)} events", bench.program("loop.py", events // 2)),
    ):
        seconds = statistics.median(_end_s(bench, trace, words) for _ in range(bench.rounds))
        limit = (_END_S + _END_NS * 1e-9 * _events(bench, trace)) * 1e3
        yield at_most(f"end of program to finished file, {label}", seconds * 1e3, round(limit), " ms", 0)


def _end_s(bench: Bench, trace: Path, words: list[str]) -> float:
    """Return the seconds from the program's end to that of `funcgraph record`."""
    shell = ["sh", "-c", '"$@" >&2; date +%s%N', "sh", bench.python, *words]
    output = bench.run([*bench.funcgraph, "record", "-q", "-o", str(trace), *shell]).stdout
    return (time.time_ns() - int(output)) / 1e9


def reading(bench: Bench) -> Iterator[Figure]:
    """Measure report and summary, start-up included, and a plain iteration in C."""
    trace = bench.folder / "reading.fg"
    bench.run([*bench.funcgraph, "record", "-q", "-o", str(trace), *bench.program("fib.py", _FIB, 1)])
    events = _events(bench, trace)
    files = {"a .fg": trace, "a trace.dat, version 6": _converted(bench, trace, 6)}
    for command, limit in (("report", _REPORT_RATE), ("summary", _SUMMARY_RATE)):
        for label, path in files.items():
            words = [*bench.funcgraph, command, "-i", str(path)]
            costs = [bench.cost(words) for _ in range(bench.rounds)]
            wall = statistics.median(cost.wall_s for cost in costs)
            cpu = statistics.median(cost.cpu_s for cost in costs)
            rate = f"{events / wall / 1e6:.1f} million/s ({events / cpu / 1e6:.1f} of CPU time)"
            yield Figure(
                f"`funcgraph {command}` of {label}, start-up included: events",
                rate, f"≥ {limit} million/s", events / wall / 1e6 >= limit,
            )  # fmt: skip
    program = bench.compile_program("iterate")
    for label, path in files.items():
        result = bench.result([program, str(path), str(bench.rounds)])
        assert result["events"] == events
        rates = {way: events / statistics.median(s) / 1e6 for way, s in result["seconds"].items()}
        name = f"plain iteration in C over {label}: events"
        yield at_least(name, rates["lanes"], _ITERATE_RATE, " million/s", 0)
        yield Figure(f"{name}, merged in order of time", f"{rates['merged']:.0f} million/s")


def _cpu_s(bench: Bench, command: list[str]) -> float:
    return bench.cost(command).cpu_s


def folded(bench: Bench) -> Iterator[Figure]:
    """Measure what it costs to show each import as one call: without any import, and with little else."""
    for label, words in (
        (f"fib({_OPENED}), no imports", bench.program("fib.py", _OPENED, 1)),
        (_SMALL, bench.program("start_up.py")),
    ):
        trace = bench.folder / "folded.fg"
        bench.run([*bench.funcgraph, "record", "-q", "-o", str(trace), *words])
        for command in ("report", "summary"):
            show = [*bench.funcgraph, command, "-i", str(trace)]
            rounds = bench.compare(
                {
                    "folded": partial(_cpu_s, bench, show),
                    "whole": partial(_cpu_s, bench, [*show, "--imports"]),
                }
            )
            ratio = median_of(rounds, lambda one: one["folded"] / one["whole"])
            name = f"`funcgraph {command}` of {label}: CPU time, of that with `--imports`"
            yield at_most(name, ratio, _FOLDED)


def _beside_untraced(name: str) -> Callable[[Mapping[str, float]], float]:
    """Return what makes of the times of a round how often longer this one is than the plain program."""

    def ratio(times: Mapping[str, float]) -> float:
        return times[name] / times["untraced"]

    return ratio


def integrate(bench: Bench) -> Iterator[Figure]:
    """Measure sympy's integrate from start to finished file: untraced, and under each tool."""
    words = ("integrate.py", bench.sized(_INTEGRATE))
    trace = bench.folder / "integrate.fg"
    commands = {
        "untraced": bench.plain(*words),
        "funcgraph": [*bench.funcgraph, "record", "-q", "-o", str(trace), *bench.program(*words)],
        "cProfile": bench.cprofile(*words),
        "empty": bench.plain(*words, "empty"),
    }
    bench.compile_extension("least_callbacks")
    bench.wall_s(commands["untraced"])  # sympy is compiled
    walls: list[dict[str, float]] = []
    cpus: list[dict[str, float]] = []
    for _ in range(bench.rounds):
        walls.append({})
        cpus.append({})
        for name, command in commands.items():
            start = time.perf_counter()
            result = bench.result(command)
            walls[-1][name] = time.perf_counter() - start
            cpus[-1][name] = result["cpu_s"]
    events = _events(bench, trace)
    yield at_least("sympy's integrate: calls", events / 2e6, _INTEGRATE_CALLS / 1e6, " million")
    label = f"sympy's integrate, {_million(events / 2)} calls"
    yield Figure(f"{label}, untraced", f"{median_of(walls, lambda one: one['untraced']):.1f} s")
    for name, tool in (
        ("funcgraph", "`funcgraph record`"),
        ("cProfile", "cProfile"),
        ("empty", "hooks that do nothing"),
    ):
        wall = median_of(walls, _beside_untraced(name))
        cpu = median_of(cpus, _beside_untraced(name))
        row = f"{label}: {tool}, from start to finished file: of untraced"
        yield at_most(row, wall, _INTEGRATE_RATIO) if name == "funcgraph" else Figure(row, f"{wall:.2f}")
        yield Figure(f"{label}: {tool}: CPU time of the program, of untraced", f"{cpu:.2f}")
    yield from _sizes(bench, "sympy's integrate", trace)
    yield from _viztracer(bench)


def _viztracer(bench: Bench) -> Iterator[Figure]:
    """Run viztracer once on one round, as it takes minutes; with its defaults, and as we record."""
    words = ("integrate.py", 1)
    trace, report = bench.folder / "one.fg", bench.folder / "viztracer.json"
    untraced = bench.wall_s(bench.plain(*words))
    bench.run([*bench.funcgraph, "record", "-q", "-o", str(trace), *bench.program(*words)])
    events = _events(bench, trace)
    label = f"sympy's integrate, {_million(events / 2)} calls"
    for options, name in (((), "viztracer"), (("--ignore_c_function",), "viztracer, Python functions only")):
        entries = ("--tracer_entries", str(5 * events))  # it keeps the latest so many
        seconds = bench.wall_s(bench.viztracer(*words, options=[*entries, *options]))
        yield Figure(f"{label}: {name}, once: of untraced", f"{seconds / untraced:.1f}")
        part = report.stat().st_size / trace.stat().st_size
        target = "" if options else f"≤ 1/{_OF_JSON}"
        good = None if options else part >= _OF_JSON
        yield Figure(f"{label}: the .fg, of the JSON of {name}", f"1/{part:.0f}", target, good)
        report.unlink()


def without_end(bench: Bench) -> Iterator[Figure]:
    """Measure a loop that does nothing but call, by its own clock."""
    words = ("loop.py", bench.sized(_LOOP))
    commands = {"untraced": bench.plain(*words), "traced": bench.recorded(*words)}

    rounds = [{name: bench.result(one) for name, one in commands.items()} for _ in range(bench.rounds)]
    name = f"{_million(bench.sized(_LOOP))} calls without end"
    pairs = [(one["traced"], one["untraced"]) for one in rounds]
    wall = statistics.median(traced["seconds"][0] / plain["seconds"][0] for traced, plain in pairs)
    cpu = statistics.median(traced["cpu_s"] / plain["cpu_s"] for traced, plain in pairs)
    yield at_most(f"{name}: of untraced", wall, _LOOP_RATIO)
    yield Figure(f"{name}: CPU time of the program, of untraced", f"{cpu:.2f}")


def opened(bench: Bench) -> Iterator[Figure]:
    """Measure reading a trace in Python: in columns, and with an object for each event or call."""
    trace = bench.folder / "opened.fg"
    bench.run([*bench.funcgraph, "record", "-q", "-o", str(trace), *bench.program("fib.py", _OPENED, 1)])
    result = bench.result(bench.plain("open_trace.py", trace, bench.rounds))
    rates = {
        way: result["events"] / statistics.median(times) / 1e6 for way, times in result["seconds"].items()
    }
    yield at_least("`funcgraph.open`, columns(): events", rates["columns"], 10, " million/s")
    yield Figure("`funcgraph.open`, events(): events", f"{rates['events']:.1f} million/s")
    yield at_least("`funcgraph.open`, calls(): events", rates["calls"], 5, " million/s")


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "sizes": sizes,
    "recorder": recorder,
    "reading": reading,
    "opened": opened,
    "folded": folded,
    "trees": trees,
    "without-end": without_end,
    "integrate": integrate,
    "exports": exports,
}
