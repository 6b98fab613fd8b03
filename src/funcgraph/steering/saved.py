"""What an instance of a running process holds, as a trace file that this process writes."""

from __future__ import annotations

import os
from base64 import b64decode
from errno import EPROTO

from funcgraph.buffer.reading import save_bytes
from funcgraph.control.answer_limit import MOST_BYTES
from funcgraph.steering.folder import InstanceFolder

__all__ = ["path_for", "save"]


def save(folder: InstanceFolder, path: str, *, snapshot: bool = False) -> None:
    """Write a trace of an instance; NAME.dat: as a trace.dat. What the instance holds stays.

    Raises:
        OSError: the instance has no snapshot; the file cannot be written.
    """
    process = folder.process
    call = process.tree.call
    made = call("save", instance=folder.name, snapshot=snapshot)
    assert isinstance(made, dict)  # answers.py has checked it
    limit = process.tree.answer_limit(f"the trace of process {process.pid}", min(made["bytes"], MOST_BYTES))
    trace = bytearray()
    try:
        while part := call("saved_part", number=made["number"], offset=len(trace)):
            data = _decoded(part)
            limit.take(len(data))
            trace += data
    finally:
        call("saved_end", number=made["number"])
    save_bytes(bytes(trace), path)


def _decoded(part: object) -> bytes:
    assert isinstance(part, str)
    try:
        return b64decode(part, validate=True)
    except ValueError:
        raise OSError(EPROTO, "it answered nonsense: a part of a trace that is not base64") from None


def path_for(output: str, folder: InstanceFolder, *, processes: int, instances: int) -> str:
    """Return the file for one instance of one process: with several, their names stand before the suffix.

    Args:
        output: the name as given, "trace.fg".
        processes, instances: how many there are: "trace.4711.fg", "trace.4711.orders.fg".
    """
    stem, suffix = os.path.splitext(output)
    if processes > 1:
        stem += f".{folder.process.pid}"
    if instances > 1:
        stem += f".{folder.name or 'top'}"
    return stem + suffix
