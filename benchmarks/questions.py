"""The figures of questions to large traces, of their indexes, and of a cluster that is recorded."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from benchmarks.harness import Bench, Figure, at_most, median_of

_FIB = 33  # 22.8 million events
_STEPS = 11_400_000  # calls of one function from one place: 22.8 million events
_LATE = 5_000_000  # calls below each of two: 20 million events
#: fib's argument -> its calls. fib.py calls fib(12) first.
_CALLS_OF = {12: 465, 25: 242_785, 26: 392_835}
_QUESTION = "SELECT function, count(*), sum(self_ns) FROM calls GROUP BY ALL"
_MOST_S, _MOST_MB = 3, 300
#: Rounds of the program whose trace gets an index: 50 million events. Questions of each kind to it.
_INDEXED_ROUNDS, _QUESTIONS = 191_000, 500
#: Rounds of a cluster's work in one process, and what collecting may add to it.
_CLUSTER_ROUNDS, _COLLECTED = 6, 1.1


def questions(bench: Bench) -> Iterator[Figure]:
    """Measure a question in SQL, and a comparison of two traces, start-up included."""
    traces = [str(bench.folder / f"question-{number}.fg") for number in (1, 2)]
    for trace in traces:
        words = ["record", "-q", "-l", "__main__.*", "-o", trace, *bench.program("fib.py", _FIB, 1)]
        bench.run([*bench.funcgraph, *words])
    events = _events(bench, traces[0])
    if find_spec("duckdb"):
        yield _took(bench, f"`funcgraph sql` of {events:.1f} million events", ["sql", traces[0], _QUESTION])
    yield from _answers(bench)
    yield _took(bench, f"`funcgraph diff` of two traces of {events:.1f} million events", ["diff", *traces])


def _answers(bench: Bench) -> Iterator[Figure]:
    """Measure the answers about a trace with arguments and results, and about one of a single function."""
    fib, loop = (str(bench.folder / f"answers-{name}.fg") for name in ("fib", "loop"))
    record = [*bench.funcgraph, "record", "-q", "-l", "__main__.*"]
    bench.run([*record, "--args", "--retval", "-o", fib, *bench.program("fib.py", _FIB, 1)])
    bench.run([*record, "-o", loop, *bench.program("loop.py", bench.sized(_STEPS))])
    around = _CALLS_OF[12] + 1 + _FIB - 27  # the number of the first fib(27), which calls fib(26) and fib(25)
    pair = [f"__main__.fib:{around + 2}", f"__main__.fib:{around + 1 + _CALLS_OF[26]}"]
    late = str(bench.folder / "answers-late.fg")
    values = ["--args", "--retval"]
    bench.run([*record, *values, "-o", late, *bench.program("late_difference.py", bench.sized(_LATE))])
    with_values = f"{_events(bench, fib):.1f} million events with values"
    for words in (["values", "__main__.fib"], ["repeat"], ["exceptions"], ["why", "__main__.fib"]):
        yield from _answered(bench, f"`funcgraph {words[0]}` of {with_values}", [*words, "-i", fib])
    name = f"`funcgraph compare` of two calls with {_CALLS_OF[25] / 1e6:.2f} million calls"
    yield from _answered(bench, f"{name}, of {with_values}", ["compare", *pair, "-i", fib])
    name = "`funcgraph compare` of two calls that differ at their ends"
    words = ["compare", "__main__.work:1", "__main__.work:2", "-i", late]
    yield from _answered(bench, f"{name}, of {_events(bench, late):.1f} million events", words, status=1)
    yield from _expected(bench, fib, late)
    name = f"`funcgraph why` of one function that has all {_events(bench, loop):.1f} million events"
    yield from _answered(bench, name, ["why", "__main__.step", "-i", loop])


def _expected(bench: Bench, deep: str, flat: str) -> Iterator[Figure]:
    """Measure a comparison with an expectation: of calls below calls, and of as many in one."""
    calls = bench.sized(_LATE)
    step = "    __main__.step(i=*) = *"
    trees = [f"      __main__.fib(n={_FIB - 1})", f"      __main__.fib(n={_FIB - 2})"]
    fib = ["  __main__.main", "    __main__.fib(n=12) = 144", f"    __main__.fib(n={_FIB})", *trees]
    work = [f"  __main__.work(n={calls})", f"{step} x{calls}"]
    rows = (
        ("calls below calls", deep, fib, 0),
        ("calls in one", flat, [*work, *work], 0),
        ("calls in one, the last of which differs", flat, [*work, work[0], f"{step} x{calls - 1}"], 1),
    )
    for label, trace, lines, status in rows:
        path = bench.folder / "expected.txt"
        path.write_text("\n".join(["functions: __main__.*", "__main__.<module>", *lines]))
        name = f"`funcgraph expect` of {_events(bench, trace):.1f} million events: {label}"
        yield from _answered(bench, name, ["expect", str(path), trace], status)


def _events(bench: Bench, trace: str) -> float:
    """Return the number of a trace's events, in millions."""
    code = "import funcgraph, sys; print(funcgraph.open(sys.argv[1]).nr_events)"
    return int(bench.run([bench.python, "-c", code, trace]).stdout) / 1e6


def _answered(bench: Bench, name: str, words: list[str], status: int = 0) -> Iterator[Figure]:
    costs = [bench.cost([*bench.funcgraph, *words], status) for _ in range(bench.rounds)]
    seconds = statistics.median(cost.wall_s for cost in costs)
    yield at_most(f"{name}, start-up included", seconds, _MOST_S, " s")
    peak_mb = max(cost.peak_mib for cost in costs) * 2**20 / 1e6
    yield at_most(f"{name}: memory", peak_mb, _MOST_MB, " MB", 0)


def _took(bench: Bench, name: str, words: list[str]) -> Figure:
    seconds = statistics.median(bench.wall_s([*bench.funcgraph, *words]) for _ in range(bench.rounds))
    return at_most(f"{name}, start-up included", seconds, _MOST_S, " s")


def index(bench: Bench) -> Iterator[Figure]:
    """Measure how long the index of a trace takes, made and from the cache, and how long its answers."""
    trace = str(bench.folder / "indexed.fg")
    words = ["record", "-q", "-o", trace, *bench.program("many_calls.py", bench.sized(_INDEXED_ROUNDS))]
    bench.run([*bench.funcgraph, *words])
    bench.environment["XDG_CACHE_HOME"] = str(bench.folder / "cache")
    made, kept = (bench.result(bench.plain("ask_index.py", trace, _QUESTIONS)) for _ in range(2))
    label = f"index of {made['events'] / 1e6:.1f} million events"
    yield at_most(f"{label}: made", made["made_s"], 4, " s")
    yield at_most(f"{label}: from the cache", kept["made_s"], 1, " s")
    yield at_most(f"{label}: bytes an event", made["bytes"] / made["events"], 1)
    yield at_most(f"{label}: memory while it is made", made["peak_mib"], 200, " MiB", 0)
    yield at_most(f"{label}: memory of who asks it", kept["peak_mib"], 200, " MiB", 0)
    for name, seconds in kept["seconds"].items():
        slowest = statistics.quantiles(seconds, n=100)[-1]
        yield at_most(f"{label}: `{name}`, 99 of 100 within", slowest * 1e3, 20, " ms")


def cluster(bench: Bench) -> Iterator[Figure]:
    """Measure a Dask cluster that is recorded, with and without a collector that pulls meanwhile."""
    if not find_spec("distributed"):
        return
    found = bench.result(bench.plain("dask_job.py", bench.sized(_CLUSTER_ROUNDS)))
    rounds = [dict(zip(found, seconds, strict=True)) for seconds in zip(*found.values(), strict=True)]
    label = "four Dask workers that are recorded and collected"
    yield Figure(f"{label}: a round recorded alone", f"{statistics.median(found['recorded']):.2f} s")
    ratio = median_of(rounds, lambda one: one["collected"] / one["recorded"])
    yield at_most(f"{label}: of recorded alone", ratio, _COLLECTED)


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "questions": questions,
    "index": index,
    "cluster": cluster,
}
