"""The figures of plans of native functions: what making one takes, and taking it from the cache."""

from __future__ import annotations

import json
import os
import re
import statistics
import sysconfig
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.harness import Bench, Figure, at_least, at_most

#: Name of a library, as of objects in patterns -> the most seconds that planning it may take.
_MOST_S = {"libc": 1.0, "libpython": 2.0, "libsqlite3": 1.0}
_CACHED_MS = 10
_HOOKABLE = 97

_CODE = """
import json, sys
from funcgraph.native.objects import Planner
from funcgraph.native.reasons import Reason
planner = Planner(afresh=sys.argv[1] == "afresh")
found = planner.of_file(sys.argv[2])
functions = len(found.plan)
print(json.dumps([found.seconds, functions, found.plan.reasons()[Reason.HOOKABLE] / functions]))
"""


def plans(bench: Bench) -> Iterator[Figure]:
    """Measure planning of what this Python runs on; the start of Python is left out."""
    if not find_spec("iced_x86"):
        return
    for name, path in _libraries():
        rounds = [_plan(bench, "afresh", path) for _ in range(bench.rounds)]
        _, functions, hookable = rounds[0]
        label = f"{name}, {functions:,} functions"
        yield at_most(f"{label}: planned afresh", _median(rounds), _MOST_S[name], " s")
        cached = _median([_plan(bench, "cached", path) for _ in range(bench.rounds)])
        yield at_most(f"{label}: from the cache", cached * 1000, _CACHED_MS, " ms")
        yield at_least(f"{label}: can be hooked", 100 * hookable, _HOOKABLE, " %")


def _median(rounds: list[list[float]]) -> float:
    return statistics.median(seconds for seconds, *_ in rounds)


def _plan(bench: Bench, how: str, path: Path) -> list[float]:
    """Return seconds, functions, and the share of them that can be hooked."""
    cache = f"XDG_CACHE_HOME={bench.folder / 'cache'}"
    done = bench.run(["env", cache, bench.python, "-c", _CODE, how, str(path)])
    found: list[float] = json.loads(done.stdout)
    return found


def _libraries() -> Iterator[tuple[str, Path]]:
    """Yield the libraries of the table that this Python has loaded."""
    import sqlite3  # noqa: F401

    maps = Path("/proc/self/maps").read_text()
    for name in _MOST_S:
        found = re.search(rf" (/\S*/{name}[\d.t]*\.so\S*)$", maps, re.MULTILINE)
        if found:
            yield name, Path(found[1])
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        yield "libpython", Path(os.path.realpath("/proc/self/exe"))


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {"plans": plans}
