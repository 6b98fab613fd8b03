"""Expectations that recorded calls meet: of all of them, or of a part, with `...` for what is around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from funcgraph.answers.expectation import (
    ANYTHING,
    MAX_DEPTH,
    ExpectationError,
    RecordedCall,
    named_argument,
    split_arguments,
)

_ADDRESS = re.compile(r" at 0x[0-9a-f]+>")
#: Of native code: an address perhaps, or what another call has left in a register. Each run has its own.
_WORD = re.compile(r"0x[0-9a-f]+")
_SPECIAL = re.compile(r"\\(.?)|[*?\[\]]|[^ -~]", re.DOTALL)
_ENDS_A_NAME = re.compile(r"[\s(]")
_OTHER_LINES = ("#", ANYTHING, "functions:")  # a name that begins so would be another kind of line


def expectation_text(
    functions: Iterable[str],
    sections: Iterable[tuple[str, Sequence[RecordedCall]]],
    depth: int | None = None,
    is_written: Callable[[RecordedCall], bool] | None = None,
) -> str:
    """Return an expectation that these calls meet, with equal calls in a row as one line.

    Args:
        functions: patterns of the functions that are looked at.
        sections: threads, "" for the only one, with their calls.
        depth: write only so many levels; None: all.
        is_written: whether a call is written. Of those around one only the name is, and what is left out is
            `...`. None: all are.

    Raises:
        ExpectationError: the calls are too deep.
    """
    lines = [f"functions: {' '.join(functions)}"]
    for thread, calls in sections:
        lines += [f"thread {escaped(thread)}:"] if thread else []
        lines += _call_lines(calls, 0, depth, is_written or (lambda _: True))
    return "".join(f"{line}\n" for line in lines)


def _call_lines(
    calls: Sequence[RecordedCall], level: int, depth: int | None, is_written: Callable[[RecordedCall], bool]
) -> list[str]:
    """Return the lines of calls; those of equal ones once, with their number."""
    blocks: list[list[str]] = []
    counts: list[int] = []
    if level >= MAX_DEPTH and calls:
        raise ExpectationError(f"the calls are more than {MAX_DEPTH} levels deep")
    left_out = [f"{'  ' * level}{ANYTHING}"]
    for call in calls:
        block = _block(call, level, depth, is_written) or left_out
        if blocks and blocks[-1] == block:
            counts[-1] += block is not left_out
        else:
            blocks.append(block)
            counts.append(1)
    return [
        line if place or count == 1 else f"{line} x{count}"
        for block, count in zip(blocks, counts, strict=True)
        for place, line in enumerate(block)
    ]


def _block(
    call: RecordedCall, level: int, depth: int | None, is_written: Callable[[RecordedCall], bool]
) -> list[str]:
    """Return the lines of a call and of what it calls; []: none of these is written."""
    indent = "  " * level
    if is_written(call):
        below = depth if depth is None else depth - 1
        is_last = below is not None and below < 1
        inner = [] if is_last else _call_lines(call.children, level + 1, below, is_written)
        return [f"{indent}{_call_text(call)}", *inner]
    inner = _call_lines(call.children, level + 1, depth, is_written)
    return [f"{indent}{name_glob(call.function)}", *inner] if _has_call(inner) else []


def _has_call(lines: Sequence[str]) -> bool:
    return any(line.strip() != ANYTHING for line in lines)


def _call_text(call: RecordedCall) -> str:
    pairs = [pair for pair in map(named_argument, split_arguments(call.arguments)) if pair[1]]
    kept = [(name, value) for name, value in pairs if name.isprintable() and not _WORD.fullmatch(value)]
    arguments = ", ".join(f"{name}={_lasting(value)}" for name, value in kept)
    if kept != pairs:
        arguments = f"{arguments}, {ANYTHING}" if arguments else ANYTHING
    if call.ended == "raise":
        end = f" ! {escaped(call.result)}" if call.result else " !"
    else:
        shows_result = call.result and call.ended == "return" and not _WORD.fullmatch(call.result)
        end = f" = {_lasting(call.result)}" if shows_result else ""
    return f"{name_glob(call.function)}{f'({arguments})' if arguments else '()' if end else ''}{end}"


def name_glob(name: str) -> str:
    """Return a glob for the name of a function, as a line has it."""
    glob = _ENDS_A_NAME.sub("*", escaped(name))
    return f"\\{glob}" if glob.startswith(_OTHER_LINES) else glob


def _lasting(value: str) -> str:
    """Return a glob for a value, without the address of an object, which differs from run to run."""
    return _ADDRESS.sub(" at *>", escaped(value))


def escaped(text: str) -> str:
    """Return a glob that matches this text alone, or others in place of what cannot be seen or ends a line.

    A quote after a backslash stays one that ends no string.
    """
    return _SPECIAL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    text, after = match[0], match[1]
    if after is None:
        return f"\\{text}" if text in "*?[]" else _visible(text)
    return f"\\\\\\{after}" if after and after == _visible(after) else f"\\\\{after and '*'}"


def _visible(character: str) -> str:
    return character if character.isprintable() else "*"
