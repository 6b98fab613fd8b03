"""The Firefox Profiler: its processed profile format, version 48, compressed with gzip.

A thread has tables of functions, frames and stacks, and samples that refer to them. As the profiler's types
describe for traces (`tracing-ms`), each change of the stack is a sample. Its weight is the time until the
next change: the self time of the innermost call.
"""

from __future__ import annotations

import gzip
from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import IO, BinaryIO, cast

from funcgraph.export.format import Format
from funcgraph.export.json_text import json_text
from funcgraph.export.marks import Mark, marks_of
from funcgraph.export.nesting import Nesting, Step
from funcgraph.export.slices import slices_of
from funcgraph.export.source import Source
from funcgraph.export.spools import Spools
from funcgraph.export.values import escaped
from funcgraph.tracedata.description import NATIVE, Function, Task

PROCESSED_VERSION = 48
_GECKO_VERSION = 29
_PYTHON, _NATIVE, _OTHER = range(3)  # places in _CATEGORIES
_CATEGORIES = [
    {"name": name, "color": color, "subcategories": ["Other"]}
    for name, color in (("Python", "blue"), ("Native", "orange"), ("Other", "grey"))
]
_NO_STACK = -1
_LEVEL = 1  # of gzip: the others take most of the time, for a tenth of the size
_SAMPLES = ("stack", "time", "weight")
_MARKERS = ("name", "startTime", "endTime", "phase", "category", "data")
_INSTANT, _INTERVAL = 0, 1
_SCHEMA = {
    "name": "funcgraph",
    "tooltipLabel": "{marker.name}",
    "tableLabel": "{marker.data.values}",
    "display": ["marker-chart", "marker-table", "timeline-overview"],
    "data": [{"key": "values", "label": "Values", "format": "string", "searchable": True}],
}


def write(source: Source, out: BinaryIO) -> None:
    """Write a source as a compressed profile."""
    with Spools() as spools, gzip.GzipFile("", "wb", _LEVEL, out, mtime=0) as packed:
        _Writer(source, spools).write(cast(IO[bytes], packed))


class _Thread:
    """The stacks of a thread: each is the stack of the caller and a function."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[int, int], int] = {}  # caller's stack, function -> stack
        self.prefixes, self.functions = array("q"), array("I")
        self.stack = _NO_STACK
        self.since_ns = 0
        self.nr_samples = 0
        self.strings: dict[str, int] = {}
        self.nr_markers = 0

    def follow(self, steps: list[Step]) -> list[int]:
        """Return the stack after each step."""
        numbers, prefixes, functions, stack = self.numbers, self.prefixes, self.functions, self.stack
        stacks = []
        for _, is_begin, function in steps:
            if is_begin:
                key = stack, function
                found = numbers.get(key)
                if found is None:
                    found = numbers[key] = len(prefixes)
                    prefixes.append(stack)
                    functions.append(function)
                stack = found
            else:
                stack = prefixes[stack]
            stacks.append(stack)
        self.stack = stack
        return stacks

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))


class _Writer:
    def __init__(self, source: Source, spools: Spools) -> None:
        self._source = source
        self._spools = spools
        self._numbers = source.threads()
        self._threads: dict[int, _Thread] = {}
        self._start_ns: int | None = None

    def write(self, out: IO[bytes]) -> None:
        nesting = Nesting()
        for batch, slices in slices_of(self._source, self._numbers):
            if self._start_ns is None:
                self._start_ns = min([batch.time_ns[0], *slices.begin_ns[:1]]) if batch is not None else 0
            self._add_steps(nesting.steps(slices))
            if batch is not None:
                threads, _ = self._numbers.of(batch.tasks)
                for mark in marks_of(self._source, batch):
                    self._add_marker(threads[mark.task], mark)
        self._add_steps(nesting.finish())
        self._source.remarks += nesting.remarks()
        self._write_profile(out)

    def _thread(self, number: int) -> _Thread:
        thread = self._threads.get(number)
        if thread is None:
            thread = self._threads[number] = _Thread()
        return thread

    def _put(self, table: str, number: int, columns: dict[str, str], is_first: bool) -> None:
        for column, text in columns.items():
            self._spools.add((number, table, column), text if is_first else "," + text)

    # ---- samples

    def _add_steps(self, made: Iterator[tuple[int, list[Step]]]) -> None:
        """Add a sample for each stretch of time between two steps of a thread."""
        for number, steps in made:
            thread = self._thread(number)
            times = [step[0] for step in steps]
            if thread.since_ns:
                stacks = [thread.stack, *thread.follow(steps)]
                times.insert(0, thread.since_ns)
            else:
                stacks = thread.follow(steps)
            thread.since_ns = times[-1]
            stacks.pop()
            if stacks:
                self._put("samples", number, self._samples(stacks, times), thread.nr_samples == 0)
                thread.nr_samples += len(stacks)

    def _samples(self, stacks: list[int], times: list[int]) -> dict[str, str]:
        """Return the columns of samples. Without a stack, time has no weight."""
        start = self._start_ns or 0
        weights = [
            after - time if stack != _NO_STACK else 0
            for stack, (time, after) in zip(stacks, pairwise(times), strict=True)
        ]
        return {
            "stack": str(stacks)[1:-1].replace("-1", "null"),
            "time": _ms([time - start for time in times[:-1]]),
            "weight": _ms(weights),
        }

    def _add_marker(self, number: int, mark: Mark) -> None:
        thread = self._thread(number)
        is_interval = mark.kind == "wait"
        values = ", ".join(f"{name}={value}" for name, value in mark.values.items())
        start = self._start_ns or 0
        columns = {
            "name": str(thread.string(escaped(mark.name))),
            "startTime": str((mark.begin_ns - start) / 1e6),
            "endTime": str((mark.time_ns - start) / 1e6) if is_interval else "null",
            "phase": str(_INTERVAL if is_interval else _INSTANT),
            "category": str(_OTHER),
            "data": json_text({"type": "funcgraph", "values": escaped(values)}),
        }
        self._put("markers", number, columns, thread.nr_markers == 0)
        thread.nr_markers += 1

    # ---- the profile

    def _write_profile(self, out: IO[bytes]) -> None:
        meta = {
            "interval": 0.000001,
            "startTime": 0,
            "processType": 0,
            "product": "funcgraph",
            "importedFrom": "funcgraph",
            "stackwalk": 0,
            "version": _GECKO_VERSION,
            "preprocessedProfileVersion": PROCESSED_VERSION,
            "symbolicated": True,
            "usesOnlyOneStackType": True,
            "doesNotUseFrameImplementation": True,
            "sourceCodeIsNotOnSearchfox": True,
            "categories": _CATEGORIES,
            "markerSchema": [_SCHEMA],
        }
        out.write(f'{{"meta":{json_text(meta)},"libs":[],"threads":['.encode())
        for place, number in enumerate(sorted(self._threads)):
            out.write(b",\n" if place else b"\n")
            self._write_thread(number, out)
        out.write(b"]}\n")

    def _write_thread(self, number: int, out: IO[bytes]) -> None:
        thread, task = self._threads[number], self._numbers.tasks[number]
        out.write(f"{{{self._head(task)}".encode())
        for table, length, columns in (
            ("samples", thread.nr_samples, _SAMPLES),
            ("markers", thread.nr_markers, _MARKERS),
        ):
            weights = '"weightType":"tracing-ms",' if table == "samples" else ""
            out.write(f',\n"{table}":{{{weights}"length":{length}'.encode())
            for column in columns:
                out.write(f',"{column}":['.encode())
                for piece in self._spools.pieces((number, table, column)):
                    out.write(piece)
                out.write(b"]")
            out.write(b"}")
        for name, filled in self._tables(thread):
            out.write(f',\n"{name}":{json_text(filled)}'.encode())
        out.write(f',"stringArray":{json_text(list(thread.strings))}}}'.encode())

    def _head(self, task: Task) -> str:
        instance = self._source.trace.buffers[task.buffer].name
        members = {
            "name": task.name + (f" [{instance}]" if instance else ""),
            "processName": task.process or task.name,
            "processType": "default",
            "isMainThread": task.pid == task.tid,
            "pid": str(task.pid),
            "tid": task.tid,
            "processStartupTime": 0,
            "processShutdownTime": None,
            "registerTime": 0,
            "unregisterTime": None,
            "pausedRanges": [],
        }
        return json_text(members)[1:-1]

    def _tables(self, thread: _Thread) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the tables that are the smaller, the fewer different stacks there are."""
        used = sorted(set(thread.functions))
        frames = {function: frame for frame, function in enumerate(used)}
        functions = [self._function(function) for function in used]
        categories = [_NATIVE if function and function.flags & NATIVE else _PYTHON for function in functions]
        n, blank = len(used), [None] * len(used)
        yield (
            "stackTable",
            {
                "length": len(thread.prefixes),
                "prefix": [None if prefix == _NO_STACK else prefix for prefix in thread.prefixes],
                "frame": [frames[function] for function in thread.functions],
                "category": [categories[frames[function]] for function in thread.functions],
                "subcategory": [0] * len(thread.prefixes),
            },
        )
        yield "frameTable", {
            "length": n, "address": [-1] * n, "inlineDepth": [0] * n, "category": categories,
            "subcategory": [0] * n, "func": list(range(n)), "nativeSymbol": blank, "innerWindowID": [0] * n,
            "implementation": blank, "line": blank, "column": blank,
        }  # fmt: skip
        yield (
            "funcTable",
            {
                "length": n,
                "name": [
                    thread.string(escaped(function.name) if function else "<unknown>")
                    for function in functions
                ],
                "isJS": [False] * n,
                "relevantForJS": [False] * n,
                "resource": [-1] * n,
                "fileName": [thread.string(escaped(f.file)) if f and f.file else None for f in functions],
                "lineNumber": [f.line if f and f.line and not f.flags & NATIVE else None for f in functions],
                "columnNumber": blank,
            },
        )
        yield "resourceTable", {"length": 0, "lib": [], "name": [], "host": [], "type": []}
        yield "nativeSymbols", {"length": 0, "libIndex": [], "address": [], "name": [], "functionSize": []}

    def _function(self, index: int) -> Function | None:
        return self._source.functions[index] if index < len(self._source.functions) else None


def _ms(times_ns: list[int]) -> str:
    """Return times in ms as JSON: 1500e-6. The text of an int is made in a fifth of the time of a float's."""
    return str(times_ns)[1:-1].replace(",", "e-6,") + "e-6"


FORMATS = (
    Format(
        "firefox",
        (".firefox.json.gz", ".json.gz"),
        "for profiler.firefox.com: call tree, flame graph, stack chart",
        "it has no arguments, results or exceptions, and each stretch of a call alone",
        write,
    ),
)
