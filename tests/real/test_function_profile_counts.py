"""For real programs, the function profiler's hits equal cProfile's calls, function by function.

cProfile counts each resume of a generator or coroutine as a call. A recording counts the resumes
(test_counts.py): hits + resumes = cProfile's ncalls.
"""

from __future__ import annotations

from collections import Counter

import pytest
from conftest import Funcgraph
from sizes import share
from workloads import Key, difference, profile, record, silent_closes, warm

SMALL = ("recursion", "generators", "coroutines", "exceptions", "classes", "stdlib_text", "unittest_suite")


def named_as(theirs: Counter[Key], ours: Counter[Key]) -> Counter[Key]:
    """Return our counts by cProfile's names, which lack the module."""
    known = {(file, line): set[str]() for file, line, _ in theirs}
    for file, line, qualname in theirs:
        known[file, line].add(qualname)
    named: Counter[Key] = Counter()
    for (file, line, name), calls in ours.items():
        fits = [q for q in known.get((file, line), ()) if name == q or name.endswith(f".{q}")]
        named[file, line, max(fits, key=len, default=name)] += calls
    return named


def resumes(fg: Funcgraph, program: str, way: str) -> Counter[Key]:
    trace = record(fg, program, way)
    counts: Counter[Key] = Counter()
    for function in fg.summary(trace)["functions"]:
        if function["file"]:
            qualname = function["name"].removeprefix(function["module"] + ".")
            counts[function["file"], function["line"], qualname] += function["resumes"]
    counts.subtract(silent_closes(trace))
    return counts


@pytest.mark.parametrize("program", share(SMALL, of=5))
def test_hits_equal_cprofiles_calls(fg: Funcgraph, program: str) -> None:
    warm(fg, program)
    theirs, _ = profile(fg, program, "cprofile")
    hits, _ = profile(fg, program, "function_profile")
    ours = named_as(theirs, hits)
    resumed = resumes(fg, program, "work")
    resumed.subtract(resumes(fg, program, "idle"))
    ours.update({key: resumed[key] for key in ours})
    assert difference(ours, theirs) == {}
    assert len(ours) > 20
