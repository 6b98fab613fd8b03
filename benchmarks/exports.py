"""The figures of exports: how quickly each format is written, how large it is, and in what memory."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from importlib.util import find_spec

from benchmarks.harness import Bench, Figure
from funcgraph.export import all_formats
from funcgraph.export.format import Format

#: fib's argument, for a trace of four million events.
_FIB = 29
#: Million events a second: binary formats, and texts, that list calls one by one. A span of
#: OpenTelemetry is a text in both of its forms: it names what it has.
_BINARY_RATE, _TEXT_RATE = 2, 0.5
_BINARY = ("perfetto", "parquet", "arrow")
_TEXTS = ("chrome", "speedscope", "firefox", "csv", "jsonl", "otlp", "otlp-proto")


def exports(bench: Bench) -> Iterator[Figure]:
    """Measure `funcgraph export` into each format, start-up included."""
    trace = bench.folder / "exports.fg"
    bench.run([*bench.funcgraph, "record", "-q", "-o", str(trace), *bench.program("fib.py", _FIB, 1)])
    code = "import funcgraph, sys; print(funcgraph.open(sys.argv[1]).nr_events)"
    events = int(bench.run([bench.python, "-c", code, str(trace)]).stdout)
    for form in all_formats():
        if all(find_spec(name) for name in form.modules):
            yield _export(bench, form, str(trace), events)


def _export(bench: Bench, form: Format, trace: str, events: int) -> Figure:
    output = bench.folder / f"exports{form.suffixes[0]}"
    words = [*bench.funcgraph, "export", form.name, trace, "-o", str(output)]
    costs = [bench.cost(words) for _ in range(bench.rounds)]
    size = output.stat().st_size
    output.unlink()
    rate = events / statistics.median(cost.cpu_s for cost in costs) / 1e6
    peak = max(cost.peak_mib for cost in costs)
    limit = _BINARY_RATE if form.name in _BINARY else _TEXT_RATE if form.name in _TEXTS else None
    return Figure(
        f"`funcgraph export {form.name}` of {events / 1e6:.1f} million events: events a second of CPU time",
        f"{rate:.1f} million; {size / events:.1f} bytes an event; {peak:.0f} MiB of memory",
        f"≥ {limit} million" if limit else "",
        rate >= limit if limit else None,
    )
