"""Perfetto: its own protobuf format, for ui.perfetto.dev and trace_processor.

The numbers of fields are those of Perfetto's trace_packet.proto and of what it includes. Packets of calls
are made in C (perfetto.h); here are the others: clocks, names, tracks, and events that are no calls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import BinaryIO

from funcgraph import _tracedata
from funcgraph.export.format import Format
from funcgraph.export.marks import Mark, marks_of
from funcgraph.export.protobuf import double, message, string, uint
from funcgraph.export.slices import slices_of
from funcgraph.export.source import Source
from funcgraph.export.values import Plain
from funcgraph.tracedata.description import Function, Task
from funcgraph.tracedata.threads import arrays_of

_PACKET = 1  # of the message Trace
# Perfetto's numbers of clocks, by the kernel's names. Others are counters: what they count is shown as ns.
_CLOCKS = {"mono_raw": 5, "boot": 6}
_MONOTONIC = 3
_CLEARED, _SEQUENCE = 1, _tracedata.PERFETTO_SEQUENCE
_DELTA_CLOCK = _tracedata.PERFETTO_DELTA_CLOCK
_NAMES_IN_A_PACKET = 1000
# uuids of tracks; threads have their number plus PERFETTO_FIRST_TRACK.
_PROCESSES = 1 << 40
# enum TrackEvent.Type
_BEGIN, _END, _INSTANT = 1, 2, 3


def write(source: Source, out: BinaryIO) -> None:
    """Write a source as a Perfetto trace."""
    _Writer(source, out).write()


class _Writer:
    def __init__(self, source: Source, out: BinaryIO) -> None:
        self._source = source
        self._out = out
        self._clock = _CLOCKS.get(source.trace.clock, _MONOTONIC)
        self._threads = source.threads()
        self._tracks: dict[tuple[int, int], int] = {}  # pid, tid -> the thread's own track
        self._processes: set[int] = set()
        self._nr_described = 0

    def write(self) -> None:
        encoder = None
        for batch, slices in slices_of(self._source, self._threads):
            if encoder is None:
                encoder = self._begin(batch.time_ns[0] if batch is not None else 0)
            self._describe_threads()
            if batch is None:
                self._out.write(encoder.write(None, array("I"), slices.arrays))
                self._describe_tasks(encoder)
                break
            threads, _ = self._threads.of(batch.tasks)
            self._out.write(encoder.write(arrays_of(batch), threads, slices.arrays))
            self._describe_tasks(encoder)
            for mark in marks_of(self._source, batch):
                self._out.write(self._mark(mark, threads[mark.task] + _tracedata.PERFETTO_FIRST_TRACK))

    def _begin(self, start_ns: int) -> _tracedata.PerfettoEncoder:
        """Write what comes first. Times of packets count from the packet before, the first from the start."""
        functions = self._source.functions
        clocks = [
            message(1, uint(1, self._clock), uint(2, start_ns)),
            message(1, uint(1, _DELTA_CLOCK), uint(2, start_ns), uint(3, True)),
        ]
        defaults = message(59, uint(58, _DELTA_CLOCK))
        self._packet(message(6, *clocks, uint(2, self._clock)), uint(13, _CLEARED), defaults)
        arguments = _ArgumentNames(functions)
        names = [function.name for function in functions] + ["<unknown>"]
        self._intern(2, enumerate(names, 1))
        self._intern(3, arguments.numbers())
        self._intern(29, enumerate(names, 1))
        return _tracedata.PerfettoEncoder(
            self._clock,
            start_ns,
            bytes(function.flags & 0xFF for function in functions),
            arguments.first,
            arguments.all,
        )

    def _packet(self, *parts: bytes) -> None:
        self._out.write(message(_PACKET, *parts, uint(10, _SEQUENCE)))

    def _intern(self, field: int, names: Iterator[tuple[int, str]]) -> None:
        entries: list[bytes] = []
        for number, name in names:
            entries.append(message(field, uint(1, number), string(2, name)))
            if len(entries) == _NAMES_IN_A_PACKET:
                self._packet(message(12, *entries))
                entries.clear()
        self._packet(message(12, *entries))

    # ---- tracks

    def _describe_threads(self) -> None:
        for number, task in enumerate(self._threads.tasks[self._nr_described :], self._nr_described):
            self._describe_thread(number + _tracedata.PERFETTO_FIRST_TRACK, task)
        self._nr_described = len(self._threads.tasks)

    def _describe_thread(self, uuid: int, task: Task) -> None:
        """Describe a track: a thread's own, or below that, what another instance recorded of the thread."""
        buffer = self._source.trace.buffers[task.buffer].name
        if task.pid not in self._processes and task.tid:
            self._processes.add(task.pid)
            process = message(3, uint(1, task.pid), string(6, task.process or task.name))
            self._packet(message(60, uint(1, _PROCESSES + task.pid), process))
        own = self._tracks.setdefault((task.pid, task.tid), uuid)
        if not task.tid:  # a kernel's idle task: one for each CPU
            self._packet(message(60, uint(1, uuid), string(2, f"{task.name} CPU {task.lane}")))
        elif own == uuid:
            thread = message(4, uint(1, task.pid), uint(2, task.tid), string(5, task.name))
            self._packet(message(60, uint(1, uuid), uint(5, _PROCESSES + task.pid), thread))
        else:
            name = f"instance {buffer}" if buffer else task.name
            self._packet(message(60, uint(1, uuid), uint(5, own), string(2, name)))

    def _describe_tasks(self, encoder: _tracedata.PerfettoEncoder) -> None:
        """Describe tracks of event loops' tasks, each below its process."""
        functions = self._source.functions
        for uuid, thread, function in encoder.new_tracks():
            name = functions[function].name if function < len(functions) else "<unknown>"
            parent = uint(5, _PROCESSES + self._threads.tasks[thread].pid)
            self._packet(message(60, uint(1, uuid), parent, string(2, f"task {name}")))

    # ---- events that are no calls

    def _mark(self, mark: Mark, track: int) -> bytes:
        event = (
            uint(11, track),
            message(22, mark.kind.encode()),
            string(23, mark.name),
            *_notes(mark.values),
        )
        if mark.kind != "wait":
            return self._event(mark.time_ns, uint(9, _INSTANT), *event)
        return self._event(mark.begin_ns, uint(9, _BEGIN), *event) + self._event(
            mark.time_ns, uint(9, _END), uint(11, track)
        )

    def _event(self, time_ns: int, *parts: bytes) -> bytes:
        head = uint(8, time_ns) + uint(58, self._clock) + uint(10, _SEQUENCE)
        return message(_PACKET, head, message(11, *parts))


def _notes(values: Mapping[str, Plain]) -> Iterator[bytes]:
    for name, value in values.items():
        yield message(4, string(10, name), _note(value))


def _note(value: Plain) -> bytes:
    if isinstance(value, bool):
        return uint(2, value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return uint(4, value)
    if isinstance(value, float):
        return double(5, value)
    return string(6, str(value))


class _ArgumentNames:
    """The names of annotations: fixed ones, and those of all arguments, each once.

    Attributes:
        first: of each function: where its arguments begin in `all`; and the end.
        all: numbers of names.
    """

    def __init__(self, functions: Sequence[Function]) -> None:
        self._numbers: dict[str, int] = {}
        numbers = [
            self._numbers.setdefault(name, _tracedata.PERFETTO_FIRST_NAME + len(self._numbers))
            for function in functions
            for name in function.arguments
        ]
        self.all = array("I", numbers)
        self.first = array("I", accumulate((len(f.arguments) for f in functions), initial=0))

    def numbers(self) -> Iterator[tuple[int, str]]:
        """Yield each name with its number."""
        for number, name in enumerate(_tracedata.PERFETTO_NOTES):
            if name:
                yield number, name.replace("_", " ")
        for place in range(_tracedata.PERFETTO_FIRST_NAME - _tracedata.PERFETTO_ARG0):
            yield _tracedata.PERFETTO_ARG0 + place, f"arg{place}"
        yield from ((number, name) for name, number in self._numbers.items())


FORMATS = (
    Format(
        "perfetto",
        (".pftrace", ".perfetto-trace"),
        "for ui.perfetto.dev and trace_processor",
        "it has no source files and lines of functions",
        write,
    ),
)
