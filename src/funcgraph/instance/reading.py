"""Makes a trace of an instance's buffer: copies its ring to a file, and assembles that as the recorder
does.

All of this runs untraced (_engine.untraced): no trace has the calls that reading makes.
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
    """An object that writes its ring buffer to a file: an engine's Instance."""

    def copy(self, path: str, *, consume: bool = False) -> int: ...


def make_folder() -> str:
    """Make a temporary folder, in memory if possible, and return its path.

    Raises:
        OSError: none of the places for it can be written.
    """
    refusal: OSError = FileNotFoundError("no folder for temporary files can be written")
    for base in folders():
        try:
            return tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base)
        except OSError as error:
            refusal = error
    raise refusal


def remove_folder(path: str) -> None:
    """Remove a folder with its contents."""
    shutil.rmtree(path, ignore_errors=True)


def write_trace(engine: Copied, output: str, meta: Mapping[str, Any], *, consume: bool, clock: str) -> None:
    """Write a trace.dat of an instance's buffer.

    Args:
        engine: the instance.
        output: path of the trace.
        meta: entries of the trace's JSON, in addition to those from the buffer.
        consume: leave the records of this trace out of later ones.
        clock: the clock of its times.

    Raises:
        OSError: the trace cannot be written.
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
    """Return the entries of a trace's JSON for an instance."""
    command = [str(word) for word in getattr(sys, "argv", [])]
    return {"tracer": tracer, "instance": name, "command": command}


def text_of(path: str, tracer: str, options: Mapping[str, bool]) -> str:
    """Return the text of a trace that `write_trace` wrote, with its header."""
    if tracer == "function":  # the report has one option for the arguments of both tracers
        options = {**options, "funcgraph-args": options["func-args"]}
    text = b"".join(TraceFile(path).report(options)).decode("utf-8", "replace")
    return text.replace("# tracer: function\n", f"# tracer: {tracer}\n", 1)


def read_text(
    engine: _engine.Instance, name: str, options: Mapping[str, bool], *, consume: bool, clock: str
) -> str:
    """Return the text of an instance's buffer, with its header."""
    folder = make_folder()
    tracer = engine.tracer
    try:
        path = f"{folder}/trace.dat"
        write_trace(engine, path, describe(tracer, name), consume=consume, clock=clock)
        return text_of(path, tracer, options)
    finally:
        remove_folder(folder)


def copy_file(path: str, output: str) -> None:
    """Copy a trace; an existing file is replaced when the copy is complete.

    Raises:
        OSError: the copy cannot be written.
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
    """Return the lines of a text without its header, each with its end."""
    lines = text.splitlines(keepends=True)
    first = 0
    while first < len(lines) and lines[first].startswith("#"):
        first += 1
    return lines[first:]
