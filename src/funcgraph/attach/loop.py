"""The interpreter's loop: the parts into which the compiler has cut the function that executes bytecode.

Compilers move what they take for cold to another place, where no symbol names it. In some builds of CPython,
such as Debian's 3.14 and 3.15, that is nearly the whole loop: `_PyEval_EvalFrameDefault` is only the way in.
Two things prove that code belongs to it: both jump to each other, and by the call frame information the frame
is there at the code's first instruction already, so that no call leads to it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from funcgraph import _inject
from funcgraph.attach.code import segments_of
from funcgraph.attach.target import Target

__all__ = ["loop_of"]

_LOOP = "_PyEval_EvalFrameDefault"
#: jmp and the conditional jumps with a distance of 4 bytes. They are looked for at each byte, so some found
#: are none: the target decides.
_JUMP = re.compile(rb"\xe9|\x0f[\x80-\x8f]")
_DISTANCE = struct.Struct("<i")

_Span = tuple[int, int]


def loop_of(target: Target) -> list[_Span]:
    """Return start and end of each part of the loop, the one that has its name first; []: it is not known."""
    symbol = target.image.symbol(_LOOP)
    if symbol is None:
        return []
    entry = symbol[0], sum(symbol)
    return [entry, *_parts(target, entry)]


def _parts(target: Target, entry: _Span) -> Iterator[_Span]:
    """Yield the parts of the function at `entry` that lie elsewhere."""
    code, segments = target.code_of(target.image), segments_of(target)
    known = [entry]
    for address in _jumps(target, entry):
        if not _is_in(code, address) or any(_is_in(span, address) for span in known):
            continue
        found = _inject.span(target.process.handle, segments, address)
        if found is None:
            continue
        low, high, is_entered_by_jump = found
        known.append((low, high))
        if is_entered_by_jump and any(_is_in(entry, back) for back in _jumps(target, (low, high))):
            yield low, high


def _jumps(target: Target, span: _Span) -> Iterator[int]:
    """Yield where the jumps of some code lead to."""
    low, high = span
    data = target.process.read(low, high - low)
    for match in _JUMP.finditer(data):
        end = match.end() + _DISTANCE.size
        if end <= len(data):
            yield low + end + _DISTANCE.unpack_from(data, match.end())[0]


def _is_in(span: _Span, address: int) -> bool:
    return span[0] <= address < span[1]
