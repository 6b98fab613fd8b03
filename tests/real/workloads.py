"""Runs the programs of programs/ under `funcgraph record` and under CPython's profilers, and counts calls."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

from conftest import Funcgraph
from tracereader import FUNC_BASE, FUNC_STEP, Trace, read_trace

RUNNER = Path(__file__).parent / "run_program.py"
PROGRAMS = tuple(sorted(path.stem for path in (RUNNER.parent / "programs").glob("*.py")))

# cProfile's names of C functions, and the name in a trace.
C_METHOD = re.compile(r"<method '([^']*)'(?: of '.*' objects)?>")  # 3.15's cProfile leaves out the type
C_FUNCTION = re.compile(r"<built-in method (?:.*\.)?([^. ]+)(?: of type object at .*)?>")
C_SHADOWED = re.compile(r"<function (?:.*\.)?([^. ]+) at .*>")  # a Python subclass has a method of that name

Key = tuple[str, int, str]  # file, line, qualified name


def environment(fg: Funcgraph) -> dict[str, str]:
    # Sets have the same order in all runs. Modules are compiled once, not in only one of two compared runs.
    return {**fg.env, "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": str(fg.folder / "pycache")}


def warm(fg: Funcgraph, program: str) -> None:
    """Run the program once, so that its modules are compiled."""
    result = fg.plain(sys.executable, RUNNER, program, "work", env=environment(fg), timeout=120)
    assert result.returncode == 0, result.stderr


def profile(fg: Funcgraph, program: str, way: str) -> tuple[Counter[Key], Counter[str]]:
    """Return the calls of the program's main() that a profiler of CPython counts; C functions by name."""
    output = fg.folder / f"{program}.{way}.json"
    result = fg.plain(sys.executable, RUNNER, program, way, output, env=environment(fg), timeout=120)
    assert result.returncode == 0, result.stderr
    functions: Counter[Key] = Counter()
    c_functions: Counter[str] = Counter()
    for file, line, name, calls in json.loads(output.read_text()):
        if file:
            functions[file, line, name] += calls
        else:
            c_functions[c_name(name)] += calls
    c_functions.pop("disable", None)  # its own
    return functions, c_functions


def c_name(label: str) -> str:
    for form in (C_METHOD, C_FUNCTION, C_SHADOWED):
        if found := form.fullmatch(label):
            return found[1]
    raise AssertionError(label)


def record(fg: Funcgraph, program: str, way: str, *options: str) -> Path:
    trace = fg.folder / f"{program}.{way}.fg"
    words = ["-q", "-o", trace, *options, RUNNER, program, way]
    result = fg.record(*words, env=environment(fg), timeout=180)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return trace


def read_counts(fg: Funcgraph, trace: Path) -> tuple[Counter[Key], Counter[str]]:
    """Return the calls and resumes of each Python function of a trace; of C functions by their last name."""
    summary = fg.summary(trace)
    assert summary["lost"] == summary["overrun"] == 0
    functions: Counter[Key] = Counter()
    c_functions: Counter[str] = Counter()
    for function in summary["functions"]:
        calls = function["calls"] + function["resumes"]
        if function["file"]:
            qualname = function["name"].removeprefix(function["module"] + ".")
            functions[function["file"], function["line"], qualname] += calls
        else:
            c_functions[function["name"].rpartition(".")[2]] += calls
    functions.subtract(silent_closes(trace))
    return functions, c_functions


def recorded(fg: Funcgraph, program: str, *options: str) -> tuple[Counter[Key], Counter[str]]:
    """Return funcgraph's counts of main(): a process with it minus a process without it."""
    functions, c_functions = read_counts(fg, record(fg, program, "work", *options))
    idle_functions, idle_c_functions = read_counts(fg, record(fg, program, "idle", *options))
    functions.subtract(idle_functions)
    c_functions.subtract(idle_c_functions)
    functions[next(key for key in functions if key[0] == str(RUNNER) and key[2] == "work")] -= 1
    return +functions, +c_functions


def silent_closes(path: Path) -> Counter[Key]:
    """Return the resumes that CPython did not report: only 3.13 has any, of one kind.

    gen.close() of CPython 3.13.0 drops the frame of a generator that is suspended outside of any `try`
    without running it and without an event (gh-140373). funcgraph still records the end of such a call, as a
    resume and a close at the same time; that identifies them.
    """
    counts: Counter[Key] = Counter()
    if sys.version_info < (3, 13):
        return counts
    trace = read_trace(path)
    for event in trace.events:
        if event.type == 10:
            func, _, calltime, rettime, _, kind = event.fields("IIQQHB")
            if kind & 0x7F == 3 and calltime == rettime:
                counts[key_of(trace, func)] += 1
    return counts


def key_of(trace: Trace, func: int) -> Key:
    _, qualname, file, line, *_ = trace.meta["functions"][(func - FUNC_BASE) // FUNC_STEP]
    return file, line, qualname


def difference(ours: Counter[Key], theirs: Counter[Key]) -> dict[Key, tuple[int, int]]:
    """Return the counts that differ: {function: (ours, theirs)}."""
    return {key: (ours[key], theirs[key]) for key in {*ours, *theirs} if ours[key] != theirs[key]}
