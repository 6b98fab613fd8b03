"""Events that a program declares: off until somebody wants them, and then like any other."""

from __future__ import annotations

import errno
import itertools
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph.events import recording_events

events = funcgraph.dynamic_events
_numbers = itertools.count()


def fresh() -> str:
    """Return a name that no event of this process has: events that are declared stay."""
    return f"event_{next(_numbers)}"


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    for instance in funcgraph.instances().values():
        instance.close()
    events.clear()
    events.log.clear()


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("one") as instance:
        yield instance


def hits(instance: funcgraph.Instance) -> list[str]:
    """Return the text of each event in a trace, without the common part."""
    return re.findall(r"\d: (\w+: .*)$", instance.trace(), re.MULTILINE)


def values(instance: funcgraph.Instance) -> list[str]:
    return [text.partition(": ")[2] for text in hits(instance)]


# ---- calls


def test_it_is_recorded_while_it_is_enabled_and_only_then(one: funcgraph.Instance) -> None:
    name = fresh()
    paid = funcgraph.trace_event("shop", name, amount=int, user=str)
    assert paid(1, "a") is None
    one.events[f"shop/{name}"].enable = True
    assert paid.enabled
    paid(2, "b")
    paid(amount=3, user="c")
    paid(4, user="d")
    paid(user="e", amount=5)
    one.events[f"shop/{name}"].enable = False
    assert not paid.enabled
    paid(6, "f")
    assert hits(one) == [
        f'{name}: amount={n} user="{user}"' for n, user in ((2, "b"), (3, "c"), (4, "d"), (5, "e"))
    ]


@pytest.mark.parametrize("enable", [False, True])
@pytest.mark.parametrize(
    ("args", "keywords", "text"),
    [
        ((), {}, r"missing 2 required arguments: 'amount' and 'user'"),
        ((1,), {}, r"missing 1 required argument: 'user'"),
        ((), {"user": ""}, r"missing 1 required argument: 'amount'"),
        ((1, 2, 3), {}, r"takes 2 positional arguments but 3 were given"),
        ((1, 2), {"user": 2}, r"got multiple values for argument 'user'"),
        ((1, 2), {"nothing": 2}, r"got an unexpected keyword argument 'nothing'"),
        ((1,), {"nothing": 2}, r"got an unexpected keyword argument 'nothing'"),
    ],
)
def test_a_wrong_call_is_a_type_error_whether_it_is_enabled_or_not(
    one: funcgraph.Instance, enable: bool, args: Any, keywords: Any, text: str
) -> None:
    name = fresh()
    event = funcgraph.trace_event("shop", name, amount=int, user=str)
    one.events[f"shop/{name}"].enable = enable
    with pytest.raises(TypeError, match=rf"^{name}\(\) {text}$"):
        event(*args, **keywords)
    assert hits(one) == []


def test_names_of_keywords_need_not_be_interned(one: funcgraph.Instance) -> None:
    name = fresh()
    event = funcgraph.trace_event("shop", name, amount=int)
    one.events[f"shop/{name}"].enable = True
    event(**{"".join(["am", "ount"]): 3})
    assert values(one) == ["amount=3"]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (int, -5, "-5"),
        (int, 2**63 - 1, str(2**63 - 1)),
        (int, True, "1"),
        (float, 1.5, "1.5"),
        (float, 2, "2.0"),
        (str, "käse", '"käse"'),
        (bytes, b"raw", '"raw"'),
        (bool, 0, "0"),
        ("u8", 255, "255"),
        ("s8", -128, "-128"),
        ("u64", 2**64 - 1, str(2**64 - 1)),
        ("x32", 0xBEEF, "0xbeef"),
        ("string", "a b", '"a b"'),
        ("value", "v", "'v'"),
    ],
)
def test_a_value_of_each_type(one: funcgraph.Instance, kind: Any, value: object, text: str) -> None:
    name = fresh()
    event = funcgraph.trace_event("shop", name, it=kind)
    one.events[f"shop/{name}"].enable = True
    event(value)
    assert values(one) == [f"it={text}"]
    assert one.events[f"shop/{name}"].id >= 3000


class Hostile:
    """What runs code of the program when it is converted."""

    def __index__(self) -> int:
        raise AssertionError

    __int__ = __float__ = __bool__ = __str__ = __repr__ = __len__ = __index__  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, 2**63),
        (int, -(2**63) - 1),
        (int, 2**900),
        (int, 1.5),
        (int, "1"),
        (int, None),
        (float, "1"),
        (float, 10**400),
        (str, 5),
        (str, None),
        ("u8", 256),
        ("u8", -1),
        ("s8", 128),
        ("s32", -(2**31) - 1),
        ("u64", -1),
        ("u64", 2**64),
        (int, Hostile()),
        (float, Hostile()),
        (str, Hostile()),
        (bool, Hostile()),
    ],
)
def test_a_value_that_does_not_fit_is_a_fault_of_the_record_alone(
    one: funcgraph.Instance, kind: Any, value: object
) -> None:
    from funcgraph.events import live

    name = fresh()
    event = funcgraph.trace_event("shop", name, it=kind)
    one.events[f"shop/{name}"].enable = True
    event(value)
    assert values(one) == ['it="(fault)"' if kind is str else "it=(fault)"]
    assert live.events()["shop", name].engine.faults == 1


def test_an_exception_that_is_in_flight_stays(one: funcgraph.Instance) -> None:
    name = fresh()
    event = funcgraph.trace_event("shop", name, it=int)
    one.events[f"shop/{name}"].enable = True

    def work() -> None:
        try:
            raise KeyError("its own")
        finally:
            event(2**70)

    with pytest.raises(KeyError, match="its own"):
        work()
    assert values(one) == ["it=(fault)"]


# ---- declarations


def test_the_same_declaration_is_the_same_event() -> None:
    name = fresh()
    first = funcgraph.trace_event("shop", name, amount=int, user=str)
    again = funcgraph.trace_event("shop", name, amount="s64", user="string")
    assert (again.group, again.name, again.fields) == ("shop", name, {"amount": "s64", "user": "string"})
    with funcgraph.Instance("one") as one:
        one.events[f"shop/{name}"].enable = True
        first(1, "a")
        again(2, "b")
        assert values(one) == ['amount=1 user="a"', 'amount=2 user="b"']


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"amount": float, "user": str}, "field 'amount' is s64 there, f64 here"),
        ({"amount": int}, "field 'user' is only there"),
        ({"amount": int, "user": str, "n": int}, "field 'n' is only here"),
        ({"user": str, "amount": int}, "the fields are in another order: amount, user there"),
    ],
)
def test_other_fields_are_refused_with_what_differs(fields: dict[str, Any], text: str) -> None:
    name = fresh()
    funcgraph.trace_event("shop", name, amount=int, user=str)
    with pytest.raises(ValueError, match=rf"^shop/{name} is declared with other fields: {text}$"):
        funcgraph.trace_event("shop", name, **fields)


@pytest.mark.parametrize(
    ("group", "name", "fields", "text"),
    [
        ("", "paid", {}, "invalid group ''"),
        ("shop/", "paid", {}, "invalid group 'shop/'"),
        ("s" * 64, "paid", {}, "invalid group"),
        ("shop", "", {}, "invalid name ''"),
        ("shop", "a-b", {}, "invalid name 'a-b'"),
        ("shop", "1a", {}, "invalid name '1a'"),
        ("shop", "käse", {}, "invalid name 'käse'"),
        ("shop", "paid", {"a b": int}, "invalid field 'a b'"),
        ("shop", "paid", {"f" * 33: int}, "invalid field 'f+'"),
        ("shop", "paid", {"common_pid": int}, "invalid field 'common_pid'"),
        ("shop", "paid", {"__probe_ip": int}, "invalid field '__probe_ip'"),
        ("shop", "paid", {"a": "u23"}, "invalid type of field 'a': 'u23'.*u8"),
        ("shop", "paid", {"a": list}, "invalid type of field 'a': <class 'list'>"),
        ("shop", "paid", {"a": 5}, "invalid type of field 'a': 5"),
        ("shop", "paid", {f"f{i}": str for i in range(60)}, "bytes"),
        ("py", "raise", {"type": str}, "group 'py' is for CPython"),
        ("ftrace", "paid", {"a": int}, "group 'ftrace'"),
        ("synthetic", "paid", {"a": int}, "group 'synthetic'"),
    ],
)
def test_a_wrong_declaration_is_refused(group: str, name: str, fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        funcgraph.trace_event(group, name, **fields)


def test_names_must_be_texts() -> None:
    with pytest.raises(TypeError, match="name must be a str, not int"):
        funcgraph.trace_event("shop", 5, amount=int)  # type: ignore[arg-type]


def test_a_name_that_a_definition_has_is_refused_and_the_other_way_round() -> None:
    name = fresh()
    events.define(f"f:shop/{name} {__name__}.fresh")
    with pytest.raises(ValueError, match=f"shop/{name} is a dynamic event"):
        funcgraph.trace_event("shop", name, amount=int)
    events.clear()
    funcgraph.trace_event("shop", name, amount=int)
    with pytest.raises(OSError, match="already used by another event"):
        events.define(f"f:shop/{name} {__name__}.fresh")


def test_it_is_listed_and_described() -> None:
    name = fresh()
    event = funcgraph.trace_event("shop", name, amount="u32")
    assert repr(event) == f"<TraceEvent shop/{name} amount:u32>"
    with funcgraph.Instance("one") as one:
        assert f"shop/{name}" in list(one.events)
        assert f"shop:{name}\n" in one.files["available_events"]
        assert "field:u32 amount;" in one.files[f"events/shop/{name}/format"]
        assert int(one.files[f"events/shop/{name}/id"]) == one.events[f"shop/{name}"].id


def test_an_event_without_fields(one: funcgraph.Instance) -> None:
    name = fresh()
    tick = funcgraph.trace_event("shop", name)
    one.events[f"shop/{name}"].enable = True
    tick()
    assert len(one.trace().splitlines()) and f"{name}:" in one.trace()
    with pytest.raises(TypeError, match="takes 0 positional arguments but 1 was given"):
        tick(1)


# ---- it takes part in everything


def test_files_filters_triggers_and_histograms(one: funcgraph.Instance) -> None:
    name = fresh()
    event = funcgraph.trace_event("shop", name, amount=int, user=str)
    file = one.events[f"shop/{name}"]
    file.filter = 'amount > 3 && user ~ "a*"'
    file.trigger = "hist:keys=user:vals=amount"
    file.trigger = "traceoff:1 if amount == 9"
    one.files["set_event"] = f"shop:{name}"
    for n in (1, 4, 5, 9, 10):
        event(n, "ann")
    event(20, "bob")
    assert values(one) == [f'amount={n} user="ann"' for n in (4, 5, 9)]
    assert re.search(r"user: ann +} hitcount: +5 +amount: +29", file.hist), file.hist


def test_dynamic_and_synthetic_events_on_it(one: funcgraph.Instance) -> None:
    begun, done = fresh(), fresh()
    begin = funcgraph.trace_event("shop", begun, id=int)
    end = funcgraph.trace_event("shop", done, id=int, user=str)
    events.write("synthetic_events", "took s64 id; u64 us")
    events.define(f"t:shop/t_{done} shop/{done} id=id who=user")
    events.define(f"e:shop/e_{done} shop/{done} n=$id if id > 1")
    one.events[f"shop/{begun}"].trigger = "hist:keys=id:ts=common_timestamp.usecs"
    one.events[
        f"shop/{done}"
    ].trigger = f"hist:keys=id:us=common_timestamp.usecs-$ts:onmatch(shop.{begun}).took(id,$us)"
    for event in ("synthetic/took", f"shop/t_{done}", f"shop/e_{done}"):
        one.events[event].enable = True
    for n in (1, 2):
        begin(n)
        end(n, "ann")
    found = Counter(text.split(":")[0] for text in hits(one))
    assert found == {"took": 2, f"t_{done}": 2, f"e_{done}": 1}


def test_several_threads(one: funcgraph.Instance) -> None:
    name = fresh()
    event = funcgraph.trace_event("shop", name, thread=int, n=int)
    one.events[f"shop/{name}"].enable = True
    barrier = threading.Barrier(4)

    def work(which: int) -> None:
        barrier.wait()
        for n in range(500):
            event(which, n)

    threads = [threading.Thread(target=work, args=(which,)) for which in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [tuple(map(int, re.findall(r"=(\d+)", text))) for text in values(one)]
    assert sorted(found) == [(which, n) for which in range(4) for n in range(500)]


def test_threads_that_declare_the_same_event_get_the_same_one(one: funcgraph.Instance) -> None:
    names = [fresh() for _ in range(50)]
    barrier = threading.Barrier(4)
    refused: list[BaseException] = []

    def declare() -> None:
        barrier.wait()
        try:
            for name in names:
                funcgraph.trace_event("shop", name, n=int)(1)
        except BaseException as error:
            refused.append(error)

    threads = [threading.Thread(target=declare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = one.files["available_events"].splitlines()
    assert not refused and all(every.count(f"shop:{name}") == 1 for name in names)


def test_a_program_that_is_not_recorded_loads_only_the_engine() -> None:
    code = """
import sys
before = set(sys.modules)
import funcgraph
paid = funcgraph.trace_event("shop", "paid", amount=int, user=str)
paid(3, "a")
loaded = {name for name in set(sys.modules) - before if name.startswith("funcgraph")}
print(sorted(loaded), "typing" in sys.modules, funcgraph.users())
"""
    result = subprocess.run([sys.executable, "-S", "-c", _with_path(code)], capture_output=True, text=True)
    assert result.stderr == ""
    modules = "['funcgraph', 'funcgraph._engine', 'funcgraph.events', 'funcgraph.events.program_event']"
    assert result.stdout == f"{modules} False []\n"


def _with_path(code: str) -> str:
    folder = os.path.dirname(os.path.dirname(funcgraph.__file__))
    return f"import sys; sys.path.insert(0, {folder!r})\n{code}"


def test_an_event_of_one_interpreter_does_not_hit_in_another(one: funcgraph.Instance) -> None:
    interpreters = pytest.importorskip(
        "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    )
    name = fresh()
    event = funcgraph.trace_event("shop", name, n=int)
    one.events[f"shop/{name}"].enable = True
    other = interpreters.create()
    interpreters.run_string(
        other, _with_path(f"import funcgraph\nfuncgraph.trace_event('shop', {name!r}, n=int)(2)")
    )
    interpreters.destroy(other)
    event(1)
    assert values(one) == ["n=1"]


# ---- recordings

SHOP = """
    import os, sys, threading
    import funcgraph

    paid = funcgraph.trace_event("shop", "paid", amount=int, user=str)

    def pay(n):
        paid(amount=n, user="ann")

    for n in range(5):
        pay(n)
    if "fork" in sys.argv:
        if not os.fork():
            pay(100)
            funcgraph.trace_event("shop", "late", n=int)(7)
            os._exit(0)
        os.wait()
    print(sum(range(6)))
"""


def recorded(fg: Funcgraph) -> list[str]:
    report = fg.run("report", "-i", fg.trace)
    assert report.returncode == 0, report.stderr
    return re.findall(r"\d: (\w+: .*)$", report.stdout, re.MULTILINE)


def fields_of(trace: funcgraph.Trace, name: str) -> list[dict[str, Any]]:
    return [dict(event.fields or {}) for event in trace.events() if event.type and event.type.name == name]


def test_a_recording_has_an_event_that_is_declared_later(fg: Funcgraph) -> None:
    result = fg.record("-q", "-e", "shop:paid", "-f", "amount > 2", fg.script(SHOP))
    assert (result.returncode, result.stderr) == (0, "")
    assert recorded(fg) == [f'paid: amount={n} user="ann"' for n in (3, 4)]
    with funcgraph.open(str(fg.trace)) as trace:
        assert fields_of(trace, "paid") == [{"amount": 3, "user": "ann"}, {"amount": 4, "user": "ann"}]


def test_a_recording_of_children_that_are_forked(fg: Funcgraph) -> None:
    result = fg.record("-q", "-e", "shop/paid", "-e", "shop/late", fg.script(SHOP), "fork")
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(recorded(fg)) == sorted(
        [*(f'paid: amount={n} user="ann"' for n in (0, 1, 2, 3, 4, 100)), "late: n=7"]
    )


def test_a_trigger_of_a_recording(fg: Funcgraph) -> None:
    result = fg.record("-q", "-e", "shop:paid", "-R", "traceoff:1 if amount == 2", fg.script(SHOP))
    assert (result.returncode, result.stderr) == (0, "")
    assert recorded(fg) == [f'paid: amount={n} user="ann"' for n in (0, 1, 2)]


def test_a_trace_dat_has_it(fg: Funcgraph) -> None:
    dat = fg.trace.with_suffix(".dat")
    result = fg.run("record", "-q", "-o", dat, "-e", "shop:paid", fg.script(SHOP))
    assert (result.returncode, result.stderr) == (0, "")
    report = fg.run("report", "-i", dat)
    assert report.stdout.count("paid: amount=") == 5


def test_a_filter_that_does_not_fit_the_declaration_is_told_and_harms_nothing(fg: Funcgraph) -> None:
    result = fg.record("-e", "shop:paid", "-f", "nothing > 2", fg.script(SHOP))
    assert result.returncode == 2  # nothing was recorded; the program was not harmed
    assert result.stdout == "15\n"
    assert re.search(r"process \d+: shop:paid: .*Field not found", result.stderr), result.stderr
    assert "Traceback" not in result.stderr


def test_an_event_that_no_program_declares_is_told(fg: Funcgraph) -> None:
    result = fg.record("-e", "shop:payd", fg.script(SHOP))
    assert result.returncode == 2
    assert "no hit of shop/payd" in result.stderr, result.stderr


@pytest.mark.one_python
def test_a_name_that_can_only_be_cpythons_must_be_known() -> None:
    for text in ("py:rais", "asyncio/task", "ftrace/prin", "rais"):
        with pytest.raises(ValueError, match="no such event"):
            recording_events.parse(text)
    assert recording_events.parse("shop:nothing").name == ("shop", "nothing")


def test_a_block_that_wants_it_before_it_is_declared(fg: Funcgraph) -> None:
    name = fresh()
    path = str(fg.trace)
    with funcgraph.record(path, events=[f"shop:{name}"], tracer="nop"):
        event = funcgraph.trace_event("shop", name, n=int)
        event(1)
    event(2)
    assert not event.enabled
    with funcgraph.open(path) as trace:
        assert fields_of(trace, name) == [{"n": 1}]


def test_an_event_that_is_wanted_no_longer_is_not_enabled_when_it_is_declared(fg: Funcgraph) -> None:
    name = fresh()
    with (
        pytest.warns(RuntimeWarning, match=f"no hit of shop/{name}: the program declares no such event"),
        funcgraph.record(str(fg.trace), events=[f"shop:{name}"], tracer="nop"),
    ):
        pass
    assert not funcgraph.trace_event("shop", name, n=int).enabled


def test_an_instance_does_not_know_it_before_it_is_declared(one: funcgraph.Instance) -> None:
    name = fresh()
    with pytest.raises(OSError, match=r".") as refused:
        one.files["set_event"] = f"shop:{name}"
    assert refused.value.errno == errno.EINVAL
