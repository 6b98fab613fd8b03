"""The rows of the files that show what an instance recorded, and add to it: buffer, snapshot, profile."""

from __future__ import annotations

from errno import EBADF, ERANGE

from funcgraph.instance import profiling
from funcgraph.instance.control_files import snapshot_file
from funcgraph.instance.control_files.access import get_thresh
from funcgraph.instance.control_files.control_file import ControlFile, NamedFiles
from funcgraph.instance.control_files.numbers import unsigned
from funcgraph.instance.control_files.texts import invalid
from funcgraph.instance.pipe import Pipe
from funcgraph.instance.state import State

__all__ = ["BUFFER_FILES"]


def _write_trace(state: State, text: str, append: bool) -> None:
    """Empty the buffer, whatever the text."""
    if not append:
        state.clear()


def _read_pipe(state: State) -> str:
    return Pipe(state).read().decode("utf-8", "replace")


def _open_pipe(state: State) -> Pipe:
    with state.lock:
        state.check_no_pipe()
        return Pipe(state)


def _write_snapshot(state: State, text: str, append: bool) -> None:
    number = unsigned("snapshot", text, "a number: 0, 1, or any other")
    with state.lock:
        snapshot_file.write(state, number)


def _write_marker(state: State, text: str, append: bool) -> None:
    _check_on(state, "trace_marker")
    state.engine.mark(text.removesuffix("\n"))


def _write_raw_marker(state: State, text: str, append: bool) -> None:
    """Write the bytes that a text stands for: a character for each."""
    _check_on(state, "trace_marker_raw")
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        reason = "must have a character up to U+00FF for each byte"
        raise invalid("trace_marker_raw", text, reason) from None
    state.engine.mark_raw(data)


def _check_on(state: State, name: str) -> None:
    if not state.engine.tracing_on:
        raise OSError(EBADF, f"invalid write to {name}: tracing_on is 0")


BUFFER_FILES = NamedFiles(
    ControlFile("trace", State.trace, _write_trace, writes="empty"),
    ControlFile("trace_pipe", _read_pipe, pipe=_open_pipe, notes="takes what no read has had before"),
    ControlFile("snapshot", snapshot_file.read, _write_snapshot, errors=(ERANGE,)),
    ControlFile(
        "trace_stat/function",
        lambda state: profiling.trace_stat(state, get_thresh(state), None),
        tree_name="trace_stat/function0",
        notes="one table for all threads",
    ),
    ControlFile("trace_marker", write=_write_marker, writes="text", errors=(EBADF,)),
    ControlFile("trace_marker_raw", write=_write_raw_marker, writes="bytes", errors=(EBADF,)),
)
