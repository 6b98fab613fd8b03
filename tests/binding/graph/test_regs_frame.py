"""Regs give access to the frame: the current location, its slots, the called object and the full frame.

Each of these was broken by hand, one at a time, and a test failed: the location was always the instruction
pointer, even before the function had started (3.11); the closure of a function that had not started was not
read (3.11); cells were not read at all; a cell passed as an argument was taken for a variable's cell (3.11);
a call whose end event was lost had the frame of the next call; the new frame object was not linked to its
caller's, or made the frame look started (3.11: both crash); get_stack_nth() leaked a reference; get_regs()
did not check save_regs.
"""

from __future__ import annotations

import dis
import gc
import sys
import types
import weakref
from typing import Any

import pytest
from builds import HAS_GIL

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

HERE = f"{__name__}."


def plain(a, b=2):
    c = a + b
    return c  # noqa: RET504


def fails(value):
    extra = 1
    raise LookupError(value, extra)


def make_closure(free):
    def closure(a, *rest, key=None):
        own = a

        def inner():
            return own, a, free

        return inner

    return closure


def numbers(n):
    got = None
    for i in range(n):
        got = yield i
    return got


async def waits(n):
    return n + 1


class Thing:
    def method(self, a):
        return (self, a)

    @classmethod
    def of_class(cls, a):
        return cls

    @staticmethod
    def static(a):
        return a


class Explosive:
    """None of its methods may be called."""

    def __explode(self, *args: object) -> Any:
        raise AssertionError("code of the program was run")

    __repr__ = __str__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __getattr__ = __explode
    __call__ = __index__ = __del__ = __explode


def outcomes(run: Any, look: Any, *functions: str, **settings: Any) -> tuple[list[Any], list[Any]]:
    """Return the results of `look(regs)` at entries and at ends."""
    entries: list[Any] = []
    ends: list[Any] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: entries.append(look(regs)) is None,
        lambda trace, ops, regs: ends.append(look(regs)),
        filter=[HERE + each for each in functions],
        **settings,
    )
    with funcgraph.registered(ops):
        run()
    assert ops.last_error is None
    return entries, ends


def at_entry(run: Any, look: Any, *functions: str, **settings: Any) -> list[Any]:
    """Return the results of `look(regs)` at entries."""
    seen: list[Any] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: seen.append(look(regs)),
        filter=[HERE + each for each in functions],
        **settings,
    )
    with funcgraph.registered(ops):
        run()
    assert ops.last_error is None
    return seen


def places(regs: Any) -> dict[int, Any]:
    """Return all slots of the frame that hold a value."""
    found = {}
    for n in range(100):
        try:
            found[n] = regs.get_stack_nth(n)
        except KeyError:
            pass
        except (IndexError, RuntimeError):
            break
    return found


def named(regs: Any, *names: str) -> list[Any]:
    return [regs.get_stack_nth(regs.query_register_offset(name)) for name in names]


def offsets_of(code: types.CodeType, *opnames: str) -> list[int]:
    return [each.offset for each in dis.get_instructions(code) if each.opname in opnames]


# ---- location


def test_the_location_is_the_start_and_then_the_instruction_of_the_end():
    entries, ends = outcomes(lambda: plain(1), lambda regs: regs.get_instruction_pointer(), "plain")
    (start,), (end,) = entries, ends
    code = plain.__code__
    assert start.func.name == end.func.name == f"{HERE}plain"
    assert [start.offset] == offsets_of(code, "RESUME")
    assert start.line == code.co_firstlineno
    assert end.offset == offsets_of(code, "RETURN_VALUE")[-1]
    assert end.line == code.co_firstlineno + 2


def test_the_location_of_an_exception_is_where_it_was_raised():
    def run():
        with pytest.raises(LookupError):
            fails(1)

    _, (end,) = outcomes(run, lambda regs: regs.get_instruction_pointer(), "fails")
    assert [end.offset] == offsets_of(fails.__code__, "RAISE_VARARGS")
    assert end.line == fails.__code__.co_firstlineno + 2


@pytest.mark.parametrize("function", [make_closure(1), numbers])
def test_a_start_behind_a_preamble(function):
    """CPython creates cells and the generator object before the first line."""

    def run():
        made = function(1)
        list(made) if isinstance(made, types.GeneratorType) else made()

    (start,), _ = outcomes(run, lambda regs: regs.get_instruction_pointer(), f"*{function.__name__}")
    assert start.offset == offsets_of(function.__code__, "RESUME")[0] > 0
    assert start.line == function.__code__.co_firstlineno


# ---- the called object


@pytest.mark.parametrize(
    ("function", "run"),
    [
        (plain, lambda: plain(1)),
        (numbers, lambda: list(numbers(2))),
        (Thing.method, lambda: Thing().method(1)),
        (Thing.of_class.__func__, lambda: Thing.of_class(1)),
        (Thing.static, lambda: Thing.static(1)),
    ],
)
def test_the_callable_is_the_function_object(function, run):
    entries, ends = outcomes(run, lambda regs: regs.get_callable(), function.__qualname__)
    assert entries == ends == [function]


def test_closures_are_told_apart_by_their_callables():
    """The closures share one code object."""
    first, second = make_closure(1), make_closure(2)
    entries, _ = outcomes(lambda: (second(0), first(0)), lambda regs: regs.get_callable(), "*.closure")
    assert entries[0] is second and entries[1] is first


# ---- slots of the frame


def test_places_are_the_variables_in_order():
    def look(regs):
        return places(regs), [regs.query_register_offset(name) for name in ("a", "b", "c")]

    ((start, offsets),), ((end, _),) = outcomes(lambda: plain(1), look, "plain")
    assert offsets == [0, 1, 2]
    assert start == {0: 1, 1: 2}
    assert end == {0: 1, 1: 2, 2: 3}


def test_cells_and_free_variables_are_looked_through():
    function = make_closure("free")
    look_for = ("a", "rest", "key", "free")
    entries, ends = outcomes(
        lambda: function(1, 2, key=3), lambda regs: (named(regs, *look_for), places(regs)), "*.closure"
    )
    assert entries[0][0] == ends[0][0] == [1, (2,), 3, "free"]
    assert len(entries[0][1]) == 4 and len(ends[0][1]) == 6  # own and inner were assigned


def test_an_argument_that_is_a_cell_itself_stays_one():
    cell = types.CellType(5)
    assert at_entry(
        lambda: make_closure(0)(cell), lambda regs: (regs.get_argument("a"), named(regs, "a")), "*.closure"
    ) == [(cell, [cell])]


def test_no_such_place():
    def look(regs):
        for n, error in (
            (-1, IndexError),
            (1 << 80, IndexError),
            (2, KeyError),
            (50, IndexError),
            ("a", TypeError),
        ):
            with pytest.raises(error):
                regs.get_stack_nth(n)
        for name, error in (("x", KeyError), ("\udc80", KeyError), ("a\0", KeyError), (1, TypeError)):
            with pytest.raises(error):
                regs.query_register_offset(name)
        return True

    assert at_entry(lambda: plain(1), look, "plain") == [True]


def test_names_that_are_not_ascii():
    scope: dict[str, Any] = {"__name__": __name__}
    exec("def unusual(größe, 名, ähnlich=3):\n    return größe", scope)
    found = at_entry(
        lambda: scope["unusual"](1, 2),
        lambda regs: (regs.get_argument("größe"), regs.get_argument("名"), named(regs, "名", "größe")),
        "unusual",
    )
    assert found == [(1, 2, [2, 1])]


def test_pointers_are_addresses_of_this_call():
    def nested(n):
        return n and nested(n - 1)

    def look(regs):
        return regs.get_frame_pointer(), regs.get_stack_pointer()

    entries, ends = outcomes(lambda: nested(2), look, "*.nested")
    assert entries == ends[::-1]  # the evaluation stack is empty at entries and at ends
    assert len({frame for frame, _ in entries}) == 3
    size = nested.__code__.co_nlocals + len(nested.__code__.co_freevars)
    assert len({stack - frame for frame, stack in entries}) == 1
    assert all(stack - frame > size * 8 for frame, stack in entries)


# ---- generators and coroutines


def test_a_generator_is_shown_as_it_ends():
    entries, ends = outcomes(
        lambda: list(numbers(2)),
        lambda regs: (places(regs), regs.get_instruction_pointer().line, regs.get_callable()),
        "numbers",
    )
    line = numbers.__code__.co_firstlineno
    assert entries == [({0: 2}, line, numbers)]
    assert [(end[0][2], end[1], end[2]) for end in ends] == [(1, line + 4, numbers)]


def test_a_coroutine():
    def run():
        with pytest.raises(StopIteration):
            waits(4).send(None)

    def look(regs):
        return places(regs)[0], regs.get_callable()

    entries, ends = outcomes(run, look, "waits")
    assert entries == ends == [(4, waits)]


@pytest.mark.skipif(not HAS_GIL, reason="memory is used again later without the GIL")
def test_a_call_whose_end_nobody_told_of_shows_nothing_of_the_next():
    """A callback frees a generator, so its end is not reported; the next call at its address reveals it."""
    seen: list[Any] = []
    suspended: list[Any] = []

    def entry(trace, ops, regs):
        if trace.func.qualname == "plain":
            suspended.clear()
            return False
        return True

    def ret(trace, ops, regs):
        try:
            seen.append((trace.end, regs.get_stack_nth(0)))
        except RuntimeError as error:
            seen.append((trace.end, str(error)))

    ops = funcgraph.FgraphOps(entry, ret, filter=[f"{HERE}numbers", f"{HERE}plain"])
    with funcgraph.registered(ops):
        suspended.append(numbers(3))
        assert next(suspended[0]) == 0
        plain(1)
        assert list(numbers(2)) == [0, 1]
    assert ops.last_error is None
    (end, shown), last = seen
    assert end == "close" and "is gone" in shown
    assert last == ("return", 2)


# ---- the full frame


def test_no_frame_without_save_regs():
    ops = funcgraph.FgraphOps()
    assert ops.save_regs is False
    assert funcgraph.FgraphOps(save_regs=True).save_regs is True
    entries, ends = outcomes(lambda: plain(1), lambda regs: regs.get_regs(), "plain")
    assert entries == ends == [None]


def test_the_frame_shows_the_call():
    def look(regs):
        frame = regs.get_regs()
        return (
            type(frame),
            frame.f_code,
            dict(frame.f_locals),
            frame.f_globals is globals(),
            frame.f_back.f_code.co_name,
            regs.get_regs() is frame,
        )

    def calls():
        return plain(5)

    entries, ends = outcomes(calls, look, "plain", save_regs=True)
    start = (types.FrameType, plain.__code__, {"a": 5, "b": 2}, True, "calls", True)
    assert entries == [start]
    assert ends == [(*start[:2], {"a": 5, "b": 2, "c": 7}, *start[3:])]


def test_the_frame_of_a_closure_shows_cells_and_free_variables():
    """On 3.11 the frame has neither at entry; the program must later find both unchanged."""
    entries, _ = outcomes(
        lambda: make_closure("free")(1, 2, key=3),
        lambda regs: dict(regs.get_regs().f_locals),
        "*.closure",
        save_regs=True,
    )
    assert entries == [{"a": 1, "rest": (2,), "key": 3, "free": "free"}]


@pytest.mark.parametrize("reads_locals", [False, True])
def test_the_program_runs_on_as_if_nobody_had_looked(reads_locals):
    results: list[Any] = []

    def look(regs):
        if regs.available()["frame"]:  # a generator whose end is reported late has no frame
            frame = regs.get_regs()
            return dict(frame.f_locals) if reads_locals else frame.f_code.co_name
        return None

    def asks(a):
        frame = sys._getframe()
        cell = lambda: a  # noqa: E731
        return (
            frame.f_code.co_name,
            frame.f_lineno,
            frame.f_back.f_code.co_name,
            sorted(frame.f_locals),
            cell(),
        )

    def run():
        results.append(asks(1))
        results.append(make_closure(3)(1, 2)())
        results.append(list(numbers(3)))
        results.append([next(numbers(1)) for _ in range(3)])
        with pytest.raises(LookupError) as caught:
            fails(4)
        trace = caught.value.__traceback__
        while trace:
            last, trace = trace, trace.tb_next
        results.append((last.tb_lineno, dict(last.tb_frame.f_locals), last.tb_frame.f_back.f_code.co_name))

    run()
    expected, results = results, []
    outcomes(run, look, "*asks", "*closure*", "numbers", "fails", save_regs=True)
    assert results == expected


def test_a_kept_frame_outlives_its_call():
    kept: list[Any] = []

    def run():
        plain(1)
        make_closure(3)(1, 2)()
        list(numbers(2))
        with pytest.raises(LookupError):
            fails(4)

    # A collected generator is left out: its f_locals may crash CPython 3.13 (gh-125723).
    outcomes(
        run,
        lambda regs: kept.append(regs.get_regs()),
        "plain",
        "*closure*",
        "numbers",
        "fails",
        save_regs=True,
    )
    gc.collect()
    found = [(frame.f_code.co_name, dict(frame.f_locals)) for frame in kept]
    assert ("plain", {"a": 1, "b": 2, "c": 3}) in found
    assert ("fails", {"value": 4, "extra": 1}) in found
    assert [frame.f_back.f_code.co_name for frame in kept if frame.f_code.co_name == "plain"] == ["run"] * 2
    for frame in kept:
        frame.clear()


def test_frames_in_a_program_that_is_profiled():
    """CPython passes the profiler the same frame object."""
    kept: list[Any] = []
    reported: list[Any] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: kept.append(regs.get_regs()), filter=[f"{HERE}plain"], save_regs=True
    )
    with funcgraph.registered(ops):
        sys.setprofile(lambda frame, event, arg: reported.append((event, frame)))
        try:
            plain(1)
        finally:
            sys.setprofile(None)
    assert ops.last_error is None
    assert [event for event, frame in reported if frame is kept[0]] == ["call", "return"]


# ---- all fields


def test_available_says_what_is_filled():
    parts = {"instruction_pointer", "frame_pointer", "stack_pointer", "callable", "stack"}

    def look(regs):
        filled = regs.available()
        assert all(type(value) is bool for value in filled.values())
        assert len(filled) == 9
        return {name for name, value in filled.items() if value}

    def run():
        plain(1)
        with pytest.raises(LookupError):
            fails(1)

    entries, ends = outcomes(run, look, "plain", "fails")
    assert entries == [parts | {"arguments"}] * 2
    assert ends == [parts | {"return_value"}, parts | {"exception"}]
    entries, ends = outcomes(lambda: plain(1), look, "plain", save_regs=True)
    assert entries == [parts | {"arguments", "frame"}]
    assert ends == [parts | {"return_value", "frame"}]


def read_all(regs: Any) -> None:
    regs.available()
    regs.get_instruction_pointer()
    regs.get_callable()
    regs.get_frame_pointer()
    regs.get_regs()
    places(regs)
    regs.query_register_offset("a")


def test_no_code_of_the_program_runs():
    bomb = Explosive()

    def look(regs):
        read_all(regs)
        assert regs.get_stack_nth(0) is bomb

    outcomes(lambda: plain_of(bomb), look, "plain_of")
    Explosive.__del__ = lambda self: None


def plain_of(a):
    return a


@pytest.mark.parametrize("save_regs", [False, True])
def test_nothing_is_kept_alive_longer_than_the_callback(save_regs):
    class Kept:
        pass

    def uses(a):
        died.append(alive() is None)
        del a  # the last reference unless regs keep one: a generator's caller no longer has one
        died.append(alive() is None)
        yield

    alive: Any = None
    died: list[bool] = []

    def run():
        nonlocal alive
        value = [Kept()]
        alive = weakref.ref(value[0])
        list(uses(value.pop()))

    outcomes(run, read_all, "*.uses", save_regs=save_regs)
    assert died == [False, True]


def test_used_after_its_callback():
    kept: list[Any] = []
    outcomes(lambda: plain(1), kept.append, "plain", save_regs=True)
    for regs in kept:
        for use in (
            regs.get_instruction_pointer,
            regs.get_callable,
            regs.get_frame_pointer,
            regs.get_stack_pointer,
            regs.get_regs,
            regs.available,
            regs.partial_regs,
            regs.fill_perf_regs,
            lambda regs=regs: regs.get_stack_nth(0),
            lambda regs=regs: regs.query_register_offset("a"),
        ):
            with pytest.raises(RuntimeError, match="after its callback"):
                use()
