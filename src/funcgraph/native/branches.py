"""Branches to the first bytes of functions, wherever they are: such functions are refused.

A branch into displaced bytes would end in the middle of the jump there. To find such branches by decoding all
instructions takes a second for a large library. So each byte that may begin a direct branch is taken for one.
Few of these candidates lead to a head. They alone are decoded, with the code before them, to see what they
are. What is no instruction of known code counts as a branch: it may be one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from funcgraph.native.code import Code
from funcgraph.native.functions import Function
from funcgraph.native.head import Head
from funcgraph.native.reasons import Reason
from funcgraph.native.references import address_loads, branches

__all__ = ["Watch", "refuse_branch_targets"]


@dataclass(slots=True)
class Watch:
    """The places to which nothing may lead.

    Attributes:
        inner: each address inside of displaced bytes but the first -> the function.
        first: each address at which a function is entered -> the function. Its own code may not go there.
    """

    inner: dict[int, Function]
    first: dict[int, Function]

    @classmethod
    def of(cls, heads: Iterable[tuple[Function, Head]]) -> Watch:
        """Watch the heads of functions."""
        watch = cls({}, {})
        for function, head in heads:
            begin = function.address + head.patch
            watch.first[function.address] = watch.first[begin] = function
            for address in range(begin + 1, begin + head.displaced):
                watch.inner[address] = function
        return watch

    def hit_by_jump(self, source: int, target: int) -> Function | None:
        """Return the function that a jump spoils; None: it spoils none.

        A jump of a function to its own entry is a loop. Each round would be a call.
        """
        function = self.inner.get(target)
        if function is None:
            function = self.first.get(target)
            if function is None or not function.owns(source):
                return None
        return function if function.reason is Reason.HOOKABLE else None


def refuse_branch_targets(code: Code, watch: Watch) -> None:
    """Refuse the functions to whose displaced bytes a direct branch leads, or whose address code loads."""
    targets = watch.inner.keys() | watch.first.keys()
    for block in code.blocks:
        for source, target, is_call in branches(block, targets):
            if is_call and target in watch.first:
                continue  # as for recursion
            function = watch.hit_by_jump(source, target)
            if function and _is_real(code, source, target):
                function.reason = Reason.JUMP_TARGET
        for source, target in address_loads(block, watch.inner):
            function = watch.inner[target]
            if function.reason is Reason.HOOKABLE and _is_real(code, source, target):
                function.reason = Reason.INDIRECT_JUMP


def _is_real(code: Code, source: int, target: int) -> bool:
    """Return whether an instruction at `source` leads to `target`; True also if that is not known."""
    instruction = code.covering(source)
    if instruction is None:
        return True
    if instruction.is_ip_rel_memory_operand:
        return bool(instruction.ip_rel_memory_address == target)
    return bool(instruction.near_branch_target == target)
