"""The C API: every function of funcgraph.h, called from an extension that is compiled here as C and as C++.

`probe` is this extension (capi_probe.c). It identifies its users by numbers. Its methods return the results
of the C functions: 0 or a negative errno. take() returns the events that the callbacks noted.
"""

from __future__ import annotations

import errno
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import extension
import pytest
from sizes import share

import funcgraph

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
EXAMPLE = ROOT / "examples" / "native_user"
REFERENCE = ROOT / "docs" / "reference" / "c-api.md"
HEADER = Path(funcgraph.get_include()) / "funcgraph.h"

FILTER, NOTRACE, GRAPH, GRAPH_NOTRACE = range(4)
RETURN, RAISE, CLOSE = range(3)
SLOTS = 64

pytestmark = pytest.mark.skipif(not extension.available(), reason="no C compiler is here")


# ---- traced functions


def leaf(number: int) -> int:
    return number + 1


def middle(number: int) -> int:
    return leaf(number) * 2


def countdown(number: int) -> int:
    return number and countdown(number - 1)


def fails() -> None:
    raise LookupError("as it should")


def many_arguments(a: int, b: int, /, c: int, *rest: int, d: int, **more: int) -> Any:
    return lambda: (a, d)  # a and d are cells


def numbers(n: int) -> Generator[int, None, str]:
    yield from range(n)
    return "end"


def asks(probe: Any) -> Any:
    return probe.innermost(), probe.began_ns(), time.monotonic_ns(), probe.task()


class Probe:
    """The extension and the users that a test made; they are removed when the test ends."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.users: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def new(self, *patterns: str, **settings: Any) -> int:
        """A user of the functions of this module that match; not registered yet."""
        user: int = self.module.new(**settings)
        self.users.append(user)
        named = tuple(f"{__name__}.{pattern}" for pattern in patterns)
        assert self.module.set_filter(user, FILTER, named, True) == 0
        return user

    def started(self, *patterns: str, **settings: Any) -> int:
        user = self.new(*patterns, **settings)
        assert self.module.register(user) == 0
        return user

    def kinds(self, user: int) -> list[tuple[str, str]]:
        return [(event["kind"], event["func"].removeprefix(f"{__name__}.")) for event in self.take(user)]


@pytest.fixture(scope="module", params=share(extension.available(), of=2))
def module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("capi")
    path = extension.compile_extension(folder, "capi_probe", [HERE / "capi_probe.c"], request.param)
    return extension.load(path, "capi_probe")


@pytest.fixture
def probe(module: Any) -> Iterator[Probe]:
    probe = Probe(module)
    yield probe
    for user in probe.users:
        module.unregister(user)
        assert module.clear_filters(user) == 0
    module.forget()


# ---- the table


def test_the_table_says_its_version_and_its_size(probe: Probe) -> None:
    text = HEADER.read_text()
    major, minor, size, ours = probe.version()
    assert f"#define FUNCGRAPH_API_MAJOR {major}\n" in text
    assert f"#define FUNCGRAPH_API_MINOR {minor}\n" in text
    assert size == ours


def test_every_function_of_the_table_is_used_by_these_tests() -> None:
    """Broken by adding a function to the table without a test. Examples of the reference are tests."""
    header, source = HEADER.read_text(), "".join(path.read_text() for path in (*HERE.glob("*.c"), REFERENCE))
    members = re.findall(r"\(\*(\w+)\)\(", header[header.index("struct funcgraph_api {") :])
    wrappers = {
        member: re.search(rf"(\w+)\([^{{}}]*\)\s*\{{\s*return funcgraph_api_->{member}\(", header)
        for member in members
    }
    assert len(members) > 25
    for member, wrapper in wrappers.items():
        assert wrapper, f"{member} has no function"
        assert f"{wrapper[1]}(" in source, f"{wrapper[1]} is not tested"


@pytest.mark.one_python  # it is compiled without Python.h
@pytest.mark.parametrize("compiler", extension.available())
def test_the_header_stands_alone(compiler: str, tmp_path: Path) -> None:
    """The header also compiles without Python.h, as callbacks for ctypes need, and with many warnings."""
    source = tmp_path / "alone.c"
    source.write_text('#include "funcgraph.h"\n')
    strict = ["-Wpedantic", "-Wshadow", "-Wconversion", "-Wundef", "-Wold-style-cast"]
    if not compiler.endswith("++"):
        strict[-1:] = ["-Wmissing-prototypes", "-Wstrict-prototypes"]
    command = [
        *extension.COMPILERS[compiler],
        *extension.WARNINGS,
        *strict,
        "-c",
        str(source),
        "-o",
        "/dev/null",
    ]
    done = subprocess.run([*command, "-I", str(HEADER.parent)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("macro", "refused"), [("MAJOR", True), ("MINOR", True), ("", False)], ids=["major", "minor", "same"]
)
def test_a_module_built_for_another_version_is_refused(macro: str, refused: bool, tmp_path: Path) -> None:
    """Broken by comparing only the major version: a module built for 1.1 used a table that is too short."""
    text = HEADER.read_text()
    if macro:
        text = re.sub(
            rf"(#define FUNCGRAPH_API_{macro}) (\d+)", lambda found: f"{found[1]} {int(found[2]) + 1}", text
        )
    (tmp_path / "funcgraph.h").write_text(text)
    path = extension.compile_extension(
        tmp_path, "capi_probe", [HERE / "capi_probe.c"], extension.available()[0], str(tmp_path)
    )
    if refused:
        with pytest.raises(
            ImportError, match=r"C API is version \d+\.\d+, and this module was built for \d+\.\d+"
        ):
            extension.load(path, "capi_probe")
    else:
        extension.load(path, "capi_probe")


def test_one_import_serves_all_files_of_a_module(tmp_path: Path) -> None:
    """Broken by a static pointer in the header: the second file's was NULL."""
    (tmp_path / "one.c").write_text(
        textwrap.dedent("""\
        #include <Python.h>
        #include <funcgraph.h>
        int check(void);
        static PyObject *ask(PyObject *self, PyObject *ignored)
        {
            (void)self, (void)ignored;
            return PyLong_FromLong(check());
        }
        static PyMethodDef methods[] = {{"ask", ask, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
        static struct PyModuleDef def = {
            PyModuleDef_HEAD_INIT, "two_files", NULL, -1, methods, NULL, NULL, NULL, NULL};
        PyMODINIT_FUNC PyInit_two_files(void)
        {
            return funcgraph_import() == 0 ? PyModule_Create(&def) : NULL;
        }
        """)
    )
    (tmp_path / "two.c").write_text(
        textwrap.dedent("""\
        #include <funcgraph.h>
        int check(void);
        int check(void)
        {
            return fgraph_check_pattern("a*", NULL, NULL);
        }
        """)
    )
    compiler = next(name for name in extension.available() if not name.endswith("++"))
    path = extension.compile_extension(
        tmp_path, "two_files", [tmp_path / "one.c", tmp_path / "two.c"], compiler
    )
    assert extension.load(path, "two_files").ask() == 0


# ---- what callbacks are told


def test_a_user_is_told_of_entry_and_return(probe: Probe) -> None:
    user = probe.started("middle", "leaf")
    assert middle(3) == 8
    events = probe.take(user)
    assert [(event["kind"], event["func"], event["depth"], event["end"]) for event in events] == [
        ("entry", f"{__name__}.middle", 0, -1),
        ("entry", f"{__name__}.leaf", 1, -1),
        ("return", f"{__name__}.leaf", 1, RETURN),
        ("return", f"{__name__}.middle", 0, RETURN),
    ]
    assert all(event["is_own_task"] for event in events)
    assert events[0]["id"] == events[3]["id"] != events[1]["id"]
    assert events[2]["ran_ns"] < events[3]["ran_ns"] < 1_000_000_000


def test_a_user_that_refuses_the_return_is_told_of_none(probe: Probe) -> None:
    user = probe.started("middle", "leaf", refuses=True, data_bytes=8)
    middle(1)
    assert [(event["kind"], event["depth"]) for event in probe.take(user)] == [("entry", 0), ("entry", 0)]


def test_a_user_without_an_entry_function_wants_all_returns(probe: Probe) -> None:
    user = probe.started("middle", "leaf", plain=True)
    middle(1)
    assert probe.kinds(user) == [("return", "leaf"), ("return", "middle")]


@pytest.mark.parametrize("size_bytes", [1, 7, 8, 9, 64, 255, 256])
def test_reserved_data_comes_back_at_the_return(probe: Probe, size_bytes: int) -> None:
    user = probe.started("countdown", data_bytes=size_bytes)
    countdown(3)
    events = probe.take(user)
    entries, returns = events[:4], events[4:]
    assert all(event["was_zeroed"] for event in entries), "what an earlier call left is there"
    assert not any(event["could_twice"] for event in entries)
    assert {event["bytes"] for event in returns} == {size_bytes}
    if size_bytes >= 8:
        assert [event["serial"] for event in returns] == [event["serial"] for event in reversed(entries)]
        assert [event["parent"] for event in entries] == [0, *(event["serial"] for event in entries[:-1])]
        assert [event["parent"] for event in returns] == [*(event["serial"] for event in returns[1:]), 0]


@pytest.mark.parametrize("size_bytes", [257, 10_000, 1 << 62])
def test_more_than_32_words_cannot_be_reserved(probe: Probe, size_bytes: int) -> None:
    user = probe.started("leaf", data_bytes=size_bytes)
    leaf(1)
    entry, end = probe.take(user)
    assert not entry["was_zeroed"] and not entry["could_twice"]
    assert end["bytes"] == 0 and end["serial"] == 0


def test_users_do_not_see_each_others_data(probe: Probe) -> None:
    users = [probe.started("countdown", data_bytes=8 * size) for size in (1, 32, 0, 5)]
    countdown(2)
    reported = [probe.take(user) for user in users]
    for user, events in zip(users, reported, strict=True):
        entries, returns = events[:3], events[3:]
        assert [event["serial"] for event in returns] == [event["serial"] for event in reversed(entries)], (
            user
        )
    serials = [event["serial"] for events in reported for event in events[:3] if event["serial"]]
    assert len(set(serials)) == len(serials) == 9


def test_the_task_variable_is_each_threads_own_and_zero_at_each_registration(probe: Probe) -> None:
    """Broken by not clearing the task variables at a registration: back in its slot, the user began at 3."""
    user = probe.started("leaf", refuses=True)
    other = probe.started("leaf", refuses=True)
    slot = probe.status(user)[0]
    for _ in range(2):
        leaf(1)
        leaf(1)
        thread = threading.Thread(target=leaf, args=(1,))
        thread.start()
        thread.join()
        assert [event["task_var"] for event in probe.take(user)] == [1, 2, 1]
        while True:  # slots are assigned round robin
            assert probe.unregister(user) == 0
            assert probe.register(user) == 0
            if probe.status(user)[0] == slot:
                break
    assert [event["task_var"] for event in probe.take(other)] == [1, 2, 1, 3, 4, 1]


def test_the_stack_of_calls_in_progress_is_there_to_be_read(probe: Probe) -> None:
    user = probe.started("middle", "leaf")
    other = probe.started("leaf")
    bit, others_bit = 1 << probe.status(user)[0], 1 << probe.status(other)[0]
    middle(1)
    events = probe.take(user)
    assert [frame[0] for frame in events[0]["stack"]] == ["middle"]
    assert [frame[0] for frame in events[1]["stack"]] == ["leaf", "middle"]
    assert events[2]["stack"] == [("leaf", bit | others_bit), ("middle", bit)]
    assert probe.innermost() is None


def test_what_is_known_of_a_function_and_of_a_task_can_be_asked_anywhere(probe: Probe) -> None:
    probe.started("asks")
    before = time.monotonic_ns()
    innermost, began_ns, now, (tid, overrun) = asks(probe)
    line = asks.__code__.co_firstlineno
    assert innermost == (__name__, "asks", asks.__code__.co_filename, line)
    assert before - 1_000_000 <= began_ns <= now + 1_000_000  # two clocks, compared from time to time
    assert (tid, overrun) == (threading.get_native_id(), 0)


def test_regs_have_the_arguments_at_entry_and_nothing_else(probe: Probe) -> None:
    """Broken by counting *args and **kwargs as no arguments: 4."""
    user = probe.started("many_arguments")
    many_arguments(5, 6, 7, 8, 9, d=10, e=11)
    entry, end = probe.take(user)
    assert (entry["argument"], entry["nr_arguments"]) == (5, 6)
    assert (entry["result"], entry["exception"]) == (-1, "")
    assert (end["argument"], end["nr_arguments"], end["exception"]) == (-1, 0, "")


def test_regs_have_an_argument_by_its_name(probe: Probe) -> None:
    """Broken by comparing names by their length alone: `extent` was taken for `number`."""
    user = probe.started("leaf", "numbers", "many_arguments", "named")

    def named(extent: int, number: int) -> int:
        return extent

    named.__code__ = named.__code__.replace(co_qualname="named")
    leaf(3)
    many_arguments(5, 6, 7, d=10)
    named(1, 8)
    found = [
        (event["kind"], event["regs"]["named"], event["regs"]["place"], event["regs"]["nth"])
        for event in probe.take(user)
    ]
    assert found == [
        ("entry", 3, 0, 3),
        ("return", -1, 0, 3),  # its variable is there still
        ("entry", -1, -1, -1),
        ("return", -1, -1, -1),
        ("entry", 8, 1, 8),
        ("return", -1, 1, 8),
    ]


def test_regs_say_what_was_called_and_where_it_is(probe: Probe) -> None:
    user = probe.started("middle", "leaf")
    middle(20)
    line = sys._getframe().f_lineno - 1
    started, inner, inner_end, ended = (event["regs"] for event in probe.take(user))
    assert [regs["callable"] for regs in (started, inner, ended)] == [id(middle), id(leaf), id(middle)]
    first = middle.__code__.co_firstlineno
    assert (started["at"][:2], started["at"][3]) == (("middle", id(middle.__code__)), first)
    assert (ended["at"][:2], ended["at"][3]) == (("middle", id(middle.__code__)), first + 1)
    assert ended["at"][2] > started["at"][2] >= 0
    mine = sys._getframe().f_code
    assert started["returns_to"][1::2] == ended["returns_to"][1::2] == (id(mine), line)
    assert inner["returns_to"] == inner_end["returns_to"]
    assert (inner["returns_to"][:2], inner["returns_to"][3]) == (("middle", id(middle.__code__)), first + 1)
    for start, end in ((started, ended), (inner, inner_end)):
        assert start["frame_pointer"] == end["frame_pointer"] < start["stack_pointer"] == end["stack_pointer"]
    assert started["frame_pointer"] != inner["frame_pointer"]


def test_regs_of_a_generator_say_where_it_gives_way(probe: Probe) -> None:
    user = probe.started("numbers")
    assert list(numbers(1)) == [0]
    events = probe.take(user)
    assert [event["kind"] for event in events] == ["entry", "suspend", "resume", "return"]
    start, suspend, resume, end = (event["regs"] for event in events)
    first = numbers.__code__.co_firstlineno
    assert [regs["at"][3] for regs in (start, suspend, resume, end)] == [
        first,
        first + 1,
        first + 1,
        first + 2,
    ]
    assert {regs["callable"] for regs in (start, suspend, resume, end)} == {id(numbers)}


def test_regs_have_the_result_at_a_return(probe: Probe) -> None:
    user = probe.started("middle")
    middle(20)
    assert [event["result"] for event in probe.take(user)] == [-1, 42]


def test_regs_have_the_exception_at_an_end_by_one(probe: Probe) -> None:
    """Broken by using the same regs for both kinds of end: the exception was also the result."""
    user = probe.started("fails")
    with pytest.raises(LookupError, match="as it should"):
        fails()
    end = probe.take(user)[1]
    assert (end["end"], end["exception"], end["result"]) == (RAISE, "LookupError", -1)


def test_a_generator_keeps_its_data_over_threads(probe: Probe) -> None:
    user = probe.started("numbers", data_bytes=16)
    generator = numbers(2)
    assert next(generator) == 0
    thread = threading.Thread(target=next, args=(generator,))
    thread.start()
    thread.join()
    assert list(generator) == []
    events = probe.take(user)
    kinds = ["entry", "suspend", "resume", "suspend", "resume", "return"]
    assert [event["kind"] for event in events] == kinds
    assert len({event["serial"] for event in events}) == 1
    assert events[1]["result"] == 0 and events[3]["result"] == 1, "what is yielded"
    assert events[5]["end"] == RETURN


def test_a_generator_that_is_closed_ends_so(probe: Probe) -> None:
    user = probe.started("numbers", data_bytes=8)
    generator = numbers(2)
    next(generator)
    generator.close()
    abandoned = numbers(2)
    next(abandoned)
    del abandoned
    ends = [event for event in probe.take(user) if event["kind"] == "return"]
    assert [event["end"] for event in ends] == [CLOSE, CLOSE]
    assert all(event["serial"] for event in ends)


# ---- which functions and threads


def test_filters_change_while_the_user_is_registered(probe: Probe) -> None:
    user = probe.started("leaf")
    middle(1)
    assert probe.kinds(user) == [("entry", "leaf"), ("return", "leaf")]
    assert probe.set_filter(user, FILTER, (f"{__name__}.middle",), False) == 0
    middle(1)
    assert [func for _, func in probe.kinds(user)] == ["middle", "leaf", "leaf", "middle"]
    assert probe.set_filter(user, NOTRACE, ("*.leaf",), False) == 0
    middle(1)
    assert [func for _, func in probe.kinds(user)] == ["middle", "middle"]
    assert probe.set_filter(user, FILTER, ("*.countdown", "*.fails"), True) == 0
    middle(1)
    countdown(0)
    assert [func for _, func in probe.kinds(user)] == ["countdown", "countdown"]
    assert probe.set_filter(user, FILTER, (), True) == 0
    assert ("entry", "Probe.kinds") in probe.kinds(user)  # all functions, but "*.leaf"
    assert probe.set_filter(user, FILTER, (f"{__name__}.leaf",), True) == 0
    probe.take(user)
    leaf(1)
    assert probe.kinds(user) == []
    assert probe.set_filter(user, NOTRACE, (), True) == 0
    leaf(1)
    assert probe.kinds(user) == [("entry", "leaf"), ("return", "leaf")]


def test_graph_sets_say_what_calls_are_below(probe: Probe) -> None:
    user = probe.started("middle", "leaf")
    assert probe.set_filter(user, GRAPH, (f"{__name__}.middle",), True) == 0
    leaf(1)
    middle(1)
    assert [func for _, func in probe.kinds(user)] == ["middle", "leaf", "leaf", "middle"]
    assert probe.set_filter(user, GRAPH, (), True) == 0
    assert probe.set_filter(user, GRAPH_NOTRACE, (f"{__name__}.middle",), True) == 0
    middle(1)
    assert probe.kinds(user) == []
    leaf(1)
    assert [func for _, func in probe.kinds(user)] == ["leaf", "leaf"]


@pytest.mark.parametrize(
    ("filter_set", "patterns"),
    [(FILTER, ("ok", "a[b")), (NOTRACE, ("ok", None)), (4, ("ok",)), (-1, ()), (1 << 20, ())],
)
def test_a_filter_that_is_refused_changes_nothing(
    probe: Probe, filter_set: int, patterns: tuple[str, ...]
) -> None:
    user = probe.started("leaf")
    assert probe.set_filter(user, filter_set, patterns, True) == -errno.EINVAL
    leaf(1)
    assert len(probe.take(user)) == 2


def test_what_is_wrong_with_a_pattern_can_be_asked(probe: Probe) -> None:
    assert probe.check_pattern("shop.*") == (0, None, 0)
    error, reason, column = probe.check_pattern("shop[")
    assert (error, column) == (-errno.EINVAL, 4)
    assert "]" in reason


def test_only_calls_in_the_given_threads(probe: Probe) -> None:
    user = probe.started("leaf")
    thread = threading.Thread(target=leaf, args=(1,))
    assert probe.set_tids(user, (threading.get_native_id(),)) == 0
    leaf(1)
    thread.start()
    thread.join()
    assert len(probe.take(user)) == 2
    assert probe.set_tids(user, ()) == 0
    leaf(1)
    assert probe.take(user) == []
    assert probe.set_tids(user, None) == 0
    leaf(1)
    assert len(probe.take(user)) == 2


# ---- coming and going


def test_errors_of_registration(probe: Probe) -> None:
    user = probe.new("leaf")
    assert probe.unregister(user) == -errno.EINVAL
    assert probe.status(user)[:2] == (-1, 0)
    assert probe.register(user) == 0
    assert probe.register(user) == -errno.EBUSY
    assert probe.clear_filters(user) == -errno.EBUSY
    slot, generation = probe.status(user)[:2]
    assert 0 <= slot < SLOTS
    assert probe.unregister(user) == 0
    assert probe.unregister(user) == -errno.EINVAL
    assert probe.status(user)[0] == -1
    assert probe.register(user) == 0
    assert probe.status(user)[1] > generation


def test_a_full_table_is_told_and_there_is_room_when_one_leaves(probe: Probe) -> None:
    users = [probe.new("leaf") for _ in range(SLOTS + 1)]
    errors = [probe.register(user) for user in users]
    present = [user for user, error in zip(users, errors, strict=True) if error == 0]
    assert set(errors) == {0, -errno.ENOSPC}, errors
    assert len({probe.status(user)[0] for user in present}) == len(present)
    leaf(1)
    assert all(len(probe.take(user)) == 2 for user in present)
    late = users[errors.index(-errno.ENOSPC)]
    assert probe.unregister(present[0]) == 0
    assert probe.register(late) == 0
    leaf(1)
    assert len(probe.take(late)) == 2


@pytest.mark.parametrize("kind", ["entry", "return", "suspend"])
def test_a_user_may_leave_in_its_own_callback(probe: Probe, kind: str) -> None:
    user = probe.started("leaf", "numbers", leaves_at=kind, data_bytes=8)
    other = probe.started("leaf", "numbers", data_bytes=8)
    assert list(numbers(1)) == [0]
    assert leaf(1) == 2
    events = probe.take(user)
    assert events[-1]["kind"] == kind, "it was told of something after it had left"
    assert probe.status(user)[0] == -1
    assert probe.status(user)[3] == 0
    reported = probe.take(other)
    assert [event["kind"] for event in reported] == [
        "entry",
        "suspend",
        "resume",
        "return",
        "entry",
        "return",
    ]
    assert reported[0]["serial"] == reported[3]["serial"]


def test_calls_that_a_callback_makes_are_not_traced(probe: Probe) -> None:
    """They count as missed if CPython reports them; from 3.12 on, it reports them to no tool."""
    missed = 1 if sys.version_info < (3, 12) else 0
    user = probe.started("leaf", calls=lambda: middle(1))
    other = probe.started("middle")
    leaf(1)
    assert len(probe.take(user)) == 2
    assert probe.take(other) == []
    assert probe.status(user)[2] == missed  # middle called leaf
    assert probe.status(other)[2] == missed


def test_registering_keeps_the_exception_that_is_set(probe: Probe) -> None:
    user = probe.new("leaf")
    assert probe.register_while_raising(user) == 0
    assert probe.register_while_raising(user) == -errno.EBUSY


NO_HOOK = """
import errno, importlib.machinery, importlib.util, sys

spec = importlib.util.spec_from_file_location("capi_probe", sys.argv[1])
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
for tool in range(6):
    sys.monitoring.use_tool_id(tool, "somebody")
user = probe.new()
assert probe.register(user) == -errno.EIO
assert probe.register_while_raising(user) == -errno.EIO
assert probe.status(user)[0] == -1
sys.monitoring.free_tool_id(3)
assert probe.register(user) == 0
assert probe.unregister(user) == 0
assert sys.monitoring.get_tool(3) is None
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the frame evaluator is never taken: it is chained")
def test_without_a_free_hook_the_registration_fails_and_nothing_is_left(tmp_path: Path) -> None:
    path = extension.compile_extension(
        tmp_path, "capi_probe", [HERE / "capi_probe.c"], extension.available()[0]
    )
    done = subprocess.run([sys.executable, "-c", NO_HOOK, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- beside others


BESIDE_OTHERS = """
import collections, operator, sys, threading, time
import callhist, funcgraph

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers(n):
    for i in range(n):
        yield fib(i)

def fails():
    raise KeyError("no")

def waits():
    yield

slept_ns = []

def work():
    fib(10)
    list(numbers(3))
    try:
        fails()
    except KeyError:
        pass
    for _ in waits():
        begin_ns = time.monotonic_ns()
        time.sleep(0.05)
        slept_ns.append(time.monotonic_ns() - begin_ns)

def run():
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

python = collections.Counter()
ops = funcgraph.FgraphOps(
    None, lambda trace, ops, regs: python.update([trace.func.name]), filter=["__main__.*"]
)
every = callhist.Histogram(["__main__.*"], notrace=["__main__.run*"])
fifth = callhist.Histogram(["__main__.fib"], every=5)
with funcgraph.record(sys.argv[1], filter=["__main__.*"]):
    with funcgraph.registered(ops), every, fifth:
        run()
        kinds = sorted(map(operator.attrgetter("kind"), funcgraph.users()))
        assert kinds == ["C", "C", "python", "tracer"], kinds

native = {one["name"]: one for one in every.results()}
fib_calls = 3 * (177 + 1 + 1 + 3)
assert {name.removeprefix("__main__."): one["calls"] for name, one in native.items()} == {
    "work": 3, "fib": fib_calls, "numbers": 3, "fails": 3, "waits": 3
}, native
assert all(one["calls"] == one["measured"] for one in native.values()), native
for name, one in native.items():
    assert python[name] == one["calls"], (name, python)
    assert sum(calls for _, calls in one["histogram"]) == one["measured"]
    assert 0 < one["self_ns"] <= one["total_ns"]
    assert one["file"] == __file__
work = native["__main__.work"]["total_ns"]
slept = sum(slept_ns) * 0.99  # two clocks
assert native["__main__.work"]["self_ns"] > slept, "the time of a suspended call counts"
assert native["__main__.waits"]["total_ns"] + slept < work
assert abs(sum(one["self_ns"] for one in native.values()) - work) < 1000, (native, work)
assert (native["__main__.fails"]["raised"], native["__main__.fails"]["first_error"]) == (3, "KeyError")
assert native["__main__.work"]["first_error"] is None
(fib_only,) = fifth.results()
# Each thread makes 4 outermost calls: fib(10), and three in numbers. Those that are not measured count to the
# next one that is, and so does what they call: fewer are measured than are made.
assert fib_only["calls"] == fib_calls and 0 < fib_only["measured"] < fib_calls, fib_only
assert every.nmissed == fifth.nmissed == every.unknown_calls == 0
"""


@pytest.mark.one_python
def test_the_example_counts_what_others_count_at_the_same_time(fg: Any, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    extension.pip_install(EXAMPLE, installed)
    script = fg.script(BESIDE_OTHERS, "beside.py")
    fg.env["PYTHONPATH"] = str(installed)
    done = fg.plain(sys.executable, script, fg.trace)
    assert done.returncode == 0, done.stderr
    counts = fg.calls()
    assert {
        name: counts[f"__main__.{name}"] for name in ("work", "fib", "numbers", "fails", "waits", "run")
    } == {
        "work": 3,
        "fib": 546,
        "numbers": 3,
        "fails": 3,
        "waits": 3,
        "run": 1,
    }
    assert fg.plain(sys.executable, "-c", MISUSE).stdout.splitlines() == [
        "ValueError: pattern 'a[b', column 2: '[' without its ']'",
        "ValueError: every must be >= 1, got 0",
        "OSError: [Errno 22] Invalid argument",
        "OSError: [Errno 16] Device or resource busy",
    ]


MISUSE = """
import callhist

def told(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")

told(callhist.Histogram, ["a[b"])
told(callhist.Histogram, every=0)
histogram = callhist.Histogram()
told(histogram.stop)
with histogram:
    told(histogram.start)
"""


def test_the_example_of_the_reference_compiles_and_counts(tmp_path: Path) -> None:
    (source,) = re.findall(
        r"^```c\n(.*?PyInit_counter.*?)^```$", REFERENCE.read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "counter.c").write_text(source)
    path = extension.compile_extension(
        tmp_path, "counter", [tmp_path / "counter.c"], extension.available()[0]
    )
    counter = extension.load(path, "counter")
    counter.start(f"{__name__}.leaf")
    try:
        middle(1)
        leaf(1)
    finally:
        calls = counter.stop()
    assert calls == 2
