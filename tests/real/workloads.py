"""The programs of programs/, under `funcgraph record` and under CPython's own profilers: who called what."""

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

# How stock CPython is told of a C function, and the name it has in a trace.
C_METHOD = re.compile(r"<method '([^']*)'(?: of '.*' objects)?>")  # 3.15's cProfile does not say of what
C_FUNCTION = re.compile(r"<built-in method (?:.*\.)?([^. ]+)(?: of type object at .*)?>")
C_SHADOWED = re.compile(r"<function (?:.*\.)?([^. ]+) at .*>")  # a Python subclass has a method of that name

Key = tuple[str, int, str]  # file, line, qualified name


def environment(fg: Funcgraph) -> dict[str, str]:
    # The same order in every set; modules compiled once, not in one of two runs that are compared.
    return {**fg.env, "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": str(fg.folder / "pycache")}


def warm(fg: Funcgraph, program: str) -> None:
    """Leave compiled modules behind."""
    result = fg.plain(sys.executable, RUNNER, program, "work", env=environment(fg), timeout=120)
    assert result.returncode == 0, result.stderr


def profile(fg: Funcgraph, program: str, way: str) -> tuple[Counter[Key], Counter[str]]:
    """Calls of the program's main() as a profiler of CPython counts them; C functions by name."""
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
    trace = fg.folder / f"{program}.{way}.dat"
    words = ["-q", "-o", trace, *options, RUNNER, program, way]
    result = fg.record(*words, env=environment(fg), timeout=180)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return trace


def read_counts(fg: Funcgraph, trace: Path) -> tuple[Counter[Key], Counter[str]]:
    """Calls and resumes of each Python function of a trace, and those of C functions by their last name."""
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
    """Calls of the program's main() as we count them: what a process called more than one without it."""
    functions, c_functions = read_counts(fg, record(fg, program, "work", *options))
    idle_functions, idle_c_functions = read_counts(fg, record(fg, program, "idle", *options))
    functions.subtract(idle_functions)
    c_functions.subtract(idle_c_functions)
    functions[next(key for key in functions if key[0] == str(RUNNER) and key[2] == "work")] -= 1
    return +functions, +c_functions


def silent_closes(path: Path) -> Counter[Key]:
    """Resumes that CPython did not tell of: there are none, but for one kind on 3.13.

    gen.close() of CPython 3.13.0 drops the frame of a generator that is suspended outside of any `try`
    without running it and without an event (gh-140373). Tracing tells the end of such a call all the same,
    as a resume and a close at one instant, by which they are known.
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
    """What the two count differently: {function: (ours, theirs)}."""
    return {key: (ours[key], theirs[key]) for key in {*ours, *theirs} if ours[key] != theirs[key]}
