"""The examples of docs/reference/c-api.md are compiled here as one module and run.

Each function of the C API has one.

Broken by hand: the flag of a new fprobe was lost; the handlers of a kretprobe got no data;
ftrace_graph_get_ret_stack() took the place of the caller for that of the call.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import extension
import pytest
from builds import HAS_GIL, functions_go

import funcgraph
from funcgraph import _engine

HEADER = Path(funcgraph.get_include()) / "funcgraph.h"
REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "c-api.md"

pytestmark = pytest.mark.skipif(not extension.available(), reason="no C compiler is here")

SHOP = """
def pay(amount):
    amount = str(amount)
    return len(amount)

def add_up(prices):
    total = 0
    for price in prices:
        total += price
    return total

def inner():
    return 1

def outer():
    return inner() + inner()

def numbers():
    yield 1

def waits(ready, done):
    ready.set()
    done.wait()
"""


def snippets() -> list[str]:
    """The C code of the document, without its first example, which is a whole module."""
    blocks = re.findall(r"^```c\n(.*?)^```$", REFERENCE.read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "PyInit_" not in block]


def module_of(blocks: list[str]) -> str:
    """One module with all of the code, and with each function that Python can call."""
    code = "\n".join(blocks)
    names = re.findall(r"^static PyObject \*(\w+)\(PyObject \*module, PyObject \*\w+\)$", code, re.MULTILINE)
    methods = "".join(f'    {{"{name}", {name}, METH_O, NULL}},\n' for name in names)
    return f"""#include <Python.h>
#include <funcgraph.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

{code}

static PyObject *take(PyObject *module, PyObject *ignored)
{{
    PyObject *text = PyUnicode_FromString(said);

    (void)module, (void)ignored;
    said[0] = 0;
    return text;
}}

static PyMethodDef methods[] = {{
{methods}    {{"take", take, METH_NOARGS, NULL}},
    {{NULL, NULL, 0, NULL}},
}};

static struct PyModuleDef def = {{
    PyModuleDef_HEAD_INIT, "examples", NULL, -1, methods, NULL, NULL, NULL, NULL}};

PyMODINIT_FUNC PyInit_examples(void)
{{
    return funcgraph_import() == 0 ? PyModule_Create(&def) : NULL;
}}
"""


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("examples")
    source = folder / "examples.c"
    source.write_text(module_of(snippets()))
    compiler = next(name for name in extension.available() if not name.endswith("++"))
    return extension.load(extension.compile_extension(folder, "examples", [source], compiler), "examples")


@pytest.fixture
def shop(c: Any) -> Iterator[Any]:
    """A fresh module `shop`; nothing stays registered."""
    namespace: dict[str, Any] = {"__name__": "shop"}
    exec(compile(SHOP, "shop.py", "exec"), namespace)
    c.take()
    yield types.SimpleNamespace(**namespace)
    assert _engine.status()["users"] == []
    assert _engine.status()["tool_id"] == -1
    namespace.clear()


@pytest.mark.one_python
def test_each_function_of_the_header_is_documented_and_has_an_example() -> None:
    header, text = HEADER.read_text(), REFERENCE.read_text()
    functions = set(re.findall(r"(\w+)\([^{};]*\)\s*\{\s*return funcgraph_api_->", header))
    code = "\n".join(re.findall(r"^```c\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    described = re.sub(r"^```c\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(functions) > 65
    assert sorted(name for name in functions if not re.search(rf"\b{name}\(", code)) == []
    assert sorted(name for name in functions if not re.search(rf"\b{name}\b", described)) == []


@pytest.mark.one_python
def test_the_version_in_the_reference_is_the_headers() -> None:
    major, minor = re.findall(r"#define FUNCGRAPH_API_M\w+ (\d+)", HEADER.read_text())
    text = REFERENCE.read_text()
    assert f"now {major}.{minor}." in text
    assert re.findall(r"^\| (\d\.\d) \|", text, re.MULTILINE)[-1] == f"{major}.{minor}"


def test_registering_a_user(c: Any, shop: Any) -> None:
    assert c.count_for_a_while(shop.outer) == 2
    assert c.take() == "in a slot: 1, saw calls: 1, missed: 0"


def test_choosing_functions_and_threads(c: Any, shop: Any) -> None:
    with pytest.raises(ValueError, match=r"sho\[, in column 3"):
        c.watch("sho[")
    with funcgraph.registered(funcgraph.FgraphOps(lambda *_: False, filter=["shop.inner"])):
        shop.inner()  # this thread has a task now
    assert c.watch("shop.*") == 0
    shop.outer()
    thread = threading.Thread(target=shop.outer)
    thread.start()
    thread.join()
    assert c.unwatch(None) == 0
    assert c.take() == "calls: 3"


def test_data_from_entry_to_return(c: Any, shop: Any) -> None:
    assert c.number_calls(shop.outer) == 2
    assert c.take() == "2 in 1; 3 in 1; 1 in 0; "


@pytest.mark.skipif(not HAS_GIL, reason="without the GIL a thread reads its own calls only")
def test_the_backtrace_of_another_thread(c: Any, shop: Any) -> None:
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=shop.waits, args=(ready, done))
    with funcgraph.registered(funcgraph.FgraphOps(None, None, filter=["shop.waits", "*.Thread.run"])):
        thread.start()
        ready.wait()
        tid = thread.native_id
        assert c.backtrace(tid) == 0
        done.set()
        thread.join()
    run = threading.Thread.run.__code__
    lines = {line for _, _, line in run.co_lines() if line}
    first, second, rest = c.take().split("; ")
    line = SHOP.splitlines().index("    ready.set()") + 1
    found = re.fullmatch(r"waits line (\d+), called from line (\d+)", first)
    assert found and int(found[1]) in (line, line + 1) and int(found[2]) in lines
    assert re.fullmatch(r"Thread.run line (\d+), called from line (\d+)", second)
    assert rest == ""
    while os.path.exists(f"/proc/self/task/{tid}"):  # join() returns before the thread has ended
        os.sched_yield()
    with pytest.raises(ProcessLookupError):
        c.backtrace(tid)


def test_the_callers_own_calls(c: Any, shop: Any) -> None:
    def asks() -> None:
        assert c.stack_here(None) == 0

    with funcgraph.registered(funcgraph.FgraphOps(None, None, filter=[f"{__name__}.*asks"])) as ops:
        asks()
        slot = 1 << ops.slot
    assert c.take() == f"{__name__}.test_the_callers_own_calls.<locals>.asks {slot:x}; "


@functions_go
def test_what_is_known_of_a_function(c: Any, shop: Any) -> None:
    assert c.describe(shop.inner) == 1
    line = shop.inner.__code__.co_firstlineno
    assert c.take() == f"shop.inner = shop . inner, shop.py:{line}, 1"
    with pytest.raises(TypeError):
        c.describe(3)


def test_arguments_result_and_place(c: Any, shop: Any) -> None:
    line = sys._getframe().f_lineno + 1
    assert c.look(lambda: shop.pay(500)) == 3
    end = shop.pay.__code__.co_firstlineno + 2
    assert c.take() == f"call of 1, from line {line}, 1; amount is a str now, in line {end}: int"


def test_the_full_frame_and_register_sets(c: Any, shop: Any) -> None:
    assert c.register_sets("shop.pay") == 0
    shop.pay(500)
    assert c.unregister_sets(None) == 0
    line = shop.pay.__code__.co_firstlineno
    assert c.take() == f"line {line}; int with 1 arguments, returned a int"


def test_a_sample_and_its_stack(c: Any, shop: Any) -> None:
    line = sys._getframe().f_lineno + 1
    c.sample_calls(shop.outer)
    samples = c.take().split("1 0: ")[1:]
    inner, outer = (function.__code__.co_firstlineno for function in (shop.inner, shop.outer))
    stack = f"inner:{inner} outer:{outer + 1} test_a_sample_and_its_stack:{line} "
    assert [sample[: len(stack)] for sample in samples] == [stack, stack]


@functions_go
def test_fprobes(c: Any, shop: Any) -> None:
    assert c.probe_payments(lambda: shop.pay(12) + shop.pay(0)) == 3
    assert c.take() == "pay(12); missed: 0, functions: 1"
    assert c.probe_one(shop.pay) == 0
    assert c.take() == "pay(3); "


def test_kprobe_multi(c: Any, shop: Any) -> None:
    assert c.tell_of(shop.pay) == 0
    assert c.take() == "begin of pay 17; end of pay 17; "


def test_kretprobes(c: Any, shop: Any) -> None:
    assert c.see_results(lambda: shop.pay(123)) == 3
    assert c.take() == "pay(123) = 3, missed: 0"


def test_kprobes(c: Any, shop: Any) -> None:
    line = shop.add_up.__code__.co_firstlineno + 3
    assert c.probe_line(line) == 0
    assert shop.add_up([1, 2, 3]) == 6
    assert c.unprobe_line(None) == 0
    reported = "".join(f"line {line} of {line}: total = {total}; " for total in (0, 1, 3))
    assert c.take() == f"{reported}hits: 3, missed: 0"
    with pytest.raises(OSError, match="Invalid argument"):
        c.probe_line(line + 100)


def test_time(c: Any, shop: Any) -> None:
    c.time_calls(shop.inner)
    assert c.take() == "began at the same tick: 1, at 1 s or later, took 1 ns or more"


def test_what_this_python_can_tell(c: Any) -> None:
    later = sys.version_info >= (3, 12)
    answers = {
        "c_arguments": later,
        "exact_nmissed": not later,
        "other_threads": HAS_GIL,
        "free_kprobes": later and HAS_GIL,
        "free_unselected": later and HAS_GIL,
    }
    for name, answer in answers.items():
        assert c.can_tell(name) == answer, name
        assert f"| `{name}` |" in REFERENCE.read_text()
    with pytest.raises(OSError, match="Invalid argument"):
        c.can_tell("nonsense")


@pytest.mark.skipif(not hasattr(_engine, "native_meet"), reason="native functions cannot be hooked here")
def test_the_example_of_native_functions(c: Any, shop: Any) -> None:
    pytest.importorskip("iced_x86")
    pytest.importorskip("pydemumble")
    labs = ctypes.CDLL(None).labs
    labs.argtypes, labs.restype = [ctypes.c_long], ctypes.c_long
    assert c.watch_labs(None) == 0
    assert (labs(-7), labs(5)) == (7, 5)
    assert c.watched_labs(None) == 0
    assert c.take() == "2 calls, 13"
    assert c.watch_stack(None) == 0
    assert labs(-1) == 1
    assert c.watched_stack(None) == 0
    assert c.take() == "1, 0"
    cbrt = ctypes.CDLL("libm.so.6").cbrt
    cbrt.argtypes, cbrt.restype = [ctypes.c_double], ctypes.c_double
    assert c.watch_roots(None) == 0
    assert round(cbrt(-8), 9) == -2
    assert c.watched_roots(None) == 0
    assert c.take() == "-8.000: -2.000"
