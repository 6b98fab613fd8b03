"""The figures of native functions: what recording a call costs, and a C user of it; what hooks need."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks import attach
from benchmarks.harness import Bench, Figure, at_most, median_of
from tools import native

_FIRST_RECORD_MS, _STOPPED_MS = 250, 20
_HOOKS, _HOOKING_MS, _HOOK_BYTES = 20_000, 300, 192
_BUSY = """
import asyncio, http.server, json, logging, os
print("ready", flush=True)
while True:
    for _ in range(1000):
        os.getppid()
"""


def native_calls(bench: Bench) -> Iterator[Figure]:
    """Measure calls of a hooked function in one program, without Python."""
    native.build_tests("plain")
    program = native.folder_of("plain") / "bench_native_calls"
    if not program.is_file():
        return  # native functions cannot be hooked on this machine
    rounds = [_round(bench, program) for _ in range(bench.rounds)]
    recorded = median_of(rounds, lambda one: one["recorded"])
    ratio = median_of(rounds, lambda one: one["recorded"] / one["floor"])
    yield at_most("a native call, recorded: adds", recorded, 28, " ns", 1)
    yield at_most("a native call, recorded: of two clock reads and two stores", ratio, 1.4)
    if "uftrace" in rounds[0]:
        share = median_of(rounds, lambda one: one["recorded"] / one["uftrace"])
        yield at_most("a native call, recorded: of what uftrace adds to it (dynamic)", share, 0.30)
    general = median_of(rounds, lambda one: one["general_fprobe"])
    yield at_most(
        "a native call, an fprobe in C whose handlers use general registers: adds", general, 12, " ns", 1
    )
    fprobe = median_of(rounds, lambda one: one["fprobe"])
    yield Figure(
        "a native call, an fprobe in C whose handlers may use any register: adds", f"{fprobe:.0f} ns"
    )
    callbacks = median_of(rounds, lambda one: one["callbacks"])
    yield Figure("a native call, a graph user in C with data and times: adds", f"{callbacks:.0f} ns")


def _round(bench: Bench, program: Path) -> dict[str, float]:
    """Measure once; with uftrace, if it is here, on the same function of the same program."""
    found: dict[str, float] = bench.result([str(program)])
    if shutil.which("uftrace"):
        trace = bench.folder / "uftrace"
        record = ["uftrace", "record", "--no-pager", "-d", str(trace), "-P", "target_add@libnative_target.so"]
        found["uftrace"] = bench.result([*record, str(program), "plain"])["plain"] - found["plain"]
        shutil.rmtree(trace, ignore_errors=True)
    return found


def native_hooks(bench: Bench) -> Iterator[Figure]:
    """Measure making many hooks, their memory, and attaching until the first record of a native function."""
    if not find_spec("iced_x86"):
        return
    cache = f"XDG_CACHE_HOME={bench.folder / 'cache'}"
    command = ["env", cache, *bench.plain("hook_many.py")]
    bench.result(command)  # makes the plans
    rounds = [bench.result(command) for _ in range(bench.rounds)]
    per_hook = median_of(rounds, lambda one: one["seconds"] / one["hooked"])
    hooked = rounds[0]["hooked"]
    yield at_most(
        f"hooking {_HOOKS:,} functions of {hooked:,}, with plans cached",
        per_hook * _HOOKS * 1000,
        _HOOKING_MS,
        " ms",
        0,
    )
    native.build_tests("plain")
    memory = bench.result([str(native.folder_of("plain") / "bench_native_calls"), "memory"])
    yield at_most(
        "  memory for a hook, beside the function's record", memory["hook"], _HOOK_BYTES, " bytes", 0
    )
    times = [attach.times(bench, _BUSY, "getppid:mod:libc", "getppid") for _ in range(bench.rounds)]
    first, stopped = (1000 * statistics.median(column) for column in list(zip(*times, strict=True))[:2])
    yield at_most("attaching until the first record of a native function", first, _FIRST_RECORD_MS, " ms", 0)
    yield at_most("  of which it is stopped to attach, at most", stopped, _STOPPED_MS, " ms", 1)


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "native-calls": native_calls,
    "native-hooks": native_hooks,
}
