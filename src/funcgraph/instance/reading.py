"""From an instance's buffer to a trace: by way of a copy of its ring, as the recorder does it.

Everything here runs untraced (_engine.untraced): what reading a trace does is in no trace.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from funcgraph import _engine, _tracedata
from funcgraph.session.directory import folders
from funcgraph.tracedata import TraceFile

PREFIX = "funcgraph-instance-"


class Copied(Protocol):
    """What has a ring buffer, and writes a file of it: an engine's Instance."""

    def copy(self, path: str, *, consume: bool = False) -> int: ...


def make_folder() -> str:
    """Make a folder of our own, in memory if there is such a place, and return its path.

    Raises:
        OSError: none can be written.
    """
    refusal: OSError = FileNotFoundError("no folder for temporary files")
    for base in folders():
        try:
            return tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base)
        except OSError as error:
            refusal = error
    raise refusal


def remove_folder(path: str) -> None:
    """Remove such a folder, whatever is in it."""
    shutil.rmtree(path, ignore_errors=True)


def write_trace(engine: Copied, output: str, meta: Mapping[str, Any], *, consume: bool, clock: str) -> None:
    """Write a trace.dat of what the instance's buffer holds.

    Args:
        engine: the instance.
        output: path of the trace.
        meta: what goes into the trace's own JSON beside what the buffer says.
        consume: what is in it is in no later one.
        clock: what its times are on.

    Raises:
        OSError: it cannot be written.
    """
    folder = make_folder()
    try:
        ring = f"{folder}/{os.getpid()}.0.ring"
        engine.copy(ring, consume=consume)
        recorder = _tracedata.Recorder(f"{folder}/part", clock=clock)
        try:
            recorder.finish(recorder.add_ring(ring))
            recorder.assemble(output, json.dumps(meta))
        finally:
            recorder.close()
    finally:
        remove_folder(folder)


def describe(tracer: str, name: str) -> dict[str, Any]:
    """Return what the trace says of itself."""
    command = [str(word) for word in getattr(sys, "argv", [])]
    return {"tracer": tracer, "instance": name, "command": command}


def text_of(path: str, tracer: str, options: Mapping[str, bool]) -> str:
    """Return the text of a trace that `write_trace` wrote, with its header."""
    if tracer == "function":  # a report has one option for the arguments of both tracers
        options = {**options, "funcgraph-args": options["func-args"]}
    text = b"".join(TraceFile(path).report(options)).decode("utf-8", "replace")
    return text.replace("# tracer: function\n", f"# tracer: {tracer}\n", 1)


def read_text(
    engine: _engine.Instance, name: str, options: Mapping[str, bool], *, consume: bool, clock: str
) -> str:
    """Return what the instance's buffer holds as text, with its header."""
    folder = make_folder()
    tracer = engine.tracer
    try:
        path = f"{folder}/trace.dat"
        write_trace(engine, path, describe(tracer, name), consume=consume, clock=clock)
        return text_of(path, tracer, options)
    finally:
        remove_folder(folder)


def copy_file(path: str, output: str) -> None:
    """Copy a trace; one that is there is replaced when the copy is whole.

    Raises:
        OSError: it cannot be written.
    """
    temporary = f"{output}.{os.getpid()}.tmp"
    try:
        shutil.copyfile(path, temporary)
        os.replace(temporary, output)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def without_header(text: str) -> list[str]:
    """Return the lines of a text but for the header's, each with its end."""
    lines = text.splitlines(keepends=True)
    first = 0
    while first < len(lines) and lines[first].startswith("#"):
        first += 1
    return lines[first:]
