"""The return function is called exactly once for every entry that requested it, with that entry's data,
however the call ends.

Broken by hand: call_retfunc in src/binding/graph/ops_call.c called the function twice; fg_ops_reserve_object
kept no reference (a crash here, a wrong object in other runs); facts_of_end reported every end as a return.
"""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import AsyncIterator, Iterator

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

HERE = f"{__name__}.*"


def plain(n: int) -> int:
    return plain(n - 1) + 1 if n else 0


def fails(n: int) -> None:
    if n:
        fails(n - 1)
    raise LookupError(n)


def calls_plain() -> None:
    raise LookupError(plain(0))


def numbers(n: int) -> Iterator[int]:
    yield from range(n)


def delegates(n: int) -> Iterator[int]:
    yield from numbers(n)


async def sleeper(result: int) -> int:
    await asyncio.sleep(0)
    return result


async def ticker(n: int) -> AsyncIterator[int]:
    for i in range(n):
        await asyncio.sleep(0)
        yield i


def test_returns(probe):
    user = probe(f"{__name__}.plain")
    assert plain(3) == 3
    assert [call.what for call in user.calls] == ["entry"] * 4 + ["return"] * 4
    assert [call.value for call in user.calls[4:]] == [0, 1, 2, 3]


def test_exceptions(probe):
    user = probe(HERE)
    with pytest.raises(LookupError) as caught:
        fails(2)
    assert user.of("fails") == ["entry"] * 3 + ["raise"] * 3
    assert user.calls[-1].value is caught.value


def test_a_generator_is_one_call(probe):
    user = probe(HERE)
    assert list(delegates(5)) == [0, 1, 2, 3, 4]
    assert user.of("delegates") == user.of("numbers") == ["entry", "return"]


@pytest.mark.parametrize("suspended", [False, True])
def test_a_generator_that_is_closed(probe, suspended):
    user = probe(HERE)
    generator = delegates(5)
    if suspended:
        next(generator)
    generator.close()
    if suspended:
        assert user.of("delegates") == user.of("numbers") == ["entry", "close"]
    else:  # to raise at the first line, 3.11 runs even a frame that has not started
        assert user.of("delegates") in ([], ["entry", "close"]) and not user.of("numbers")


def test_a_generator_that_is_collected(probe):
    user = probe(HERE)
    generator = delegates(5)
    next(generator)
    del generator
    assert user.of("delegates") == user.of("numbers") == ["entry", "close"]


def test_a_generator_that_is_thrown_into(probe):
    user = probe(HERE)
    generator = delegates(5)
    next(generator)
    with pytest.raises(KeyError):
        generator.throw(KeyError("x"))
    assert user.of("delegates") == user.of("numbers") == ["entry", "raise"]


def test_interleaved_generators_keep_their_own(probe):
    user = probe(HERE)
    generators = [numbers(i) for i in range(6)]
    while generators:
        generators = [each for each in generators if next(each, None) is not None]
    assert sorted(user.of("numbers")) == ["entry"] * 6 + ["return"] * 6


def test_coroutines(probe):
    user = probe(HERE)

    async def main() -> list[int]:
        return await asyncio.gather(*(sleeper(i) for i in range(5)))

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]
    assert user.of("sleeper") == ["entry"] * 5 + ["return"] * 5


def test_a_coroutine_that_is_cancelled(probe):
    user = probe(HERE)

    async def forever() -> None:
        await asyncio.sleep(1000)

    async def main() -> None:
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert user.of("forever") == ["entry", "raise"]


def test_an_async_generator(probe):
    user = probe(HERE)

    async def main() -> list[int]:
        found = []
        async for number in ticker(10):
            found.append(number)
            if number == 2:
                break
        return found

    assert asyncio.run(main()) == [0, 1, 2]
    assert user.of("ticker")[0] == "entry"
    assert user.of("ticker").count("entry") == 1 and len(user.of("ticker")) == 2


def test_an_entry_that_wants_no_return_gets_none(probe):
    seen: list[str] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: regs.get_argument("n") % 2 == 0,
        lambda trace, ops, regs: seen.append(regs.get_return_value()),
        filter=[f"{__name__}.plain"],
    )
    with funcgraph.registered(ops):
        plain(5)
    assert seen == [0, 2, 4]
    assert ops.last_error is None


def test_without_an_entry_function_all_returns_are_wanted():
    depths: list[int] = []
    ops = funcgraph.FgraphOps(
        None, lambda trace, ops, regs: depths.append(trace.depth), filter=[f"{__name__}.plain"]
    )
    with funcgraph.registered(ops):
        plain(2)
    assert depths == [2, 1, 0]


def test_without_a_return_function_entries_are_told():
    depths: list[int] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: depths.append(trace.depth) is None, filter=[f"{__name__}.plain"]
    )
    with funcgraph.registered(ops):
        plain(2)
    assert depths == [0, 1, 2]


def test_two_users_of_one_function(probe):
    first, second = probe(HERE), probe(f"{__name__}.plain")
    with pytest.raises(LookupError):
        fails(1)
    plain(2)
    assert first.of("plain") == second.of("plain") == ["entry"] * 3 + ["return"] * 3
    assert not second.of("fails")


def test_own_depth(probe):
    """Broken by hand: get_depth returned the number of frames on the thread's stack."""
    everything, some = probe(HERE, notrace=["*<*"]), probe(f"{__name__}.plain")

    assert list(delegates(1)) == [0]
    plain(1)
    assert [call.depth for call in some.calls] == [0, 1, 1, 0]
    assert [call.depth for call in everything.calls[:4]] == [0, 1, 1, 0]
    with pytest.raises(LookupError):
        calls_plain()
    assert [call.depth for call in some.calls[4:]] == [0, 0]
    assert [call.depth for call in everything.calls[8:]] == [0, 1, 1, 0]


class Answer:
    """An object that is true by default."""


def test_an_answer_is_not_kept():
    answers: list[weakref.ref[Answer]] = []

    def entry(trace, ops, regs):
        answer = Answer()
        answers.append(weakref.ref(answer))
        return answer

    with funcgraph.registered(funcgraph.FgraphOps(entry, filter=[f"{__name__}.plain"])) as ops:
        plain(0)
    assert ops.last_error is None
    assert answers[0]() is None


def test_nothing_of_the_program_is_kept(probe):
    """Broken by hand: fg_truth_of leaked the answer; settle_trace leaked a trace that the callback kept."""
    user = probe(f"{__name__}.plain")
    plain(0)
    before = sys.getrefcount(user.ops), sys.getrefcount(user._entry.__func__)
    for _ in range(200):
        plain(2)
    user.calls.clear()
    assert (sys.getrefcount(user.ops), sys.getrefcount(user._entry.__func__)) == before
