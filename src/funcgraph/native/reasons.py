"""Why a function cannot be hooked: the numbers that plans have, and their texts."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Reason"]


class Reason(IntEnum):
    """The `reason` of a plan's function. `enum fg_plan_reason` of plan.h has the same numbers."""

    HOOKABLE = 0, "can be hooked"
    TOO_SHORT = 1, "too short for a jump"
    JUMP_TARGET = 2, "a branch leads to its first bytes"
    INDIRECT_JUMP = 3, "an indirect jump may lead to its first bytes"
    CALL = 4, "a call is among its first bytes"
    UNMOVABLE = 5, "an instruction cannot be moved"
    RETURNS_TWICE = 6, "returns twice, or on another stack"
    SHARED_BYTES = 7, "shares its bytes with another function"
    IFUNC_RESOLVER = 8, "resolver of an ifunc"
    BAD_CODE = 9, "its first bytes are no instructions"
    UNSAFE = 10, "unsafe to trace"

    text: str

    def __new__(cls, number: int, text: str) -> Reason:
        member = int.__new__(cls, number)
        member._value_ = number
        member.text = text
        return member
