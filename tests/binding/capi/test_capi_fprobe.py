"""fprobes, links of kprobe_multi and finding functions in the C API, from an extension that is compiled here.

Broken by hand: register_fprobe() met nothing (functions that were never called); the patterns of notfilter
were put into filter; keep() noted no name (ENOENT for all names); named_find() did not look for names that
are nobody's; func_of_function() took any object; the hooks were not stopped after the last fprobe.
"""

from __future__ import annotations

import errno
import math
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import extension
import pytest
from builds import functions_go

from funcgraph import _engine

HERE = Path(__file__).resolve().parent
SOURCE = """
def one(x): return x
def two(x): return one(x)
class Shop:
    def sell(self): return 1
    def inner(self):
        def deeper(): return 2
        return deeper()
"""

pytestmark = pytest.mark.skipif(not extension.available(), reason="no C compiler is here")


@pytest.fixture(scope="module", params=[c for c in ("gcc", "g++") if c in extension.available()])
def probe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp(request.param.replace("+", "p"))
    source = HERE / "fprobe_probe.c"
    return extension.load(
        extension.compile_extension(folder, "fprobe_probe", [source], request.param), "fprobe_probe"
    )


@pytest.fixture
def shop() -> Iterator[types.SimpleNamespace]:
    """A module of functions that were never called; each test gets a new module name."""
    shop.count += 1  # type: ignore[attr-defined]
    name = f"cshop{shop.count}"  # type: ignore[attr-defined]
    namespace: dict[str, Any] = {"__name__": name}
    exec(SOURCE, namespace)
    yield types.SimpleNamespace(**namespace, name=name)
    assert _engine.status()["users"] == []
    assert _engine.status()["tool_id"] == -1


shop.count = 0  # type: ignore[attr-defined]


@functions_go
def test_by_patterns(probe: Any, shop: Any) -> None:
    assert probe.count(f"{shop.name}.*") == 5
    assert probe.register(f"{shop.name}.one {shop.name}.Shop.*", "*.sell  *.nothing") == 0
    shop.two(1)
    shop.Shop().sell()
    shop.Shop().inner()
    assert probe.unregister() == 0
    shop.two(1)
    assert probe.take() == (3, 3, 0, 0)


def test_functions_that_come_later(probe: Any, shop: Any) -> None:
    assert probe.register(f"{shop.name}.one {shop.name}.later") == 0
    later: dict[str, Any] = {"__name__": shop.name}
    exec("def later(): return 1", later)
    later["later"]()
    assert probe.unregister() == 0
    assert probe.take()[:2] == (1, 1)


def test_errors_of_patterns(probe: Any, shop: Any) -> None:
    for nothing in (None, "", "  "):
        assert probe.register(nothing) == -errno.EINVAL
        assert probe.count(nothing) == -errno.EINVAL
        assert probe.attach_filter(nothing) == -errno.EINVAL
    assert probe.register(f"{shop.name}.*", "[") == -errno.EINVAL
    assert probe.register(f"{shop.name}.nobody*") == -errno.ENOENT
    assert probe.register(f"{shop.name}.*", f"{shop.name}.*") == -errno.ENOENT
    assert probe.count(f"{shop.name}.nobody") == -errno.ENOENT
    assert probe.unregister() == -errno.EINVAL
    assert probe.unregister_async() == -errno.EINVAL
    assert probe.enable(True) == -errno.EINVAL


def test_registered_twice(probe: Any, shop: Any) -> None:
    assert probe.register(f"{shop.name}.one") == 0
    assert probe.register(f"{shop.name}.one") == -errno.EEXIST
    shop.one(1)
    assert probe.unregister() == 0
    assert probe.take()[0] == 1


def test_by_names(probe: Any, shop: Any) -> None:
    again: dict[str, Any] = {"__name__": shop.name}
    exec(SOURCE, again)
    inner = f"{shop.name}.Shop.inner.<locals>.deeper"
    assert probe.register_syms([f"{shop.name}.one", inner, "math.sqrt", f"{shop.name}.one"]) == 0
    shop.two(1)
    again["one"](1)
    shop.Shop().inner()
    math.sqrt(4)
    assert probe.unregister() == 0
    assert probe.take() == (4, 4, 0, 0)


def test_errors_of_names(probe: Any, shop: Any) -> None:
    assert probe.register_syms([]) == -errno.EINVAL
    assert probe.register_syms([None]) == -errno.EINVAL
    assert probe.register_syms([f"{shop.name}.one", f"{shop.name}.nobody"]) == -errno.ENOENT
    assert probe.register_syms([f"{shop.name}.*"]) == -errno.ENOENT


def test_by_objects(probe: Any, shop: Any) -> None:
    assert probe.register_ips([shop.one, shop.Shop().sell, math.sqrt]) == 0
    shop.two(1)
    shop.Shop().sell()
    math.sqrt(1)
    assert probe.enable(False) == 0
    shop.two(1)
    assert probe.enable(True) == 0
    shop.two(1)
    assert probe.unregister_async() == 0
    assert probe.take() == (4, 4, 0, 0)
    assert probe.register_ips([]) == -errno.EINVAL
    assert probe.register_ips([3]) == -errno.ENOENT


def test_links(probe: Any, shop: Any) -> None:
    assert probe.attach([shop.one, shop.two], [1, 10]) == 0
    shop.two(1)
    assert probe.detach() == 0
    assert probe.take_link() == (2, 2, 22, 0)
    assert probe.detach() == -errno.EINVAL
    assert probe.attach_filter(f"{shop.name}.t*") == 0
    shop.two(1)
    assert probe.detach() == 0
    assert probe.take_link() == (1, 1, 0, 0)
    assert probe.attach_filter(f"{shop.name}.nobody") == -errno.ENOENT


@functions_go
def test_the_function_of_an_object(probe: Any, shop: Any) -> None:
    assert probe.func_of(shop.one) == f"{shop.name}.one"
    assert probe.func_of(_engine.function_of(shop.two)) == f"{shop.name}.two"
    assert probe.func_of(math.sqrt) == "math.sqrt"
    assert probe.func_of(3) is probe.func_of(int) is probe.func_of(shop.Shop()) is None
    gone: dict[str, Any] = {"__name__": "gone"}
    exec("def f(): pass", gone)
    function = _engine.function_of(gone["f"])
    gone.clear()
    assert function.code is None
    assert probe.func_of(function) is None


def test_functions_of_a_name(probe: Any, shop: Any) -> None:
    again: dict[str, Any] = {"__name__": shop.name}
    exec(SOURCE, again)
    assert probe.funcs_named(f"{shop.name}.one", 8) == (2, ["<string>", "<string>"])
    assert probe.funcs_named(f"{shop.name}.one", 1) == (2, ["<string>"])
    assert probe.funcs_named("math.sqrt", 8) == (1, [""])
    assert probe.funcs_named(f"{shop.name}.nobody", 8) == (0, [])


@functions_go
def test_an_exception_in_flight_stays(probe: Any, shop: Any) -> None:
    try:
        raise KeyError("mine")
    except KeyError:
        assert probe.register(f"{shop.name}.nobody") == -errno.ENOENT
        assert probe.count(f"{shop.name}.*") == 5
