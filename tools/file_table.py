"""Writes docs/internals/files.md, a table of all source files, from the first comment of each: `make files`.

The subject of a file is the first sentence of its first comment or docstring. A `.c` file beside its `.h` has
the subject of the header. The subject of a folder is that of its `__init__.py`, or a row of FOLDERS here.

    python -m tools.file_table [--check]
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.console import print_message
from tools.layout import ROOT
from tools.written_pages import update

PAGE = ROOT / "docs" / "internals" / "files.md"
_TOPS = ("src", "tests", "tools", "benchmarks", "examples")
#: What a file's first comment looks like, by the end of its name. Python files have docstrings.
_COMMENTS = {
    ".c": r"/\*(.*?)\*/",
    ".h": r"/\*(.*?)\*/",
    ".S": r"/\*(.*?)\*/",
    ".cc": r"/\*(.*?)\*/",
    ".sh": r"(?:#![^\n]*\n)?((?:#[^\n]*\n)+)",
}
_PYTHON = (".py", ".pyi")
#: Ends of the names of files that have one subject: the first of them that is there says it.
_PAIRS: tuple[tuple[str, ...], ...] = ((".h", ".c", ".cc", ".S"), _PYTHON, (".sh",))

#: The folders without an `__init__.py` that says their subject.
FOLDERS = {
    "benchmarks/iterate": "iteration over a trace in C, to measure it",
    "benchmarks/least_callbacks": "the cheapest possible hooks, to compare with",
    "benchmarks/native_calls": "calls of native functions, recorded and not",
    "benchmarks/native_fprobes": "fprobes in C, to measure their cost",
    "benchmarks/native_users": "users of the C API, to measure the cost of each",
    "benchmarks/programs": "the measured programs",
    "examples/ask_a_program": "a small shop, and a program that asks it questions",
    "examples/below_python": "the programs of docs/start/below-python.md",
    "examples/django_orders": "a Django program with an N+1",
    "examples/celery_worker": "a Celery worker with slow and failing tasks",
    "examples/pandas_report": "a pandas script with repeated work",
    "examples/asyncio_service": "an asyncio service with a lock convoy",
    "examples/fprobe_example": "a probe on any function of any program",
    "examples/answers": "a shop on sqlite with three faults, which docs/guides/answers.md finds",
    "examples/guide": "a small web service with three faults, which docs/start/guide.md finds",
    "examples/native_user": "a user of the C API, with its own build",
    "examples/sidecar": "a service in a container, and a second container that records it",
    "examples/running_service": "a service to look into while it runs",
    "examples/two_tools": "the two tools of the tutorial, and the program that they watch",
    "src": "the layers; `funcgraph.pth` starts the engine in a process of a session",
    "src/arch/cpython/backend": "the ways of hooking: frame evaluators, sys.monitoring, profile functions",
    "src/arch/cpython/base": "what the rooms of the CPython arch share",
    "src/arch/cpython/base/compat": "differences between versions and builds, a header for each subject",
    "src/arch/cpython/fetch": "fetch programs: values of events, read without running Python code",
    "src/arch/cpython/hook": "hooking calls: CPython's events become calls of the engine",
    "src/arch/cpython/latency": "the latency tracers",
    "src/arch/cpython/read": "reading the program: its functions and frames",
    "src/arch/cpython/register": "registering users in an interpreter, with the hooks that they need",
    "src/arch/cpython/static": "static events: of CPython, each with its source, and of the program",
    "src/arch/cpython/value": "reading the program: its objects, as records show them",
    "src/arch/elf": "ELF: replacing what a library calls",
    "src/arch/native": "native functions on any machine: plans, objects, hooks, and the way of a call",
    "src/arch/native/x86_64": "trampolines and stubs of x86-64",
    "src/binding/base": "what all extension modules share, with nothing of the engine in it",
    "src/binding/capi": "the C API: the table behind its capsule",
    "src/binding/control": "the control socket: `funcgraph._control`",
    "src/binding/core": "what the objects of `funcgraph._engine` share",
    "src/binding/engine": "`funcgraph._engine` itself: instances, recording, the end of the interpreter",
    "src/binding/environ": "`funcgraph._environ`",
    "src/binding/event": "events as Python objects",
    "src/binding/graph": "the function graph's Python API",
    "src/binding/inject": "`funcgraph._inject`",
    "src/binding/plan": "`funcgraph._plan`",
    "src/binding/native": "native functions: plans of objects, and which functions are hooked",
    "src/binding/probe": "fprobes and kprobes as Python objects",
    "src/binding/system": "`funcgraph._system`",
    "src/binding/tracedata": "`funcgraph._tracedata`: reading traces",
    "src/binding/tracedata/base": "columns, names and types that its rooms share",
    "src/binding/tracedata/export": "slices, and what exports make of them",
    "src/binding/tracedata/write": "writing traces, converting and joining them",
    "src/binding/trigger": "triggers, histograms and function commands as Python objects",
    "src/engine/base": "what knows nothing of tracing: memory, tables, the clock",
    "src/engine/core": "what the engine stands on: tasks, function records, domains, the kill switch",
    "src/engine/event": "events with values: kinds, and what hits them",
    "src/engine/filter": "event filters",
    "src/engine/graph": "the function graph: the way of a call, and the shadow stack",
    "src/engine/hist": "histograms",
    "src/engine/fetch": "values of events: their layout, and those of native functions",
    "src/engine/probe": "fprobes, kprobes and kretprobes",
    "src/engine/profile": "the function profiler",
    "src/engine/reader": "the reading side of a ring, in the recorder",
    "src/engine/ring": "a ring as both sides see it: its layout, its records, the fields of events",
    "src/engine/trigger": "what a hit of an event does: records, histograms, triggers",
    "src/engine/tracer": "tracers and instances",
    "src/engine/users": "users of the function graph: registering them, and planning each function's list",
    "src/engine/writer": "the writing side of a ring, in the traced process",
    "src/funcgraph/page/browser": "the page of the viewer, and of `funcgraph export html`",
    "src/funcgraph/page/browser/base": "what all of the page share: elements, names, times, state, questions",
    "src/funcgraph/page/browser/export": "what stands for the server in an exported page",
    "src/funcgraph/page/browser/timeline": "the time line: lanes, boxes, marks, arrows, the pointer",
    "src/funcgraph/page/browser/views": "the views of the panel: tables, trees, flame graph, text, a call",
    "src/include": "the public C API; the engine includes it too",
    "src/inject": "threads of other processes: stopping them, starting a thread there (x86-64)",
    "src/inject/unwind": "unwinding a stopped thread by the call frame information in its process",
    "src/tracedata/answers": "questions about calls and their values, answered in one pass",
    "src/tracedata/base": "what all rooms of tracedata share",
    "src/tracedata/calls": "calls, put together from events",
    "src/tracedata/export": "slices, for viewers of other people",
    "src/tracedata/make": "from a `.fg` to a trace.dat",
    "src/tracedata/read": "a trace of either format: opening it, its lanes and their merge, its names",
    "src/tracedata/read/dat": "reading trace.dat: head, blocks, sections, events; a kernel's records",
    "src/tracedata/read/fg": "reading `.fg`: lanes of its tasks, records as events, a file that still grows",
    "src/tracedata/recorder": "the recorder: draining rings into a `.fg`",
    "src/tracedata/index": "the index of a trace's calls, and questions to it",
    "src/tracedata/select": "selections, and folded imports: stages between lanes and merge",
    "src/tracedata/spool": "the `.fg` file: writing it, and what it holds",
    "src/tracedata/text": "a trace as text: the graph, events, the kernel's records",
    "src/tracedata/view": "what a person sees of a trace: columns, figures, trees",
    "tests": "tests of documents, tools, rooms and examples; all tests use the installed wheel",
    "tests/answers": "answers about the calls of programs whose truth is known by construction",
    "tests/arch/native": "C tests of hooks of native functions, in a process without Python",
    "tests/arch/native/support": "a plan made by hand, and users of native functions",
    "tests/arch/native/target": "the library whose functions are hooked",
    "tests/attach": "attaching to running programs, whatever they do at that moment",
    "tests/binding/capi": "the C API",
    "tests/binding/graph": "the function graph's Python API",
    "tests/binding/probe": "fprobes and kprobes in Python",
    "tests/cluster": "clusters of Dask and Ray, with real workers",
    "tests/control": "the control socket, with hostile clients and real programs",
    "tests/engine/base": "C tests of `src/engine/base`",
    "tests/engine/core": "C tests of `src/engine/core`",
    "tests/engine/event": "C tests of `src/engine/event`",
    "tests/engine/filter": "C tests of `src/engine/filter`",
    "tests/engine/graph": "C tests of `src/engine/graph`",
    "tests/engine/hist": "C tests of `src/engine/hist`",
    "tests/engine/probe": "C tests of `src/engine/probe`",
    "tests/engine/profile": "C tests of `src/engine/profile`",
    "tests/engine/reader": "C tests of `src/engine/reader`",
    "tests/engine/ring": "C tests of `src/engine/ring`",
    "tests/engine/support": "the simulated arch, and helpers of the C tests",
    "tests/engine/trigger": "C tests of `src/engine/trigger`",
    "tests/engine/tracer": "C tests of `src/engine/tracer`",
    "tests/engine/users": "C tests of `src/engine/users`",
    "tests/engine/writer": "C tests of `src/engine/writer`",
    "tests/events": "events; some replay what a Linux kernel printed",
    "tests/events/data": "what a Linux kernel printed of events",
    "tests/export": "each format, read back by its own reader",
    "tests/inject": "C tests of the stub, in a child process, and of unwinding",
    "tests/inject/support": "processes that are only memory, and children as their attacher knows them",
    "tests/instance": "instances, profiles and latency tracers inside the program",
    "tests/kernel_text": "the kernel's texts, parsed into calls, and repeated in the simulated arch",
    "tests/kernel_text/data": "texts that a Linux kernel printed",
    "tests/mcp": "the server for language models, asked by the protocol's own client",
    "tests/merge": "traces of several machines as one; a time namespace is a machine whose clock is known",
    "tests/mount": "mounts, of processes and of trees in memory",
    "tests/native": "plans of native functions: refusals, moved code, files, the cache",
    "tests/real": "recordings of real programs: cProfile's counts, other tools beside, unchanged behaviour",
    "tests/real/programs": "these programs",
    "tests/security": "what another user's process may do to us: attacks, with real users and namespaces",
    "tests/session": "recordings: children, signals, crashes, bad input",
    "tests/settings": "the table of settings against the engine, the commands, the API and the documents",
    "tests/steering": "trace-cmd's verbs, on this process and on others that run",
    "tests/support": "shared by tests of several folders: the slow model, readers and writers of the files",
    "tests/tracedata": "the trace files, in C and Python",
    "tests/tracedata/data": "traces that trace-cmd recorded on a kernel, and its text of them",
    "tests/tracedata/support": "for the C tests: a spool as bytes, damage to it, writes that fail",
    "tests/testing": "the plugin for pytest, run on projects of its own, and calls in tests",
    "tests/tracefs": "the tree of tracefs, as cat and echo use it",
    "tests/tracefs/data": "what a Linux kernel answered to writes",
    "tests/tui/screens": "what `funcgraph tui` shows: a picture for each width and view",
    "tests/view/programs": "programs whose recordings the tests of the page show",
    "tools/kselftest/modules": "modules of the program, for those of the kernel's samples",
    "tools/real/programs": "the servers, and what they compute",
    "tools/site/static": "the site's style sheet",
}  # fmt: skip

_INTRODUCTION = """\
# Files

<!-- Written by `make files` (python -m tools.file_table) from the first comment of each file. -->

Each source file with its subject, folder by folder. `array.[ch]` is `array.c` with its header `array.h`.
[ARCHITECTURE.md](../../ARCHITECTURE.md) says what the folders are to each other.
"""


class MissingError(Exception):
    """A file has no first comment, or a folder no subject."""


def first_comment(file: Path) -> str:
    """Return the text of a file's first comment or docstring; "": it does not begin with one."""
    text = file.read_text()
    if file.suffix in _PYTHON:
        return ast.get_docstring(ast.parse(text)) or ""
    found = re.match(_COMMENTS[file.suffix], text.lstrip(), re.DOTALL)
    return re.sub(r"^[ \t]*[*#]+[ \t]?", "", found[1], flags=re.MULTILINE).strip() if found else ""


def first_sentence(comment: str) -> str:
    """Return the first sentence of a comment, in one line, without its full stop.

    >>> first_sentence("Tasks, e.g. threads: one\\nfor each. They end.")
    'Tasks, e.g. threads: one for each'
    """
    paragraph = " ".join(comment.partition("\n\n")[0].split())
    return re.split(r"[.:]?$|(?<!e\.g)(?<!i\.e)\.(?=\s)", paragraph, maxsplit=1)[0]


def _files() -> list[Path]:
    """Return all files of the tree but hidden ones and caches."""
    found = [file for top in _TOPS for file in (ROOT / top).rglob("*") if file.is_file()]
    hidden = ("__pycache__", ".")
    return sorted(
        file for file in found if not any(part.startswith(hidden) for part in file.relative_to(ROOT).parts)
    )


def is_source(file: Path) -> bool:
    """Return whether a file has a subject. An empty `__init__.py` has none."""
    return any(file.suffix in pair for pair in _PAIRS) and file.stat().st_size > 0


def _units(files: Iterable[Path]) -> Iterator[list[Path]]:
    """Yield the files of each subject, the one that says it first: a header, then its .c file."""
    units: dict[tuple[str, tuple[str, ...]], list[Path]] = defaultdict(list)
    for file in files:
        pair = next(pair for pair in _PAIRS if file.suffix in pair)
        units[file.stem, pair].append(file)
    for (_, pair), unit in units.items():
        yield sorted(unit, key=lambda file: pair.index(file.suffix))


def _subject(file: Path) -> str:
    """Return what a file's first comment says that it is about.

    Raises:
        MissingError: there is no such comment, or it only leads to another file.
    """
    subject = first_sentence(first_comment(file))
    if not subject or subject.startswith("See "):
        raise MissingError(f"{file.relative_to(ROOT)}: no first comment that says its subject")
    return subject


def _row(unit: list[Path]) -> str:
    name = f"{unit[0].stem}.[ch]" if [file.suffix for file in unit] == [".h", ".c"] else unit[0].name
    subject = _subject(unit[0]).replace("|", "\\|")
    return f"| `{name}` | {subject} |"


def _folder_subject(folder: str, files: Iterable[Path]) -> str:
    own = next((file for file in files if file.name == "__init__.py"), None)
    if own:
        return _subject(own)
    if folder not in FOLDERS:
        raise MissingError(f"{folder}/: no subject in FOLDERS of tools/file_table.py")
    return FOLDERS[folder]


def _section(folder: str, files: list[Path]) -> str:
    title = _folder_subject(folder, files)
    rows = [_row(unit) for unit in _units(files) if unit[0].stem != "__init__"]
    table = ["| file | subject |", "|---|---|", *rows, ""] if rows else []
    return "\n".join([f"## `{folder}/`", "", f"{title[:1].upper()}{title[1:]}.", "", *table])


def page() -> str:
    """Return the text that docs/internals/files.md has to have.

    Raises:
        MissingError: a file has no first comment, or a folder no subject.
    """
    folders: dict[str, list[Path]] = defaultdict(list)
    for file in _files():
        sources = folders[str(file.parent.relative_to(ROOT))]
        if is_source(file):
            if not first_comment(file):
                raise MissingError(f"{file.relative_to(ROOT)}: no first comment")
            sources.append(file)
    gone = FOLDERS.keys() - folders
    if gone:
        raise MissingError(f"{min(gone)}/: in FOLDERS of tools/file_table.py, but not in the tree")
    order = sorted(folders, key=lambda folder: (_TOPS.index(folder.partition("/")[0]), folder))
    return "\n".join([_INTRODUCTION, *(_section(folder, folders[folder]) for folder in order)])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.file_table", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if the page would change")
    options = parser.parse_args(argv)
    try:
        text = page()
    except MissingError as error:
        print_message(f"file_table: {error}")
        return 1
    status = update({PAGE: text}, check=options.check, tool="file_table", command="make files")
    if not options.check:
        print_message(f"file_table: {PAGE.relative_to(ROOT)} is written")
    return status


if __name__ == "__main__":
    sys.exit(main())
