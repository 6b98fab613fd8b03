"""What a filter of system calls decides: a machine for classic BPF, as far as seccomp has it (seccomp(2))."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Sequence

__all__ = ["FilterError", "decision"]

_INSTRUCTION = struct.Struct("=HBBI")
_DATA = struct.Struct("=iIQ6Q")  # struct seccomp_data
_X86_64 = 0xC000003E
_MASK = 0xFFFFFFFF
_CELLS = 16

# Classes and modes of linux/bpf_common.h.
_LD, _LDX, _ST, _STX, _ALU, _JMP, _RET, _MISC = range(8)
_IMM, _ABS, _MEM, _LEN = 0x00, 0x20, 0x60, 0x80
_X = 0x08
_A = 0x10
_TXA = 0x80

_ARITHMETIC: dict[int, Callable[[int, int], int]] = {
    0x00: operator.add,
    0x10: operator.sub,
    0x20: operator.mul,
    0x30: lambda a, b: a // b if b else 0,
    0x40: operator.or_,
    0x50: operator.and_,
    0x60: lambda a, b: a << b if b < 32 else 0,
    0x70: operator.rshift,
    0x80: lambda a, _: -a,
    0xA0: operator.xor,
}
_TESTS: dict[int, Callable[[int, int], bool]] = {
    0x10: operator.eq,
    0x20: operator.gt,
    0x30: operator.ge,
    0x40: lambda a, b: bool(a & b),
}


class FilterError(ValueError):
    """A filter has an instruction that seccomp does not have."""


def decision(program: bytes, call: int, arguments: Sequence[int] = ()) -> int:
    """Return what a filter returns for a system call of x86-64: an action and its data.

    Args:
        program: the instructions (struct sock_filter).
        call: the number of the call.
        arguments: the first of its six arguments; the others are 0.

    Raises:
        FilterError: it is none.
    """
    data = _DATA.pack(call, _X86_64, 0, *arguments, *[0] * (6 - len(arguments)))
    return _Machine([*_INSTRUCTION.iter_unpack(program)], data).run()


class _Machine:
    def __init__(self, code: list[tuple[int, int, int, int]], data: bytes) -> None:
        self._code = code
        self._data = data
        self._a = self._x = 0
        self._cells = [0] * _CELLS

    def run(self) -> int:
        """Run: jumps lead forward only, so this ends."""
        at = 0
        while at < len(self._code):
            operation, if_true, if_false, k = self._code[at]
            kind = operation & 7
            at += 1
            if kind == _RET:
                return self._a if operation & 0x18 == _A else k
            if kind == _JMP:
                at += self._jump(operation, if_true, if_false, k)
            else:
                self._step(kind, operation, k)
        raise FilterError("it has no end")

    def _jump(self, operation: int, if_true: int, if_false: int, k: int) -> int:
        test = operation & 0xF0
        if test == 0:
            return k
        if test not in _TESTS:
            raise FilterError(f"no test {test:#x}")
        return if_true if _TESTS[test](self._a, self._x if operation & _X else k) else if_false

    def _step(self, kind: int, operation: int, k: int) -> None:
        if kind == _LD:
            self._a = self._load(operation, k)
        elif kind == _LDX:
            self._x = self._load(operation, k)
        elif kind in (_ST, _STX):
            self._cells[k % _CELLS] = self._a if kind == _ST else self._x
        elif kind == _ALU:
            if operation & 0xF0 not in _ARITHMETIC:
                raise FilterError(f"no arithmetic {operation:#x}")
            value = _ARITHMETIC[operation & 0xF0](self._a, self._x if operation & _X else k)
            self._a = value & _MASK
        elif operation & 0xF8 == _TXA:
            self._a = self._x
        else:
            self._x = self._a

    def _load(self, operation: int, k: int) -> int:
        mode = operation & 0xE0
        if mode == _ABS and k + 4 <= len(self._data):
            return int.from_bytes(self._data[k : k + 4], "little")
        if mode == _MEM:
            return self._cells[k % _CELLS]
        if mode == _LEN:
            return len(self._data)
        if mode == _IMM:
            return k
        raise FilterError(f"no load {operation:#x}")
