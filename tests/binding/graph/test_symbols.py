"""All functions are found by name, pattern or object, called or not; the search leaves nothing behind.

Broken by hand: add_nested() did nothing (functions in functions); find_module() returned the module of the
previous symbol; slot_of() was not called (one function for each closure); forget() kept the callables or the
modules' names (the leak test); the permanent generation was left out (up to 3.13); make_record() attached no
hooks (a function that is found while a user wants it).
"""

from __future__ import annotations

import collections
import functools
import gc
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from builds import functions_go

import funcgraph
from funcgraph import _engine

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

SOURCE = """
import functools

def plain(x):
    def inner(y):
        return lambda: (x, y)
    class Local:
        def method(self):
            return [i for i in range(3)]
    return inner

class Shop:
    def method(self): pass
    @classmethod
    def of_class(cls): pass
    @staticmethod
    def of_nobody(): pass
    @property
    def value(self): return 1
    @functools.lru_cache
    def cached(self): pass
    class Inner:
        def deep(self): pass

def generator():
    def within(): pass
    yield within

async def coroutine(): pass
"""

NAMES = {
    "plain",
    "plain.<locals>.inner",
    "plain.<locals>.inner.<locals>.<lambda>",
    "plain.<locals>.Local",
    "plain.<locals>.Local.method",
    "Shop.method",
    "Shop.of_class",
    "Shop.of_nobody",
    "Shop.value",
    "Shop.cached",
    "Shop.Inner.deep",
    "generator",
    "generator.<locals>.within",
    "coroutine",
}
if sys.version_info < (3, 12):  # from 3.12 on, comprehensions are inlined into their function
    NAMES.add("plain.<locals>.Local.method.<locals>.<listcomp>")


def _run(source: str, module: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": module}
    exec(source, namespace)
    return namespace


@pytest.fixture
def shop() -> types.SimpleNamespace:
    gc.collect()  # frees the functions of the previous test
    return types.SimpleNamespace(**_run(SOURCE, "shop"))


def _names(*patterns: str) -> list[str]:
    return sorted(function.name for function in _engine.find_functions(patterns))


@functions_go
def test_functions_that_were_never_called_are_found(shop: Any) -> None:
    assert _names("shop.*") == sorted(f"shop.{name}" for name in NAMES)


@functions_go
def test_the_list_has_each_name_once_and_in_order(shop: Any) -> None:
    again = _run(SOURCE, "shop")
    assert funcgraph.available_filter_functions("shop.*") == sorted(f"shop.{name}" for name in NAMES)
    assert len(_engine.function_names(["shop.*"])) == 2 * len(NAMES)
    assert again


def test_the_list_makes_no_records(shop: Any) -> None:
    assert shop
    before = _engine.status()["functions"]
    assert "shop.plain" in funcgraph.available_filter_functions()
    assert _engine.status()["functions"] == before


@functions_go
def test_patterns(shop: Any) -> None:
    assert _names("shop.Shop.of_*") == ["shop.Shop.of_class", "shop.Shop.of_nobody"]
    assert _names(":mod:shop") == sorted(f"shop.{name}" for name in NAMES)
    assert _names("shop.plain", "shop.Shop.me*") == ["shop.Shop.method", "shop.plain"]
    without = _engine.find_functions(["shop.Shop.*"], ["*of_*", "*Inner*"])
    assert sorted(f.qualname for f in without) == ["Shop.cached", "Shop.method", "Shop.value"]
    assert _names() == _names("shop.nothing") == []


@pytest.mark.parametrize("find", [_engine.find_functions, _engine.function_names])
def test_wrong_patterns(find: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="column 6"):
        find(["shop.["])
    with pytest.raises(TypeError, match="one str"):
        find("shop.*")
    with pytest.raises(TypeError):
        find([1])
    with pytest.raises(ValueError, match="column 6"):
        funcgraph.available_filter_functions("shop.[")
    with pytest.raises(ValueError, match="column 1"):
        _engine.find_functions(["a"], [""])


def test_a_found_function_is_the_one_of_its_calls(shop: Any, probe: Any) -> None:
    found = {f.name: f for f in _engine.find_functions(["shop.*"])}
    reported: list[Any] = []
    ops = funcgraph.FgraphOps(lambda trace, ops, regs: bool(reported.append(trace.func)), filter=["shop.*"])
    with funcgraph.registered(ops):
        shop.plain(1)(2)()
        shop.Shop().method()
        shop.Shop.of_class()
        list(shop.generator())
    names = [
        "plain",
        "plain.<locals>.Local",
        "plain.<locals>.inner",
        "plain.<locals>.inner.<locals>.<lambda>",
    ]
    assert [f.qualname for f in reported] == [*names, "Shop.method", "Shop.of_class", "generator"]
    assert all(f is found[f.name] for f in reported)


def test_its_texts_are_those_of_one_that_was_called_first(shop: Any) -> None:
    twin = types.SimpleNamespace(**_run(SOURCE, "shop"))
    reported: list[Any] = []

    def entry(trace: Any, ops: Any, regs: Any) -> bool:
        reported.append((trace.func, regs.arguments()))
        return False

    found = _engine.function_of(shop.plain)
    with funcgraph.registered(funcgraph.FgraphOps(entry, filter=["shop.plain"])):
        shop.plain(1)
        twin.plain(1)
    (first, values), (other, other_values) = reported
    assert first is found and other is not found
    for name in ("name", "module", "qualname", "file", "line"):
        assert getattr(first, name) == getattr(other, name)
    assert values == other_values == {"x": 1}


# ---- found before the first call; users register at any time


def test_found_first_and_wanted_later(shop: Any, probe: Any) -> None:
    assert _names("shop.*")
    user = probe("shop.*")
    shop.plain(1)
    assert user.of("plain") == ["entry", "return"]


def test_found_and_called_and_then_wanted(shop: Any, probe: Any) -> None:
    other = probe("nothing.*")
    assert _names("shop.*")
    for _ in range(3):
        shop.plain(1)  # no user wants it: its events are disabled
    user = probe("shop.*")
    shop.plain(1)
    assert user.of("plain") == ["entry", "return"]
    assert other.calls == []


def test_wanted_first_and_then_found(shop: Any, probe: Any) -> None:
    user = probe("shop.*")
    assert _names("shop.*")
    shop.plain(1)
    shop.Shop().method()
    list(shop.generator())
    assert user.of("plain") == ["entry", "return"]
    assert user.of("method") == ["entry", "return"]
    assert user.of("generator") == ["entry", "return"]


@functions_go
def test_found_in_a_callback(shop: Any) -> None:
    found: list[Any] = []

    def entry(trace: Any, ops: Any, regs: Any) -> bool:
        found.extend(_engine.find_functions(["shop.Shop.method"]))
        return False

    with funcgraph.registered(funcgraph.FgraphOps(entry, filter=["shop.plain"])):
        shop.plain(1)
    assert [f.qualname for f in found] == ["Shop.method"]


# ---- where functions are found


@functions_go
def test_closures_of_one_code_are_one_function(shop: Any) -> None:
    many = [shop.plain(i) for i in range(1000)]
    assert len(_engine.find_functions(["shop.plain.<locals>.inner"])) == 1
    assert many


def test_what_is_being_defined_is_found() -> None:
    namespace = _run(
        "from funcgraph import _engine\n"
        "found = [f.name for f in _engine.find_functions(['half.later*'])]\n"
        "def later():\n    def deeper(): pass\n",
        "half",
    )
    assert sorted(namespace["found"]) == ["half.later", "half.later.<locals>.deeper"]


def test_what_only_a_running_generator_has_is_found(probe: Any) -> None:
    user = probe("gone.*")
    namespace = _run("def generator():\n    yield\n    def within(): pass\n    within()\n", "gone")
    running = namespace["generator"]()
    next(running)
    del namespace["generator"]
    gc.collect()
    assert _names("gone.*.within") == ["gone.generator.<locals>.within"]
    assert list(running) == []
    assert user.of("within") == ["entry", "return"]


@functions_go
def test_what_the_collector_has_put_aside_is_found(shop: Any) -> None:
    gc.freeze()
    try:
        assert "shop.plain" in _names("shop.*")
    finally:
        gc.unfreeze()


def test_functions_of_odd_globals() -> None:
    class Name(str):
        def __eq__(self, other: object) -> bool:
            raise AssertionError("the program's code ran")

        __hash__ = str.__hash__

    class Globals(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise AssertionError("the program's code ran")

        get = __getitem__

    def template() -> None: ...

    places: tuple[dict[str, Any], ...] = (
        {},
        {"__name__": 3},
        {"__name__": Name("n")},
        Globals(__name__="g"),
        {"__name__": "sur\udc80"},
    )
    for i, place in enumerate(places):
        code = template.__code__.replace(co_name="odd", co_qualname=f"odd{i}")
        function = types.FunctionType(code, place)
        assert _names(f"*.odd{i}") == [f"?.odd{i}"]
        assert _engine.function_of(function).module == "?"
    code = template.__code__.replace(co_name="odd", co_qualname="odd\udc80name")
    function = types.FunctionType(code, {"__name__": "odd"})
    assert _engine.function_of(function).name == "odd.?"
    code = template.__code__.replace(co_name="odd", co_qualname="grün")
    function = types.FunctionType(code, {"__name__": "odd"})
    assert _names("odd.gr?n") == _names("odd.gr??n") == ["odd.grün"] or _names("odd.gr*n") == ["odd.grün"]


# ---- C functions


def test_c_functions_are_found_by_their_whole_names() -> None:
    names = [
        "time.sleep",
        "builtins.len",
        "builtins.list.append",
        "builtins.dict.fromkeys",
        "builtins.str.maketrans",
        "collections.deque.append",
        "builtins.generator.send",
    ]
    assert time and collections
    assert _names(*names) == sorted(names)
    for name in names:
        assert _names(f"{name[:-1]}[{name[-1]}]") == []
        assert funcgraph.available_filter_functions(name) == [name]
    assert set(names) <= set(_engine.function_names())
    assert not set(names) & set(funcgraph.available_filter_functions())


@functions_go
def test_all_functions_of_a_name(shop: Any) -> None:
    again = _run(SOURCE, "shop")
    odd = types.FunctionType(shop.plain.__code__.replace(co_qualname="odd[int]"), {"__name__": "shop"})
    found = _engine.functions_named(["shop.plain", "time.sleep", "shop.odd[int]", "shop.odd[i]", "nobody"])
    assert list(found) == ["shop.plain", "time.sleep", "shop.odd[int]", "shop.odd[i]", "nobody"]
    assert [len(functions) for functions in found.values()] == [2, 1, 1, 0, 0]
    assert {f.code for f in found["shop.plain"]} == {shop.plain.__code__, again["plain"].__code__}
    assert found["shop.odd[int]"] == [_engine.function_of(odd)]
    assert _engine.functions_named([]) == {}
    with pytest.raises(TypeError, match="one str"):
        _engine.functions_named("shop.plain")


# ---- by object


def test_the_function_of_an_object(shop: Any) -> None:
    thing = shop.Shop()
    of = _engine.function_of
    assert of(shop.plain).name == "shop.plain"
    assert of(shop.plain) is of(shop.plain.__code__) is of(of(shop.plain))
    assert of(shop.plain(1)).name == "shop.plain.<locals>.inner"
    assert of(thing.method) is of(shop.Shop.method)
    assert of(shop.Shop.of_class) is of(shop.Shop.__dict__["of_class"])
    assert of(shop.Shop.of_nobody) is of(shop.Shop.__dict__["of_nobody"])
    assert of(shop.Shop.__dict__["of_class"]).qualname == "Shop.of_class"
    assert of(time.sleep).name == "time.sleep" and of(time.sleep).code is None
    assert of([].append) is of(list.append)
    assert of(dict.fromkeys) is of(dict.__dict__["fromkeys"])
    assert of(types.MethodType(len, [])) is of(len)
    (inner,) = (
        one
        for one in shop.plain.__code__.co_consts
        if isinstance(one, types.CodeType) and "inner" in one.co_name
    )
    assert of(inner).name == "shop.plain.<locals>.inner"


@pytest.mark.parametrize("wrong", [int, 3, None, functools.partial(len), object()])
def test_what_is_no_function(wrong: object) -> None:
    with pytest.raises(TypeError, match=rf"not (functools\.)?{type(wrong).__name__}"):
        _engine.function_of(wrong)


def test_code_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="<code object"):
        _engine.function_of(compile("1", "<nobody>", "eval"))


# ---- the search leaves nothing behind


@functions_go
def test_nothing_is_kept_alive(shop: Any) -> None:
    name = "".join(["sh", "op"])  # an interned string may be immortal
    shop.plain.__globals__["__name__"] = name

    def references() -> list[int]:
        objects = (shop.plain, shop.plain.__code__, shop.plain.__globals__, name, time.sleep, list.append)
        return [sys.getrefcount(one) for one in objects]

    _engine.find_functions(["shop.*", "time.sleep"])
    gc.collect()
    before = references()
    for _ in range(5):
        _engine.find_functions(["shop.*", "time.sleep", "builtins.list.append"])
        _engine.function_names()
        _engine.functions_named(["shop.plain"])
        _engine.function_of(shop.plain)
    assert references() == before
    alive = weakref.ref(shop.plain)
    found = _engine.find_functions(["shop.*"])
    vars(shop).clear()
    gc.collect()
    assert alive() is None
    assert {f.code for f in found} == {None}
    assert _names("shop.*") == []


@functions_go
def test_records_go_with_their_functions() -> None:
    gc.collect()
    before = _engine.status()["functions"]
    for _ in range(5):
        namespace = _run(SOURCE, "fleeting")
        assert len(_engine.find_functions(["fleeting.*"])) == len(NAMES)
        del namespace
        gc.collect()
        assert _engine.status()["functions"] == before


@functions_go
def test_the_exception_in_flight_stays(shop: Any) -> None:
    try:
        raise KeyError("mine")
    except KeyError as error:
        assert _names("shop.plain") == ["shop.plain"]
        assert sys.exc_info()[1] is error


def test_while_others_make_and_lose_functions(probe: Any) -> None:
    user = probe("busy.*")
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            _run(SOURCE, "busy")["plain"](1)(2)

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        _engine.find_functions(["busy.*"])
        _engine.function_names()
        gc.collect(0)
    stop.set()
    for thread in threads:
        thread.join()
    assert user.of("plain")
    assert funcgraph._engine.status()["killed"] is None


@functions_go
def test_in_a_finaliser_and_in_the_collectors_callbacks(shop: Any) -> None:
    found: list[int] = []

    class Cycle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            found.append(len(_engine.find_functions(["shop.*"])))

    def callback(phase: str, info: dict[str, int]) -> None:
        found.append(len(_engine.find_functions(["shop.*"])))

    gc.callbacks.append(callback)
    try:
        Cycle()
        gc.collect()
    finally:
        gc.callbacks.remove(callback)
    assert found == [len(NAMES)] * 3


def test_functions_of_this_package_are_selected_only_by_patterns_that_name_it() -> None:
    assert not [name for name in funcgraph.available_filter_functions() if name.startswith("funcgraph.")]
    assert funcgraph.available_filter_functions("funcgraph.fgraph.registered") == [
        "funcgraph.fgraph.registered"
    ]
    assert "funcgraph.fgraph.registered" in funcgraph.available_filter_functions("*:mod:funcgraph.fgraph")


def test_a_user_without_a_filter_sees_no_functions_of_this_package() -> None:
    seen: list[str] = []
    every = funcgraph.FgraphOps(lambda trace, *_: seen.append(trace.func.name), None)
    named = funcgraph.FgraphOps(lambda trace, *_: seen.append(trace.func.name), None, filter=["funcgraph.*"])
    with funcgraph.registered(every):
        funcgraph.available_filter_functions("shop.*")
    assert not [name for name in seen if name.startswith("funcgraph.")]
    with funcgraph.registered(named):
        funcgraph.available_filter_functions("shop.*")
    assert "funcgraph.fgraph.available_filter_functions" in seen
