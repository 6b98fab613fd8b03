"""Definitions of probes in functions, `p[:NAME] SYM[:LINE|+OFFSET] ...`, and at returns, `r[:NAME] SYM ...`.

`p[:NAME] SYM[+OFFSET]:mod:OBJECT` is at an instruction of a native function.

Documentation/trace/kprobetrace.rst.
"""

from __future__ import annotations

from funcgraph.definitions import messages
from funcgraph.definitions.arguments import parse_arguments
from funcgraph.definitions.command import Command, number
from funcgraph.definitions.definition import Definition, Parameters
from funcgraph.definitions.event_name import given_name, made_up
from funcgraph.definitions.fetch_source import Scope
from funcgraph.definitions.symbol import split_native, split_place, split_return

__all__ = ["parse_kprobe"]

#: How an `r` without a number reads back: in the kernel this is max(10, twice the number of processors).
_MAXACTIVE = 10
_MOST_MAXACTIVE = 4096


def parse_kprobe(command: Command, parameters: Parameters) -> Definition:
    """Return the definition that a command of kind `p` or `r` is.

    Args:
        command: the command, of two words or more.
        parameters: knows the parameters of functions.

    Raises:
        ProbeError: it is none.
    """
    head = command.words[0]
    maxactive = _parse_maxactive(command)
    symbol, is_return = split_return(command)
    is_return = is_return or head[0] == "r"
    native = split_native(command, symbol)
    if native is not None:
        module, (symbol, place) = "", native
    else:
        module, symbol, place = split_place(command, symbol)
    if is_return and place is not None:
        raise command.error(messages.BAD_RETPROBE, 1)
    colon = head.find(":")
    group, event = given_name(command, colon + 1) if colon >= 0 else ("", "")
    kind = "r" if is_return else "p"
    where, at = place or ("offset", 0)
    event = event or made_up(
        symbol.partition(":")[2] or symbol, f"{kind}_", f"_{'L' if where == 'line' else ''}{at}"
    )
    names = None if native else parameters(symbol)
    scope = Scope(
        kind, is_return, names, native is not None, is_inside=native is not None and place is not None
    )
    fields, texts = parse_arguments(command, scope)
    if is_return:
        maxactive = maxactive or _MAXACTIVE
    return Definition(
        *(kind, group or "kprobes", event, symbol, place, is_return, fields, texts, maxactive), module=module
    )


def _parse_maxactive(command: Command) -> int:
    """Return the number after an `r`; 0: none. The kernel passes over anything else before the colon."""
    head = command.words[0]
    if not head[1:2].isdecimal():
        return 0
    if head[0] == "p":
        raise command.error(messages.BAD_MAXACT_TYPE, 0, 1)
    value = number(head[1:].partition(":")[0])
    if not value or value >= 1 << 32:
        raise command.error(messages.BAD_MAXACT, 0, 1)
    if value > _MOST_MAXACTIVE:
        raise command.error(messages.MAXACT_TOO_BIG, 0, 1, hint=f"It is at most {_MOST_MAXACTIVE}.")
    return value
