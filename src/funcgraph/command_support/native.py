"""What commands show of native functions: the plans of a process's objects, and their functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from funcgraph import _engine
from funcgraph.command_support.messages import os_error_text, print_message
from funcgraph.native.errors import PlanError
from funcgraph.native.objects import ObjectPlan, Planner
from funcgraph.native.plan_file import PlanEntry
from funcgraph.steering.listing import glob_of

__all__ = ["native_functions", "plans_of_process", "print_plan_error"]

_OF_OBJECT = ":mod:"


def print_plan_error(path: str, error: OSError | PlanError) -> None:
    """Say why an object cannot be planned."""
    print_message(f"{path}: {error}" if isinstance(error, PlanError) else os_error_text(error))


def plans_of_process(
    planner: Planner, pid: int, objects: str = "*", before_message: Callable[[], object] = lambda: None
) -> Iterator[ObjectPlan]:
    """Yield the plans of what a process has loaded; say of the other objects why they have none.

    Args:
        objects: a glob for the names of the objects.
        before_message: called before a message is printed.

    Raises:
        OSError: we may not look into the process.
    """
    for found in planner.of_process(pid, lambda name: ("",) if _engine.glob_match(objects, name) else ()):
        if isinstance(found, ObjectPlan):
            yield found
        else:
            before_message()
            print_plan_error(*found)


def native_functions(planner: Planner, pid: int, pattern: str) -> Iterator[tuple[str, PlanEntry]]:
    """Yield the native functions of a process that match a pattern, each with its name as graphs show it.

    Args:
        pattern: a glob for names, GLOB:mod:OBJECT, or :mod:OBJECT. Without `*`, `?` and `[`, a glob stands
            for the functions that have it somewhere in their names.

    Raises:
        OSError: we may not look into the process.
    """
    names, _, objects = pattern.partition(_OF_OBJECT)
    glob = glob_of(names)
    for found in plans_of_process(planner, pid, objects or "*"):
        for entry in found.plan.entries():
            if any(_engine.glob_match(glob, name) for name in entry.names):
                yield f"{entry.names[0]} [{found.name}]", entry
