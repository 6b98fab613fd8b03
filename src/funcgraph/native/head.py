"""The first bytes of a function: how a jump fits over them, and how what it displaces runs elsewhere.

    endbr64                 stays: indirect calls must find it
    sub    $0x18,%rsp       4 bytes   displaced: whole instructions, at least 5 bytes
    lea    0x2c0f(%rip),%rdi  7 bytes displaced; its operand counts from the next instruction: a fix-up
    call   ...              goes on here

The moved copy is final but for 32-bit fields that count from their own place, the fix-ups: whoever puts the
copy somewhere adds what it is far from there. A short branch becomes one with 32 bits. Code that no run can
reach, as the padding after a `ret`, is displaced without a copy.

A call that is the last displaced instruction returns to the code behind the displaced bytes, as before. So
unwinders find its function, and no thread ever returns to moved code. The copy makes it of a call, which
keeps the processor's prediction of returns in step, another return address, and a jump:

        call  1f
        int3                (processors do not predict the return of a call of the very next instruction)
    1:  push  %rax
        lea   behind(%rip),%rax
        mov   %rax,8(%rsp)
        pop   %rax
        jmp   callee
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from funcgraph.native.code import Code
from funcgraph.native.functions import Function
from funcgraph.native.reasons import Reason

if TYPE_CHECKING:
    from iced_x86 import Instruction

__all__ = ["JUMP_BYTES", "FixUp", "Head", "HeadReader"]

JUMP_BYTES = 5
ENDBR64 = b"\xf3\x0f\x1e\xfa"
#: How many displaced bytes a plan has room for.
MOST_DISPLACED = 16
#: Prefixes that a branch may have and does not need: bnd (of MPX), not taken, taken.
_BRANCH_HINTS = (0xF2, 0x2E, 0x3E)
_CALL_NEXT, _PUSH_RAX = b"\xe8\x01\0\0\0\xcc", b"\x50"
_LEA_RAX, _STORE_AND_POP_RAX = b"\x48\x8d\x05", b"\x48\x89\x44\x24\x08\x58"
_CALL_TO_JUMP = 0x30  # between /2 and /4 in the ModRM byte of opcode 0xff


@dataclass(frozen=True, slots=True)
class FixUp:
    """A 32-bit field of moved code: the distance from `end`, in this code, to `target`, in the object."""

    target: int
    at: int
    end: int


@dataclass(slots=True)
class Head:
    """What a jump at a function's entry displaces.

    Attributes:
        patch: how many bytes from the entry the jump is.
        displaced: how many bytes it displaces, padding that no run reaches among them.
        original: these bytes.
        moved: the code that does the same elsewhere. It is followed by a jump to what was not displaced.
        instructions: how many instructions that may run begin in the displaced bytes.
        has_room: whether the compiler left nops there for a tracer.
        makes_call: whether the moved code has another return address than the processor's shadow stack.
    """

    patch: int
    displaced: int = 0
    original: bytes = b""
    moved: bytes = b""
    fix_ups: list[FixUp] = field(default_factory=list)
    instructions: int = 0
    has_room: bool = False
    makes_call: bool = False


class _RefusalError(Exception):
    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class HeadReader:
    """Reads the heads of functions of one object."""

    def __init__(self, code: Code) -> None:
        from iced_x86 import Code as Opcode
        from iced_x86 import FlowControl, Mnemonic, Register

        self._code = code
        self._nop, self._breakpoint = Mnemonic.NOP, Opcode.INT3
        self._landing = Mnemonic.ENDBR64
        self._next = FlowControl.NEXT
        self._endings = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.RETURN, FlowControl.INDIRECT_BRANCH)
        self._branches = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH)
        self._rip, self._rsp = Register.RIP, Register.RSP
        self._calls = (FlowControl.CALL, FlowControl.INDIRECT_CALL)

    def read(self, function: Function) -> Head | Reason:
        """Return how a function's head is displaced; or why it cannot be."""
        first = self._code.bytes_at(function.address, len(ENDBR64))
        head = Head(len(ENDBR64) if first == ENDBR64 else 0)
        if self._displace_sled(head, function):
            head.original = self._code.bytes_at(function.address + head.patch, head.displaced)
            return head
        return self._read(head, function)

    def read_at(self, function: Function, offset: int) -> Head | Reason:
        """Return how the instruction at an offset in a function is displaced, with what follows; or why not.

        Whether an instruction begins there is the caller's to know.
        """
        return self._read(Head(offset), function)

    def _read(self, head: Head, function: Function) -> Head | Reason:
        try:
            self._displace(head, function)
        except _RefusalError as refusal:
            return refusal.reason
        head.original = self._code.bytes_at(function.address + head.patch, head.displaced)
        return head

    def _displace(self, head: Head, function: Function) -> None:
        begin = address = used = function.address + head.patch
        is_reachable, head.has_room = True, True
        while address < begin + JUMP_BYTES:
            instruction = self._instruction(address, function)
            is_nop = instruction.mnemonic == self._nop
            if is_reachable:
                if address >= function.end and not is_nop:
                    raise _RefusalError(Reason.TOO_SHORT)
                if instruction.mnemonic == self._landing:
                    raise _RefusalError(Reason.INDIRECT_JUMP)
                head.instructions += 1
                if not is_nop:
                    head.has_room = False
                    self._move(head, instruction, instruction.next_ip - begin >= JUMP_BYTES)
                is_reachable = instruction.flow_control not in self._endings
                used = instruction.next_ip
            elif not is_nop and instruction.code != self._breakpoint:
                # Something leads there that we did not see; or what follows has no symbol.
                raise _RefusalError(Reason.INDIRECT_JUMP if address < function.end else Reason.TOO_SHORT)
            address = instruction.next_ip
        head.displaced = max(used - begin, JUMP_BYTES)
        if begin + head.displaced > function.limit:
            raise _RefusalError(Reason.SHARED_BYTES if function.limit < function.end else Reason.TOO_SHORT)
        if head.displaced > MOST_DISPLACED:
            raise _RefusalError(Reason.UNMOVABLE)

    def _displace_sled(self, head: Head, function: Function) -> bool:
        """Displace a jump over nops, which XRay has at each entry. Returns whether there is one."""
        begin = function.address + head.patch
        jump = self._code.decode(begin)
        if jump is None or not jump.is_jmp_short:
            return False
        end, address = jump.near_branch_target, jump.next_ip
        if not JUMP_BYTES <= end - begin <= MOST_DISPLACED or end > min(function.end, function.limit):
            return False
        while address < end:
            nop = self._code.decode(address)
            if nop is None or nop.mnemonic != self._nop:
                return False
            address = nop.next_ip
        if address != end:
            return False
        head.displaced, head.instructions, head.has_room = end - begin, 1, True
        return True

    def _instruction(self, address: int, function: Function) -> Instruction:
        if address >= function.limit:
            raise _RefusalError(Reason.SHARED_BYTES if function.limit < function.end else Reason.TOO_SHORT)
        instruction = self._code.decode(address)
        if instruction is None:
            raise _RefusalError(Reason.BAD_CODE)
        return instruction

    def _move(self, head: Head, instruction: Instruction, is_last: bool) -> None:
        """Add an instruction to the moved code."""
        flow = instruction.flow_control
        if flow in self._calls:
            self._move_call(head, instruction, is_last)
        elif flow in self._branches:
            self._move_branch(head, instruction)
        elif flow != self._next and flow not in self._endings:
            raise _RefusalError(Reason.UNMOVABLE)  # what traps, begins a transaction
        else:
            self._add(head, self._bytes(instruction), instruction)

    def _move_branch(self, head: Head, instruction: Instruction) -> None:
        data = self._bytes(instruction)
        target = instruction.near_branch_target
        if data[0] in _BRANCH_HINTS:
            data = data[1:]
        if data[0] == 0xEB or data[0] == 0xE9:
            opcode = b"\xe9"
        elif 0x70 <= data[0] <= 0x7F:
            opcode = bytes((0x0F, data[0] + 0x10))
        elif data[0] == 0x0F and 0x80 <= data[1] <= 0x8F:
            opcode = data[:2]
        elif 0xE0 <= data[0] <= 0xE3:
            # Only short ones exist: over a jump that is taken when this one is not.
            opcode = data[:1] + b"\x02\xeb\x05\xe9"
        else:
            raise _RefusalError(Reason.UNMOVABLE)
        self._add_branch(head, opcode, target)

    def _add_branch(self, head: Head, opcode: bytes, target: int) -> None:
        at = len(head.moved) + len(opcode)
        head.moved += opcode + bytes(4)
        head.fix_ups.append(FixUp(target, at, at + 4))

    def _move_call(self, head: Head, instruction: Instruction, is_last: bool) -> None:
        data = self._bytes(instruction)
        if not is_last or not (instruction.is_call_near or instruction.is_call_near_indirect):
            raise _RefusalError(Reason.CALL)
        head.makes_call = True
        head.moved += _CALL_NEXT + _PUSH_RAX
        self._add_branch(head, _LEA_RAX, instruction.next_ip)
        head.moved += _STORE_AND_POP_RAX
        if instruction.is_call_near:
            self._add_branch(head, b"\xe9", instruction.near_branch_target)
            return
        if self._rsp in (instruction.memory_base, instruction.op0_register):
            raise _RefusalError(Reason.CALL)
        at = data.index(0xFF) + 1
        jump = data[:at] + bytes((data[at] ^ _CALL_TO_JUMP,)) + data[at + 1 :]
        self._add(head, jump, instruction)

    def _add(self, head: Head, data: bytes, instruction: Instruction) -> None:
        """Add bytes that have the operands of an instruction where it has them."""
        if instruction.is_ip_rel_memory_operand:
            offsets = self._code.offsets(instruction)
            if offsets.displacement_size != 4 or instruction.memory_base != self._rip:
                raise _RefusalError(Reason.UNMOVABLE)
            at = offsets.displacement_offset
            begin, target = len(head.moved), instruction.ip_rel_memory_address
            head.fix_ups.append(FixUp(target, begin + at, begin + len(data)))
            data = data[:at] + bytes(4) + data[at + 4 :]
        head.moved += data

    def _bytes(self, instruction: Instruction) -> bytes:
        return self._code.bytes_at(instruction.ip, instruction.len)
