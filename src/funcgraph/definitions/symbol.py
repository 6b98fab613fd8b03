"""The name of a function in a definition, and a place in it: `SYM`, `SYM%return`, `SYM:LINE`, `SYM+OFFSET`.

Documentation/trace/fprobetrace.rst and kprobetrace.rst, "Synopsis". SYM is `module.qualname`, with `<locals>`
and `<lambda>` as `__qualname__` has them. At a place it may be `module:qualname`, the kernel's `[MOD:]SYM`,
and an address of `kallsyms` stands for the function that has it.

Native functions are `OBJECT:SYMBOL` for an `f`. For a `p` or an `r` that would be a Python module, so there
they are what filters have, `SYMBOL:mod:OBJECT` and `SYMBOL+OFFSET:mod:OBJECT`.
"""

from __future__ import annotations

from funcgraph.definitions import messages
from funcgraph.definitions.addresses import SYMBOLS
from funcgraph.definitions.command import Command, number
from funcgraph.definitions.definition import Place

__all__ = ["check_native_symbol", "check_symbol", "split_native", "split_place", "split_return"]

_RETURN = "%return"
_OF_OBJECT = ":mod:"
_NO_NATIVE_NAME = "*?[]!^\\"
_IN_NAMES = ".<>"
_IN_GLOBS = "*?[]!-^\\"
_MOST = (1 << 32) - 1


def split_return(command: Command, is_allowed: bool = True) -> tuple[str, bool]:
    """Return a command's second word without `%return`, and whether it had that.

    Raises:
        ProbeError: `%` and something else, or `%return` where it is not allowed.
    """
    symbol, percent, suffix = command.words[1].partition("%")
    if percent and (not is_allowed or percent + suffix != _RETURN):
        hint = "Only %return can follow." if is_allowed else ""
        raise command.error(messages.BAD_ADDR_SUFFIX, 1, len(symbol), hint=hint)
    return symbol, bool(percent)


def split_place(command: Command, text: str) -> tuple[str, str, Place | None]:
    """Return the module, the function and the place of `[MOD:]SYM[:LINE|+OFFSET]`.

    The module is "" if a colon does not end it. The place is None at the entry.

    Raises:
        ProbeError: the line or the offset is no number, or the function's name has a character that no name
            has.
    """
    module, text = _split_module(text)
    text = SYMBOLS.resolve(text)
    for mark, kind in ((":", "line"), ("+", "offset")):
        symbol, found, digits = text.rpartition(mark)
        if not found:
            continue
        value = number(digits)
        if value is None or value > _MOST or (kind == "line" and not value):
            raise command.error(messages.BAD_PROBE_ADDR, 1, hint=f"{digits!r} is no {kind}.")
        check_symbol(command, symbol)
        return module, symbol, (kind, value) if kind == "line" or value else None
    check_symbol(command, text)
    return module, text, None


def _split_module(text: str) -> tuple[str, str]:
    """Return `module` and `module.qualname` of `module:qualname`: a line begins with a digit."""
    module, colon, rest = text.partition(":")
    return (module, f"{module}.{rest}") if colon and rest[:1].isidentifier() else ("", text)


def check_symbol(command: Command, symbol: str, is_glob_allowed: bool = False) -> None:
    """Check that a text can be a function's name, or a glob over such names.

    Raises:
        ProbeError: it cannot.
    """
    allowed = _IN_NAMES + (_IN_GLOBS if is_glob_allowed else "")
    if not symbol or symbol[0].isdecimal() or not all(c in allowed or f"_{c}".isidentifier() for c in symbol):
        raise command.error(messages.BAD_PROBE_ADDR, 1, hint="A function is named as module.qualname.")


def check_native_symbol(command: Command, symbol: str) -> None:
    """Check that a text can be native functions: `OBJECT:SYMBOL`, each of them also a glob.

    Raises:
        ProbeError: it cannot.
    """
    module, _, name = symbol.partition(":")
    hint = "Native functions are OBJECT:SYMBOL, the object without path and version: libc:malloc"
    if not module or "/" in module:
        raise command.error(messages.BAD_PROBE_ADDR, 1, hint=hint)
    if not name or name.startswith("!") or ":mod:" in name:
        raise command.error(messages.BAD_PROBE_ADDR, 1, len(module) + 1, hint=hint)


def split_native(command: Command, text: str) -> tuple[str, Place | None] | None:
    """Return `object:symbol` and the place of `SYMBOL[+OFFSET]:mod:OBJECT`; None: it is no native function.

    The place is None at the entry.

    Raises:
        ProbeError: a name is missing, or is a glob: a place is in one function.
    """
    name, found, module = text.rpartition(_OF_OBJECT)
    if not found:
        return None
    symbol, plus, digits = name.rpartition("+")
    offset = number(digits) if plus else None
    if offset is None:
        symbol, offset = name, 0
    for part, at in ((symbol, 0), (module, len(name) + len(found))):
        if (
            not part
            or "/" in part
            or ":mod:" in part
            or any(character in _NO_NATIVE_NAME for character in part)
        ):
            hint = "A place is in one function: malloc+8:mod:libc. `f` takes globs."
            raise command.error(messages.BAD_PROBE_ADDR, 1, at, hint=hint)
    if offset > _MOST:
        raise command.error(messages.BAD_PROBE_ADDR, 1, len(symbol) + 1, hint="No function is as long.")
    return f"{module}:{symbol}", ("offset", offset) if offset else None
