"""Events on functions that nobody has met when the event is enabled, and on those that come later.

Enabling looks for no Python function that has not been called: it is met at its first call.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import math
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import pytest
from builds import functions_go
from conftest import Funcgraph

import funcgraph
from funcgraph import _engine

events = funcgraph.dynamic_events

SOURCE = """
def plain(): pass
async def coroutine(): pass
def generator(): yield
fast = lambda: None
def outer():
    def inner():
        return lambda: None
    return inner
class Shop:
    def method(self): pass
    @classmethod
    def of_class(cls): pass
    @staticmethod
    def of_nobody(): pass
    class Inner:
        def __init__(self): pass
"""


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


def run(source: str | CodeType, module: str = "unmet") -> SimpleNamespace:
    """Run a module's source, or its code, without keeping the module's code."""
    namespace: dict[str, Any] = {"__name__": module}
    exec(source, namespace)
    return SimpleNamespace(**namespace)


def enable(instance: funcgraph.Instance, functions: str, *, name: str = "e") -> None:
    events.define(f"f:unmet/{name} {functions}")
    instance.events[f"unmet/{name}"].enable = True


def hits(instance: funcgraph.Instance) -> list[str]:
    """Return the functions that were hit, and forget them."""
    text = instance.trace()
    instance.clear()
    return [line.partition("(")[2].rpartition(")")[0] for line in text.splitlines() if "e: (" in line]


def call_all(shop: Any) -> list[str]:
    """Call each function of SOURCE; return their names in this order."""
    shop.plain()
    with contextlib.suppress(StopIteration):
        shop.coroutine().send(None)
    next(shop.generator())
    shop.fast()
    shop.outer()()()
    shop.Shop().method()
    shop.Shop.of_class()
    shop.Shop.of_nobody()
    shop.Shop.Inner()
    names = [
        *("plain", "coroutine", "generator", "<lambda>"),
        *("outer", "outer.<locals>.inner", "outer.<locals>.inner.<locals>.<lambda>"),
        *("Shop.method", "Shop.of_class", "Shop.of_nobody", "Shop.Inner.__init__"),
    ]
    return [f"unmet.{name}" for name in names]


def test_a_pattern_hits_functions_that_nobody_has_called(one: funcgraph.Instance) -> None:
    shop = run(SOURCE)
    enable(one, "unmet.*")
    assert call_all(shop) == hits(one)


@pytest.mark.parametrize(
    "name", ["plain", "<lambda>", "outer.<locals>.inner", "outer.<locals>.inner.<locals>.<lambda>"]
)
def test_a_name_hits_what_nobody_has_called(one: funcgraph.Instance, name: str) -> None:
    shop = run(SOURCE)
    enable(one, f"unmet.{name}")
    call_all(shop)
    assert hits(one) == [f"unmet.{name}"]


@pytest.mark.parametrize("name", ["Shop.method", "Shop.of_class", "Shop.of_nobody", "Shop.Inner.__init__"])
def test_a_name_hits_a_method_that_nobody_has_called(one: funcgraph.Instance, name: str) -> None:
    shop = run(SOURCE)
    enable(one, f"unmet.{name}")
    call_all(shop)
    assert hits(one) == [f"unmet.{name}"]


@pytest.mark.parametrize("text", ["unmet.plain", "unmet.pl*"])
def test_all_functions_of_a_name_are_hit(one: funcgraph.Instance, text: str) -> None:
    known, unknown = run(SOURCE), run(SOURCE)
    with funcgraph.FunctionProfile(filter=["unmet.*"]):
        known.plain()
    enable(one, text)
    later = run(SOURCE)
    for shop in (known, unknown, later, unknown):
        shop.plain()
    assert hits(one) == ["unmet.plain"] * 4


def test_code_that_existed_becomes_a_function_later(one: funcgraph.Instance) -> None:
    code = compile(SOURCE, "later.py", "exec")
    first = run(SOURCE)
    enable(one, "unmet.Shop.m*")
    second = run(code)
    enable(one, "unmet.plain", name="ee")
    third = run(code, "elsewhere")  # the same code objects: they keep their first module
    for shop in (first, second, third):
        shop.plain()
        shop.Shop().method()
    assert hits(one) == ["unmet.plain", "unmet.Shop.method"] * 3


def test_functions_made_between_two_enables(one: funcgraph.Instance) -> None:
    shop = run(SOURCE)
    enable(one, "unmet.outer")
    inner = shop.outer()
    enable(one, "unmet.outer.<locals>.inner", name="ee")
    innermost = inner()
    enable(one, "unmet.outer.*.<lambda>", name="eee")
    innermost()
    assert hits(one) == [
        "unmet.outer",
        "unmet.outer.<locals>.inner",
        "unmet.outer.<locals>.inner.<locals>.<lambda>",
    ]


def test_a_module_imported_between_two_enables(
    one: funcgraph.Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unmet_module.py").write_text("def found(): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    run(SOURCE)
    with pytest.raises(OSError, match="unmet_module") as error:
        enable(one, "unmet_module.found")
    assert error.value.errno == errno.EINVAL
    module = importlib.import_module("unmet_module")
    try:
        enable(one, "unmet_module.found")
        module.found()
        assert hits(one) == ["unmet_module.found"]
    finally:
        del sys.modules["unmet_module"]


@functions_go
def test_a_function_at_the_address_of_another(one: funcgraph.Instance) -> None:
    code = compile("def plain(): pass", "again.py", "exec").co_consts[0]
    addresses = set()
    for i in range(20):
        function = FunctionType(code.replace(co_firstlineno=i + 1), {"__name__": "unmet"}, "plain")
        addresses.add(id(function.__code__))
        if i == 0:
            enable(one, "unmet.plain")
        elif i % 2:
            enable(one, "unmet.plain", name="e" * (i + 1))
        function()
        del function
    assert len(addresses) < 20
    assert len(hits(one)) == sum(1 + (i + 1) // 2 for i in range(20))


def test_a_c_function_with_the_name_of_a_known_python_function(one: funcgraph.Instance) -> None:
    shop = run("def cbrt(x): pass\ndef hypot(x): pass", "math")
    with funcgraph.FunctionProfile(filter=["math.*"]):
        shop.hypot(1.0)
    enable(one, "math.hypot")
    shop.hypot(1.0)
    math.hypot(1.0)
    assert hits(one) == ["math.hypot"] * 2


def test_names_of_both_and_patterns_in_one_probe(fprobe_hits: Callable[..., list[str]]) -> None:
    shop = run(SOURCE)

    def program() -> None:
        shop.plain()
        math.trunc(1.5)
        shop.Shop.of_nobody()
        shop.Shop.of_class()

    names = ["unmet.plain", "math.trunc", "unmet.Shop.of_n*"]
    assert fprobe_hits(names, program) == ["unmet.plain", "math.trunc", "unmet.Shop.of_nobody"]


@pytest.fixture
def fprobe_hits() -> Iterator[Callable[..., list[str]]]:
    """Register an fprobe, run a program; return the functions hit."""
    found: list[str] = []
    probe = funcgraph.Fprobe(lambda fp, ip, *rest: found.append(ip.name))

    def hit(names: list[str], program: Callable[[], None]) -> list[str]:
        funcgraph.register_fprobe(probe, names)
        program()
        return found

    yield hit
    funcgraph.unregister_fprobe(probe)


def test_a_pattern_probe_also_takes_functions_that_nobody_knows(
    fprobe_hits: Callable[..., list[str]],
) -> None:
    known, unknown = run(SOURCE), run(SOURCE)
    with funcgraph.FunctionProfile(filter=["unmet.plain"]):
        known.plain()

    def program() -> None:
        unknown.plain()
        unknown.fast()
        run(SOURCE).plain()

    assert fprobe_hits(["unmet.pl*", "unmet.<l*"], program) == [
        "unmet.plain",
        "unmet.<lambda>",
        "unmet.plain",
    ]


def test_nobody_is_an_error(one: funcgraph.Instance) -> None:
    shop = run(SOURCE)
    for functions in ("unmet.nobody", "unmet.nobody*", "plain", "other.plain", "unmet.Shop.plain"):
        with pytest.raises(OSError) as error:
            enable(one, functions)
        assert error.value.errno == errno.EINVAL
    assert shop


def test_a_loop_that_has_run_since_before(one: funcgraph.Instance) -> None:
    source = """
        def spin(began, stop, beats):
            while not stop.is_set():
                beats.append(
                    1)
                began.set()
    """
    began, stop = threading.Event(), threading.Event()
    beats: list[int] = []
    shop = run(textwrap.dedent(source))
    thread = threading.Thread(target=shop.spin, args=(began, stop, beats))
    thread.start()
    began.wait()
    try:
        events.define("p:unmet/e unmet.spin:6")
        one.events["unmet/e"].enable = True
        had = len(beats)
        while len(beats) < had + 3:
            began.clear()
            began.wait()
    finally:
        stop.set()
        thread.join()
    assert len(hits(one)) >= 1


def test_enabling_makes_no_records_of_functions_that_nobody_calls(one: funcgraph.Instance) -> None:
    shop = run(SOURCE + "\n".join(f"def f{i}(): pass" for i in range(1000)))
    enable(one, "unmet.plain", name="first")  # from now on what is called has a record
    before = _engine.status()["functions"]
    enable(one, "unmet.f*")  # finds that there is one
    assert _engine.status()["functions"] - before < 100
    shop.f500()
    assert hits(one) == ["unmet.f500"]


@functions_go
@pytest.mark.parametrize("functions", ["unmet.*", "unmet.plain"])
def test_nothing_is_kept_alive(one: funcgraph.Instance, functions: str) -> None:
    shop = run(SOURCE)
    objects = (shop.plain.__code__, shop.plain.__globals__, shop.plain, math.hypot)
    before = [sys.getrefcount(object) for object in objects]
    for i in range(5):
        enable(one, functions, name="e" * (i + 1))
    enable(one, "math.hypot", name="c")
    shop.plain()
    assert [sys.getrefcount(object) for object in objects] == before
    gone = weakref.ref(shop.Shop.method), weakref.ref(shop.plain)
    del objects
    vars(shop).clear()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 loads no module of ours in a second interpreter")
@pytest.mark.parametrize("kind", ["legacy", "isolated"])
def test_each_interpreter_has_its_own(fg: Funcgraph, kind: str) -> None:
    script = fg.script(INTERPRETERS.format(kind=kind, source=SOURCE))
    done = fg.plain(sys.executable, script)
    assert done.stderr == ""
    assert done.stdout.split() == ["main:unmet.plain", "other:unmet.plain", "other:unmet.Shop.method"]


INTERPRETERS = '''
import sys
import funcgraph

source = {source!r}
program = f"source = {{source!r}}" + """
import re
import funcgraph
shop = {{"__name__": "unmet"}}
exec(compile(source, "unmet.py", "exec"), shop)
with funcgraph.Instance("one") as one:
    for i, functions in enumerate(patterns):
        funcgraph.dynamic_events.define("f:unmet/e%d %s" % (i, functions))
        one.events["unmet/e%d" % i].enable = True
    shop["plain"]()
    shop["Shop"]().method()
    for name in re.findall(r": e.: .(.*).$", one.trace(), re.MULTILINE):
        print(who + ":" + name, flush=True)
"""

if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    other = interpreters.create({kind!r})
else:
    import _xxsubinterpreters as interpreters
    other = interpreters.create(isolated={kind!r} == "isolated")
exec(program, {{"who": "main", "patterns": ["unmet.plain"]}})
patterns = "who, patterns = 'other', ['unmet.pl*', 'unmet.Shop.method']"
error = interpreters.run_string(other, patterns + ";" + program)
assert error is None, error
interpreters.destroy(other)
'''
