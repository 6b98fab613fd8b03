"""What a process may answer: the shape of the value of each operation and of each procedure.

The process may be another user's, and its memory, files and answers are whatever that user likes. All
answers are checked here before anything of ours sees them: a value of another shape is a ShapeError.
"""

from __future__ import annotations

from collections.abc import Callable

from funcgraph.control.wire import MAX_BODY

__all__ = ["OPERATIONS", "PROCEDURES", "WITH_BODY", "ShapeError", "check", "check_error"]

#: Raises ShapeError unless a value has the shape.
Shape = Callable[[object], None]

_MOST_NUMBER = (1 << 63) - 1
_MOST_TEXT = 1 << 16  # characters of a name; most are far below
_MOST_ERROR = 4095  # the kernel's highest number of an error
_MOST_NAME = 255  # bytes of a component of a path


class ShapeError(ValueError):
    """A value that a process answered has another shape than it must have."""


def _refused(value: object) -> ShapeError:
    kind = type(value).__name__
    return ShapeError(kind if isinstance(value, (list, dict)) or value is None else f"{kind} {value!r:.60}")


# ---- shapes


def _nothing(value: object) -> None:
    if value is not None:
        raise _refused(value)


def _flag(value: object) -> None:
    if type(value) is not bool:
        raise _refused(value)


def _number(most: int = _MOST_NUMBER, least: int = 0) -> Shape:
    def shape(value: object) -> None:
        if type(value) is not int or not least <= value <= most:
            raise _refused(value)

    return shape


def _text(value: object) -> None:
    if type(value) is not str or len(value) > _MOST_TEXT:
        raise _refused(value)


def _body_text(value: object) -> None:
    if type(value) is not str or len(value) > MAX_BODY:
        raise _refused(value)


def _file_name(value: object) -> None:
    """One component of a path: it leads nowhere else, whatever path it is put into."""
    _text(value)
    assert isinstance(value, str)
    if value in ("", ".", "..") or "/" in value or "\0" in value:
        raise _refused(value)
    try:
        raw = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _refused(value) from None
    if len(raw) > _MOST_NAME:
        raise _refused(value)


def _list(one: Shape) -> Shape:
    def shape(value: object) -> None:
        if type(value) is not list:
            raise _refused(value)
        for item in value:
            one(item)

    return shape


def _row(*columns: Shape) -> Shape:
    def shape(value: object) -> None:
        if type(value) is not list or len(value) != len(columns):
            raise _refused(value)
        for column, item in zip(columns, value, strict=True):
            column(item)

    return shape


def _object(**members: Shape) -> Shape:
    """An object that has at least these members."""

    def shape(value: object) -> None:
        if type(value) is not dict or not members.keys() <= value.keys():
            raise _refused(value)
        for name, member in members.items():
            member(value[name])

    return shape


def _or_nothing(one: Shape) -> Shape:
    return lambda value: None if value is None else one(value)


# ---- the tables

#: Operation -> the shape of its answer's value.
OPERATIONS: dict[str, Shape] = {
    "hello": _object(version=_number()),
    "stat": _row(_flag, _number(0o777)),
    "list": _list(_file_name),
    "mkdir": _nothing,
    "rmdir": _nothing,
    "open": _number(),
    "read": _nothing,
    "write": _number(MAX_BODY),
    "ready": _flag,
    "wait": _or_nothing(_row(_number((1 << 32) - 1), _number((1 << 32) - 1))),
    "close": _nothing,
    "get": _or_nothing(_number()),
    "put": _nothing,
}
#: Those whose answers have a body.
WITH_BODY = frozenset({"read", "get"})

#: Procedure -> the shape of its result: for each of procedures.PROCEDURES.
PROCEDURES: dict[str, Shape] = {
    "borrow": _nothing,
    "detach": _nothing,
    "functions_after": _list(_text),
    "give_back": _flag,
    "info": _object(
        pid=_number(), python=_text, funcgraph=_text, executable=_text, argv=_list(_body_text),
        instances=_list(_file_name), functions=_number(),
    ),
    "record_start": _object(pid=_number()),
    "record_stop": _nothing,
    "save": _object(number=_number(), bytes=_number()),
    "saved_end": _nothing,
    "saved_part": _body_text,
    "stop_serving": _flag,
    "unmatched": _list(_text),
}  # fmt: skip


def check(operation: str, procedure: str | None, value: object, body: bytes) -> None:
    """Check an answer to an operation.

    Args:
        procedure: which one was called, if that was the operation.

    Raises:
        ShapeError: it is none.
    """
    if procedure is not None:
        shape = PROCEDURES.get(procedure)
        if shape is None:
            raise ShapeError(f"a result of {procedure!r}, which is no procedure")
    else:
        shape = OPERATIONS[operation]
    shape(value)
    if body and operation not in WITH_BODY:
        raise ShapeError(f"{len(body)} bytes")


def check_error(number: object, text: object) -> tuple[int, str]:
    """Return the number and the text of an answer that is an error. Raises ShapeError."""
    _number(_MOST_ERROR, 1)(number)
    _text(text)
    assert isinstance(number, int)
    assert isinstance(text, str)
    return number, text
