"""What commands do with plans of native functions: those of a process's objects, their functions, and plans
for a process that runs and is to be recorded or steered."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress

from funcgraph import _engine
from funcgraph.command_support.messages import os_error_text, print_message
from funcgraph.native.cache import plan_name
from funcgraph.native.errors import PlanError
from funcgraph.native.object_name import object_name
from funcgraph.native.objects import ObjectPlan, Planner
from funcgraph.native.patterns import is_of_object, may_be_native, object_glob
from funcgraph.native.plan_file import PlanEntry
from funcgraph.recorder.directory import Session
from funcgraph.steering.listing import glob_of

__all__ = ["PlanHandover", "native_functions", "plan_ahead", "plans_of_process", "print_plan_error"]

_OF_OBJECT = ":mod:"


def print_plan_error(path: str, error: OSError | PlanError) -> None:
    """Say why an object cannot be planned."""
    print_message(f"{path}: {error}" if isinstance(error, PlanError) else os_error_text(error))


def plans_of_process(planner: Planner, pid: int, objects: str = "*") -> Iterator[ObjectPlan]:
    """Yield the plans of what a process has loaded; say of the other objects why they have none.

    Args:
        objects: a glob for the names of the objects.

    Raises:
        OSError: we may not look into the process.
    """
    for found in planner.of_process(pid, lambda name: _engine.glob_match(objects, name)):
        if isinstance(found, ObjectPlan):
            yield found
        else:
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


def plan_ahead(pid: int, patterns: Iterable[str]) -> Iterator[ObjectPlan]:
    """Yield the plans of those objects of a process that patterns may mean; they are in our cache then.

    A process has no decoder, and would have its plans made while somebody waits for its answer. Why an object
    that a pattern names cannot be planned is printed. That we may not look into the process is no error: it
    says itself what it lacks.
    """
    native = [pattern for pattern in patterns if may_be_native(pattern)]
    if not native:
        return
    names = {object_glob(pattern) for pattern in native}
    with suppress(OSError), closing(Planner()) as planner:
        for found in planner.of_process(pid, lambda name: any(is_of_object(one, name) for one in native)):
            if isinstance(found, ObjectPlan):
                yield found
            elif object_name(found[0]) in names:
                print_plan_error(*found)


class PlanHandover:
    """Puts plans into a session's directory, for processes that run already. Any thread may use it.

    Args:
        session: of the recording.
        patterns: of all its instances.
    """

    def __init__(self, session: Session, patterns: Iterable[str]) -> None:
        self._session = session
        self._patterns = list(patterns)
        self._lock = threading.Lock()

    def give(self, pid: int) -> None:
        """Have the plans that a process needs be there, as far as they can be made."""
        with self._lock:
            for found in plan_ahead(pid, self._patterns):
                if found.plan.build_id:
                    with suppress(OSError):  # no space left: it looks into its own cache
                        self._session.add_plan(plan_name(found.plan.build_id.hex()), found.plan.data)
