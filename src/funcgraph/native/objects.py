"""Plans of objects, from the cache or new: of files that a person names, and of what a process has loaded."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from funcgraph.native.cache import PlanCache, name_of
from funcgraph.native.elf import Elf
from funcgraph.native.errors import PlanError
from funcgraph.native.loaded import loaded_objects
from funcgraph.native.object_name import object_name
from funcgraph.native.other_python import plan_object
from funcgraph.native.plan_file import Plan

__all__ = ["ObjectPlan", "Planner"]


@dataclass(frozen=True, slots=True)
class ObjectPlan:
    """The plan of an object, and where it is from.

    Attributes:
        path: of the object.
        name: of the object, as in patterns.
        is_new: whether it was made now; else it is from the cache.
        seconds: how long that took.
        place: `SYMBOL+OFFSET`, if it is the plan of this place alone.
    """

    path: str
    name: str
    plan: Plan
    is_new: bool
    seconds: float
    place: str = ""


class Planner:
    """Gives the plans of objects, and keeps new ones.

    Args:
        afresh: make plans also if the cache has them.
        progress: called now and then with the share of a call of `of_file` or `of_process` that is done.

    Attributes:
        cache: where plans are kept.
    """

    def __init__(self, *, afresh: bool = False, progress: Callable[[float], object] | None = None) -> None:
        self.cache = PlanCache()
        self._afresh = afresh
        self._progress = progress
        self._part = 0, 1  # the number of the object, of so many

    def close(self) -> None:
        """Let go of the cache."""
        self.cache.close()

    def of_file(self, path: str, place: str = "") -> ObjectPlan:
        """Return the plan of an object that the user named, or of a place `SYMBOL+OFFSET` in it.

        Raises:
            OSError: it cannot be opened. PlanError: it cannot be planned.
        """
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self._part = 0, 1
        try:
            return self._of_descriptor(fd, path, place, has_our_files=True)
        finally:
            os.close(fd)

    def of_process(
        self, pid: int, places: Callable[[str], Iterable[str]] = lambda name: ("",)
    ) -> Iterator[ObjectPlan | tuple[str, OSError | PlanError]]:
        """Yield the plans of the objects that a process has loaded; path and error of what cannot be planned.

        Args:
            places: returns which plans of an object of a name are needed: "" for that of all functions,
                `SYMBOL+OFFSET` for that of a place.

        Raises:
            OSError: we may not look into the process.
        """
        with loaded_objects(pid) as (paths, open_object, has_our_files):
            for number, path in enumerate(paths):
                self._part = number, len(paths)
                for place in places(object_name(path)):
                    try:
                        fd = open_object(path)
                        try:
                            yield self._of_descriptor(fd, path, place, has_our_files=has_our_files)
                        finally:
                            os.close(fd)
                    except (OSError, PlanError) as error:
                        yield path, error

    def _report(self, share: float) -> None:
        number, count = self._part
        if self._progress:
            self._progress((number + share) / count)

    def _of_descriptor(self, fd: int, path: str, place: str, *, has_our_files: bool) -> ObjectPlan:
        begin = time.perf_counter()
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise PlanError("is not a regular file")
        elf = Elf(fd)
        is_trusted = has_our_files and facts.st_uid in (0, os.geteuid()) and not facts.st_mode & 0o022
        name = name_of(elf, fd, is_trusted, place)
        plan = None if self._afresh else self.cache.get(name, elf)
        is_new = plan is None
        if plan is None:
            data = plan_object(elf, fd, place, is_trusted=is_trusted, progress=self._report)
            self.cache.put(name, data)
            plan = Plan(data, elf.build_id)
        return ObjectPlan(path, object_name(path), plan, is_new, time.perf_counter() - begin, place)
