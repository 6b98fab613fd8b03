"""What a trace's recording recorded of its calls, and the command that would record more."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from funcgraph.names import printable

__all__ = ["missing", "recorded"]

_WHAT = {"args": "arguments", "retval": "results", "values": "attributes"}
_FLAGS = {"args": "--args", "retval": "--retval", "values": "--values 1"}


def recorded(meta: Mapping[str, Any], option: str) -> bool:
    """Return whether an instance of a trace recorded something: `args`, `retval`, `values`.

    A trace that has no such option in its description, as one of a kernel, recorded what its events have.

    Args:
        meta: the trace's description.
        option: the recording's option.
    """
    instances = meta.get("instances")
    chosen = instances.values() if isinstance(instances, dict) else [meta.get("options")]
    known = [options[option] for options in chosen if isinstance(options, dict) and option in options]
    return any(known) or not known


def missing(meta: Mapping[str, Any], options: Sequence[str]) -> str | None:
    """Return what was not recorded, and the command that records it; None: all of it was.

    Args:
        meta: the trace's description.
        options: what is needed.
    """
    absent = [option for option in options if not recorded(meta, option)]
    if not absent:
        return None
    flags = " ".join(_FLAGS[option] for option in options)
    words = meta.get("command")
    command = shlex.join(map(str, words)) if isinstance(words, list) and words else "COMMAND"
    *others, last = (_WHAT[option] for option in absent)
    what = f"{', '.join(others)} and {last}" if others else last
    return f"{what} are not recorded: funcgraph record {flags} {printable(command)}"
