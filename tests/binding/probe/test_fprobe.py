"""fprobes: handler calls, their order and arguments; registering and unregistering; errors.

Broken by hand: enter() walked the list in reverse; fg_live_fprobe() did not compare the word; the entry
data stayed after a true answer; fg_probe_register() kept no reference (a crash); leave_later() dropped the
reference at once; take_arguments() kept the address of the last call; kept objects stayed valid (a crash);
fg_probe_set_enabled() did nothing.
"""

from __future__ import annotations

import errno
import functools
import gc
import struct
import sys
import threading
import time
import types
import weakref
from typing import Any

import pytest
from builds import functions_go
from fprobes import Notes, here

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

HERE = __name__
LEAF = f"{HERE}.leaf"


def leaf(n: int = 0) -> int:
    return n + 1


def middle(n: int) -> int:
    return leaf(n) + leaf(n + 1)


def fails(n: int) -> int:
    raise LookupError(n)


def with_errno(number: int, call: Any, *args: Any) -> str:
    """Return the text of the OSError that the call raises with this errno."""
    with pytest.raises(OSError) as raised:
        call(*args)
    assert raised.value.errno == number, raised.value
    return str(raised.value)


# ---- arguments of handlers


def test_arguments_of_the_handlers():
    reported = []

    def entry(fp, entry_ip, ret_ip, regs, data):
        reported.append((fp, entry_ip.name, ret_ip.name, ret_ip.file, ret_ip.line, regs.arguments(), data))

    def exit(fp, entry_ip, ret_ip, regs, data):
        reported.append(
            (fp, entry_ip.name, ret_ip.name, ret_ip.file, ret_ip.line, regs.get_return_value(), data)
        )

    fp = funcgraph.Fprobe(entry, exit)
    with funcgraph.registered_fprobe(fp, LEAF) as same:
        assert same is fp
        line = here() + 1
        leaf(4)
    caller = f"{HERE}.test_arguments_of_the_handlers"
    assert reported == [
        (fp, LEAF, caller, __file__, line, {"n": 4}, None),
        (fp, LEAF, caller, __file__, line, 5, None),
    ]


def test_entry_ip_is_the_one_function_of_all_users():
    functions = []
    fp = funcgraph.Fprobe(lambda fp, ip, *rest: functions.append(ip))
    ops = funcgraph.FgraphOps(lambda trace, *rest: functions.append(trace.func), filter=[LEAF])
    with funcgraph.registered_fprobe(fp, LEAF), funcgraph.registered(ops):
        leaf()
    assert len(functions) == 2 and functions[0] is functions[1]
    assert functions[0].code is leaf.__code__


def test_ret_ip_that_is_kept_goes_on_telling_of_its_call():
    kept = []
    fp = funcgraph.Fprobe(lambda fp, ip, ret_ip, *rest: kept.append(ret_ip))
    with funcgraph.registered_fprobe(fp, LEAF):
        lines = []
        for _ in range(3):
            lines.append(here() + 1)
            leaf()
        lines.append(here() + 1)
        leaf()
        middle(1)
    assert [ip.line for ip in kept[:4]] == lines
    assert [ip.qualname for ip in kept[4:]] == ["middle", "middle"]
    assert kept[0] == kept[1] == kept[2] != kept[3]
    assert hash(kept[0]) == hash(kept[1]) and int(kept[0]) == int(kept[1]) != 0
    assert len({id(ip) for ip in kept}) == 6
    assert kept[0].location.code.co_name == "test_ret_ip_that_is_kept_goes_on_telling_of_its_call"
    assert repr(kept[0]) == f"<ReturnAddress in {kept[0].name} at {__file__}:{lines[0]}>"
    with pytest.raises(TypeError):
        sorted(kept)


def test_ret_ip_is_none_at_the_bottom_of_a_thread():
    import _thread

    reported, done = [], threading.Event()

    def bottom():
        pass

    def exit(fp, ip, ret_ip, regs, data):
        reported.append(ret_ip)
        done.set()

    fp = funcgraph.Fprobe(None, exit)
    funcgraph.register_fprobe_ips(fp, [bottom])
    _thread.start_new_thread(bottom, ())
    assert done.wait(10)
    funcgraph.unregister_fprobe(fp)
    assert reported == [None]


def test_regs_and_data_after_their_handler():
    kept = []
    fp = funcgraph.Fprobe(
        lambda fp, ip, ret_ip, regs, data: kept.append((regs, data, data[1:3])), leaf_exit, 8
    )
    with funcgraph.registered_fprobe(fp, LEAF):
        leaf()
        leaf()
    assert len({id(part) for parts in kept for part in parts}) == 6
    for regs, data, part in kept:
        with pytest.raises(RuntimeError, match="after its callback"):
            regs.arguments()
        with pytest.raises(ValueError, match="released"):
            data[0]
        with pytest.raises(ValueError, match="released"):
            part[0]


def leaf_exit(fp, ip, ret_ip, regs, data):
    pass


@pytest.mark.parametrize("size", [1, 7, 8, 9, 64, 120])
def test_entry_data_reach_the_exit_of_the_same_call(size):
    count = iter(range(1, 100))
    seen = []

    def entry(fp, ip, ret_ip, regs, data):
        assert len(data) == size and not any(data) and not data.readonly
        data[:] = bytes([next(count)]) * size
        seen.append(("entry", data[0]))

    def exit(fp, ip, ret_ip, regs, data):
        assert set(data) == {data[0]} and len(data) == size
        seen.append(("exit", data[0]))

    fp = funcgraph.Fprobe(entry, exit, size)
    assert fp.entry_data_size == size
    with funcgraph.registered_fprobe(fp, [LEAF, f"{HERE}.middle"]):
        middle(1)
        middle(1)
    e, x = "entry", "exit"
    assert seen == [
        (e, 1),
        (e, 2),
        (x, 2),
        (e, 3),
        (x, 3),
        (x, 1),
        (e, 4),
        (e, 5),
        (x, 5),
        (e, 6),
        (x, 6),
        (x, 4),
    ]


def test_no_entry_data_without_an_exit_handler_or_a_size():
    reported = []
    only_entry = funcgraph.Fprobe(lambda *args: reported.append(args[4]), None, 16)
    no_size = funcgraph.Fprobe(lambda *args: reported.append(args[4]), lambda *args: reported.append(args[4]))
    with funcgraph.registered_fprobe(only_entry, LEAF), funcgraph.registered_fprobe(no_size, LEAF):
        leaf()
    assert reported == [None, None, None]


def test_a_view_that_a_handler_released_serves_no_more():
    seen = []

    def entry(fp, ip, ret_ip, regs, data):
        data[0] = 7
        data.release()

    def exit(fp, ip, ret_ip, regs, data):
        with data:
            seen.append(data[0])

    fp = funcgraph.Fprobe(entry, exit, 1)
    with funcgraph.registered_fprobe(fp, LEAF):
        leaf()
        leaf()
    assert seen == [7, 7]


def test_a_truthy_answer_cancels_this_exit_only():
    calls: list[Any] = []
    with Notes("a", calls) as a, Notes("b", calls) as b:
        funcgraph.register_fprobe(a.fp, LEAF)
        funcgraph.register_fprobe(b.fp, LEAF)
        a.answer = "no"
        leaf()
        a.answer, b.answer = 0, -1
        leaf()
    assert [what for what, _ in calls] == ["a>", "b>", "<b", "a>", "b>", "<a"]


def test_handlers_alone():
    calls: list[str] = []
    entry = funcgraph.Fprobe(lambda *args: calls.append("entry"))
    exit = funcgraph.Fprobe(None, lambda *args: calls.append("exit"))
    neither = funcgraph.Fprobe()
    for fp in (entry, exit, neither):
        funcgraph.register_fprobe(fp, LEAF)
    leaf()
    for fp in (entry, exit, neither):
        funcgraph.unregister_fprobe(fp)
    assert calls == ["entry", "exit"]


# ---- many


def test_200_on_one_function_in_order_and_reverse():
    calls: list[Any] = []
    probes = [Notes(str(i), calls) for i in range(200)]
    for each in probes:
        funcgraph.register_fprobe_ips(each.fp, [leaf])
    leaf()
    assert [what for what, _ in calls] == [f"{i}>" for i in range(200)] + [
        f"<{i}" for i in reversed(range(200))
    ]
    calls.clear()
    for each in probes[1::2]:
        funcgraph.unregister_fprobe(each.fp)
    leaf()
    left = range(0, 200, 2)
    assert [what for what, _ in calls] == [f"{i}>" for i in left] + [f"<{i}" for i in reversed(left)]
    # An fprobe that is registered again becomes the last in the order.
    funcgraph.unregister_fprobe(probes[0].fp)
    funcgraph.register_fprobe(probes[0].fp, LEAF)
    calls.clear()
    leaf()
    assert calls[99][0] == "0>" and calls[100][0] == "<0"
    for each in probes[::2]:
        funcgraph.unregister_fprobe(each.fp)


def many_functions(count: int, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    source = "\n".join(f"def f{i}(n):\n    return n + {i}" for i in range(count))
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)
    return module


@functions_go
def test_one_on_20000_functions_and_200_on_one_of_them():
    module = many_functions(20_000, "fprobe_many")
    one = module.f777
    counts = dict.fromkeys(range(201), 0)
    entries, exits = [], []
    wide = funcgraph.Fprobe(
        lambda fp, ip, ret_ip, regs, data: entries.append(ip.qualname),
        lambda fp, ip, ret_ip, regs, data: exits.append(regs.get_return_value()),
    )
    assert funcgraph.fprobe_count_ips_from_filter("fprobe_many.*") == 20_000
    funcgraph.register_fprobe(wide, "fprobe_many.*")
    narrow = []
    for i in range(200):

        def count(*args, i=i):
            counts[i] += 1

        narrow.append(funcgraph.Fprobe(count, count))
        funcgraph.register_fprobe_ips(narrow[-1], [one])
    for i in range(20_000):
        assert getattr(module, f"f{i}")(1) == 1 + i
    for fp in narrow:
        funcgraph.unregister_fprobe(fp)
    one(1)
    funcgraph.unregister_fprobe(wide)
    one(1)
    assert entries == [f"f{i}" for i in range(20_000)] + ["f777"]
    assert exits == [1 + i for i in range(20_000)] + [778]
    assert [counts[i] for i in range(200)] == [2] * 200


def test_no_limit_of_calls_in_flight():
    def deep(n):
        return n and deep(n - 1)

    seen = []
    fp = funcgraph.Fprobe(
        lambda fp, ip, ret_ip, regs, data: struct.pack_into("q", data, 0, regs.get_argument(0)),
        lambda fp, ip, ret_ip, regs, data: seen.append(struct.unpack_from("q", data)[0]),
        120,
    )
    funcgraph.register_fprobe_ips(fp, [deep])
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        deep(3000)
    finally:
        sys.setrecursionlimit(limit)
    funcgraph.unregister_fprobe(fp)
    assert seen == list(range(3001)) and fp.nmissed == 0


# ---- selection of functions


def test_functions_that_come_are_probed_too():
    calls = []
    fp = funcgraph.Fprobe(lambda fp, ip, *rest: calls.append(ip.qualname))
    with funcgraph.registered_fprobe(fp, [LEAF, "fprobe_later.*"], "fprobe_later.f1"):
        leaf()
        later = many_functions(3, "fprobe_later")
        later.f0(1)
        later.f1(1)
        later.f2(1)
    assert calls == ["leaf", "<module>", "f0", "f2"]


@functions_go
def test_a_filter_takes_nested_functions_and_methods_that_never_ran():
    module = types.ModuleType("fprobe_nested")
    exec(
        "def outer():\n  def inner(): return 1\n  return inner()\nclass C:\n  def m(self): return 2",
        module.__dict__,
    )
    assert funcgraph.fprobe_count_ips_from_filter("fprobe_nested.*") == 3
    with Notes("x") as notes:
        funcgraph.register_fprobe(notes.fp, ["fprobe_nested.*"], ["*.outer"])
        module.outer()
        module.C().m()
    assert [name for what, name in notes.calls if what == "x>"] == ["outer.<locals>.inner", "C.m"]


class Things:
    def method(self, a):
        return a

    @classmethod
    def of_class(cls, a):
        return a

    @staticmethod
    def static(a):
        return a


def test_ips_of_all_kinds():
    thing = Things()
    calls = []
    fp = funcgraph.Fprobe(lambda fp, ip, *rest: calls.append(ip.qualname))
    given = [leaf, thing.method, Things.of_class, Things.__dict__["static"], middle.__code__, leaf]
    funcgraph.register_fprobe_ips(fp, given)
    leaf(), thing.method(1), Things.of_class(2), Things.static(3), middle(1)
    funcgraph.unregister_fprobe(fp)
    assert calls == ["leaf", "Things.method", "Things.of_class", "Things.static", "middle", "leaf", "leaf"]
    functions = []
    fp = funcgraph.Fprobe(lambda fp, ip, *rest: functions.append(ip))
    with funcgraph.registered_fprobe(fp, LEAF):
        leaf()
    funcgraph.register_fprobe_ips(fp, functions)
    leaf()
    funcgraph.unregister_fprobe(fp)
    assert len(functions) == 2


def test_syms_are_whole_names_and_all_of_a_name():
    first, second = many_functions(1, "fprobe_twins"), many_functions(1, "fprobe_twins")
    with Notes("x") as notes:
        funcgraph.register_fprobe_syms(notes.fp, ("fprobe_twins.f0", LEAF))
        first.f0(1), second.f0(1), leaf()
    assert [name for what, name in notes.calls if what == "x>"] == ["f0", "f0", "leaf"]


def test_arguments_through_regs_of_all_sorts_of_functions():
    def everything(a, b=2, /, c=3, *args, d, e=5, **kwargs):
        return lambda: (a, kwargs)

    def exit(fp, ip, ret_ip, regs, data):
        seen[-1] = (*seen[-1], type(regs.get_return_value()).__name__)

    seen: list[Any] = []
    fp = funcgraph.Fprobe(lambda fp, ip, ret_ip, regs, data: seen.append((regs.arguments(),)), exit)
    bound = functools.partial(everything, 1)
    funcgraph.register_fprobe_ips(fp, [everything, Things.method, Things.of_class])
    bound(d=4)
    everything(1, 2, 3, 4, 5, d=6, f=7)
    Things().method("x")
    Things.of_class("y")
    funcgraph.unregister_fprobe(fp)
    assert seen[0] == ({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "args": (), "kwargs": {}}, "function")
    assert seen[1] == (
        {"a": 1, "b": 2, "c": 3, "d": 6, "e": 5, "args": (4, 5), "kwargs": {"f": 7}},
        "function",
    )
    assert list(seen[2][0]) == ["self", "a"] and seen[2][0]["a"] == "x" and seen[2][1] == "str"
    assert seen[3] == ({"cls": Things, "a": "y"}, "str")


def test_get_regs_only_with_save_regs():
    frames = []
    for save_regs in (False, True):
        fp = funcgraph.Fprobe(lambda *args: frames.append(args[3].get_regs()), save_regs=save_regs)
        assert fp.save_regs is save_regs
        with funcgraph.registered_fprobe(fp, LEAF):
            leaf(3)
    assert frames[0] is None
    assert frames[1].f_code is leaf.__code__ and frames[1].f_locals["n"] == 3


# ---- how calls end


def test_exits_by_exceptions():
    seen = []
    fp = funcgraph.Fprobe(None, lambda fp, ip, ret_ip, regs, data: seen.append(regs.get_return_value()))
    with funcgraph.registered_fprobe(fp, f"{HERE}.fails"), pytest.raises(LookupError) as raised:
        fails(3)
    assert seen == [raised.value]


def test_a_generator_is_one_call_and_keeps_its_data_on_any_thread():
    def numbers(n):
        yield from range(n)
        return "end"

    seen: list[Any] = []

    def entry(fp, ip, ret_ip, regs, data):
        data[0] = regs.get_argument("n")
        seen.append(("entry", data[0]))

    def exit(fp, ip, ret_ip, regs, data):
        seen.append(("exit", data[0], regs.get_return_value(), threading.current_thread().name))

    fp = funcgraph.Fprobe(entry, exit, 3)
    funcgraph.register_fprobe_ips(fp, [numbers])
    generators = [numbers(n) for n in (3, 4)]
    for _ in range(2):
        for generator in generators:
            next(generator)
    other = threading.Thread(target=lambda: list(generators[1]), name="other")
    other.start()
    other.join()
    list(generators[0])
    closed = numbers(9)
    next(closed)
    closed.close()
    funcgraph.unregister_fprobe(fp)
    name = threading.current_thread().name
    assert seen[:4] == [("entry", 3), ("entry", 4), ("exit", 4, "end", "other"), ("exit", 3, "end", name)]
    assert seen[4][:2] == ("entry", 9) and seen[5][:2] == ("exit", 9) and len(seen) == 6


def test_a_coroutine_is_one_call():
    import asyncio

    async def task(n):
        for _ in range(n):
            await asyncio.sleep(0)
        return n

    seen = []
    fp = funcgraph.Fprobe(
        lambda fp, ip, ret_ip, regs, data: data.__setitem__(0, regs.get_argument("n")),
        lambda fp, ip, ret_ip, regs, data: seen.append((data[0], regs.get_return_value())),
        1,
    )
    funcgraph.register_fprobe_ips(fp, [task])

    async def main():
        await asyncio.gather(*(task(n) for n in (5, 1, 3)))

    asyncio.run(main())
    funcgraph.unregister_fprobe(fp)
    assert seen == [(1, 1), (3, 3), (5, 5)]


# ---- registering and unregistering during calls


@pytest.mark.parametrize("unregister", [funcgraph.unregister_fprobe, funcgraph.unregister_fprobe_async])
def test_unregistered_between_entry_and_exit(unregister):
    calls: list[Any] = []

    def probed(action):
        action()

    with Notes("a", calls) as a, Notes("b", calls) as b:
        funcgraph.register_fprobe_ips(a.fp, [probed])
        funcgraph.register_fprobe_ips(b.fp, [probed])
        probed(lambda: unregister(a.fp))
    assert [what for what, _ in calls] == ["a>", "b>", "<b"]


def test_registered_between_entry_and_exit():
    calls: list[Any] = []

    def probed(action):
        action()

    with Notes("a", calls) as a, Notes("b", calls) as b:
        funcgraph.register_fprobe_ips(a.fp, [probed])
        probed(lambda: funcgraph.register_fprobe_ips(b.fp, [probed]))
    assert [what for what, _ in calls] == ["a>", "<a"]


def test_registered_anew_in_the_middle_of_a_call():
    """The old registration's entry does not reach the exit of the new one."""
    calls: list[Any] = []

    def probed(action):
        action()

    with Notes("a", calls, entry_data_size=8) as a:
        funcgraph.register_fprobe_ips(a.fp, [probed])

        def again():
            funcgraph.unregister_fprobe(a.fp)
            funcgraph.register_fprobe_ips(a.fp, [probed])

        probed(again)
        assert [what for what, _ in calls] == ["a>"]
        probed(lambda: None)
    assert [what for what, _ in calls] == ["a>", "a>", "<a"]


def test_unregister_in_its_own_handler():
    calls = []

    def entry(fp, ip, *rest):
        calls.append("entry")
        funcgraph.unregister_fprobe(fp)

    fp = funcgraph.Fprobe(entry, lambda *args: calls.append("exit"))
    funcgraph.register_fprobe(fp, LEAF)
    leaf()
    leaf()
    assert calls == ["entry"] and not fp.registered


def test_unregister_waits_for_handlers_in_other_threads():
    inside, go = threading.Event(), threading.Event()
    left = []

    def entry(fp, ip, *rest):
        inside.set()
        go.wait(10)
        time.sleep(0.05)
        left.append("handler")

    fp = funcgraph.Fprobe(entry)
    funcgraph.register_fprobe(fp, LEAF)
    thread = threading.Thread(target=leaf)
    thread.start()
    assert inside.wait(10)
    go.set()
    funcgraph.unregister_fprobe(fp)
    left.append("unregistered")
    thread.join()
    assert left == ["handler", "unregistered"]


def test_async_does_not_wait_and_keeps_it_alive():
    inside, go = threading.Event(), threading.Event()
    reported = []

    def entry(fp, ip, ret_ip, regs, data):
        inside.set()
        go.wait(10)
        reported.append((fp.name, ip.name))

    fp = funcgraph.Fprobe(entry, name="async")
    gone = weakref.ref(fp)
    funcgraph.register_fprobe(fp, LEAF)
    thread = threading.Thread(target=leaf)
    thread.start()
    assert inside.wait(10)
    funcgraph.unregister_fprobe_async(fp)
    assert not reported and not fp.registered
    del fp
    gc.collect()
    assert gone() is not None
    go.set()
    thread.join()
    assert reported == [("async", LEAF)]
    gc.collect()
    assert gone() is not None  # no thread has waited for all callbacks yet
    other = funcgraph.Fprobe()
    with funcgraph.registered_fprobe(other, LEAF):
        pass
    gc.collect()
    assert gone() is None


def test_alive_while_registered_and_only_then():
    calls = []
    fp = funcgraph.Fprobe(lambda *args: calls.append(1))
    gone = weakref.ref(fp)
    funcgraph.register_fprobe(fp, LEAF)
    del fp
    gc.collect()
    leaf()
    assert calls == [1]
    funcgraph.unregister_fprobe(gone())
    gc.collect()
    assert gone() is None


def test_a_cycle_through_its_handler_is_collected():
    class Owner:
        def __init__(self):
            self.fp = funcgraph.Fprobe(self.entry)

        def entry(self, *args):
            pass

    owner = Owner()
    gone = weakref.ref(owner)
    with funcgraph.registered_fprobe(owner.fp, LEAF):
        leaf()
    del owner
    gc.collect()
    assert gone() is None


def test_comings_and_goings_while_all_threads_call():
    """Each exit follows its own entry, with its data, while other probes register and unregister."""
    stop = threading.Event()
    wrong: list[Any] = []
    done = dict.fromkeys(range(3), 0)

    def work():
        while not stop.is_set():
            middle(1)

    def come_and_go(i):
        def entry(fp, ip, ret_ip, regs, data):
            data[0] = i + 1

        def exit(fp, ip, ret_ip, regs, data):
            if data[0] != i + 1:
                wrong.append(bytes(data))
            done[i] += 1

        fp = funcgraph.Fprobe(entry, exit, 1 + 50 * i)
        while not stop.is_set():
            with funcgraph.registered_fprobe(fp, [LEAF, f"{HERE}.middle"]):
                time.sleep(0.001)

    threads = [threading.Thread(target=work) for _ in range(3)]
    threads += [threading.Thread(target=come_and_go, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and all(done.values())


# ---- soft disabling


def test_disable_and_enable():
    with Notes("x") as notes:
        funcgraph.register_fprobe(notes.fp, LEAF)
        funcgraph.disable_fprobe(notes.fp)
        assert notes.fp.registered and not notes.fp.enabled
        leaf()
        funcgraph.enable_fprobe(notes.fp)
        assert notes.fp.enabled
        leaf()
        assert [what for what, _ in notes.calls] == ["x>", "<x"]
        funcgraph.disable_fprobe(notes.fp)
        funcgraph.unregister_fprobe(notes.fp)
        funcgraph.register_fprobe(notes.fp, LEAF)
        assert notes.fp.enabled


def test_disabled_between_entry_and_exit():
    def probed(action):
        action()

    with Notes("x") as notes:
        funcgraph.register_fprobe_ips(notes.fp, [probed])
        probed(lambda: funcgraph.disable_fprobe(notes.fp))
        assert [what for what, _ in notes.calls] == ["x>"]


# ---- errors: all or nothing


def test_notfilter_that_leaves_nothing_is_told_of():
    """ENOENT, as in the kernel. Before, the error said that nothing matched the filter, and proposed the very
    functions that notfilter removes."""
    fp = funcgraph.Fprobe()
    for ask in (functools.partial(funcgraph.register_fprobe, fp), funcgraph.fprobe_count_ips_from_filter):
        text = with_errno(errno.ENOENT, ask, LEAF, "*.leaf")
        assert text.endswith(f"notfilter '*.leaf' removes the only function that '{LEAF}' matches"), text
        text = with_errno(errno.ENOENT, ask, [LEAF, f"{HERE}.middle"], [f"{HERE}.*", "none"])
        assert f"notfilter '{HERE}.*', 'none' removes all 2 functions that '{LEAF}', " in text
        text = with_errno(errno.ENOENT, ask, f"{HERE}.leef", "none")
        assert "no function has the name or matches" in text and LEAF in text
    assert not fp.registered


def test_errors_of_registering():
    fp = funcgraph.Fprobe()
    nobody = "fprobe_nobody.at_all"
    with_errno(errno.EINVAL, funcgraph.register_fprobe, fp, ())
    with_errno(errno.EINVAL, funcgraph.register_fprobe_ips, fp, [])
    with_errno(errno.EINVAL, funcgraph.register_fprobe_syms, fp, [])
    with_errno(errno.ENOENT, funcgraph.register_fprobe, fp, nobody)
    with_errno(errno.ENOENT, funcgraph.register_fprobe, fp, f"{HERE}.*", "*")
    assert f"{HERE}.leaf" in with_errno(errno.ENOENT, funcgraph.register_fprobe, fp, f"{HERE}.leef")
    text = with_errno(
        errno.ENOENT, funcgraph.register_fprobe_syms, fp, [LEAF, f"{HERE}.midle", f"{HERE}.leaff"]
    )
    assert f"{HERE}.middle" in text and f"'{HERE}.leaff' (nearest: {LEAF}" in text
    with_errno(errno.ENOENT, funcgraph.register_fprobe_syms, fp, [f"{HERE}.*"])
    with_errno(errno.ENOENT, funcgraph.fprobe_count_ips_from_filter, nobody)
    with_errno(errno.EINVAL, funcgraph.fprobe_count_ips_from_filter, [])
    assert not fp.registered and funcgraph.users() == []
    funcgraph.register_fprobe(fp, LEAF)
    assert repr(fp) in with_errno(errno.EEXIST, funcgraph.register_fprobe, fp, LEAF)
    with_errno(errno.EEXIST, funcgraph.register_fprobe_ips, fp, [leaf])
    assert fp.registered
    funcgraph.unregister_fprobe(fp)
    for call in (
        funcgraph.unregister_fprobe,
        funcgraph.unregister_fprobe_async,
        funcgraph.enable_fprobe,
        funcgraph.disable_fprobe,
    ):
        assert "not registered" in with_errno(errno.EINVAL, call, fp)


def test_functions_of_this_package_are_proposed_only_to_who_names_it():
    fp = funcgraph.Fprobe()
    text = with_errno(errno.ENOENT, funcgraph.register_fprobe_syms, fp, ["shop.untraced"])
    assert "shop.untraced" in text and "funcgraph" not in text
    text = with_errno(errno.ENOENT, funcgraph.register_fprobe_syms, fp, ["funcgraph._engine.untrace"])
    assert "nearest: funcgraph._engine.untraced" in text


@pytest.mark.parametrize("handler", [None, leaf_exit])
def test_too_much_entry_data(handler):
    fp = funcgraph.Fprobe(None, handler, 121)
    for call, target in (
        (funcgraph.register_fprobe, LEAF),
        (funcgraph.register_fprobe_ips, [leaf]),
        (funcgraph.register_fprobe_syms, [LEAF]),
    ):
        assert "121" in with_errno(errno.E2BIG, call, fp, target)
    assert not fp.registered and funcgraph.users() == []


def test_no_slot_is_free():
    users = [funcgraph.FgraphOps(filter=["fprobe_nobody"], name="full") for _ in range(64)]
    fp = funcgraph.Fprobe(leaf_exit, leaf_exit)
    with funcgraph.registered(*users):
        assert "'full' (python) 64 times" in with_errno(
            errno.ENOSPC, funcgraph.register_fprobe_ips, fp, [leaf]
        )
        assert not fp.registered
        leaf()
    with funcgraph.registered_fprobe(fp, LEAF):
        leaf()


def test_wrong_types():
    fp = funcgraph.Fprobe()
    for call, *args in (
        (funcgraph.register_fprobe, None, LEAF),
        (funcgraph.register_fprobe, funcgraph.FgraphOps(), LEAF),
        (funcgraph.register_fprobe, fp, 3),
        (funcgraph.register_fprobe, fp, [3]),
        (funcgraph.register_fprobe, fp, LEAF, [None]),
        (funcgraph.register_fprobe_ips, fp, leaf),
        (funcgraph.register_fprobe_ips, fp, LEAF),
        (funcgraph.register_fprobe_ips, fp, [LEAF]),
        (funcgraph.register_fprobe_ips, fp, [leaf, 3]),
        (funcgraph.register_fprobe_syms, fp, LEAF),
        (funcgraph.register_fprobe_syms, fp, [leaf]),
        (funcgraph.unregister_fprobe, leaf),
        (funcgraph.fprobe_is_registered, None),
        (funcgraph.Fprobe, "no function"),
        (funcgraph.Fprobe, None, object()),
        (funcgraph.Fprobe, None, None, "8"),
    ):
        with pytest.raises(TypeError):
            call(*args)
    for call, *args in (
        (funcgraph.register_fprobe, fp, "a[b"),
        (funcgraph.register_fprobe, fp, LEAF, "a["),
        (funcgraph.register_fprobe, fp, ""),
        (funcgraph.fprobe_count_ips_from_filter, "a["),
        (funcgraph.Fprobe, None, None, -1),
        (funcgraph.Fprobe, 0),
    ):
        with pytest.raises(ValueError):
            call(*args)
    assert not fp.registered


@functions_go
def test_a_function_that_is_gone():
    def short():
        pass

    functions = []
    fp = funcgraph.Fprobe(lambda fp, ip, *rest: functions.append(ip))
    funcgraph.register_fprobe_ips(fp, [short])
    short()
    funcgraph.unregister_fprobe(fp)
    source = compile("def gone(): pass", "gone.py", "exec")
    module: dict[str, Any] = {"__name__": "fprobe_gone"}
    exec(source, module)
    funcgraph.register_fprobe_ips(fp, [module["gone"]])
    module["gone"]()
    funcgraph.unregister_fprobe(fp)
    del source
    module.clear()
    gc.collect()
    assert functions[1].code is None
    assert "gone" in with_errno(errno.ENOENT, funcgraph.register_fprobe_ips, fp, [leaf, functions[1]])
    assert not fp.registered


def test_not_made_anew_while_registered():
    fp = funcgraph.Fprobe()
    with funcgraph.registered_fprobe(fp, LEAF), pytest.raises(RuntimeError):
        fp.__init__()
    fp.__init__(leaf_exit, entry_data_size=3, name="again")
    assert (fp.entry_handler, fp.entry_data_size, fp.name) == (leaf_exit, 3, "again")


def test_attributes():
    fp = funcgraph.Fprobe(leaf_exit, leaf_exit, 16, name="mine", keep_on_error=True)
    assert (fp.entry_handler, fp.exit_handler, fp.entry_data_size, fp.name) == (
        leaf_exit,
        leaf_exit,
        16,
        "mine",
    )
    assert (fp.nmissed, fp.errors, fp.last_error, fp.enabled, fp.registered) == (0, 0, None, True, False)
    assert (fp.keep_on_error, fp.save_regs) == (True, False)
    assert repr(fp) == "<funcgraph._engine.Fprobe 'mine', not registered>"
    assert not funcgraph.fprobe_is_registered(fp)
    with funcgraph.registered_fprobe(fp, LEAF):
        assert fp.registered and funcgraph.fprobe_is_registered(fp)
        assert repr(fp) == "<funcgraph._engine.Fprobe 'mine', registered>"
        (user,) = funcgraph.users()
        assert (user.name, user.kind) == ("fprobe", "fprobes")
    assert funcgraph.users() == []


def test_all_fprobes_are_one_user():
    fps = [funcgraph.Fprobe() for _ in range(100)]
    for fp in fps:
        funcgraph.register_fprobe_ips(fp, [leaf])
    assert len(funcgraph.users()) == 1
    for fp in fps:
        funcgraph.unregister_fprobe(fp)


def test_registered_fprobe_leaves_what_was_unregistered():
    fp = funcgraph.Fprobe()
    with funcgraph.registered_fprobe(fp, LEAF):
        funcgraph.unregister_fprobe(fp)
    with pytest.raises(LookupError), funcgraph.registered_fprobe(fp, LEAF):
        raise LookupError
    assert not fp.registered


# ---- effects on the program


def test_a_handler_that_raises_is_reported_and_disabled(no_users_left):
    def bad(fp, *rest):
        raise ZeroDivisionError

    calls: list[Any] = []
    fp = funcgraph.Fprobe(bad, name="bad")
    with Notes("x", calls) as good, funcgraph.registered_fprobe(fp, LEAF):
        funcgraph.register_fprobe(good.fp, LEAF)
        assert [leaf(i) for i in range(3)] == [1, 2, 3]
        assert (fp.errors, fp.enabled, fp.registered) == (1, False, True)
        assert isinstance(fp.last_error, ZeroDivisionError)
        funcgraph.enable_fprobe(fp)
        leaf()
        assert fp.errors == 2
    (first, _) = no_users_left
    assert first.object is bad and isinstance(first.exc_value, ZeroDivisionError)
    assert len(calls) == 8


def test_keep_on_error(no_users_left):
    fp = funcgraph.Fprobe(None, lambda *args: 1 / 0, keep_on_error=True)
    with funcgraph.registered_fprobe(fp, [LEAF, f"{HERE}.fails"]):
        for _ in range(3):
            leaf()
        with pytest.raises(LookupError):
            fails(1)
        assert (fp.errors, fp.enabled) == (4, True)
    assert len(no_users_left) == 4


def test_an_answer_without_a_truth(no_users_left):
    class Undecided:
        def __bool__(self):
            raise LookupError

    fp = funcgraph.Fprobe(lambda *args: Undecided())
    with funcgraph.registered_fprobe(fp, LEAF):
        assert leaf(1) == 2
    assert isinstance(fp.last_error, LookupError) and len(no_users_left) == 1


def test_regs_keep_no_argument_alive():
    class Big:
        pass

    big = Big()
    gone = weakref.ref(big)
    fp = funcgraph.Fprobe(lambda fp, ip, ret_ip, regs, data: regs.get_argument(0) and None)

    def probed(x):
        pass

    funcgraph.register_fprobe_ips(fp, [probed])
    probed(big)
    del big
    gc.collect()
    assert gone() is None
    funcgraph.unregister_fprobe(fp)


def test_no_leak_of_memory_or_references():
    fp = funcgraph.Fprobe(lambda fp, ip, ret_ip, regs, data: ret_ip.line, leaf_exit, 24)

    def rounds(n):
        for _ in range(n):
            funcgraph.register_fprobe_ips(fp, [leaf])
            leaf()
            funcgraph.unregister_fprobe(fp)

    rounds(20)
    gc.collect()
    objects = len(gc.get_objects())
    references = sys.getrefcount(fp), sys.getrefcount(leaf_exit), sys.getrefcount(leaf.__code__)
    rounds(200)
    gc.collect()
    assert len(gc.get_objects()) <= objects + 20
    assert (sys.getrefcount(fp), sys.getrefcount(leaf_exit), sys.getrefcount(leaf.__code__)) == references


# ---- missed


def call_leaf_in_handler(*args: Any) -> None:
    leaf()


def test_calls_of_a_handler_are_missed():
    calls: list[Any] = []
    fp = funcgraph.Fprobe(call_leaf_in_handler, call_leaf_in_handler)
    with Notes("x", calls) as other, funcgraph.registered_fprobe(fp, LEAF):
        funcgraph.register_fprobe(other.fp, LEAF)
        for _ in range(5):
            leaf()
        assert (fp.nmissed, other.fp.nmissed) == (10, 10)
    assert len(calls) == 10


def test_missed_begins_at_zero_with_each_registration():
    fp = funcgraph.Fprobe(call_leaf_in_handler)
    for _ in range(2):
        with funcgraph.registered_fprobe(fp, LEAF):
            assert fp.nmissed == 0
            leaf()
            assert fp.nmissed == 1
