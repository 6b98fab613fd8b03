"""Branches to the first bytes of functions, wherever they are.

A branch into displaced bytes would end in the middle of the jump there. Decoding all instructions to find such
branches takes a second for a large library. So each byte that may begin a direct branch is taken for one. Few
of these candidates lead to a head; they alone are decoded, with the code before them, to see what they are.
What is no instruction of known code counts as a branch: it may be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from funcgraph.native.code import Code
from funcgraph.native.elf import Block
from funcgraph.native.functions import Function
from funcgraph.native.head import Head
from funcgraph.native.reasons import Reason

__all__ = ["Watch", "refuse_branch_targets", "relative_addresses"]

# jcc, jmp, loop and jrcxz with 8 bits; jmp, call; jcc with 32 bits; xbegin. A prefix before them changes nothing.
_SHORT = re.compile(rb"[\x70-\x7f\xe0-\xe3\xeb]")
_NEAR = re.compile(rb"[\xe8\xe9]|(?<=\x0f)[\x80-\x8f]|(?<=\xc7)\xf8")
_CALL = 0xE8
# lea of an address that counts from the next instruction.
_ADDRESS = re.compile(rb"(?<=\x8d)[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]")
_SIGNED = [byte - 256 if byte > 127 else byte for byte in range(256)]


@dataclass(slots=True)
class Watch:
    """The heads that may be hooked.

    Attributes:
        heads: function -> its head, by address of the function.
        inner: each address inside of displaced bytes -> the function.
        first: each address at which a hooked function is entered -> the function.
    """

    inner: dict[int, Function]
    first: dict[int, Function]

    @classmethod
    def of(cls, heads: Iterable[tuple[Function, Head]]) -> Watch:
        inner: dict[int, Function] = {}
        first: dict[int, Function] = {}
        for function, head in heads:
            begin = function.address + head.patch
            first[function.address] = first[begin] = function
            for address in range(begin + 1, begin + head.displaced):
                inner[address] = function
        return cls(inner, first)


def refuse_branch_targets(code: Code, watch: Watch) -> None:
    """Refuse the functions to whose displaced bytes a branch leads.

    A call or a jump of another function to the entry is a call of the function. A jump of the function itself is
    a loop: it would be a call for each round.
    """
    for block in code.blocks:
        for source, target, is_call in _branches(block, watch.inner.keys() | watch.first.keys()):
            function = watch.inner.get(target)
            if function is None:
                function = watch.first[target]
                if is_call or not function.owns(source):
                    continue
            if function.reason is Reason.HOOKABLE and _is_real(code, source, target):
                function.reason = Reason.JUMP_TARGET
        for source, target in relative_addresses(block):
            function = watch.inner.get(target)
            if function and function.reason is Reason.HOOKABLE and _is_real(code, source, target):
                function.reason = Reason.INDIRECT_JUMP


def _is_real(code: Code, source: int, target: int) -> bool:
    instruction = code.covering(source)
    if instruction is None:
        return True  # not known, so perhaps
    if instruction.is_ip_rel_memory_operand:
        return bool(instruction.ip_rel_memory_address == target)
    return bool(instruction.near_branch_target == target)


def _branches(block: Block, targets: Mapping[int, object] | set[int]) -> Iterator[tuple[int, int, bool]]:
    """Yield source, target and whether it is a call for what may be a direct branch to one of `targets`."""
    data, base = block.data, block.address
    for match in _SHORT.finditer(data, 0, len(data) - 1):
        at = match.end()
        target = base + at + 1 + _SIGNED[data[at]]
        if target in targets:
            yield base + at - 1, target, False
    for at, target in _near(_NEAR, block):
        if target in targets:
            yield base + at - 1, target, data[at - 1] == _CALL


def relative_addresses(block: Block) -> Iterator[tuple[int, int]]:
    """Yield the place in, and the address that is loaded by, what may be a lea of a relative address."""
    base = block.address
    for at, target in _near(_ADDRESS, block):
        yield base + at - 1, target


def _near(pattern: re.Pattern[bytes], block: Block) -> Iterator[tuple[int, int]]:
    """Yield the offset of each 32-bit displacement after a match, and where it leads if nothing follows it."""
    data, base = block.data, block.address + 4
    words = [memoryview(data[shift : len(data) - (len(data) - shift) % 4]).cast("i") for shift in range(4)]
    for match in pattern.finditer(data, 0, len(data) - 4):
        at = match.end()
        yield at, base + at + words[at & 3][at >> 2]
