"""`funcgraph repeat`: results that nobody used, in a program that says of each function whether they are."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tracefile import DISCARDED, RAISE, Trace, value, values

import funcgraph
from funcgraph import answers

S = 1_000_000_000

#: Nobody uses a result of the functions whose names begin with `lost`; of all others somebody does, or it
#: cannot be known. Each runs twice.
PROGRAM = """
import asyncio, contextlib, functools, threading

def lost(*args, **keywords): return 1
def lost_in_loop(): return 1
def lost_in_with(): return 1
def lost_in_handler(): return 1
def lost_in_finally(): return 1
def lost_in_generator(): return 1
def lost_in_coroutine(): return 1
def lost_in_class_body(): return 1
def lost_last_operand(): return 1
def lost_in_branch(): return 1
def lost_by_star(*args, **keywords): return 1
def lost_with_keywords(*, one, two): return 1
def lost_of_many_arguments(a, b, c): return 1
def lost_over_lines(a, b): return 1
def lost_string(): return "text"
def lost_container(): return [1, 2]
def lost_False(): return False
def lost_in_exec(): return 1
def lost_recursive(n):
    if n:
        lost_recursive(n - 1)
    return n + 1
def lost_if_not_none(n): return n or None
def lost_if_not_raised(n):
    if n:
        raise KeyError
    return 1
def lost_argument(text):
    text = text.strip()
    return text
def lost_around_a_callback(callback): return list(map(callback, "ab"))

def used_assigned(): return 1
def used_by_name(): return 1
def used_returned(): return 1
def used_as_condition(): return 1
def used_as_first_operand(): return 1
def used_as_argument(): return 1
def used_by_keyword(): return 1
def used_in_list(): return 1
def used_in_comprehension(n): return n
def used_in_generator_expression(n): return n
def used_by_map(n): return n
def used_as_key(n): return n
def used_by_partial(): return 1
def lost_by_thread(): return 1
def used_by_callback(): return 1
def used_by_c_method(n, other): return 1
def used_by_yield(): return 1
def used_in_text(): return 1
def used_by_assert(): return 1
def used_by_unpacking(): return 1, 2
def used_by_operator(): return 1
def used_by_comparison(): return 1
def used_by_attribute(): return 1
def used_by_call(): return used_assigned
def used_by_raise(): return KeyError()
def used_in_default(): return 1
def used_by_del(): return 1
def used_now_and_then(n): return 1
def used_by_decorator(): return 1
def none(): return None
def generator():
    yield 1
    return 2
async def coroutine():
    await asyncio.sleep(0)
    return 1

class Plain:
    def __init__(self): self.parts = []
    def add(self, part): self.parts.append(part); return self
    def used_size(self): return len(self.parts)
    def used_chain(self): return Plain()
    def lost_method(self, *more): return len(self.parts)
    @classmethod
    def lost_of_class(cls): return 1
    @staticmethod
    def lost_static(): return 1
    @property
    def prop(self): return 7
    def __getattr__(self, name): return 7
    def __getitem__(self, key): return 7
    def __add__(self, other): return 7
    def __eq__(self, other): return 7
    def __neg__(self): return 7
    def __call__(self): return 7
    def __contains__(self, key): return True
    def __iter__(self): return iter(())
    def __bool__(self): return True

class Made:
    def __new__(cls): return object.__new__(cls)

class Context:
    def __enter__(self): return 7
    def __exit__(self, *exception): return 7
    async def __aenter__(self): return 7
    async def __aexit__(self, *exception): return 7

class StaticContext:
    @staticmethod
    def __enter__(): return 7
    @staticmethod
    def __exit__(*exception): return 7

def decorate(function):
    @functools.wraps(function)
    def lost_wrapper(*args):
        return function(*args)
    return lost_wrapper
decorated = decorate(used_by_decorator)

def use_returned(): return used_returned()
def use_yield(): yield used_by_yield()
def use_default():
    def inner(n=used_in_default()): return None
    inner()
def discard_in_generator():
    lost_in_generator()
    yield 1
async def discard_in_coroutine():
    lost_in_coroutine()
    await coroutine()
    async with Context():
        pass
    async with Context() as got:
        pass
    await asyncio.gather(coroutine(), coroutine())
    asyncio.get_running_loop().call_soon(used_by_callback)

def discard():
    lost()
    lost(1)
    lost(1, 2, three=3)
    for _ in range(3):
        lost_in_loop()
    with Context():
        lost_in_with()
    with Context() as got:
        lost_in_with()
    with StaticContext():
        pass
    with Context(), Context():
        for _ in range(2):
            with contextlib.suppress(KeyError):
                lost_in_with()
    try:
        raise KeyError
    except KeyError:
        lost_in_handler()
    finally:
        lost_in_finally()
    list(discard_in_generator())
    asyncio.run(discard_in_coroutine())
    class Body:
        lost_in_class_body()
    used_as_first_operand() and lost_last_operand()
    if used_as_condition():
        lost_in_branch()
    lost_by_star(*(1, 2), **{"three": 3})
    lost_by_star(*(1, 2))
    lost_with_keywords(one=1, two=2)
    lost_of_many_arguments(0, 0, 7)
    lost_of_many_arguments(None, 1, None)
    lost_over_lines(
        1,
        2,
    )
    lost_string()
    lost_container()
    lost_False()
    exec("lost_in_exec()")
    lost_recursive(300)
    lost_if_not_none(1)
    lost_if_not_none(0)
    for n in range(2):
        try:
            lost_if_not_raised(n)
        except KeyError:
            pass
    lost_argument("a ")
    lost_around_a_callback(used_by_map)
    plain = Plain()
    plain.lost_method()
    plain.lost_method(0, 0)
    method = plain.lost_method
    method()
    Plain.lost_method(plain)
    Plain.lost_of_class()
    plain.lost_of_class()
    plain.lost_static()
    (plain
        .add(1)
        .used_chain()
        .add(2)
        .lost_method())
    (plain.used_chain()
        .add(2)
        .add(3))
    decorated()

def use():
    one = used_assigned()
    _ = used_by_name()
    use_returned(), 1
    lost_or_not = 1 if used_as_condition() else 2
    while not used_as_condition():
        pass
    print(used_as_argument(), end="", flush=used_by_keyword())
    [used_in_list()]
    kept = [used_in_comprehension(n) for n in range(3)]
    sum(used_in_generator_expression(n) for n in range(3))
    list(map(used_by_map, [1, 2]))
    sorted([2, 1], key=used_as_key)
    [2, 1].sort(key=used_as_key)
    functools.reduce(used_by_c_method, (1, 2, 3))
    functools.partial(used_by_partial)()
    thread = threading.Thread(target=lost_by_thread)
    thread.start(); thread.join()
    list(use_yield())
    f"{used_in_text()}"
    assert used_by_assert()
    a, b = used_by_unpacking()
    used_by_operator() + 1
    used_by_comparison() == 1
    used_by_attribute().real
    used_by_call()()
    try:
        raise used_by_raise()
    except KeyError:
        pass
    use_default()
    kept = {1: 2}
    del kept[used_by_del()]
    used_now_and_then(1)
    n = used_now_and_then(2)
    none()
    generator()
    next(generator())
    list(generator())
    for _ in generator():
        pass
    generator().send(None)
    plain = Plain()
    plain.used_size() > 1
    plain.prop
    plain.other
    plain[1]
    plain + 1
    plain == 1
    -plain
    plain()
    1 in plain
    for _ in plain:
        pass
    Made()
    if plain:
        pass

for _ in range(2):
    discard()
    use()
"""

#: What looks into the program while it runs, by name: before it. It replaces instructions of it.
WATCHES = {
    "nothing": "",
    "settrace": """
        import sys
        def watch(frame, event, argument): return watch
        sys.settrace(watch)
    """,
    "settrace of each instruction": """
        import sys
        def watch(frame, event, argument):
            frame.f_trace_opcodes = True
            return watch
        sys.settrace(watch)
    """,
    "setprofile": """
        import sys
        sys.setprofile(lambda *args: None)
    """,
    "lines": """
        import sys
        sys.monitoring.use_tool_id(1, "lines")
        sys.monitoring.set_events(1, sys.monitoring.events.LINE)
        sys.monitoring.register_callback(1, sys.monitoring.events.LINE, lambda *args: None)
    """,
    "lines and instructions": """
        import sys
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(1, "instructions")
        sys.monitoring.set_events(1, events.LINE | events.INSTRUCTION | events.CALL | events.BRANCH)
        for event in (events.LINE, events.INSTRUCTION, events.CALL, events.BRANCH):
            sys.monitoring.register_callback(1, event, lambda *args: None)
    """,
}


def lost_in(path: Path, least: int = 2) -> dict[str, int]:
    """Return how many results of a function nobody used, of those of the program itself."""
    with funcgraph.open(path) as trace:
        found = answers.repeat(trace, least=least).discarded
    return {
        one.function.qualname.rpartition(".")[2]: one.results
        for one in found
        if one.function.module == "__main__"
    }


def expected() -> set[str]:
    return {
        word.partition("(")[0]
        for word in PROGRAM.split()
        if word.startswith("lost") and "(" in word and f"def {word.partition('(')[0]}" in PROGRAM
    } | {"lost_wrapper"}


@pytest.mark.parametrize("options", [(), ("--args", "--values", "2"), ("--c-calls",)])
@pytest.mark.parametrize("watch", WATCHES)
def test_only_results_that_nobody_uses_are_discarded(fg: Any, watch: str, options: tuple[str, ...]) -> None:
    """Broken by: instructions of another tool that hide the POP_TOP or the CALL; `with`, which calls
    __exit__; operators; C code that calls.
    """
    if "monitoring" in WATCHES[watch] and sys.version_info < (3, 12):
        pytest.skip("there is no sys.monitoring")
    if options and watch not in ("nothing", "lines and instructions"):
        pytest.skip("one watch of each sort will do")
    fg.script(textwrap.dedent(WATCHES[watch]) + PROGRAM)
    done = fg.record("--retval", *options, "-l", "__main__.*", "app.py")
    assert done.returncode == 0, done.stderr
    found = lost_in(fg.trace)
    found.pop("<lambda>", None)
    # While its caller has events of calls, f(*arguments) goes through C from 3.12 on.
    has_calls = "--c-calls" in options or watch in ("setprofile", "lines and instructions")
    unseen = {"lost_by_star", "lost_by_thread"} if has_calls else set()
    assert set(found) - unseen == expected() - unseen
    assert found["lost_in_loop"] == 6 and found["lost_recursive"] == 602 and found["lost"] == 6
    assert found["lost_if_not_none"] == found["lost_if_not_raised"] == 2


def test_a_function_that_one_caller_uses_is_not_listed(fg: Any) -> None:
    """Whoever else discards its results. Here the one that uses them is written in C."""
    fg.script(
        """
        def called(n=0): return n + 1
        for _ in range(9): called()
        list(map(called, range(3)))
        """
    )
    assert fg.record("--retval", "app.py").returncode == 0
    assert lost_in(fg.trace) == {}
    fg.script("def called(n=0): return n + 1\nfor _ in range(9): called()\n")
    assert fg.record("--retval", "app.py").returncode == 0
    assert lost_in(fg.trace) == {"called": 9}
    assert lost_in(fg.trace, least=10) == {}


def test_the_evidence_shows_the_longest_call(fg: Any) -> None:
    fg.script(
        """
        import time
        def work(seconds):
            time.sleep(seconds)
            return seconds
        for seconds in (0.0, 0.002, 0.02, 0.001, 0.003): work(seconds)
        """
    )
    assert fg.record("--args", "--retval", "-l", "__main__.work", "app.py").returncode == 0
    with funcgraph.open(fg.trace) as trace:  # on a busy machine, it may be another one
        (calls,) = trace.call_columns()
    row = max(range(5), key=lambda one: calls.duration_ns[one])
    begin, end = calls.arguments_offsets[row : row + 2]
    printed = fg.run("repeat").stdout
    evidence = [line for line in printed.splitlines() if "funcgraph report" in line][-1].split()
    shown = fg.run(*evidence[1:]).stdout
    assert f"work({bytes(calls.arguments[begin:end]).decode()})" in shown and shown.count("work(") == 1


@pytest.mark.one_python
def test_without_results_it_is_not_known(fg: Any) -> None:
    fg.script("def f(): return 1\nfor _ in range(9): f()\n")
    assert fg.record("--args", "app.py").returncode == 0
    assert "Results that all callers discard, 5 times or more: not known" in fg.run("repeat").stdout
    assert fg.record("--retval", "app.py").returncode == 0
    done = fg.run("repeat").stdout
    assert "Results that all callers discard, 5 times or more: 1" in done and "same result: not known" in done
    assert "9 results" in done


@pytest.mark.one_python
def test_a_redacted_result_says_nothing(fg: Any) -> None:
    """Whether it was None would tell something of it."""
    fg.script("def password(): return 1\ndef other(): return 1\nfor _ in range(9): password(); other()\n")
    assert fg.record("--retval", "--redact", "password", "app.py").returncode == 0
    assert lost_in(fg.trace) == {"other": 9}


# ---- traces that are written here


def trace_of(results: list[bytes], kind: int = 0) -> Trace:
    """Return a trace in which m.page() makes these calls of m.f(), 5 ns each."""
    trace = Trace(["m.page", ("m", "f", "/m.py", 3, 0, ["n"]), ("m", "f", "/m.py", 3, 0, ["n"])])
    task = trace.task(69)
    task.enter(S, 0, 0, args=b"")
    for at, result in enumerate(results):
        begin = S + 10 * at + 10
        task.enter(begin, 1 + at % 2, 1, args=values(7))  # a function may have several numbers
        task.leave(begin + 5, 1 + at % 2, 1, calltime=begin, kind=kind, result=result)
    task.leave(S + 1000, 0, 0, calltime=S, result=values(None))
    return trace


@pytest.mark.one_python
def test_the_numbers_are_of_the_discarded_results(fg: Any) -> None:
    one = value(1) + DISCARDED
    trace_of([one, one, value(None), one, b"", one]).save(fg.trace)
    (found,) = json.loads(fg.run("repeat", "--least", "4", "--json").stdout)["discarded"]
    assert (found["function"], found["calls"], found["results"], found["total_ns"]) == ("m.f", 5, 4, 20)
    assert found["place"] == {"begin_ns": S + 10, "end_ns": S + 15, "tid": 69}
    assert "4 results; 1 more call returned None" in fg.run("repeat", "--least", "4").stdout
    assert json.loads(fg.run("repeat", "--json").stdout)["discarded"] == []
    trace_of([one, one, one, value(1)]).save(fg.trace)  # another number of the function: its result is used
    assert json.loads(fg.run("repeat", "--least", "2", "--json").stdout)["discarded"] == []
    trace_of([one] * 4, RAISE).save(fg.trace)
    assert json.loads(fg.run("repeat", "--least", "2", "--json").stdout)["discarded"] == []


@pytest.mark.one_python
def test_recursion_counts_its_time_once(tmp_path: Path) -> None:
    """Broken by: the time of a call that counts in each call around it."""
    trace = Trace([("m", "f", "/m.py", 3, 0, []), ("m", "g", "/m.py", 9, 0, [])])
    task = trace.task(69)
    for depth in range(6):
        task.enter(S + depth, depth % 2, depth, args=b"")
    for depth in reversed(range(6)):
        task.leave(S + 20 - depth, depth % 2, depth, calltime=S + depth, result=value(1) + DISCARDED)
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        found = answers.repeat(opened, least=2).discarded
    assert [(one.function.qualname, one.results, one.total_ns) for one in found] == [
        ("f", 3, 20),
        ("g", 3, 18),
    ]


@pytest.mark.one_python
def test_nothing_else_shows_it(fg: Any) -> None:
    """Whether a result was discarded changes no report, no group of values, no comparison, no export."""
    commands = [
        ("report",),
        ("values", "m.f", "--json"),
        ("values", "m.f", "--last"),
        ("compare", "m.f:1", "m.f:2"),
        ("report", "--where", "result == 3"),
        ("export", "csv", "-o", "-"),
        ("export", "chrome", "-o", "-"),
    ]
    plain = [value(3), value("text"), value(3), value(object())]
    printed = []
    for results in (
        plain,
        [one + DISCARDED for one in plain],
        [plain[0], *[r + DISCARDED for r in plain[1:]]],
    ):
        trace_of(results).save(fg.trace)
        done = [fg.run(*command) for command in commands]
        assert all(one.returncode in (0, 1) for one in done), [one.stderr for one in done]  # 1: they differ
        printed.append([one.stdout for one in done])
        with funcgraph.open(fg.trace) as trace:
            printed[-1].append(str([call.result for call in trace.calls()]))
            found = answers.repeat(trace, least=2)
            printed[-1].append(str([found.below, found.cacheable]))
    assert printed[0] == printed[1] == printed[2]
