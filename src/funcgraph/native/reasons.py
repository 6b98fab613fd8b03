"""Why a function cannot be hooked: the numbers that plans have, and their texts."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Reason"]


class Reason(IntEnum):
    """The `reason` of a plan's function. `enum fg_plan_reason` of plan.h has the same numbers."""

    HOOKABLE = 0
    TOO_SHORT = 1
    JUMP_TARGET = 2
    INDIRECT_JUMP = 3
    CALL = 4
    UNMOVABLE = 5
    RETURNS_TWICE = 6
    SHARED_BYTES = 7
    IFUNC_RESOLVER = 8
    BAD_CODE = 9
    UNSAFE = 10
    NO_PLACE = 11
    IN_HEAD = 12

    @property
    def text(self) -> str:
        """What a person reads, after "N functions: " or "NAME: "."""
        return _TEXTS[self]


_TEXTS = {
    Reason.HOOKABLE: "can be hooked",
    Reason.TOO_SHORT: "too short for a jump",
    Reason.JUMP_TARGET: "a branch leads to its first bytes",
    Reason.INDIRECT_JUMP: "an indirect jump may lead to its first bytes",
    Reason.CALL: "a call is among its first bytes",
    Reason.UNMOVABLE: "an instruction among its first bytes cannot be moved",
    Reason.RETURNS_TWICE: "returns twice, or on another stack",
    Reason.SHARED_BYTES: "shares its bytes with another function",
    Reason.IFUNC_RESOLVER: "resolver of an ifunc",
    Reason.BAD_CODE: "its first bytes are no instructions",
    Reason.UNSAFE: "unsafe to trace",
    Reason.NO_PLACE: "no instruction of a function begins there",
    Reason.IN_HEAD: "a hook of the function's entry displaces it",
}
