"""Makes a trace of an instance's buffer: copies its ring to a file, and drains that as the recorder does.

All of this runs untraced (_engine.untraced): no trace has the calls that reading makes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from funcgraph import _engine, _tracedata
from funcgraph.output_file import resolve
from funcgraph.session.memory_file import contents, memory_file
from funcgraph.session.output import is_trace_dat
from funcgraph.tracedata import TraceFile

if TYPE_CHECKING:
    from funcgraph.tracedata.description import Task


class Copied(Protocol):
    """An object that writes its ring buffer to a file: an engine's Instance."""

    def copy(self, path: int, *, consume: bool = False) -> int: ...


def write_trace(
    engine: Copied, output: str | int, meta: Mapping[str, object], *, consume: bool, clock: str
) -> None:
    """Write a trace of an instance's buffer.

    Args:
        engine: the instance.
        output: path of the trace (NAME.dat: as a trace.dat), or the descriptor of an empty file.
        meta: entries of the trace's JSON, in addition to those from the buffer.
        consume: leave the records of this trace out of later ones.
        clock: the clock of its times.

    Raises:
        OSError: the trace cannot be written.
    """
    if isinstance(output, int):
        _drain(engine, output, meta, consume=consume, clock=clock)
        return
    with memory_file() as spool:
        _drain(engine, spool, meta, consume=consume, clock=clock)
        _save(spool, output)


def _drain(engine: Copied, spool: int, meta: Mapping[str, object], *, consume: bool, clock: str) -> None:
    """Make a .fg of an instance's buffer. The program that is traced loads no library for it."""
    with memory_file() as ring:
        engine.copy(ring, consume=consume)
        recorder = _tracedata.Recorder(spool, clock=clock, compress=False)
        try:
            recorder.finish(recorder.add_ring(ring, private=True))
            recorder.complete(json.dumps(meta))
        finally:
            recorder.close()


def _save(spool: int, output: str) -> None:
    output = resolve(output)
    if is_trace_dat(output):
        _tracedata.convert(spool, output, version=6)  # version 7 would load a library into the program
    else:
        _tracedata.replace_file(output, contents(spool))


def describe(tracer: str, name: str) -> dict[str, object]:
    """Return the entries of a trace's JSON for an instance."""
    command = [str(word) for word in getattr(sys, "argv", [])]
    return {"tracer": tracer, "instance": name, "command": command}


def report_of(
    trace: int, tracer: str, options: Mapping[str, bool], shows: Callable[[Task], bool] | None = None
) -> bytes:
    """Return the text of a trace that `write_trace` wrote to a descriptor, with its header, in UTF-8.

    Args:
        shows: whether a task's records are shown; None: all are.
    """
    if tracer == "function":  # the report has one option for the arguments of both tracers
        options = {**options, "funcgraph-args": options["func-args"]}
    file = TraceFile(trace)
    tasks = None if shows is None else [task for task in file.tasks if shows(_in_buffer(file, task))]
    return b"".join(file.report(options, tasks=tasks))


def _in_buffer(file: TraceFile, task: Task) -> Task:
    """Return a task with its lane as the text has it: within its buffer."""
    return task._replace(lane=task.lane % (file.meta.get("cpus") or 1))


def text_of(
    trace: int, tracer: str, options: Mapping[str, bool], shows: Callable[[Task], bool] | None = None
) -> str:
    """Return what report_of() does, as a str."""
    return report_of(trace, tracer, options, shows).decode("utf-8", "replace")


def _in_lanes(lanes: Container[int] | None) -> Callable[[Task], bool] | None:
    """Return whether a task's records are shown if only these lanes are; None: all are."""
    return None if lanes is None else lambda task: task.lane in lanes


def read_text(
    engine: _engine.Instance,
    name: str,
    options: Mapping[str, bool],
    *,
    clock: str,
    lanes: Container[int] | None = None,
) -> str:
    """Return the text of an instance's buffer, with its header.

    Args:
        lanes: only what these have; None: all.
    """
    return _text(engine, engine, name, options, clock, _in_lanes(lanes))


def _text(
    source: Copied,
    engine: _engine.Instance,
    name: str,
    options: Mapping[str, bool],
    clock: str,
    shows: Callable[[Task], bool] | None,
) -> str:
    """Return the text of what `source` copies, with its header: the buffer or the snapshot of `engine`."""
    tracer = engine.tracer
    with memory_file() as trace:
        write_trace(source, trace, describe(tracer, name), consume=False, clock=clock)
        return text_of(trace, tracer, options, shows)


def take_lines(
    engine: _engine.Instance,
    name: str,
    options: Mapping[str, bool],
    *,
    clock: str,
    lanes: Container[int] | None = None,
) -> tuple[bytes, list[Task]]:
    """Return the lines of an instance's buffer without a header, and its threads; no later text has them.

    Args:
        lanes: only the lines of these; None: of all.
    """
    tracer = engine.tracer
    with memory_file() as trace:
        write_trace(engine, trace, describe(tracer, name), consume=True, clock=clock)
        return without_header(report_of(trace, tracer, options, _in_lanes(lanes))), _tasks(trace)


def tasks_of(trace: bytes) -> list[Task]:
    """Return the threads that have records in a trace, the bytes of a .fg."""
    with memory_file(trace) as fd:
        return _tasks(fd)


def _tasks(trace: int) -> list[Task]:
    file = TraceFile(trace)
    return [_in_buffer(file, task) for task in file.tasks]


def lost_of(trace: bytes) -> int:
    """Return how many records a trace lacks, the bytes of a .fg."""
    with memory_file(trace) as file:
        return TraceFile(file).lost


def records_of(tasks: Iterable[Task]) -> dict[int, int]:
    """Return how many records each lane has."""
    records: dict[int, int] = {}
    for task in tasks:
        records[task.lane] = records.get(task.lane, 0) + task.records
    return records


def dump_text(
    engine: _engine.Instance, name: str, options: Mapping[str, bool], *, clock: str, tid: int
) -> str:
    """Return the text of an instance's buffer; tid: only what this thread recorded, 0: all."""
    return _text(engine, engine, name, options, clock, (lambda task: task.tid == tid) if tid else None)


class _SnapshotOf:
    """The snapshot of an engine's instance, to be copied."""

    def __init__(self, engine: _engine.Instance) -> None:
        self._engine = engine
        self.bytes = 0

    def copy(self, path: int, *, consume: bool = False) -> int:
        """Write its records to a file."""
        self.bytes = self._engine.copy_snapshot(path)
        return self.bytes


def snapshot_text(
    engine: _engine.Instance,
    name: str,
    options: Mapping[str, bool],
    *,
    clock: str,
    lanes: Container[int] | None = None,
) -> str:
    """Return the text of an instance's snapshot, with its header; "": it has no records.

    Args:
        lanes: only what these have; None: all.
    """
    snapshot = _SnapshotOf(engine)
    text = _text(snapshot, engine, name, options, clock, _in_lanes(lanes))
    return text if snapshot.bytes else ""


def trace_bytes(engine: _engine.Instance, name: str, *, clock: str, consume: bool = False) -> bytes:
    """Return a trace of an instance's buffer: the bytes of a .fg."""
    return _bytes(engine, engine, name, clock, consume)


def snapshot_bytes(engine: _engine.Instance, name: str, *, clock: str) -> bytes:
    """Return a trace of an instance's snapshot: the bytes of a .fg."""
    return _bytes(_SnapshotOf(engine), engine, name, clock, False)


def _bytes(source: Copied, engine: _engine.Instance, name: str, clock: str, consume: bool) -> bytes:
    """Return a trace of what `source` copies: the buffer or the snapshot of `engine`."""
    with memory_file() as trace:
        write_trace(source, trace, describe(engine.tracer, name), consume=consume, clock=clock)
        return contents(trace)


def text_of_bytes(
    trace: bytes, tracer: str, options: Mapping[str, bool], lanes: Container[int] | None = None
) -> bytes:
    """Return the text of a trace that `trace_bytes` returned, with its header, in UTF-8.

    Args:
        lanes: only what these have; None: all.
    """
    with memory_file(trace) as file:
        return report_of(file, tracer, options, _in_lanes(lanes))


def save_bytes(trace: bytes, output: str) -> None:
    """Write a trace to a file (NAME.dat: as a trace.dat), which replaces one that is there.

    Raises:
        OSError: it cannot be written.
    """
    with memory_file(trace) as spool:
        _save(spool, output)


def without_header(text: bytes) -> bytes:
    """Return a text without the comments that it begins with."""
    begin = 0
    while text.startswith(b"#", begin):
        begin = text.find(b"\n", begin) + 1 or len(text)
    return text[begin:]
