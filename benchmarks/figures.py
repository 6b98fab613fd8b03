"""The figures and their targets. Each function of ALL yields rows of the table."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from benchmarks import attach, attach_levels, events, files, mount, native, pages, plans, questions
from benchmarks.harness import Bench, Figure, at_most, median_of, ratio_of_pairs

_HAS_MONITORING = sys.version_info >= (3, 12)
#: The cheapest possible hooks: benchmarks/least_callbacks.
_EMPTY_HOOK = (
    "an empty sys.monitoring callback pair" if _HAS_MONITORING else "a frame evaluator that does nothing"
)
_CLOCK_HOOK = (
    "a callback pair that only reads the clock"
    if _HAS_MONITORING
    else "a frame evaluator that only reads the clock"
)
_BUFFER_KB = 8192
_LIVE_THREADS = 64
_SHORT_THREADS = 2000

#: fib's argument. BURST: all records fit into the default buffer. LONG: the recorder has to keep up.
_BURST, _BURST_ROUNDS, _PAUSE_S = 24, 5, 0.3
_LONG = 30
#: Numbers of users in C of fib, and of users of other functions; fib's argument; rounds within one process.
_NATIVE_USERS = (1, 2, 4, 8)
_OTHER_USERS = 63
_NATIVE, _NATIVE_ROUNDS = 18, 25
#: Calls; rounds within one process; reads of an argument at each call.
_READ_CALLS, _READ_ROUNDS, _READS = 20_000, 25, 64
#: fib's argument and rounds, for pairs of Python callbacks.
_CALLBACKS, _CALLBACK_ROUNDS = 18, 25
#: fib's argument and rounds, for fprobes; the number of fprobes on other functions.
_FPROBES, _FPROBE_ROUNDS, _OTHER_FPROBES = 18, 25, 200
#: fib's argument and rounds, for profilers.
_PROFILE, _PROFILE_ROUNDS = 20, 15
#: Iterations of a loop with a kprobe on one of its lines; rounds within one process.
_TURNS, _TURN_ROUNDS = 100_000, 15
#: Pairs of segments of the echo server in each process.
_ECHO_PAIRS = 160
#: Functions that users register for; rounds within one process.
_FUNCTIONS, _REGISTER_ROUNDS = 10_000, 3
#: Numbers of instances that trace fib; fib's argument; rounds within one process.
_INSTANCES, _INSTANCE_FIB, _INSTANCE_ROUNDS = (2, 3, 4, 8), 12, 5
#: fib's argument -> its calls, where instructions are counted. The difference of the two cancels the
#: start-up.
_COUNTED = {16: 3193, 12: 465}
_ATTRIBUTES, _OBJECT_CALLS = 8, 20000  # what a call of objects.py passes, and the calls of a round
_PARTS = {"args": ["--args", "--retval"], "values": ["--values", "1"]}
_PART_OPTIONS = {
    "untraced": None,
    "--args --retval": ["--args", "--retval"],
    "--values 1": ["--values", "1"],
    "--values 1 --redact": ["--values", "1", "--redact", "password|token"],
}
_VALUES = 21  # small, because viztracer takes more than a microsecond for a call with its arguments


def _per_call_ns(bench: Bench, command: list[str]) -> float:
    result = bench.result(command)
    return float(statistics.median(result["seconds"]) / result["calls"] * 1e9)


def _measures(bench: Bench, commands: Mapping[str, list[str]]) -> dict[str, Callable[[], float]]:
    return {name: partial(_per_call_ns, bench, command) for name, command in commands.items()}


def _added(over: str = "untraced", *, of: str) -> Callable[[Mapping[str, float]], float]:
    return lambda one: one[of] - one[over]


def _ratio(
    of: Callable[[Mapping[str, float]], float], to: Callable[[Mapping[str, float]], float]
) -> Callable[[Mapping[str, float]], float]:
    return lambda one: of(one) / to(one)


def fib(bench: Bench) -> Iterator[Figure]:
    """Measure the time that tracing adds to a call, and that other tools add in the same rounds."""
    long = (_LONG, 1)
    burst = (_BURST, _BURST_ROUNDS, _PAUSE_S)
    commands = {
        "untraced": bench.plain("fib.py", *burst),
        "burst": bench.recorded("fib.py", *burst),
        "untraced long": bench.plain("fib.py", *long),
        "long": bench.recorded("fib.py", *long),
        "viztracer": bench.viztracer("fib.py", *burst),
        "cProfile": bench.cprofile("fib.py", *burst),
    }
    bench.compile_extension("least_callbacks")
    commands["empty"] = bench.plain("fib.py", *burst, "empty")
    commands["clock"] = bench.plain("fib.py", *burst, "clock")
    rounds = bench.compare(_measures(bench, commands))

    yield Figure("fib, untraced: a call", f"{median_of(rounds, lambda one: one['untraced']):.0f} ns")
    for name, label in (
        ("viztracer", "viztracer adds"),
        ("cProfile", "cProfile adds"),
        ("empty", f"{_EMPTY_HOOK} adds"),
        ("clock", f"{_CLOCK_HOOK} adds"),
        ("burst", "`funcgraph record` adds, calls in bursts that the buffer holds"),
    ):
        yield Figure(f"fib: {label}", f"{median_of(rounds, _added(of=name)):.0f} ns")
    long_added = _added("untraced long", of="long")
    yield Figure("fib: `funcgraph record` adds, calls without end", f"{median_of(rounds, long_added):.0f} ns")

    limit = 0.33 if _HAS_MONITORING else 0.25
    viztracer = _added(of="viztracer")
    burst_added = _added(of="burst")
    yield at_most("fib, default record, bursts: of viztracer", median_of(
        rounds, lambda one: burst_added(one) / viztracer(one)), limit)  # fmt: skip
    yield at_most("fib, default record, without end: of viztracer", median_of(
        rounds, lambda one: long_added(one) / viztracer(one)), limit)  # fmt: skip
    if _HAS_MONITORING:
        ratio = median_of(rounds, lambda one: burst_added(one) / _added(of="empty")(one))
        yield Figure(
            "fib, default record, bursts: of an empty callback pair", f"{ratio:.2f}", "aim 1.5", ratio <= 1.5
        )
    for name, label in (("empty", _EMPTY_HOOK), ("clock", _CLOCK_HOOK)):
        floor = median_of(rounds, _ratio(_added(of=name), viztracer))
        yield Figure(f"fib: {label}: of viztracer", f"{floor:.2f}")


def values(bench: Bench) -> Iterator[Figure]:
    """Measure recording with arguments and results, for funcgraph and viztracer."""
    words = (_VALUES, _BURST_ROUNDS, _PAUSE_S)
    commands = {
        "untraced": bench.plain("fib.py", *words),
        "funcgraph": bench.recorded("fib.py", *words, options=["--args", "--retval"]),
        "parts": bench.recorded("fib.py", *words, options=["--values", "1"]),
        "viztracer": bench.viztracer("fib.py", *words, options=["--log_func_args", "--log_func_retval"]),
    }
    rounds = bench.compare(_measures(bench, commands))
    ours, theirs = _added(of="funcgraph"), _added(of="viztracer")
    yield Figure("fib, --args --retval: `funcgraph record` adds", f"{median_of(rounds, ours):.0f} ns")
    yield Figure("fib, arguments and results: viztracer adds", f"{median_of(rounds, theirs):.0f} ns")
    ratio = median_of(rounds, lambda one: ours(one) / theirs(one))
    yield at_most("fib, --args --retval: of viztracer", ratio, 0.15)
    ratio = median_of(rounds, lambda one: _added(of="parts")(one) / ours(one))
    yield at_most("fib, --values 1: of --args --retval", ratio, 1.5)


def parts(bench: Bench) -> Iterator[Figure]:
    """Measure recording an object with its attributes, for funcgraph and viztracer, which calls repr()."""
    words = (_ATTRIBUTES, _OBJECT_CALLS, _BURST_ROUNDS, _PAUSE_S)
    record = {name: bench.recorded("objects.py", *words, options=options) for name, options in _PARTS.items()}
    commands = {
        "untraced": bench.plain("objects.py", *words),
        **record,
        "viztracer": bench.viztracer("objects.py", *words, options=["--log_func_args"]),
    }
    rounds = bench.compare(_measures(bench, commands))
    values, args, theirs = (_added(of=name) for name in ("values", "args", "viztracer"))
    yield Figure(
        f"object of {_ATTRIBUTES} attributes, --values 1: adds", f"{median_of(rounds, values):.0f} ns"
    )
    each = median_of(rounds, lambda one: (values(one) - args(one)) / _ATTRIBUTES)
    yield at_most("object, --values 1: an attribute, ns", each, 15)
    ratio = median_of(rounds, lambda one: values(one) / theirs(one))
    yield at_most("object, --values 1: of viztracer --log_func_args", ratio, 0.15)


def part_instructions(bench: Bench) -> Iterator[Figure]:
    """Count the instructions of a call with an object (callgrind), traced with its attributes and without."""

    def per_call(options: Sequence[str] | None) -> float:
        record = [*bench.funcgraph, "record", "-q", "-o", str(bench.trace), "-l", "__main__.pay"]
        traced_by = [] if options is None else [*record, *options, "--"]
        many, few = (
            bench.instructions(bench.plain("objects.py", _ATTRIBUTES, calls, 1), traced_by=traced_by)
            for calls in (12_000, 2_000)
        )
        return (many - few) / 10_000

    counts = {name: per_call(options) for name, options in _PART_OPTIONS.items()}
    for name, count in counts.items():
        yield Figure(f"object of {_ATTRIBUTES} attributes: instructions a call, {name}", f"{count:.0f}")
    for name in ("--values 1", "--values 1 --redact"):
        each = (counts[name] - counts["--args --retval"]) / _ATTRIBUTES
        yield Figure(f"{name}: instructions an attribute", f"{each:.0f}")
    yield at_most(
        "--values 1: instructions, of --args --retval", counts["--values 1"] / counts["--args --retval"], 1.5
    )


def _steady_count(bench: Bench, options: list[str], traced_by: Sequence[str] = ()) -> int:
    """Return the instructions of four rounds of mixed.py: those of six minus those of two."""
    two, six = (bench.instructions(bench.plain("mixed.py", n, *options), traced_by=traced_by) for n in (2, 6))
    return six - two


def why(bench: Bench) -> Iterator[Figure]:
    """Count what `record --why` costs beside a default recording: instructions of the program (callgrind)."""

    def count(*options: str) -> int:
        record = [*bench.funcgraph, "record", "-q", "-o", str(bench.trace), *options, "--"]
        return _steady_count(bench, [], record)

    default = count()
    for options in ("--c-calls", "--why"):
        yield at_most(
            f"mixed.py, record {options}: instructions, of a default recording", count(options) / default, 1.3
        )


def nothing_matches(bench: Bench) -> Iterator[Figure]:
    """Measure the cost for a program of a recording that watches another function."""
    options = ["-l", "__main__.wanted"]
    bench.compile_extension("least_callbacks")

    def seconds(command: list[str]) -> float:
        return float(min(bench.result(command)["seconds"]))

    words = ("mixed.py", 60)
    commands = {"untraced": bench.plain(*words), "traced": bench.recorded(*words, options=options)}
    if not _HAS_MONITORING:
        commands["least"] = bench.plain(*words, "evaluator")
    rounds = bench.compare({name: partial(seconds, command) for name, command in commands.items()})
    time_ratio = median_of(rounds, lambda one: one["traced"] / one["untraced"])
    name = "nothing traced matches, steady state: of untraced"
    limit = "≤ 1.01" if _HAS_MONITORING else ""
    try:
        untraced = _steady_count(bench, [])
    except FileNotFoundError:
        yield Figure(
            f"{name}, time", f"{time_ratio:.3f}", limit, time_ratio <= 1.01 if _HAS_MONITORING else None
        )
        return
    record = [*bench.funcgraph, "record", "-q", "-o", str(bench.trace), *options]
    ratio = _steady_count(bench, [], record) / untraced
    yield Figure(f"{name}, time (noisy)", f"{time_ratio:.3f}")
    yield Figure(f"{name}, instructions", f"{ratio:.4f}", limit, ratio <= 1.01 if _HAS_MONITORING else None)
    if not _HAS_MONITORING:
        floor = median_of(rounds, lambda one: one["least"] / one["untraced"])
        yield Figure(f"the same program, {_EMPTY_HOOK}: of untraced, time (noisy)", f"{floor:.3f}")
        ratio = _steady_count(bench, ["evaluator"]) / untraced
        yield Figure(f"the same program, {_EMPTY_HOOK}: of untraced, instructions", f"{ratio:.4f}")


def sustained(bench: Bench) -> Iterator[Figure]:
    """Record a program that does nothing but call, and check the trace."""
    result = bench.result(bench.recorded("fib.py", _LONG, 1))
    calls = result["calls"]
    # The trace also has the calls of fib(12) before the measured round.
    summary = json.loads(bench.run([*bench.funcgraph, "summary", "--json", "-i", str(bench.trace)]).stdout)
    found = sum(row["calls"] for row in summary["functions"] if row["name"] == "__main__.fib")
    yield Figure("sustained: calls recorded", f"{calls / result['seconds'][0] / 1e6:.1f} million/s")
    yield Figure("sustained: records lost", str(summary["lost"]), "0", summary["lost"] == 0)
    yield Figure("sustained: calls in the trace", f"{found:,}", f"{calls + 465:,}", found == calls + 465)


def _slope(points: Mapping[int, float]) -> float:
    """Return the cost of each further one: the slope of the regression line."""
    x, y = statistics.fmean(points), statistics.fmean(points.values())
    return sum((n - x) * (one - y) for n, one in points.items()) / sum((n - x) ** 2 for n in points)


def native_users(bench: Bench) -> Iterator[Figure]:
    """Measure users of the C API that want entry and return of fib, and users of other functions."""
    bench.compile_extension("native_users")
    users = [f"{n}={n}+0" for n in (0, *_NATIVE_USERS)]
    command = bench.plain("fib_users.py", _NATIVE, _NATIVE_ROUNDS, *users, f"others=1+{_OTHER_USERS}")
    firsts, slopes, ratios = [], [], []
    for _ in range(bench.rounds):
        result = bench.result(command)
        # The minimum: the variants run in turn in one process, and disturbances only add time.
        ns = {name: min(seconds) / result["calls"] * 1e9 for name, seconds in result["seconds"].items()}
        firsts.append(ns["1"] - ns["0"])
        slopes.append(_slope({n: ns[str(n)] for n in _NATIVE_USERS}))
        ratios.append(ns["others"] / ns["1"])
    yield Figure("fib: the first user in C adds", f"{statistics.median(firsts):.0f} ns")
    yield at_most(
        "fib: each further user in C adds (slope over 1, 2, 4, 8)", statistics.median(slopes), 8, " ns", 1
    )
    yield at_most(
        f"fib: one user in C, and {_OTHER_USERS} of other functions: of one user alone",
        statistics.median(ratios), 1.02, digits=3,
    )  # fmt: skip


def arguments(bench: Bench) -> Iterator[Figure]:
    """Measure how long a user of the C API takes to read an argument by its name."""
    bench.compile_extension("native_users")
    command = bench.plain("arguments.py", _READ_CALLS, _READ_ROUNDS, 0, _READS)
    found = []
    for _ in range(bench.rounds):
        result = bench.result(command)
        none, many = (min(result["seconds"][str(reads)]) for reads in (0, _READS))
        found.append((many - none) / result["calls"] / _READS * 1e9)
    yield at_most(
        "an argument by its name, the third of five, from C", statistics.median(found), 40, " ns", 1
    )


def _quickest_ns(bench: Bench, command: list[str], count: str = "calls") -> list[dict[str, float]]:
    """Return for each round the nanoseconds of one of `count` in each variant.

    They are minima: the variants run in turn in one process, and disturbances only add time.
    """
    results = [bench.result(command) for _ in range(bench.rounds)]
    return [
        {name: min(seconds) / result[count] * 1e9 for name, seconds in result["seconds"].items()}
        for result in results
    ]


def python_callbacks(bench: Bench) -> Iterator[Figure]:
    """Measure an entry and a return function in Python, and the same functions under sys.monitoring."""
    rounds = _quickest_ns(bench, bench.plain("fib_callbacks.py", _CALLBACKS, _CALLBACK_ROUNDS))
    for kind, label in (
        ("trivial", "a trivial pair of Python callbacks"),
        ("counting", "a counting pair of Python callbacks"),
    ):
        yield Figure(f"fib: {label} adds", f"{median_of(rounds, _added(of=kind)):.0f} ns")
        if _HAS_MONITORING:
            theirs = _added(of=f"monitoring {kind}")
            yield Figure(
                f"fib: {label}, given to sys.monitoring, adds", f"{median_of(rounds, theirs):.0f} ns"
            )
            ratio = median_of(rounds, _ratio(_added(of=kind), theirs))
            yield at_most(f"fib: {label}: of that", ratio, 1.5)


def fprobes(bench: Bench) -> Iterator[Figure]:
    """Measure an fprobe in C or Python on the called function, and fprobes on other functions."""
    bench.compile_extension("native_fprobes")
    bench.compile_extension("least_callbacks")
    rounds = _quickest_ns(bench, bench.plain("fib_fprobes.py", _FPROBES, _FPROBE_ROUNDS, _OTHER_FPROBES))
    native, python = _added(of="C"), _added(of="python")
    label = "fib: an fprobe in C that reads two ints at entry, and its exit"
    if _HAS_MONITORING:
        yield at_most(f"{label}, adds", median_of(rounds, native), 60, " ns", 0)
        least = median_of(rounds, _added(of="least"))
        yield Figure(
            "fib: the least: a pair in C that does nothing, by sys.monitoring, adds", f"{least:.0f} ns"
        )
    else:
        yield Figure(f"{label}, adds", f"{median_of(rounds, native):.0f} ns")
    entry = median_of(rounds, _added(of="entry"))
    yield Figure("fib: an fprobe in C that reads two ints, without an exit handler, adds", f"{entry:.0f} ns")
    for name, over, text in (
        ("others", "untraced", "of none at all"),
        ("both", "C", "of one in C alone"),
    ):
        ratio = statistics.median(one[name] / one[over] for one in rounds)
        yield at_most(f"fib: {_OTHER_FPROBES} fprobes on other functions: {text}", ratio, 1.02, digits=3)
    if not _HAS_MONITORING:
        floor = statistics.median(one["least"] / one["untraced"] for one in rounds)
        yield Figure(f"fib: {_EMPTY_HOOK}: of none at all", f"{floor:.3f}")
        ratio = statistics.median(one["others"] / one["least"] for one in rounds)
        yield Figure(
            f"fib: {_OTHER_FPROBES} fprobes on other functions: of such an evaluator", f"{ratio:.3f}"
        )
    label = "fib: Python handlers that read two arguments and the result"
    yield Figure(f"{label} add", f"{median_of(rounds, python):.0f} ns")
    if _HAS_MONITORING:
        theirs = _added(of="monitoring")
        yield Figure(
            f"{label}, by sys.monitoring and sys._getframe, add", f"{median_of(rounds, theirs):.0f} ns"
        )
        yield at_most(f"{label}: of that", median_of(rounds, _ratio(python, theirs)), 1.5)


def kprobes(bench: Bench) -> Iterator[Figure]:
    """Measure what a kprobe on a line costs the function's other lines, and the cost of a hit."""
    rounds = _quickest_ns(bench, bench.plain("kprobe_lines.py", _TURNS, _TURN_ROUNDS), "hits")
    elsewhere = median_of(rounds, lambda one: one["elsewhere"] / one["untraced"])
    label = "a kprobe on one line: a loop of ten other lines, of untraced"
    if _HAS_MONITORING:
        yield at_most(label, elsewhere, 1.02)
    else:
        yield Figure(label, f"{elsewhere:.2f}")
    for kind, label in (
        ("hit", "a handler that does nothing"),
        ("reading", "a handler that reads a variable"),
        ("monitoring", "a callback of sys.monitoring that reads it through sys._getframe"),
    ):
        if kind != "monitoring" or _HAS_MONITORING:
            yield Figure(f"a kprobe: a hit, {label}", f"{median_of(rounds, _added(of=kind)):.0f} ns")


def function_profile(bench: Bench) -> Iterator[Figure]:
    """Measure what the function profiler, function_graph and cProfile add to a call."""
    rounds = _quickest_ns(bench, bench.plain("fib_profile.py", _PROFILE, _PROFILE_ROUNDS))
    ours = _added(of="profile")
    for name, label in (
        ("profile", "the function profiler adds, all functions"),
        ("graph_time", "the function profiler with graph_time=False adds"),
        ("sleep_time", "the function profiler with sleep_time=False adds"),
        ("function_graph", "function_graph into a ring buffer that nobody reads adds"),
        ("cProfile", "cProfile, in the same process, adds"),
    ):
        yield Figure(f"fib: {label}", f"{median_of(rounds, _added(of=name)):.0f} ns")
    for name, limit in (("function_graph", 1), ("cProfile", 0.35)):
        ratio = median_of(rounds, _ratio(ours, _added(of=name)))
        yield at_most(f"fib, the function profiler: of {name}", ratio, limit)


def registration(bench: Bench) -> Iterator[Figure]:
    """Measure registering users for functions that have run, and CPython's part of that."""
    processes = ("users", "floor") if _HAS_MONITORING else ("users",)
    found: dict[str, list[float]] = {}
    for _ in range(bench.rounds):
        for process in processes:
            result = bench.result(bench.plain("register.py", _FUNCTIONS, _REGISTER_ROUNDS, process))
            for step, seconds in result["seconds"].items():
                found.setdefault(step, []).extend(seconds)
            for step, seconds in result["first"].items():
                added = [one - two for one, two in zip(seconds, result["second"][step], strict=True)]
                found.setdefault(f"{step}, then", []).extend(added)

    functions = f"{_FUNCTIONS:,} functions"
    for step, label in (
        ("register: all", "register, `shop.*`"),
        ("unregister: all", "unregister"),
        ("register: all, second user", "register another user of the same, `shop.*`"),
        ("unregister: all, second user", "unregister it"),
        ("set_filter: all to one", "set_filter from all of them to one"),
        ("set_filter: one to all", "set_filter from one of them to all"),
        ("register: all by name", f"register with {_FUNCTIONS:,} whole names"),
        ("register: one", "register, a name that one of them has"),
        ("unregister: one", "unregister from one of them"),
    ):
        yield at_most(f"{functions}: {label}", statistics.median(found[step]) * 1e3, 20, " ms")
    if _HAS_MONITORING:
        for step, label in (("on", "on"), ("off", "off")):
            yield Figure(
                f"{functions}: CPython's part, events of sys.monitoring {label}",
                f"{statistics.median(found[step]) * 1e3:.2f} ms",
            )
    for step, label in (
        ("register: all, then", "its first call after a registration adds, to one that is wanted"),
        ("unregister: all, then", "its first call after it lost its last user adds"),
        ("register: one, then", "its first call after a registration adds, to one of no concern"),
    ):
        yield Figure(f"a function: {label}", f"{statistics.median(found[step]) / _FUNCTIONS * 1e9:.0f} ns")


def latency_tracers(bench: Bench) -> Iterator[Figure]:
    """Measure an asyncio echo server with each latency tracer, in pairs of short segments."""
    least = [("evaluator", "a frame evaluator that does nothing", None)] if not _HAS_MONITORING else []
    bench.compile_extension("least_callbacks")
    for what, label, limit in (
        *least,
        ("none", "nothing beside nothing", None),
        ("loopblock", "loopblock", 1.03),
        ("wakeup", "wakeup", 1.03),
        ("gilwait", "gilwait", 1.03),
        ("slowest:loopblock", "loopblock with the slowest call", None),
        ("graph:loopblock", "loopblock with display-graph", None),
    ):
        command = bench.plain("echo_server.py", "streams", what, _ECHO_PAIRS)
        pairs = [pair for _ in range(bench.rounds) for pair in bench.result(command)["pairs"]]
        for unit, name in enumerate(("the time", "the CPU time")):
            ratio, error = ratio_of_pairs([(off[unit], on[unit]) for off, on in pairs])
            yield Figure(
                f"asyncio echo server, {label}: {name} of a message",
                f"{ratio:.3f} ± {error:.3f}",
                f"≤ {limit:g}" if limit and not unit else "",
                ratio <= limit if limit and not unit else None,
            )


def instances(bench: Bench) -> Iterator[Figure]:
    """Measure instances inside the program, and changing the filter of one."""
    calls = bench.plain("instances.py", "calls", _INSTANCE_FIB, _INSTANCE_ROUNDS, 0, 1, *_INSTANCES)
    firsts, slopes = [], []
    for ns in _quickest_ns(bench, calls):
        firsts.append(ns["1"] - ns["0"])
        slopes.append(_slope({n: ns[str(n)] for n in _INSTANCES}))
    yield Figure("fib: the first instance adds", f"{statistics.median(firsts):.0f} ns")
    counts = ", ".join(map(str, _INSTANCES))
    yield at_most(
        f"fib: each further instance adds (slope over {counts})", statistics.median(slopes), 20, " ns", 1
    )
    result = bench.result(bench.plain("instances.py", "filter", _FUNCTIONS, _INSTANCE_ROUNDS))
    for step, seconds in result["seconds"].items():
        yield at_most(
            f"{_FUNCTIONS:,} functions: set_ftrace_filter, {step}",
            statistics.median(seconds) * 1e3, 20, " ms",
        )  # fmt: skip


def memory(bench: Bench) -> Iterator[Figure]:
    """Measure the memory of the traced process."""
    name = f"{_SHORT_THREADS:,} short-lived threads: growth after the first tenth"
    for label, command in (
        ("untraced", bench.plain("threads.py", _SHORT_THREADS)),
        ("traced", bench.recorded("threads.py", _SHORT_THREADS)),
    ):
        result = bench.result(command)
        grown = result["late"]["RssAnon"] - result["early"]["RssAnon"]
        traced = label == "traced"
        # The allocator accounts for a few pages; a leak of one page per thread would be 7,200 KiB.
        yield Figure(
            f"{name}, {label}",
            f"{grown} KiB",
            "≤ 256 KiB" if traced else "",
            grown <= 256 if traced else None,
        )
    plain = bench.result(bench.plain("live_threads.py", _LIVE_THREADS))
    traced_kb = bench.result(bench.recorded("live_threads.py", _LIVE_THREADS))
    one = (traced_kb["RssAnon"] - plain["RssAnon"]) / _LIVE_THREADS
    yield at_most(f"{_LIVE_THREADS} threads alive: private memory added for each", one, 64, " KiB", 0)
    shared = traced_kb["RssShmem"] - plain["RssShmem"]
    yield at_most(
        f"{_LIVE_THREADS} threads alive: ring buffer in memory",
        shared / 1024,
        _BUFFER_KB / 1024 + 1,
        " MiB",
        1,
    )


def instructions(bench: Bench) -> Iterator[Figure]:
    """Count the instructions per call (callgrind) that each way of tracing adds to fib(N)."""
    bench.compile_extension("native_fprobes")

    def per_call(mode: str, traced_by: Sequence[str] = ()) -> float:
        many, few = (
            bench.instructions(bench.plain("fib_instructions.py", mode, n), traced_by=traced_by)
            for n in _COUNTED
        )
        return (many - few) / (_COUNTED[16] - _COUNTED[12])

    untraced = per_call("untraced")
    record = [*bench.funcgraph, "record", "-q", "-o", str(bench.trace), "-l", "__main__.fib", "--"]
    yield Figure("instructions a call, untraced", f"{untraced:.1f}")
    yield Figure("instructions a call, record adds", f"{per_call('untraced', record) - untraced:.1f}")
    for mode in ("function_graph", "function", "C fprobe", "Python pair", "profiler"):
        yield Figure(f"instructions a call, {mode} adds", f"{per_call(mode) - untraced:.1f}")


Measure = Callable[[Bench], Iterator[Figure]]

#: The sections of docs/reference/performance.md, with the figures of each.
SECTIONS: dict[str, dict[str, Measure]] = {
    "files": files.ALL,
    "events": events.ALL,
    "attach": {**attach.ALL, **attach_levels.ALL, **mount.ALL},
    "questions": questions.ALL,
    "pages": pages.ALL,
    "native": {**plans.ALL, **native.ALL},
    "figures": {
        "fib": fib,
        "values": values,
        "parts": parts,
        "part-instructions": part_instructions,
        "why": why,
        "nothing-matches": nothing_matches,
        "native-users": native_users,
        "arguments": arguments,
        "python-callbacks": python_callbacks,
        "fprobes": fprobes,
        "kprobes": kprobes,
        "function-profile": function_profile,
        "registration": registration,
        "latency-tracers": latency_tracers,
        "instances": instances,
        "sustained": sustained,
        "memory": memory,
        "instructions": instructions,
    },
}
ALL: dict[str, Measure] = {
    name: measure for section in SECTIONS.values() for name, measure in section.items()
}
