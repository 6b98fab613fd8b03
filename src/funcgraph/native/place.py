"""Planning one place: an instruction within a function, which a jump displaces as one at the entry does.

Everything that may lead into the displaced bytes is looked for as for the heads of functions (branches.py,
jump_tables.py). What leads to the first of them finds the jump, and is welcome. In the middle of a function
there are two more ways:

    an exception goes on at a landing pad   functions that have any have places at single instructions
                                            alone, into which nothing can lead
    a restartable sequence (rseq)           the kernel ends it by the address that a thread is at: objects
                                            that have any have no places
"""

from __future__ import annotations

from dataclasses import replace

from funcgraph.native.branches import Watch, refuse_branch_targets
from funcgraph.native.code import Code, require_libraries
from funcgraph.native.eh_frame import extents
from funcgraph.native.elf import EM_X86_64, Elf
from funcgraph.native.errors import PlanError
from funcgraph.native.functions import Function, Layout
from funcgraph.native.head import Head, HeadReader
from funcgraph.native.jump_tables import refuse_table_targets
from funcgraph.native.layout import layout_of
from funcgraph.native.plan_file import CALLS, PLACE, PlanEntry, pack
from funcgraph.native.planner import names_of
from funcgraph.native.reasons import Reason

__all__ = ["make_place_plan"]

#: What is against any hook in a function. Other reasons are those of its first bytes alone.
_WHOLE = (Reason.RETURNS_TWICE, Reason.SHARED_BYTES, Reason.IFUNC_RESOLVER, Reason.UNSAFE)


def make_place_plan(elf: Elf, place: str, *, is_trusted: bool = False) -> bytes:
    """Plan one place of an object; return the file of the plan.

    Args:
        place: `SYMBOL+OFFSET`. The symbol is any name of a function.
        is_trusted: whether we or root have written the object.

    Raises:
        PlanError: as make_plan().
    """
    require_libraries()
    if elf.machine != EM_X86_64:
        raise PlanError("is not for x86-64")
    symbol, _, digits = place.rpartition("+")
    layout = layout_of(elf)
    function = next((one for one in layout.functions if symbol in names_of(one, is_trusted)), None)
    if function is None:
        entry = PlanEntry(layout.starts[0], 0, (place,), Reason.NO_PLACE, flags=PLACE)
    else:
        entry = _Place(elf, layout, function, int(digits)).entry(place)
    return pack([entry], elf.machine, elf.build_id)


class _Place:
    """One place, while it is planned."""

    def __init__(self, elf: Elf, layout: Layout, function: Function, offset: int) -> None:
        self._elf = elf
        self._layout = layout
        self._function = function
        self._offset = offset
        self._address = function.address + offset
        self._code = Code(elf.code, layout.starts)
        self._reader = HeadReader(self._code)

    def entry(self, name: str) -> PlanEntry:
        """Return what the plan has of it."""
        head = self._read()
        reason = head if isinstance(head, Reason) else self._reason_against(head)
        if isinstance(head, Reason) or reason is not Reason.HOOKABLE:
            return PlanEntry(self._address, 0, (name,), reason, flags=PLACE)
        fix_ups = tuple((fix_up.target, fix_up.at, fix_up.end) for fix_up in head.fix_ups)
        flags = PLACE | (CALLS if head.makes_call else 0)
        return PlanEntry(
            self._address, head.displaced, (name,), reason, 0, head.original, head.moved, fix_ups,
            head.instructions, flags,
        )  # fmt: skip

    def _read(self) -> Head | Reason:
        if self._function.reason in _WHOLE:
            return self._function.reason
        if self._elf.section("__rseq_cs") is not None:
            return Reason.UNSAFE
        instruction = self._code.covering(self._address)
        if not self._offset < self._function.end - self._function.address or instruction is None:
            return Reason.NO_PLACE
        if instruction.ip != self._address:
            return Reason.NO_PLACE
        return self._reader.read_at(self._function, self._offset)

    def _reason_against(self, head: Head) -> Reason:
        """Return why a place cannot be displaced that could be moved; HOOKABLE: it can."""
        if self._is_in_head(head):
            return Reason.IN_HEAD
        if head.instructions > 1 and self._has_landing_pads():
            return Reason.INDIRECT_JUMP
        target = replace(self._function, reason=Reason.HOOKABLE)
        inner = range(self._address + 1, self._address + head.displaced)
        watch = Watch(dict.fromkeys(inner, target), {})
        refuse_branch_targets(self._code, watch)
        refuse_table_targets(self._elf, self._code, self._layout, watch)
        return target.reason

    def _is_in_head(self, head: Head) -> bool:
        """Return whether a hook of the entry, which may come and go, has some of the same bytes."""
        entry = self._reader.read(self._function)
        if isinstance(entry, Reason):
            return False
        end = self._function.address + entry.patch + entry.displaced
        return self._address < end and self._address + head.displaced > self._function.address + entry.patch

    def _has_landing_pads(self) -> bool:
        return any(
            extent.has_landing_pads and extent.begin <= self._address < extent.end
            for extent in extents(self._elf)
        )
