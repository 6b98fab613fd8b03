"""The figures of what is made of the merged call tree: the report's tree, and exports."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Bench, Figure

_FIB, _DESCENTS = 30, 120_000
_FORMATS = ("collapsed", "svg", "html", "pstats", "callgrind", "dot", "mermaid")
_RATE = 0.5  # million events a second


def trees(bench: Bench) -> Iterator[Figure]:
    """Measure commands over a trace with few different paths, and one with very many."""
    few = _recorded(bench, "few paths", bench.program("fib.py", _FIB, 1))
    many = _recorded(bench, "many paths", bench.program("paths.py", bench.sized(_DESCENTS)))
    for label, (trace, events) in (("few paths", few), ("many paths", many)):
        words = ["report", "--tree", "--no-pager", "-i", str(trace)]
        yield _rate(bench, f"`funcgraph report --tree` of {label}", words, events)
    trace, events = many
    for form in _FORMATS:
        words = ["export", form, "-i", str(trace), "-o", str(bench.folder / "export")]
        yield _rate(bench, f"`funcgraph export {form}` of many paths", words, events)


def _recorded(bench: Bench, label: str, words: list[str]) -> tuple[Path, int]:
    """Record functions of the program itself; return the trace and its number of events."""
    trace = bench.folder / f"{label.replace(' ', '-')}.fg"
    bench.run([*bench.funcgraph, "record", "-q", "-l", "__main__.*", "-o", str(trace), *words])
    code = "import funcgraph, sys; print(funcgraph.open(sys.argv[1]).nr_events)"
    return trace, int(bench.run([bench.python, "-c", code, str(trace)]).stdout)


def _rate(bench: Bench, name: str, words: list[str], events: int) -> Figure:
    costs = [bench.cost([*bench.funcgraph, *words]) for _ in range(bench.rounds)]
    rate = events / statistics.median(cost.wall_s for cost in costs) / 1e6
    cpu = events / statistics.median(cost.cpu_s for cost in costs) / 1e6
    peak_mib = max(cost.peak_mib for cost in costs)
    measured = f"{rate:.1f} million/s ({cpu:.1f} of CPU time), {peak_mib:.0f} MiB"
    return Figure(f"{name}, start-up included: events", measured, f"≥ {_RATE} million/s", rate >= _RATE)
