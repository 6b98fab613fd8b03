"""What can be asked of a process that is no file: the table of procedures, by name.

A procedure is a function whose arguments and result are values that JSON has. It runs in the process that is
asked, in a thread that is no part of the program, with the interpreter lock: it must not wait for long.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Protocol

from funcgraph.control.wire import MAX_BODY

__all__ = ["PROCEDURES", "functions_after", "info", "procedure", "unmatched"]

#: Name -> "module:function", imported at its first call.
PROCEDURES = {
    "borrow": "funcgraph.control.detach:borrow",
    "detach": "funcgraph.control.detach:detach",
    "functions_after": "funcgraph.control.procedures:functions_after",
    "give_back": "funcgraph.control.detach:give_back",
    "info": "funcgraph.control.procedures:info",
    "record_start": "funcgraph.control.recordings:record_start",
    "record_stop": "funcgraph.control.recordings:record_stop",
    "save": "funcgraph.control.saved:save",
    "saved_end": "funcgraph.control.saved:saved_end",
    "saved_part": "funcgraph.control.saved:saved_part",
    "stop_serving": "funcgraph.control.serving:stop_serving",
    "unmatched": "funcgraph.control.procedures:unmatched",
}


class Procedure(Protocol):
    """A procedure. Which arguments it takes is checked when it is called: TypeError."""

    def __call__(self, **arguments: object) -> object: ...


def procedure(name: str) -> Procedure:
    """Return the procedure of that name.

    Raises:
        KeyError: there is none.
    """
    module, _, function = PROCEDURES[name].partition(":")
    found: Procedure = getattr(import_module(module), function)
    return found


def info() -> dict[str, object]:
    """Return what this process is.

    Returns:
        pid (as the process sees it), python and funcgraph (versions), executable, argv, instances (names) and
        functions (how many the engine knows).
    """
    from funcgraph import _engine
    from funcgraph.instance.instance import instances
    from funcgraph.version import installed_version

    return {
        "pid": os.getpid(),
        "python": sys.version.split()[0],
        "funcgraph": installed_version(),
        "executable": sys.executable,
        "argv": [str(word) for word in getattr(sys, "argv", [])],
        "instances": list(instances()),
        "functions": _engine.status()["functions"],
    }


def unmatched(patterns: list[str]) -> list[str]:
    """Return which patterns match no function that is there now."""
    from funcgraph.fgraph import available_filter_functions

    unmatched = [pattern for pattern in patterns if not available_filter_functions(pattern)]
    if hooking := sys.modules.get("funcgraph.native.hooking"):
        unmatched = [pattern for pattern in unmatched if not hooking.selects(pattern)]
    return unmatched


def functions_after(name: str) -> list[str]:
    """Return names of the functions that are there now, in order, as many as fit into an answer.

    Args:
        name: those after this one; "": from the first.
    """
    from funcgraph.fgraph import available_filter_functions

    names: list[str] = []
    room = MAX_BODY
    for one in available_filter_functions():
        if one > name:
            room -= 6 * len(one) + 4  # as JSON may escape it
            if room < 0:
                break
            names.append(one)
    return names
