"""Definitions of events of functions, `f[:NAME] SYM[%return] ...`, and on static ones, `t[:NAME] EVENT ...`.

A SYM with a colon is `OBJECT:SYMBOL`, native functions of a loaded object.

Documentation/trace/fprobetrace.rst.
"""

from __future__ import annotations

from funcgraph.definitions import messages
from funcgraph.definitions.arguments import parse_arguments
from funcgraph.definitions.command import Command
from funcgraph.definitions.definition import Definition, EventFields, Parameters
from funcgraph.definitions.event_name import given_name, made_up
from funcgraph.definitions.fetch_source import Scope
from funcgraph.definitions.symbol import check_native_symbol, check_symbol, split_return

__all__ = ["parse_fprobe"]

#: These variables make an `f` a return event, also without `%return`.
_RESULTS = {"$retval": messages.RETVAL_ON_PROBE, "$exc": messages.EXC_ON_PROBE}


def parse_fprobe(command: Command, parameters: Parameters, event_fields: EventFields) -> Definition:
    """Return the definition that a command of kind `f` or `t` is.

    Args:
        command: the command, of two words or more.
        parameters: knows the parameters of functions.
        event_fields: knows the fields of events.

    Raises:
        ProbeError: it is none.
    """
    head = command.words[0]
    kind = head[0]
    if head[1:] and head[1] != ":":
        raise command.error(messages.BAD_MAXACT, 0, 1, hint=f"{kind!r} takes no number.")
    symbol, is_return = split_return(command, is_allowed=kind == "f")
    if kind == "t":
        _check_event(command, symbol)
    if not is_return:
        is_return = _needs_result(command, kind)
    is_native = kind == "f" and ":" in symbol
    group, event = given_name(command, 2) if len(head) > 1 else ("", "")
    if kind == "t":
        group = group or "tracepoints"
        event = event or made_up(symbol.rpartition("/")[2])
        base, _, name = symbol.rpartition("/")
        names = event_fields(base, name)
    else:
        group = group or "fprobes"
        event = event or made_up(symbol, after="__exit" if is_return else "__entry")
        names = None if is_native else parameters(symbol)
    fields, texts = parse_arguments(command, Scope(kind, is_return, names, is_native))
    if is_native:
        check_native_symbol(command, symbol)
    elif kind == "f":
        check_symbol(command, symbol, is_glob_allowed=True)
    return Definition(kind, group, event, symbol, None, is_return, fields, texts)


def _check_event(command: Command, symbol: str) -> None:
    """Check the name of a static event: `raise` or, what the kernel does not have, `py/raise`."""
    group, slash, event = symbol.rpartition("/")
    for part, offset in ((group, 0), (event, len(group) + len(slash))):
        for at, character in enumerate(part):
            if not (character.isascii() and character.isalnum()) and character != "_":
                raise command.error(messages.BAD_TP_NAME, 1, offset + at)
    if not event or (slash and not group):
        raise command.error(messages.BAD_TP_NAME, 1, len(symbol))


def _needs_result(command: Command, kind: str) -> bool:
    """Return whether an argument is the function's result.

    Raises:
        ProbeError: at a static event, which has none.
    """
    for word, text in enumerate(command.words[2:], 2):
        for variable, message in _RESULTS.items():
            at = text.find(variable)
            after = text[at + len(variable) :][:1]
            if at < 0 or after == "_" or after.isalnum():
                continue
            if kind == "t":
                raise command.error(message, word, at)
            return True
    return False
