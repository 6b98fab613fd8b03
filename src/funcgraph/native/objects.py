"""Objects to plan: files that a person names, and those that a process has mapped to run them."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass

from funcgraph.native.cache import PlanCache, name_of
from funcgraph.native.elf import Elf
from funcgraph.native.errors import PlanError
from funcgraph.native.object_name import object_name
from funcgraph.native.plan_file import Plan
from funcgraph.native.planner import make_plan

__all__ = ["ObjectPlan", "plan_file_at"]


@dataclass(frozen=True, slots=True)
class ObjectPlan:
    """The plan of an object, and where it is from.

    Attributes:
        path: of the object.
        name: of the object, as in patterns.
        is_new: whether it was made now; else it is from the cache.
        seconds: how long that took.
    """

    path: str
    name: str
    plan: Plan
    is_new: bool
    seconds: float


def plan_file_at(path: str, cache: PlanCache, *, afresh: bool = False) -> ObjectPlan:
    """Plan the object of a path that the user named.

    Args:
        path: where it is.
        cache: where plans are looked for and kept.
        afresh: make the plan also if the cache has it.

    Raises:
        OSError: it cannot be opened. PlanError: it cannot be planned.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return plan_descriptor(fd, path, cache, afresh=afresh, is_ours=True)
    finally:
        os.close(fd)


def plan_descriptor(fd: int, path: str, cache: PlanCache, *, afresh: bool, is_ours: bool) -> ObjectPlan:
    """Plan the object of a descriptor.

    Args:
        is_ours: whether it is in a file system where what is root's is our root's.

    Raises:
        PlanError: it cannot be planned.
    """
    begin = time.perf_counter()
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode):
        raise PlanError("is not a regular file")
    elf = Elf(fd)
    is_trusted = is_ours and facts.st_uid in (0, os.geteuid()) and not facts.st_mode & 0o022
    name = name_of(elf, fd, is_trusted)
    plan = None if afresh else cache.get(name, elf)
    is_new = plan is None
    if plan is None:
        data = make_plan(elf)
        cache.put(name, data)
        plan = Plan(data, elf.build_id)
    return ObjectPlan(path, object_name(path), plan, is_new, time.perf_counter() - begin)
