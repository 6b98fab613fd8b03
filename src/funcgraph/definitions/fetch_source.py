"""The source of a fetch argument: a variable's name, `$arg1`, `$retval`, `$comm`, an immediate value.

Documentation/trace/kprobetrace.rst and fprobetrace.rst, "FETCHARGS".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from funcgraph.definitions import messages
from funcgraph.definitions.command import number
from funcgraph.definitions.fetch_steps import STEP_CHARACTERS, identifier_end, is_text
from funcgraph.definitions.fetch_type import RefusedError
from funcgraph.definitions.field import Part

__all__ = [
    "COMM",
    "VARIABLES",
    "Scope",
    "argument_number",
    "nth_name",
    "parse_immediate",
    "parse_source",
    "stack_entry",
]

COMM: Part = ("comm",)

_MOST = 255  # the highest number of an argument or a stack entry
#: The hint for an unknown one.
VARIABLES = "Variables: $argN $arg* $retval $exc $comm $stackN $symbol"


class Scope(NamedTuple):
    """What can be fetched where an event is.

    Attributes:
        kind: "f", "p", "r", "t" or "e".
        is_return: the event is at a function's return.
        names: the function's parameters, or the fields of the event that a `t` or `e` is attached to; None if
            they are not known, as for a glob.
        is_native: the event is on native functions: words are fetched from registers and memory
            (native_argument.py).
        is_inside: it is at an instruction of one, rather than at its entry or return.
    """

    kind: str
    is_return: bool
    names: Sequence[str] | None
    is_native: bool = False
    is_inside: bool = False


def parse_source(text: str, scope: Scope) -> tuple[Part, int]:
    """Return a fetch argument's source, and where in the text it ends.

    Args:
        text: the argument without its name and its type; it is not empty.
        scope: what can be fetched.

    Raises:
        RefusedError: there is no such source here.
    """
    first = text[0]
    if first == "$":
        end = next((at for at, character in enumerate(text) if character in STEP_CHARACTERS), len(text))
        return _variable(text[1:end], scope), end
    if first == "\\":
        return ("imm", parse_immediate(text)), len(text)
    if first == "%":
        raise RefusedError(messages.NO_REGISTER, 0, "Give a parameter's name, $argN or $retval.")
    if first in "@+-":
        raise RefusedError(messages.NO_MEMORY, 0, "Give an attribute, a.b, or an item, a[0].")
    end = identifier_end(text, 0)
    if not end:
        raise RefusedError(messages.BAD_FETCH_ARG, 0)
    return _named(text, end, scope), end


def nth_name(text: str, scope: Scope) -> str:
    """Return the name of the parameter that the digits of `$argN` select.

    Raises:
        RefusedError: there are fewer.
    """
    assert scope.names is not None
    at = argument_number(text)
    if at > len(scope.names):
        raise RefusedError(messages.NO_BTFARG, 0, _there_are(scope))
    return scope.names[at - 1]


def _named(text: str, end: int, scope: Scope) -> Part:
    if text.startswith("-", end) and not text.startswith("->", end):
        raise RefusedError(messages.BAD_HYPHEN, end)
    name = text[:end]
    if scope.kind == "e":
        raise RefusedError(messages.NOSUP_BTFARG, 0, f"A field of the event is ${name}.")
    # A kprobe reads any local variable, and which of them there are is not known here.
    if scope.kind != "p" and scope.names is not None and name not in scope.names:
        raise RefusedError(messages.NO_BTFARG, 0, _there_are(scope))
    return ("field" if scope.kind == "t" else "name", name)


def _variable(name: str, scope: Scope) -> Part:
    """Return the source that `$name` is."""
    if scope.kind == "e":
        return _field(name, scope)
    if name in ("comm", "COMM"):
        return COMM
    if name == "symbol":
        return ("symbol",)
    if name.startswith(("retval", "exc")):
        return _result(name, scope)
    if name.startswith("stack"):
        return ("stack", stack_entry(name.removeprefix("stack")))
    if name.startswith("arg"):
        return _argument(name.removeprefix("arg"), scope)
    raise RefusedError(messages.BAD_VAR, 0, VARIABLES)


def _field(name: str, scope: Scope) -> Part:
    if name in (scope.names or ()):
        return ("field", name)
    if name in ("comm", "COMM"):
        return COMM
    raise RefusedError(messages.BAD_VAR, 0, _there_are(scope))


def _result(name: str, scope: Scope) -> Part:
    """Return the source that `$retval` or `$exc` is."""
    if name.startswith("exc") and name != "exc":
        raise RefusedError(messages.BAD_VAR, 0, VARIABLES)
    if not scope.is_return:
        raise RefusedError(messages.EXC_ON_PROBE if name == "exc" else messages.RETVAL_ON_PROBE, 0)
    if name not in ("retval", "exc"):  # to the kernel, $retval1 is one of the function's variables
        raise RefusedError(messages.NO_BTFARG, 0, VARIABLES)
    return (name,)


def stack_entry(digits: str) -> int:
    """Return the N of `$stackN`; RefusedError: it is none."""
    if not digits.isascii() or not digits.isdecimal():
        hint = VARIABLES if digits else "The stack's own address does not exist in Python: give $stackN."
        raise RefusedError(messages.BAD_VAR, 0, hint)
    if len(digits) > 6 or int(digits) > _MOST:
        raise RefusedError(messages.BAD_STACK_NUM, 0)
    return int(digits)


def _argument(digits: str, scope: Scope) -> Part:
    at = argument_number(digits)
    if scope.names is None:
        if at > _MOST:
            raise RefusedError(messages.BAD_ARG_NUM, 0)
        return ("arg", at)
    name = nth_name(digits, scope)
    return ("field", name) if scope.kind == "t" else ("arg", at)


def argument_number(digits: str) -> int:
    """Return the N of `$argN`, from 1; RefusedError: it is none."""
    if not digits.isascii() or not digits.isdecimal():
        raise RefusedError(messages.BAD_VAR, 0, VARIABLES)
    at = int(digits[:18])
    if not at:
        raise RefusedError(messages.BAD_ARG_NUM, 0, "Arguments are counted from 1.")
    return at


def parse_immediate(text: str) -> int | str:
    """Return the value of `\\5`, `\\-5`, `\\0x20` or `\\"text"`."""
    if text.startswith('\\"'):
        if len(text) < 3 or text[-1] != '"':
            raise RefusedError(messages.IMMSTR_NO_CLOSE, len(text))
        if not is_text(text):
            raise RefusedError(messages.BAD_IMM, 1)
        return text[2:-1]
    sign, digits = text[1:2], text[2:]
    if sign not in ("+", "-"):
        sign, digits = "", text[1:]
    value = number(digits)
    most = 1 << 64 if not sign else 1 << 63
    if value is None or value >= most + (sign == "-"):
        raise RefusedError(messages.BAD_IMM, 1)
    return -value if sign == "-" else value


def _there_are(scope: Scope) -> str:
    what = "Fields" if scope.kind in "te" else "Parameters"
    return f"{what}: {' '.join(scope.names or ()) or 'none'}"
