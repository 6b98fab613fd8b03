"""A fetch argument of an event on native functions: `$arg1:u64`, `+8(%si):string`, `@environ:x64`.

Documentation/trace/kprobetrace.rst and fprobetrace.rst, "Synopsis": the value is a word of a register, of the
stack, or of memory at an address.
"""

from __future__ import annotations

from funcgraph.definitions import messages
from funcgraph.definitions.command import number, type_colon
from funcgraph.definitions.fetch_source import (
    COMM,
    Scope,
    argument_number,
    parse_immediate,
    stack_entry,
)
from funcgraph.definitions.fetch_steps import MOST_STEPS, STEP_CHARACTERS
from funcgraph.definitions.fetch_type import FetchType, RefusedError, parse_type
from funcgraph.definitions.field import FIELD_TYPES, Part

__all__ = ["PLACE_REGISTERS", "REGISTERS", "parse_native_body"]

#: The registers that the hook of a native function has saved, by number: `_engine.native_registers()`.
REGISTERS = (
    *("ax", "cx", "dx", "si", "di", "r8", "r9", "r10"),
    *("xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"),
)
#: Those that are there at an instruction within a function besides; they come next.
PLACE_REGISTERS = ("bx", "bp", "r11", "r12", "r13", "r14", "r15", "flags")
#: Those that are known everywhere, with the source that each is.
_POINTERS: dict[str, Part] = {"sp": ("sp",), "ip": ("ip",)}

_VARIABLES = "Variables: $argN $retval $stack $stackN $comm $symbol, and registers as %di"
_NO_NAMES = "The parameters of a native function have no names here: give $argN."
_ONLY_OBJECTS = ("symbol", "object", "value")
_MOST_ARGUMENTS = 255


def parse_native_body(text: str, scope: Scope) -> tuple[str, int, Part, tuple[Part, ...]]:
    """Return type, count, source and steps of an argument without its name.

    Args:
        text: the argument; it is not empty.
        scope: what can be fetched.

    Raises:
        RefusedError: it describes no value.
    """
    colon = type_colon(text)
    fetch, type_at = text[:colon], colon + 1
    source, steps, end = _parse_fetch(fetch, 0, scope)
    if end < len(fetch):
        raise RefusedError(messages.BAD_FETCH_ARG, end)
    kind = _usual_type(source, steps) if colon == len(text) else parse_type(text[type_at:], type_at)
    _check_type(kind, source, steps, text, type_at)
    return kind.name, kind.elements, source, (*steps, *((kind.bits,) if kind.bits else ()))


def _usual_type(source: Part, steps: tuple[Part, ...]) -> FetchType:
    """Return the type of an argument that names none: the kernel's is x64."""
    if _is_text(source):
        return FetchType("string", 0)
    return FetchType("symbol" if source == ("symbol",) and not steps else "x64", 0)


def _is_text(source: Part) -> bool:
    return source == COMM or (source[0] == "imm" and isinstance(source[1], str))


def _check_type(kind: FetchType, source: Part, steps: tuple[Part, ...], text: str, type_at: int) -> None:
    if _is_text(source):
        if (kind.name, kind.elements) != ("string", 0):
            raise RefusedError(messages.NEED_STRING_TYPE, type_at)
        return
    if source == ("symbol",):
        if (kind.name, kind.elements) != ("symbol", 0):
            raise RefusedError(messages.BAD_TYPE, type_at, "$symbol is a symbol.")
        return
    if kind.name in _ONLY_OBJECTS:
        hint = f"Types: {' '.join(name for name in FIELD_TYPES if name not in _ONLY_OBJECTS)}"
        raise RefusedError(messages.NO_NATIVE_TYPE, type_at, hint)
    if not steps and (kind.elements or kind.name == "string"):
        at = text.find("[", type_at) + 1 if kind.elements else type_at
        hint = f"It is read at an address: +0({text[: type_at - 1]}){text[type_at - 1 :]}"
        raise RefusedError(messages.BAD_STRING, at, hint)


def _parse_fetch(text: str, at: int, scope: Scope) -> tuple[Part, tuple[Part, ...], int]:
    """Return the source and the steps that begin at a place, and where they end."""
    start, offsets = at, []
    while text[at : at + 1] in ("+", "-"):
        offset, at = _parse_offset(text, at)
        offsets.append((offset, at))
    if len(offsets) > MOST_STEPS:
        hint = f"At most {MOST_STEPS} steps lead to a value."
        raise RefusedError(messages.TOO_MANY_OPS, offsets[MOST_STEPS][1], hint)
    try:
        source, steps, end = _parse_source(text, at, scope)
    except RefusedError as error:
        error.offset += at
        raise
    if offsets and _is_text(source):
        raise RefusedError(messages.COMM_CANT_DEREF if source == COMM else messages.BAD_FETCH_ARG, at)
    if offsets and source == ("symbol",):
        raise RefusedError(messages.BAD_FETCH_ARG, at)
    for _ in offsets:
        if text[end : end + 1] != ")":
            raise RefusedError(messages.DEREF_OPEN_BRACE, len(text))
        end += 1
    if len(steps) + len(offsets) > MOST_STEPS:
        raise RefusedError(messages.TOO_MANY_OPS, start)
    return source, (*steps, *(("deref", offset) for offset, _ in reversed(offsets))), end


def _parse_offset(text: str, at: int) -> tuple[int, int]:
    """Return the offset of `+8(` or `-u8(`, and where it ends. The kernel's `u` is for the user's memory."""
    brace = text.find("(", at)
    if brace < 0:
        raise RefusedError(messages.DEREF_NEED_BRACE, at, "Give +OFFSET(ADDRESS).")
    offset = number(text[at + 1 : brace].removeprefix("u"))
    if offset is None or offset >= 1 << 63:
        raise RefusedError(messages.BAD_DEREF_OFFS, at)
    return -offset if text[at] == "-" else offset, brace + 1


def _parse_source(text: str, at: int, scope: Scope) -> tuple[Part, tuple[Part, ...], int]:
    """Return as _parse_fetch() what begins with no offset. An error's place counts from `at`."""
    first = text[at : at + 1]
    if first == "\\":
        end = len(text) if text.startswith('\\"', at) else _end_of(text, at)
        return ("imm", parse_immediate(text[at:end])), (), end
    end = _end_of(text, at)
    body = text[at + 1 : end]
    if first in ("$", "%"):
        step = next((at for at, character in enumerate(body) if character in STEP_CHARACTERS), -1)
        if step >= 0:
            hint = f"Memory is read at an address: +OFFSET({first}{body[:step]})"
            raise RefusedError(messages.NO_OBJECT, 1 + step, hint)
        return _register(body, scope) if first == "%" else _variable(body, scope), (), end
    if first == "@":
        return _address(body), (("deref", 0),), end
    if first.isidentifier():
        raise RefusedError(messages.NOSUP_BTFARG, 0, _NO_NAMES)
    raise RefusedError(messages.BAD_FETCH_ARG, 0)


def _end_of(text: str, at: int) -> int:
    end = text.find(")", at)
    return len(text) if end < 0 else end


def _register(name: str, scope: Scope) -> Part:
    if name in _POINTERS:
        return _POINTERS[name]
    registers = REGISTERS + (PLACE_REGISTERS if scope.is_inside else ())
    if name not in registers:
        raise RefusedError(messages.BAD_REGISTER, 0, f"Registers: {' '.join((*registers, *_POINTERS))}")
    return ("reg", registers.index(name))


def _address(text: str) -> Part:
    """Return the source that `@ADDRESS` or `@SYMBOL[+-OFFSET]` is."""
    if text[:1].isdecimal():
        address = number(text)
        if address is not None:
            return ("imm", address)
    elif text[:1] not in ("", "+", "-"):
        at = max(text.rfind("+"), text.rfind("-"))
        offset = number(text[at + 1 :]) if at > 0 else 0
        if offset is not None and offset < 1 << 63:
            symbol, sign = (text[:at], text[at]) if at > 0 else (text, "+")
            return ("data", symbol, -offset if sign == "-" else offset)
    raise RefusedError(messages.BAD_MEM_ADDR, 0, "Give an address or a variable: @0x7f0000, @environ+8.")


def _variable(name: str, scope: Scope) -> Part:
    if name in ("comm", "COMM"):
        return COMM
    if name == "symbol":
        return ("symbol",)
    if name == "retval":
        if not scope.is_return:
            raise RefusedError(messages.RETVAL_ON_PROBE, 0)
        return ("retval",)
    if name == "stack":
        return ("sp",)
    if name.startswith("stack"):
        return ("stack", stack_entry(name.removeprefix("stack")))
    if name.startswith("arg") and name != "arg*":
        at = argument_number(name.removeprefix("arg"))
        if scope.is_inside:
            raise RefusedError(messages.ARG_INSIDE, 0, "Give the register that has it here: %di.")
        if at > _MOST_ARGUMENTS:
            raise RefusedError(messages.BAD_ARG_NUM, 0)
        return ("arg", at)
    raise RefusedError(messages.BAD_VAR, 0, _VARIABLES)
