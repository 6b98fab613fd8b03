"""Recorded values, as formats that have only texts, numbers and the like can hold them."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from funcgraph.tracedata.description import Function
from funcgraph.tracedata.events import exception_name, name_arguments
from funcgraph.tracedata.values import FieldValue, decode_values

#: What JSON has. Bytes, and what is not recorded as a whole, are texts, as a report prints them.
Plain: TypeAlias = "bool | int | float | str | None"


def plain(value: FieldValue) -> Plain:
    """Return a value as what JSON has; floats that JSON lacks are texts."""
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    return repr(value) if isinstance(value, bytes | tuple) else str(value)


# Calls of one function often have the same values.
@lru_cache(maxsize=4096)
def arguments_of(function: Function | None, payload: bytes) -> dict[str, Plain]:
    """Return a call's arguments by name. The result must not be changed."""
    return {name: plain(value) for name, value in name_arguments(function, decode_values(payload)).items()}


@lru_cache(maxsize=4096)
def result_of(payload: bytes) -> Plain:
    """Return what a call returned or yielded."""
    return plain(next(iter(decode_values(payload)), None))


@lru_cache(maxsize=4096)
def exception_of(payload: bytes) -> str | None:
    """Return the name of the type of the exception that ended a call; None if it was not recorded."""
    return exception_name(decode_values(payload))


def escaped(text: str) -> str:
    """Return a text without lone surrogates, which UTF-8 cannot encode: they are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
