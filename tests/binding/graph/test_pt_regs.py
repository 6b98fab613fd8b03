"""Register sets and samples that are made from FtraceRegs, and what writing to a frame's f_locals does.

Broken by hand: the sample's stack began with the caller; on 3.11 the call's own place was that of its caller.
"""

from __future__ import annotations

import gc
import inspect
import sys
import weakref
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

HERE = f"{__name__}."
WRITES_THROUGH = sys.version_info >= (3, 13)  # PEP 667


def pay(amount, *rest, currency="EUR"):
    total = amount + sum(rest)
    return total  # noqa: RET504


def fails(amount):
    raise LookupError(amount)


def numbers(n):
    yield from range(n)


def buys():
    return pay(1, 2)


def callbacks(run: Any, look: Any, *functions: str, **settings: Any) -> tuple[list[Any], list[Any]]:
    """Return the results of `look(regs)` at entries and at ends."""
    entries: list[Any] = []
    ends: list[Any] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: entries.append(look(regs)) is None,
        lambda trace, ops, regs: ends.append(look(regs)),
        filter=[name if "." in name else HERE + name for name in functions],
        **settings,
    )
    with funcgraph.registered(ops):
        run()
    assert ops.last_error is None
    return entries, ends


# ---- partial_regs()


def test_partial_regs_of_an_entry_have_its_arguments():
    (regs,), _ = callbacks(lambda: pay(1, 2, 3), lambda regs: regs.partial_regs(), "pay")
    assert regs.partial is True
    assert regs.locals() == {"amount": 1, "rest": (2, 3), "currency": "EUR"}
    assert regs.get_local("rest") == (2, 3)
    with pytest.raises(KeyError, match="'total' is not in these partial regs"):
        regs.get_local("total")
    with pytest.raises(RuntimeError, match="no return value"):
        regs.get_return_value()
    assert regs.get_instruction_pointer().line == pay.__code__.co_firstlineno
    assert 0 < regs.get_frame_pointer() < regs.get_stack_pointer()


def test_partial_regs_of_a_return_have_its_result_and_no_variables():
    def run():
        pay(1, 2)
        with pytest.raises(LookupError):
            fails(5)

    _, (result, error) = callbacks(run, lambda regs: regs.partial_regs(), "pay", "fails")
    assert result.get_return_value() == 3
    assert isinstance(error.get_return_value(), LookupError)
    assert result.locals() == {}
    with pytest.raises(KeyError, match="amount"):
        result.get_local("amount")


def test_partial_regs_are_never_passed_off_as_full():
    """Not even if the user saves the full regs."""
    entries, ends = callbacks(lambda: pay(1), lambda regs: regs.partial_regs(), "pay", save_regs=True)
    for regs in (*entries, *ends):
        with pytest.raises(RuntimeError, match=r"partial and have no frame: use FtraceRegs.get_regs"):
            regs.get_regs()
        with pytest.raises(TypeError):
            regs.get_local(0)
    with pytest.raises(TypeError):
        funcgraph.PartialRegs()


def test_code_for_the_regs_of_a_kprobe_takes_partial_regs():
    found: list[tuple[bool, int, int]] = []

    def check(kprobe: object, regs: Any) -> None:
        found.append((regs.partial, regs.get_local("amount"), regs.get_instruction_pointer().line))

    line = pay.__code__.co_firstlineno
    with funcgraph.probed(funcgraph.Kprobe(check, f"{HERE}pay", line=line + 1)):
        pay(7)
    (regs,), _ = callbacks(lambda: pay(8), lambda regs: regs.partial_regs(), "pay")
    check(None, regs)
    assert found == [(False, 7, line + 1), (True, 8, line)]


def test_partial_regs_of_a_c_function_have_nothing():
    entries, _ = callbacks(lambda: len([1]), lambda regs: regs.partial_regs(), "builtins.len")
    (regs,) = entries
    assert regs.locals() == {}
    for method in ("get_instruction_pointer", "get_frame_pointer", "get_stack_pointer", "get_return_value"):
        with pytest.raises(RuntimeError, match="these partial regs have no"):
            getattr(regs, method)()


def test_kept_partial_regs_go_with_a_cycle():
    class Thing:
        pass

    def takes(thing):
        pass

    def run():
        thing: Any = Thing()
        alive.append(weakref.ref(thing))
        takes(thing)

    def keeps(regs):
        partial = regs.partial_regs()
        for thing in partial.locals().values():
            thing.regs = partial

    alive: list[weakref.ref[Any]] = []
    callbacks(run, keeps, "*.takes")
    gc.collect()
    assert alive[0]() is None


# ---- fill_perf_regs()


def test_a_sample_has_the_registers_and_the_stack():
    line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]
    (entry,), (end,) = callbacks(
        lambda: buys(),  # noqa: PLW0108
        lambda regs: (regs.fill_perf_regs(), regs.get_frame_pointer(), regs.get_stack_pointer()),
        "pay",
    )
    first = pay.__code__.co_firstlineno
    for (sample, fp, sp), at in ((entry, first), (end, first + 2)):
        assert (sample.fp, sample.sp, sample.flags) == (fp, sp, pay.__code__.co_flags)
        assert sample.ip != 0
        own, caller, run = sample.callchain[:3]
        assert (own.name, own.line, own.code) == (f"{HERE}pay", at, pay.__code__)
        assert (caller.name, caller.line) == (f"{HERE}buys", buys.__code__.co_firstlineno + 1)
        assert run.line == line and run.name.endswith("<lambda>")
    assert entry[0].ip < end[0].ip


def test_a_sample_of_a_generator_tells_so_by_its_flags():
    (sample,), _ = callbacks(lambda: list(numbers(1)), lambda regs: regs.fill_perf_regs(), "numbers")
    assert sample.flags & inspect.CO_GENERATOR


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_stack_of_a_sample_can_be_limited(depth):
    (sample,), _ = callbacks(buys, lambda regs: regs.fill_perf_regs(max_stack=depth), "pay")
    assert [place.qualname for place in sample.callchain] == ["pay", "buys"][:depth]


def test_a_sample_of_a_c_function_begins_with_its_caller():
    def calls():
        return len([1])

    (sample,), _ = callbacks(calls, lambda regs: regs.fill_perf_regs(), "builtins.len")
    assert sample[:4] == (0, 0, 0, 0)
    assert sample.callchain[0].qualname.endswith("calls")


def test_errors_of_samples():
    def look(regs):
        with pytest.raises(ValueError, match="max_stack must be >= 0, got -1"):
            regs.fill_perf_regs(-1)
        kept.append(regs)

    kept: list[Any] = []
    callbacks(lambda: pay(1), look, "pay")
    for use in (kept[0].fill_perf_regs, kept[0].partial_regs, kept[0].available):
        with pytest.raises(RuntimeError, match="after its callback"):
            use()


# ---- writing


def doubles(amount):
    amount *= 2
    return amount


@pytest.mark.parametrize("by_copy", [False, True])
def test_writing_through_f_locals_changes_the_program_from_3_13_on_and_a_copy_does_not(by_copy):
    """docs/reference/api.md, FtraceRegs.get_regs(): PEP 667."""

    def entry(trace, ops, regs):
        variables = regs.get_regs().f_locals
        if by_copy:
            variables = dict(variables)
        variables["amount"] = 100
        return False

    ops = funcgraph.FgraphOps(entry, filter=[f"{HERE}doubles"], save_regs=True)
    with funcgraph.registered(ops):
        result = doubles(1)
    assert ops.last_error is None
    assert result == (200 if WRITES_THROUGH and not by_copy else 2)


def test_later_callbacks_see_a_value_as_the_program_left_it():
    """A variable of the frame is read when it is asked for: what an earlier user or the program wrote."""
    seen: list[Any] = []

    def writes(trace, ops, regs):
        regs.get_regs().f_locals["amount"] = 50
        return False

    def reads(trace, ops, regs):
        seen.append(regs.get_argument("amount"))
        return True

    def at_return(trace, ops, regs):
        seen.append(regs.get_stack_nth(regs.query_register_offset("amount")))

    first = funcgraph.FgraphOps(writes, filter=[f"{HERE}doubles"], save_regs=True)
    second = funcgraph.FgraphOps(reads, at_return, filter=[f"{HERE}doubles"])
    with funcgraph.registered(first, second):
        doubles(1)
    assert first.last_error is second.last_error is None
    assert seen == ([50, 100] if WRITES_THROUGH else [1, 2])
