"""The files that one recording was rotated into, as one trace: a call that spans two of them is one call."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from funcgraph import _tracedata
from funcgraph.tracedata.codecs import provide
from funcgraph.tracedata.description import TraceError
from funcgraph.tracedata.trace_file import TraceFile

__all__ = ["is_one_of_several", "joined"]


@contextmanager
def joined(
    traces: Sequence[TraceFile], progress: Callable[[float], object] | None = None
) -> Iterator[TraceFile]:
    """Return one trace of all files of a recording that are kept, in any order.

    It lies in a file without a name, in the folder for temporary files. `progress` is as of TraceFile.

    Raises:
        TraceError: they are not of one recording, one is given twice, or one is damaged.
        OSError: a file cannot be read or written.
    """
    _check(traces)
    provide()
    with ExitStack() as stack:
        files = [stack.enter_context(open(trace.path, "rb")) for trace in traces]
        into = stack.enter_context(tempfile.TemporaryFile(prefix="funcgraph-"))
        try:
            _tracedata.join_rotation(tuple(files), into.fileno())
        except ValueError as error:
            raise TraceError(str(error)) from None
        yield TraceFile(into.fileno(), progress=progress)


def is_one_of_several(trace: TraceFile) -> bool:
    """Return whether other files of the same recording are beside a trace."""
    path = str(trace.path)
    is_rotated = bool(trace.meta.get("options", {}).get("rotate"))
    return is_rotated and (os.path.exists(f"{path}.1") or re.search(r"\.\d+$", path) is not None)


def _check(traces: Sequence[TraceFile]) -> None:
    sessions = {trace.meta.get("session") for trace in traces}
    if len(sessions) > 1 or None in sessions:
        raise TraceError("not files of one recording (`funcgraph merge` makes one trace of several)")
    places = [os.path.realpath(str(trace.path)) for trace in traces]
    for trace, place in zip(traces, places, strict=True):
        if places.count(place) > 1:
            raise TraceError(f"{trace.path} is given twice")
