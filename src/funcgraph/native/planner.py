"""Planning an object: each function with how it is hooked, or why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from funcgraph.native.branches import Watch, refuse_branch_targets
from funcgraph.native.code import Code, require_libraries
from funcgraph.native.demangle import readable
from funcgraph.native.elf import EM_X86_64, Elf
from funcgraph.native.errors import PlanError
from funcgraph.native.functions import Function
from funcgraph.native.head import Head, HeadReader
from funcgraph.native.jump_tables import refuse_table_targets
from funcgraph.native.layout import layout_of
from funcgraph.native.plan_file import CALLS, ROOM, PlanEntry, pack
from funcgraph.native.reasons import Reason

__all__ = ["make_plan", "names_of"]

_REPORTED = 256  # functions, from one report of the progress to the next: some milliseconds
_HEADS, _BRANCHES, _TABLES = 0.4, 0.6, 0.8  # the share of the work that is done when these are


def make_plan(
    elf: Elf, *, is_trusted: bool = False, progress: Callable[[float], object] | None = None
) -> bytes:
    """Plan the functions of an object; return the file of the plan.

    Args:
        elf: the object.
        is_trusted: whether we or root have written it.
        progress: called now and then with the share of the work that is done, 0 to 1.

    Raises:
        PlanError: the object is not for x86-64, or damaged; or the library that decodes is missing.
    """
    require_libraries()
    if elf.machine != EM_X86_64:
        raise PlanError("is not for x86-64")
    layout = layout_of(elf)
    code = Code(elf.code, layout.starts)
    report = progress or _no_report
    heads = dict(_heads(HeadReader(code), _counted(layout.functions, report, 0, _HEADS)))
    watch = Watch.of(
        (function, heads[function.address]) for function in layout.functions if function.address in heads
    )
    refuse_branch_targets(code, watch)
    report(_BRANCHES)
    refuse_table_targets(elf, code, layout, watch)
    entries = (
        _entry(function, heads.get(function.address), names_of(function, is_trusted))
        for function in _counted(layout.functions, report, _TABLES, 1)
    )
    return pack(entries, elf.machine, elf.build_id)


def _no_report(share: float) -> None:
    """Nobody wants to know."""


def _counted(
    functions: Sequence[Function], report: Callable[[float], object], begin: float, end: float
) -> Iterator[Function]:
    """Yield functions, and report now and then how far they are: from `begin` to `end` of the work."""
    for number, function in enumerate(functions):
        if number % _REPORTED == 0:
            report(begin + (end - begin) * number / len(functions))
        yield function


def _heads(reader: HeadReader, functions: Iterable[Function]) -> Iterator[tuple[int, Head]]:
    """Yield the heads of those that may be hooked, by address; say of the others why not."""
    for function in functions:
        if function.reason is Reason.HOOKABLE:
            head = reader.read(function)
            if isinstance(head, Reason):
                function.reason = head
            else:
                yield function.address, head


def _entry(function: Function, head: Head | None, names: tuple[str, ...]) -> PlanEntry:
    if head is None or function.reason is not Reason.HOOKABLE:
        return PlanEntry(function.address, function.size, names, function.reason)
    fix_ups = tuple((fix_up.target, fix_up.at, fix_up.end) for fix_up in head.fix_ups)
    flags = (ROOM if head.has_room else 0) | (CALLS if head.makes_call else 0)
    size = max(function.size, head.patch + head.displaced)
    return PlanEntry(
        function.address, size, names, function.reason, head.patch, head.original, head.moved, fix_ups,
        head.instructions, flags,
    )  # fmt: skip


def names_of(function: Function, is_trusted: bool) -> tuple[str, ...]:
    """Return the names that people read, the best one first: a short one without underscores before it."""
    names = {readable(name, is_trusted=is_trusted) for name in function.names}
    return tuple(sorted(names, key=lambda name: (len(name), name.startswith("_"), name)))
