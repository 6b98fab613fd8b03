"""speedscope: its file format with evented profiles, one for each thread.

The format is speedscope's src/lib/file-format-spec.ts: opens (`O`) and closes (`C`) of frames, in order of
time, each close that of the frame which was opened last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from funcgraph.export.format import Format
from funcgraph.export.json_text import json_text
from funcgraph.export.nesting import Nesting, Step
from funcgraph.export.slices import slices_of
from funcgraph.export.source import Source
from funcgraph.export.spools import Spools
from funcgraph.export.thread_names import thread_title
from funcgraph.tracedata.description import NATIVE, Function

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write(source: Source, out: BinaryIO) -> None:
    """Write a source as a file of speedscope's."""
    with Spools() as spools:
        _Writer(source, spools).write(out)


class _Writer:
    def __init__(self, source: Source, spools: Spools) -> None:
        self._source = source
        self._spools = spools
        self._threads = source.threads()
        self._ends: dict[int, tuple[int, int]] = {}  # of each thread with calls: its first and last time
        self._unknown = len(source.functions)  # the frame of all functions that the trace does not name

    def write(self, out: BinaryIO) -> None:
        nesting = Nesting()
        for _, slices in slices_of(self._source, self._threads):
            self._add(nesting.steps(slices))
        self._add(nesting.finish())
        self._source.remarks += nesting.remarks()
        out.write(b'{"$schema":"%b","exporter":"funcgraph",' % _SCHEMA.encode())
        out.write(b'"name":%b,' % json_text(str(self._source.trace.path)).encode())
        frames = [*map(_frame, self._source.functions), '{"name":"<unknown>"}']
        out.write(b'"shared":{"frames":[%b]},\n"profiles":[' % ",\n".join(frames).encode())
        for place, thread in enumerate(sorted(self._ends)):
            out.write(b",\n" if place else b"\n")
            self._write_profile(thread, out)
        out.write(b"]}\n")

    def _add(self, steps: Iterator[tuple[int, list[Step]]]) -> None:
        """Append the steps of threads to their spools."""
        unknown = self._unknown
        for thread, made in steps:
            text = ",\n".join(
                [
                    f'{{"type":"{"O" if is_begin else "C"}","frame":{min(unknown, function)},"at":{time}}}'
                    for time, is_begin, function in made
                ]
            )
            first, _ = self._ends.get(thread, (made[0][0], 0))
            self._spools.add(thread, (",\n" if thread in self._ends else "") + text)
            self._ends[thread] = first, made[-1][0]

    def _write_profile(self, thread: int, out: BinaryIO) -> None:
        first, last = self._ends[thread]
        title = json_text(thread_title(self._source, self._threads.tasks[thread]))
        head = (
            f'{{"type":"evented","name":{title},"unit":"nanoseconds","startValue":{first},"endValue":{last},'
        )
        out.write(head.encode() + b'"events":[\n')
        out.writelines(self._spools.pieces(thread))
        out.write(b"]}")


def _frame(function: Function) -> str:
    frame: dict[str, object] = {"name": function.name}
    if function.file:
        frame["file"] = function.file
    if function.line and not function.flags & NATIVE:
        frame["line"] = function.line
    return json_text(frame)


FORMATS = (
    Format(
        "speedscope",
        (".speedscope.json",),
        "for speedscope.app: time order, left heavy, sandwich",
        "it has no arguments, results or exceptions, no events but calls, and each stretch of a call alone",
        write,
        is_text=True,
    ),
)
