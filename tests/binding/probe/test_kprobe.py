"""A kprobe is hit each time its line or offset runs, and only then; its handler sees the current variables.
Errors have the kernel's numbers and a text.

Broken by hand: is_at() compared nothing (hits at every line); listen() did not take the events away first (a
probe on a line that was passed before heard nothing); offset_in() let RESUME through (no hits);
has_instruction_probe() said no (the first hit by offset was lost); with_prefixes() did nothing (no hits
behind EXTENDED_ARG on 3.11); variable() did not look into cells; fg_kprobe_unregister() left the probe in the
list; failed() did not disable.
"""

from __future__ import annotations

import asyncio
import dis
import errno
import gc
import linecache
import sys
import threading
import types
import weakref
from typing import Any

import pytest
from builds import functions_go

import funcgraph
from funcgraph import Kprobe, probed

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left", "no_kprobe_left")

HAVE_MONITORING = sys.version_info >= (3, 12)


@pytest.fixture
def no_kprobe_left():
    yield
    left = funcgraph.kprobes()
    for kprobe in left:
        funcgraph.unregister_kprobe(kprobe)
    assert not left


def line_of(function: Any, mark: str) -> int:
    """Return the number of the function's line that ends in the comment `# mark`."""
    code = function.__code__
    for line in range(code.co_firstlineno, code.co_firstlineno + 60):
        if linecache.getline(code.co_filename, line).rstrip().endswith(f"# {mark}"):
            return line
    raise LookupError(mark)


def noting(notes: list[Any], *names: str) -> Any:
    """Return a handler that notes the named variables."""

    def handler(kprobe: Kprobe, regs: funcgraph.KprobeRegs) -> None:
        values = tuple(regs.get_local(name) for name in names)
        notes.append(values[0] if len(values) == 1 else values)

    return handler


def total(items: Any, rate: int = 2) -> int:
    result = 0  # first
    for item in items:  # loop
        result += item  # add
        result *= rate  # multiply
    return result  # last


def at(mark: str, handler: Any, function: Any = total, **settings: Any) -> Kprobe:
    return Kprobe(handler, function, line=line_of(function, mark), **settings)


# ---- hits


def test_each_time_at_its_line_and_nowhere_else():
    notes: list[Any] = []
    kprobe = at("multiply", noting(notes, "item", "result"))
    with probed(kprobe):
        assert total([1, 2, 3]) == 22
        assert notes == [(1, 1), (2, 4), (3, 11)]
        assert (kprobe.hits, kprobe.nmissed, kprobe.errors) == (3, 0, 0)
        total([])
        assert kprobe.hits == 3
    total([1])
    assert kprobe.hits == 3


def test_every_line_of_a_loop():
    notes: list[Any] = []
    kprobes = [
        at(mark, lambda kprobe, regs, mark=mark: notes.append(mark))
        for mark in ("last", "loop", "first", "add", "multiply")
    ]
    with probed(*kprobes):
        total([1, 2])
    assert notes == ["first", "loop", "add", "multiply", "loop", "add", "multiply", "loop", "last"]


def test_put_later_on_a_line_that_was_passed():
    """On 3.12+ a line without a probe returns DISABLE; a probe registered there later must still be hit."""
    first, second, third = [], [], []
    with probed(at("add", noting(first, "item"))):
        total([1, 2])
        total([1, 2])
        with probed(at("multiply", noting(second, "item"))):
            total([5, 6])
            with probed(at("last", noting(third, "result"))):
                total([7])
        total([8])
    assert first == [1, 2, 1, 2, 5, 6, 7, 8]
    assert second == [5, 6, 7]
    assert third == [14]


def test_several_on_one_line_in_order_of_registration():
    notes: list[str] = []
    kprobes = [at("last", lambda kprobe, regs: notes.append(kprobe.name), name=name) for name in "abc"]
    with probed(kprobes[1], kprobes[0], kprobes[2]):
        assert [kprobe.name for kprobe in funcgraph.kprobes()] == ["b", "a", "c"]
        total([])
        funcgraph.unregister_kprobe(kprobes[0])
        total([])
        funcgraph.register_kprobe(kprobes[0])
        total([])
    assert notes == ["b", "a", "c", "b", "c", "b", "c", "a"]


def test_by_name_never_called_before():
    notes: list[Any] = []

    def never(x: int) -> int:
        return x + 1  # only

    name = f"{__name__}.{never.__qualname__}"
    with probed(Kprobe(noting(notes, "x"), name, line=line_of(never, "only"))) as kprobe:
        assert kprobe.symbol == name and kprobe.function.code is never.__code__
        assert never(4) == 5
    assert notes == [4]


class Cart:
    def __init__(self, items: list[int]) -> None:
        self.items = items

    def total(self) -> int:
        return sum(self.items)  # sum


@pytest.mark.parametrize(
    "symbol", [Cart.total, Cart([]).total, Cart.total.__code__, f"{__name__}.Cart.total"], ids=str
)
def test_ways_to_name_a_function(symbol: Any):
    notes: list[Any] = []
    with probed(Kprobe(noting(notes, "self"), symbol, line=line_of(Cart.total, "sum"))):
        cart = Cart([1, 2])
        assert cart.total() == 3
    assert notes == [cart]


def test_recursion_and_exceptions():
    def descend(n: int) -> int:
        if n:
            descend(n - 1)
        raise LookupError(n)  # raise

    notes: list[int] = []
    with probed(at("raise", noting(notes, "n"), descend)), pytest.raises(LookupError):
        descend(3)
    assert notes == [0]


def test_in_exception_handlers_the_exception_is_as_it_was():
    def careful(n: int) -> str:
        try:
            raise KeyError(n)
        except KeyError as error:
            text = repr(error)  # caught
            assert sys.exc_info()[1] is error
        finally:
            n += 1  # finally
        return text

    def handler(kprobe: Kprobe, regs: Any) -> None:
        notes.append(type(regs.get_local("error")))
        with pytest.raises(ValueError):
            int("x")

    notes: list[Any] = []
    with probed(at("caught", handler, careful), at("finally", noting(notes, "n"), careful)):
        assert careful(1) == "KeyError(1)"
    assert notes == [KeyError, 1]


def test_generators_coroutines_and_threads():
    def generate(n: int) -> Any:
        while n:
            yield n  # yield
            n -= 1  # resumed

    notes: list[int] = []
    with probed(at("resumed", noting(notes, "n"), generate)):
        generator = generate(3)
        assert next(generator) == 3 and notes == []
        assert next(generator) == 2 and notes == [3]
        assert list(generator) == [1] and notes == [3, 2, 1]
        closed = generate(9)
        next(closed)
        closed.close()
    assert notes == [3, 2, 1]

    async def wait(n: int) -> int:
        await asyncio.sleep(0)
        return n  # awaited

    async def many() -> list[int]:
        return await asyncio.gather(*(wait(n) for n in range(5)))

    notes.clear()
    with probed(at("awaited", noting(notes, "n"), wait)) as kprobe:
        assert asyncio.run(many()) == [0, 1, 2, 3, 4]
        assert sorted(notes) == [0, 1, 2, 3, 4]
        assert kprobe.hits == 5

    with probed(at("add", lambda kprobe, regs: None)) as kprobe:
        threads = [threading.Thread(target=total, args=(range(100),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert kprobe.hits == 400


def test_lambdas_comprehensions_and_statements_of_many_lines():
    double = lambda x: x * 2  # noqa: E731  # lambda

    def squares(n: int) -> Any:
        return [
            number * number  # element
            for number in range(n)
        ]

    def long(a: int, b: int) -> int:
        return sum(
            [
                a,  # a
                b,
            ]
        )

    notes: list[Any] = []
    with probed(Kprobe(noting(notes, "x"), double, line=double.__code__.co_firstlineno)):
        assert double(4) == 8
    assert notes == [4]
    notes.clear()
    # Before 3.12 a comprehension is a function of its own.
    inner = [const for const in squares.__code__.co_consts if isinstance(const, types.CodeType)]
    where = inner[0] if inner else squares
    with probed(Kprobe(noting(notes, "number"), where, line=line_of(squares, "element"))):
        assert squares(3) == [0, 1, 4]
    assert notes == [0, 1, 2]
    notes.clear()
    with probed(at("a", noting(notes, "a", "b"), long)):
        assert long(1, 2) == 3
    assert notes == [(1, 2)]


def test_in_the_middle_of_a_call():
    """On 3.11 a new kprobe takes effect after the next call of a Python function."""
    notes: list[int] = []

    def noop() -> None:
        pass

    def loop(n: int) -> None:
        for i in range(n):
            if i == 3:
                funcgraph.register_kprobe(kprobe)
            if i == 6:
                funcgraph.unregister_kprobe(kprobe)
            noop()
            n = i  # here

    kprobe = at("here", noting(notes, "i"), loop)
    loop(9)
    assert notes == [3, 4, 5]


# ---- offsets


def test_each_offset_that_can_be_probed():
    """With one probe on each instruction, each is hit as often as CPython executes its instruction."""
    offsets = [instruction.offset for instruction in dis.get_instructions(total)]
    kprobes, notes = [], []
    for offset in offsets:
        kprobe = Kprobe(lambda kprobe, regs: notes.append(kprobe.offset), total, offset=offset)
        try:
            funcgraph.register_kprobe(kprobe)
            kprobes.append(kprobe)
        except OSError as error:
            assert error.errno == errno.EINVAL and HAVE_MONITORING  # END_FOR and related instructions
    try:
        total([1, 2])
    finally:
        for kprobe in kprobes:
            funcgraph.unregister_kprobe(kprobe)
    assert len(kprobes) >= len(offsets) - 2
    assert all(kprobe.hits for kprobe in kprobes), [kprobe.offset for kprobe in kprobes if not kprobe.hits]
    multiply = next(
        instruction.offset
        for instruction in dis.get_instructions(total)
        if instruction.positions and instruction.positions.lineno == line_of(total, "multiply")
    )
    assert notes.count(multiply) == 2


def test_offset_behind_prefixes():
    names = ", ".join(f"v{i}" for i in range(300))
    namespace: dict[str, Any] = {}
    exec(f"def wide({names}):\n    v299 = v298 + 1\n    return v299\n", namespace)
    wide = namespace["wide"]
    load = next(i for i in dis.get_instructions(wide) if i.argval == "v298" or "v298" in str(i.argrepr))
    assert load.arg > 255
    notes: list[Any] = []
    with probed(Kprobe(noting(notes, "v298"), wide, offset=load.offset)) as kprobe:
        assert wide(*range(300)) == 299
        assert kprobe.hits == 1 and notes == [298]


def test_offset_and_line_in_one_function():
    notes: list[Any] = []
    line = at("add", lambda kprobe, regs: notes.append(("line", regs.get_local("item"))))
    offset = next(
        i.offset for i in dis.get_instructions(total) if i.positions.lineno == line_of(total, "multiply")
    )
    instruction = Kprobe(
        lambda kprobe, regs: notes.append(("offset", regs.get_local("item"))), total, offset=offset
    )
    with probed(line):
        total([0])
        with probed(instruction):
            total([1, 2])
        total([3])
    assert notes == [("line", 0), ("line", 1), ("offset", 1), ("line", 2), ("offset", 2), ("line", 3)]


def test_offset_0_is_the_start():
    cell = 5

    def inner(x: int) -> int:
        return x + cell

    notes: list[Any] = []
    with probed(Kprobe(noting(notes, "x", "cell"), inner, offset=0)):
        inner(1)
    assert notes == [(1, 5)]


# ---- frame and variables in a handler


def test_the_full_frame():
    seen: dict[str, Any] = {}

    def handler(kprobe: Kprobe, regs: Any) -> None:
        frame = regs.get_regs()
        seen["frame"] = frame
        seen["line"] = frame.f_lineno
        seen["locals"] = dict(frame.f_locals)
        seen["same"] = regs.locals()
        seen["ip"] = regs.get_instruction_pointer()
        seen["fp"] = regs.get_frame_pointer()
        seen["back"] = frame.f_back.f_code.co_name
        seen["regs"] = regs

    with probed(at("multiply", handler)) as kprobe:
        total([4], rate=3)
    assert isinstance(seen["frame"], types.FrameType) and seen["frame"].f_code is total.__code__
    assert seen["line"] == kprobe.line == seen["ip"].line
    assert seen["locals"] == seen["same"] == {"items": [4], "rate": 3, "result": 4, "item": 4}
    assert seen["ip"].func is kprobe.function and seen["fp"] > 0
    assert seen["ip"].offset in {
        i.offset for i in dis.get_instructions(total) if i.positions.lineno == kprobe.line
    }
    assert seen["back"] == "test_the_full_frame"
    assert seen["frame"].f_locals["result"] == 12  # a kept frame shows the final values of the call
    for method in ("get_regs", "locals", "get_instruction_pointer", "get_frame_pointer"):
        with pytest.raises(RuntimeError, match="after its handler"):
            getattr(seen["regs"], method)()
    with pytest.raises(RuntimeError, match="after its handler"):
        seen["regs"].get_local("result")


def test_variables_cells_and_what_is_not_there():
    def outer(shared: int) -> Any:
        def inner(own: int) -> int:
            nonlocal shared
            shared += own  # inner
            return shared

        if shared < 0:
            unbound = 1
            del unbound
        inner(1)
        return shared  # outer

    notes: list[Any] = []
    errors: list[str] = []

    def handler(kprobe: Kprobe, regs: Any) -> None:
        notes.append(regs.locals())
        assert regs.get_local("shared") == notes[-1]["shared"]
        for name in ("unbound", "nowhere"):
            with pytest.raises(KeyError) as caught:
                regs.get_local(name)
            errors.append(str(caught.value))
        with pytest.raises(TypeError):
            regs.get_local(1)

    with probed(at("outer", handler, outer)):
        assert outer(4) == 5
    inner_code = next(const for const in outer.__code__.co_consts if getattr(const, "co_name", "") == "inner")
    inner_notes: list[Any] = []
    with probed(Kprobe(noting(inner_notes, "shared", "own"), inner_code, line=line_of(outer, "inner"))):
        outer(4)
    assert notes[0]["shared"] == 5 and "unbound" not in notes[0] and "inner" in notes[0]
    assert "unbound" in errors[0] and "no variable 'nowhere'" in errors[1]
    assert inner_notes == [(4, 1)]


def test_the_body_of_a_class():
    def make() -> Any:
        class Made:
            x = 1
            y = x + 1  # body

        return Made

    body = next(const for const in make.__code__.co_consts if isinstance(const, types.CodeType))
    notes: list[Any] = []
    with probed(Kprobe(noting(notes, "x"), body, line=line_of(make, "body"))):
        assert make().y == 2
    assert notes == [1]


def test_hostile_objects_are_not_touched():
    class Hostile:
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        def __hash__(self) -> int:
            raise AssertionError

        def __repr__(self) -> str:
            raise AssertionError

    hostile = Hostile()
    seen: list[Any] = []

    def hold(thing: Any) -> None:
        thing = [thing]  # hold

    def handler(kprobe: Kprobe, regs: Any) -> None:
        seen.append(regs.get_local("thing") is hostile)
        regs.locals()
        regs.get_regs()

    before = sys.getrefcount(hostile)
    with probed(at("hold", handler, hold)):
        hold(hostile)
    assert seen == [True] and sys.getrefcount(hostile) == before


# ---- errors of the handler


class BadError(Exception):
    pass


def test_a_handler_that_raises(no_users_left):
    def bad(kprobe: Kprobe, regs: Any) -> None:
        raise BadError(regs.get_local("item"))

    good_notes: list[int] = []
    kprobe = at("add", bad)
    with probed(kprobe, at("add", noting(good_notes, "item"))):
        assert total([1, 2, 3]) == 22
        assert (kprobe.hits, kprobe.errors, kprobe.enabled, kprobe.registered) == (1, 1, False, True)
        assert isinstance(kprobe.last_error, BadError) and kprobe.last_error.args == (1,)
        funcgraph.enable_kprobe(kprobe)
        total([5])
        assert (kprobe.hits, kprobe.errors) == (2, 2)
    assert good_notes == [1, 2, 3, 5]
    assert [report.exc_value.args for report in no_users_left] == [(1,), (5,)]
    assert no_users_left[0].object is bad
    no_users_left.clear()
    with probed(kprobe):  # a new registration starts afresh
        total([6])
        assert kprobe.errors == 3
    keeps = at("add", bad, keep_on_error=True)
    with probed(keeps):
        total([1, 2])
        assert keeps.errors == 2 and keeps.enabled and keeps.keep_on_error


def test_what_a_handler_calls_is_not_probed():
    def handler(kprobe: Kprobe, regs: Any) -> None:
        total([1])

    with probed(at("last", handler)) as kprobe, probed(at("add", lambda kprobe, regs: None)) as other:
        total([])
        assert (kprobe.hits, other.hits) == (1, 0)
        assert (kprobe.nmissed, other.nmissed) == (1, 1)
        total([1])
        assert (kprobe.hits, other.hits) == (2, 1)


def test_at_the_end_of_the_recursion_limit():
    def deep(n: int) -> int:
        if n:  # deep
            return deep(n - 1)
        return n

    def handler(kprobe: Kprobe, regs: Any) -> None:
        nested(20)

    def nested(n: int) -> None:
        if n:
            nested(n - 1)

    def run() -> int:
        reached = 0
        for n in range(10, 5000):
            try:
                deep(n)
            except RecursionError:
                break
            reached = n
        return reached

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        without = run()
        with probed(at("deep", handler, deep)) as kprobe:
            assert run() == without
            assert kprobe.errors == 0
    finally:
        sys.setrecursionlimit(limit)


# ---- registering and unregistering


def test_enable_and_disable():
    notes: list[int] = []
    kprobe = at("add", noting(notes, "item"))
    with probed(kprobe):
        total([1])
        funcgraph.disable_kprobe(kprobe)
        assert not kprobe.enabled and kprobe.registered
        total([2])
        total([2])
        funcgraph.enable_kprobe(kprobe)
        total([3])
    assert notes == [1, 3]


def test_handlers_that_take_probes_away():
    notes: list[str] = []

    def takes(kprobe: Kprobe, regs: Any) -> None:
        notes.append("takes")
        for other in funcgraph.kprobes():
            funcgraph.unregister_kprobe(other)

    kprobes = [at("last", takes), at("last", lambda kprobe, regs: notes.append("never"))]
    with probed(*kprobes):
        total([])
        total([])
    assert notes == ["takes"]


def test_unregister_waits_for_the_handler():
    inside, leave = threading.Event(), threading.Event()
    order: list[str] = []

    def handler(kprobe: Kprobe, regs: Any) -> None:
        inside.set()
        leave.wait(10)
        order.append("handler")

    kprobe = at("last", handler)
    funcgraph.register_kprobe(kprobe)
    thread = threading.Thread(target=total, args=([],))
    thread.start()
    assert inside.wait(10)
    timer = threading.Timer(0.2, leave.set)
    timer.start()
    funcgraph.unregister_kprobe(kprobe)
    order.append("unregistered")
    thread.join()
    timer.join()
    assert order == ["handler", "unregistered"]


@functions_go
def test_nothing_is_kept_alive():
    namespace: dict[str, Any] = {"__name__": "doomed"}
    exec("def doomed(x):\n    return x\n", namespace)
    doomed = namespace.pop("doomed")
    code = weakref.ref(doomed.__code__)
    kprobe = Kprobe(lambda kprobe, regs: None, doomed, line=2)
    funcgraph.register_kprobe(kprobe)
    doomed(1)
    assert kprobe.hits == 1 and not kprobe.gone
    del doomed, namespace
    gc.collect()
    assert code() is None
    assert kprobe.gone and kprobe.registered and kprobe in funcgraph.kprobes()
    with pytest.raises(OSError) as caught:
        funcgraph.enable_kprobe(kprobe)
    assert caught.value.errno == errno.EINVAL
    funcgraph.unregister_kprobe(kprobe)
    with pytest.raises(OSError) as caught:
        funcgraph.register_kprobe(kprobe)
    assert caught.value.errno == errno.ENOENT


def test_hooks_come_and_go_with_the_probes():
    import funcgraph._engine as engine

    assert engine.status()["tool_id"] == -1
    with probed(at("last", lambda kprobe, regs: None)):
        assert (engine.status()["tool_id"] >= 0) == HAVE_MONITORING
        assert funcgraph.users() == []
        if HAVE_MONITORING:
            tool = engine.status()["tool_id"]
            assert sys.monitoring.get_local_events(tool, total.__code__) == sys.monitoring.events.LINE
    assert engine.status()["tool_id"] == -1
    if HAVE_MONITORING:
        assert sys.monitoring.get_local_events(4, total.__code__) == 0


def test_users_come_and_go_around_a_probe(probe):
    """Users and kprobes share the tool id's events of the code object; neither loses any event."""
    notes: list[int] = []
    with probed(at("add", noting(notes, "item"))) as kprobe:
        total([1])
        user = probe(f"{__name__}.total")
        total([2])
        with probed(at("last", noting(notes, "result"))):
            total([3])
        funcgraph.unregister_ftrace_graph(user.ops)
        total([4])
        again = probe(f"{__name__}.total")
        total([5])
        funcgraph.disable_kprobe(kprobe)
        total([6])
    total([7])
    assert notes == [1, 2, 3, 6, 4, 5]
    assert user.of("total") == ["entry", "return"] * 2
    assert again.of("total") == ["entry", "return"] * 3


# ---- errors of registration


@pytest.mark.parametrize(
    ("symbol", "place", "number", "text"),
    [
        (total, {"line": 1}, errno.EINVAL, "no code at line 1; nearest lines: "),
        (total, {"line": 10**6}, errno.EINVAL, "no code at line 1000000; nearest lines: "),
        (total, {"offset": 10**6}, errno.EINVAL, "cannot be probed at offset 1000000"),
        (total, {"offset": 3}, errno.EILSEQ, "no instruction .* begins at offset 3"),
        (len, {"line": 1}, errno.ENOENT, "builtins.len.* is not a Python function"),
        (f"{__name__}.totall", {"line": 1}, errno.ENOENT, f"no function .*nearest: {__name__}.total"),
        (
            "qqqqqqqqqqqqqqqqqqqqqqqqqq",
            {"line": 1},
            errno.ENOENT,
            "no function has the name or matches: 'q*'$",
        ),
    ],
)
def test_places_that_are_none(symbol: Any, place: dict[str, int], number: int, text: str):
    kprobe = Kprobe(lambda kprobe, regs: None, symbol, **place)
    with pytest.raises(OSError, match=text) as caught:
        funcgraph.register_kprobe(kprobe)
    assert caught.value.errno == number
    assert not kprobe.registered and funcgraph.kprobes() == []
    import funcgraph._engine as engine

    assert engine.status()["tool_id"] == -1


def test_the_nearest_lines_are_named():
    kprobe = Kprobe(lambda kprobe, regs: None, total, line=line_of(total, "first") - 1)
    with pytest.raises(OSError, match=rf"nearest lines: {line_of(total, 'first')}$"):
        funcgraph.register_kprobe(kprobe)


def test_registered_twice_and_not_at_all():
    kprobe = at("last", lambda kprobe, regs: None)
    with probed(kprobe):
        with pytest.raises(OSError, match="registered already") as caught:
            funcgraph.register_kprobe(kprobe)
        assert caught.value.errno == errno.EEXIST
        with pytest.raises(RuntimeError):
            kprobe.__init__(lambda kprobe, regs: None, total, line=1)
        total([])
        assert kprobe.hits == 1
    for function in (funcgraph.unregister_kprobe, funcgraph.enable_kprobe, funcgraph.disable_kprobe):
        with pytest.raises(OSError, match="is not registered") as caught:
            function(kprobe)
        assert caught.value.errno == errno.EINVAL


def test_an_ambiguous_name():
    spaces = [{"__name__": "twice"}, {"__name__": "twice"}]
    for space in spaces:
        exec("def same():\n    return 1\n", space)
    kprobe = Kprobe(lambda kprobe, regs: None, "twice.same", line=2)
    with pytest.raises(OSError, match="2 functions are named twice") as caught:
        funcgraph.register_kprobe(kprobe)
    assert caught.value.errno == errno.EADDRNOTAVAIL
    with probed(Kprobe(lambda kprobe, regs: None, spaces[1]["same"], line=2)) as one:
        spaces[0]["same"](), spaces[1]["same"]()
        assert one.hits == 1


@pytest.mark.parametrize(
    ("arguments", "settings", "error"),
    [
        ((total,), {"line": 1}, TypeError),
        ((None, total), {"line": 1}, TypeError),
        ((print, total), {}, TypeError),
        ((print, total), {"line": 1, "offset": 0}, TypeError),
        ((print, total), {"line": "1"}, TypeError),
        ((print, total), {"line": 0}, ValueError),
        ((print, total), {"offset": -1}, ValueError),
        ((print, total), {"offset": 2**40}, ValueError),
        ((print, 5), {"line": 1}, TypeError),
    ],
)
def test_arguments(arguments: Any, settings: Any, error: type[Exception]):
    with pytest.raises(error):
        Kprobe(*arguments, **settings)


def test_lines_of_the_standard_library_are_those_that_cpython_tells_of():
    """For real functions, every line that a tracer sees must be among the lines of kprobe_lines()."""
    import json.decoder
    import textwrap

    from funcgraph._engine import kprobe_lines

    received: dict[Any, set[int]] = {}

    def tracer(frame: Any, what: str, arg: Any) -> Any:
        if what == "line":
            received.setdefault(frame.f_code, set()).add(frame.f_lineno)
        return tracer

    old = sys.gettrace()
    sys.settrace(tracer)
    try:
        json.loads('{"a": [1, 2.5, "x\\n", {"b": null}], "c": true}')
        textwrap.wrap("some words that are to be wrapped " * 5, 20)
        dis.code_info(total)
    finally:
        sys.settrace(old)
    assert len(received) > 10
    for code, lines in received.items():
        assert lines <= set(kprobe_lines(code)), code
        assert set(kprobe_lines(code)) <= {line for _, _, line in code.co_lines() if line}
