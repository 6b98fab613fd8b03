"""ftrace_dump(): the program asks its recorder to write what `record --ring` keeps.

Every traced process may import this module, so it imports little.
"""

from __future__ import annotations

import os
import time

from funcgraph.session import config, options, tracing

__all__ = ["ftrace_dump"]


def ftrace_dump(reason: str = "") -> int:
    """Ask for a trace of the latest events, as the kernel's ftrace_dump() prints its ring buffer.

    It is for recordings of this process that keep events in memory: `funcgraph record --ring`,
    `funcgraph.record(ring=...)`. Each writes what it keeps to its file and goes on recording. This call does
    not wait for that. Without such a recording it does nothing.

    Args:
        reason: a text for a person, which the recorder prints and the trace keeps.

    Returns:
        How many recordings were asked.

    Raises:
        TypeError: `reason` is no str.

    Example:
        if seconds > 1.0:
            funcgraph.ftrace_dump(f"request {path} took {seconds:.1f} s")
    """
    if not isinstance(reason, str):
        raise TypeError(f"reason must be a str, not {type(reason).__name__}")
    return sum(_request(directory, reason) for directory in tracing.directories())


def _request(directory: str, reason: str) -> bool:
    path = f"{directory}/{os.getpid()}.{time.monotonic_ns()}.dump"  # files.py has the suffix too
    try:
        with open(f"{directory}/config", encoding="utf-8", errors="surrogateescape") as file:
            if not options.from_config(config.parse(file.read()))["ring"]:
                return False
        with open(f"{path}.new", "x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(reason)
        os.rename(f"{path}.new", path)
    except (OSError, ValueError):
        return False  # the recording has ended, or there is no room: the program must not be harmed
    return True
