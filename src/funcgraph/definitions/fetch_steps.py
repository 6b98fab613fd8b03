"""The steps of a fetch argument, from its source to the value: `.name`, `->name`, `[3]`, `["key"]`.

The kernel has `.` and `->` for members of structures (Documentation/trace/fprobetrace.rst, "BTF arguments").
Here both read an attribute.
"""

from __future__ import annotations

from funcgraph.definitions import messages
from funcgraph.definitions.command import after_quoted, number
from funcgraph.definitions.fetch_type import RefusedError
from funcgraph.definitions.field import Part

__all__ = ["MOST_STEPS", "STEP_CHARACTERS", "identifier_end", "is_text", "parse_steps"]

STEP_CHARACTERS = ".-["

#: As many operations as the kernel allows in one argument: FG_FETCH_MAX_STEPS.
MOST_STEPS = 16


def identifier_end(text: str, at: int) -> int:
    """Return where the Python identifier that begins at a place ends; the place itself if there is none."""
    end = at
    if text[at : at + 1].isidentifier():
        while end < len(text) and f"_{text[end]}".isidentifier():
            end += 1
    return end


def parse_steps(text: str, at: int, most: int = MOST_STEPS) -> tuple[Part, ...]:
    """Return the steps that a fetch argument has from a place on.

    Args:
        text: the argument without its type.
        at: where the steps begin.
        most: how many there may be.

    Raises:
        RefusedError: something else stands there.
    """
    steps: list[Part] = []
    while at < len(text):
        if len(steps) == most:
            raise RefusedError(messages.TOO_MANY_OPS, at, f"At most {MOST_STEPS} steps lead to a value.")
        if text[at] == "[":
            step, at = _index(text, at)
        else:
            step, at = _attribute(text, at)
        steps.append(step)
    return tuple(steps)


def is_text(text: str) -> bool:
    """Return whether a text is one that UTF-8 and C have: without lone surrogates and NULs."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _attribute(text: str, at: int) -> tuple[Part, int]:
    if text[at] == ".":
        start = at + 1
    elif text.startswith("->", at):
        start = at + 2
    elif text[at] == "-":
        raise RefusedError(messages.BAD_HYPHEN, at)
    else:
        raise RefusedError(messages.BAD_FETCH_ARG, at)
    end = identifier_end(text, start)
    if end == start:
        raise RefusedError(messages.NO_BTF_FIELD, start, "An attribute's name must follow.")
    return ("attr", text[start:end]), end


def _index(text: str, at: int) -> tuple[Part, int]:
    start = at + 1
    if text[start : start + 1] == '"':
        end = after_quoted(text, at)
        if end > start and text[end : end + 1] == "]" and is_text(text):
            return ("key", _unescaped(text[start + 1 : end - 1])), end + 1
        raise RefusedError(messages.BAD_INDEX, start)
    end = text.find("]", start)
    digits = text[start:end].removeprefix("-")
    value = number(digits) if end > start else None
    if value is None or value >= 1 << 63:
        raise RefusedError(messages.BAD_INDEX, start)
    return ("index", -value if text[start] == "-" else value), end + 1


def _unescaped(text: str) -> str:
    """Return a quoted text without its escapes: `\\"` is a quote, `\\\\` a backslash."""
    parts = text.split("\\\\")
    return "\\".join(part.replace('\\"', '"') for part in parts)
