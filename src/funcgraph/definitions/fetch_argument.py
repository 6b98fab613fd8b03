"""One fetch argument: `[NAME=]SOURCE[STEPS][:len][:TYPE]`, read into a field.

Documentation/trace/fprobetrace.rst and kprobetrace.rst, "Synopsis".
"""

from __future__ import annotations

from collections.abc import Collection

from funcgraph.definitions import messages
from funcgraph.definitions.command import after_quoted, type_colon
from funcgraph.definitions.event_name import is_identifier
from funcgraph.definitions.fetch_source import COMM, Scope, parse_source
from funcgraph.definitions.fetch_steps import MOST_STEPS, parse_steps
from funcgraph.definitions.fetch_type import FetchType, RefusedError, parse_type
from funcgraph.definitions.field import Field, Part

__all__ = ["RESERVED", "argument_text", "parse_argument"]

_NAME_CHARACTERS = 32
_ARGUMENT_CHARACTERS = 255  # the kernel's 63 are few for a.b["key"].c

#: Names that the kernel gives to fields of its own.
RESERVED = (
    *("common_type", "common_flags", "common_preempt_count", "common_pid", "common_tgid"),
    *("__probe_ip", "__probe_func", "__probe_ret_ip", "__faults"),
)
_LEN: Part = ("len",)


def parse_argument(text: str, number: int, used: Collection[str], scope: Scope) -> Field:
    """Return the field that a fetch argument describes.

    Args:
        text: the argument, with `$arg*` and the like expanded.
        number: its number among the arguments, from 1: one without a name is `argN`.
        used: the names of those before it.
        scope: what can be fetched where the event is.

    Raises:
        RefusedError: it describes none.
    """
    equals = _equals_sign(text)
    if equals < 0:
        name, body = _name_of(text, number), text
    elif equals == 0:
        raise RefusedError(messages.NO_ARG_NAME, 0)
    elif equals > _NAME_CHARACTERS:
        hint = f"A name has at most {_NAME_CHARACTERS} characters."
        raise RefusedError(messages.ARG_NAME_TOO_LONG, 0, hint)
    else:
        name, body = text[:equals], text[equals + 1 :]
    if not is_identifier(name):
        raise RefusedError(messages.BAD_ARG_NAME, 0)
    if name in used or name in RESERVED:
        raise RefusedError(messages.USED_ARG_NAME, 0)
    offset = equals + 1
    try:
        return Field(name, *_parse_body(body, scope))
    except RefusedError as error:
        error.offset += offset
        raise


def argument_text(text: str, field: Field) -> str:
    """Return how an argument reads back: `NAME=FETCHARG`."""
    return text if _equals_sign(text) >= 0 else f"{field.name}={text}"


def _equals_sign(text: str) -> int:
    """Return where the `=` after a name is, or -1; one in a key or an immediate string is none."""
    at = 0
    while at < len(text):
        if text[at] == "=":
            return at
        at = after_quoted(text, at)
    return -1


def _name_of(text: str, number: int) -> str:
    """Return the name of an argument that gives none: that of the variable, if it is one and nothing else."""
    name, _, rest = text.partition(":")
    is_variable = is_identifier(name) and rest != "len" and not rest.startswith("len:")
    return name if is_variable else f"arg{number}"


def _check_length(text: str) -> None:
    if len(text) > _ARGUMENT_CHARACTERS:
        hint = f"An expression has at most {_ARGUMENT_CHARACTERS} characters."
        raise RefusedError(messages.ARG_TOO_LONG, 0, hint)
    if not text:
        raise RefusedError(messages.NO_ARG_BODY, 0)


def _parse_body(text: str, scope: Scope) -> tuple[str, int, Part, tuple[Part, ...]]:
    """Return type, count, source and steps of an argument without its name."""
    _check_length(text)
    if scope.is_native:
        from funcgraph.definitions.native_argument import parse_native_body  # few programs have such events

        return parse_native_body(text, scope)
    return _parse_object(text, scope)


def _parse_object(text: str, scope: Scope) -> tuple[str, int, Part, tuple[Part, ...]]:
    """Return the same of an argument that is read from Python objects."""
    colon = type_colon(text)
    fetch, type_text, type_at = text[:colon], text[colon + 1 :], colon + 1
    is_typed, is_length = colon < len(text), False
    if is_typed and (type_text == "len" or type_text.startswith("len:")):
        is_length = True
        is_typed = type_text != "len"
        type_text, type_at = type_text[4:], type_at + 4
    is_comm = fetch in ("$comm", "$COMM") and scope.kind != "e"  # there it may be a field of the event
    if (is_comm or fetch.startswith('\\"')) and is_typed and type_text != "string":
        raise RefusedError(messages.NEED_STRING_TYPE, type_at)
    kind = parse_type(type_text, type_at) if is_typed else None
    if not fetch:
        raise RefusedError(messages.NO_ARG_BODY, 0)
    source, end = parse_source(fetch, scope)
    kind = kind or _usual_type(source)
    last = ((_LEN,) if is_length else ()) + ((kind.bits,) if kind.bits else ())
    steps = parse_steps(fetch, end, MOST_STEPS - len(last)) + last
    if source == COMM and is_typed and type_text != "string":
        raise RefusedError(messages.NEED_STRING_TYPE, type_at)
    if steps and source == COMM:
        raise RefusedError(messages.COMM_CANT_DEREF, 0)
    if steps and source[0] in ("symbol", "imm"):
        raise RefusedError(messages.BAD_FETCH_ARG, end)
    if scope.kind == "e" and (steps or kind.elements):
        raise RefusedError(messages.BAD_FETCH_ARG, end, "A field of an event is a number or a text.")
    return kind.name, kind.elements, source, steps


def _usual_type(source: Part) -> FetchType:
    """Return the type of an argument that names none."""
    if source == COMM or (source[0] == "imm" and isinstance(source[1], str)):
        return FetchType("string", 0)
    return FetchType("symbol" if source[0] == "symbol" else "value", 0)
