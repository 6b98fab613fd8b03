"""Plans of native functions for processes that run already, and are to be recorded or steered."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from funcgraph.native.patterns import is_of_object, may_be_native, object_glob, place_of
from funcgraph.recorder.directory import Session

if TYPE_CHECKING:
    from funcgraph.native.objects import ObjectPlan

__all__ = ["PlanHandover", "plan_ahead"]


def plan_ahead(pid: int, patterns: Iterable[str]) -> Iterator[ObjectPlan]:
    """Yield the plans of those objects of a process that patterns may mean; they are in our cache then.

    A process has no decoder, and would have its plans made while somebody waits for its answer. Why an object
    that a pattern names cannot be planned is printed. That we may not look into the process is no error: it
    says itself what it lacks.
    """
    native = [pattern for pattern in patterns if may_be_native(pattern)]
    if not native:
        return
    from funcgraph.command_support.native import print_plan_error  # with the planner, which few commands need
    from funcgraph.native.object_name import object_name
    from funcgraph.native.objects import ObjectPlan, Planner

    def places(name: str) -> set[str]:
        return {place_of(pattern) for pattern in native if is_of_object(pattern, name)}

    names = {object_glob(pattern) for pattern in native}
    with suppress(OSError), closing(Planner()) as planner:
        for found in planner.of_process(pid, places):
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
                    from funcgraph.native.cache import plan_name  # it is loaded, as there are plans

                    with suppress(OSError):  # no space left: it looks into its own cache
                        name = plan_name(found.plan.build_id.hex(), found.place)
                        self._session.add_plan(name, found.plan.data)
