"""The figures of calls of native functions: what recording one costs, and a C user of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.harness import Bench, Figure, at_most, median_of
from tools import native


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


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {"native-calls": native_calls}
