"""Static events: what CPython itself tells, against what the program sees of the same."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import pickle
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from builds import needs_gil
from conftest import Funcgraph

import funcgraph
from funcgraph.definitions.errors import ProbeError

has_reraise = sys.version_info >= (3, 12)
events = funcgraph.dynamic_events
HOOKED = needs_gil("events of asyncio and of threads are EOPNOTSUPP")
NAMES = [
    *(
        "py/raise",
        "py/reraise",
        "py/gc_start",
        "py/gc_done",
        "py/import",
        "py/thread_start",
        "py/thread_exit",
    ),
    *("py/audit", "asyncio/task_switch", "asyncio/task_create", "asyncio/task_done", "ftrace/print"),
]


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
    for instance in funcgraph.instances().values():
        instance.close()
    events.clear()
    events.log.clear()


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("one") as instance:
        yield instance


@contextlib.contextmanager
def on(instance: funcgraph.Instance, *names: str) -> Iterator[None]:
    for name in names:
        instance.events[name].enable = True
    yield
    for name in names:
        instance.events[name].enable = False


def hits(instance: funcgraph.Instance, name: str = "") -> list[str]:
    """Return the text of each event in a trace, or the fields of those with a name."""
    found = re.findall(r"\d: (\w+: .*)$", instance.trace(), re.MULTILINE)
    return [text.removeprefix(f"{name}: ") for text in found if text.startswith(name)]


def field(text: str, name: str) -> str:
    """Return a field of an event's text, without quotes."""
    match = re.search(rf'\b{name}=(?:"((?:[^"\\]|\\.)*)"|(\S+))', text)
    assert match is not None, text
    return match[1] if match[1] is not None else match[2]


# ---- that they exist


def test_all_exist_in_every_process_and_are_off(one: funcgraph.Instance) -> None:
    assert list(one.events)[: len(NAMES)] == NAMES
    assert [name for name in NAMES if one.events[name].enable] == ["ftrace/print"]
    assert one.files["events/py/raise/enable"] == "0\n"
    assert one.events["py/gc_done"].fields == ("generation", "collected", "uncollectable", "duration_ns")


def test_a_static_event_is_no_definition(one: funcgraph.Instance) -> None:
    assert len(events) == 0 and events.read() == ""
    with pytest.raises(ProbeError) as refused:
        events.define("t:py/raise raise type")
    assert refused.value.errno == errno.EINVAL
    with pytest.raises(ProbeError):
        events.delete("-:py/raise")


# ---- exceptions


class OwnError(Exception):
    def __str__(self) -> str:
        raise AssertionError("code of the program ran")

    __repr__ = __str__


def raise_one() -> None:
    raise ValueError("one")


def deep(depth: int) -> None:
    if depth:
        deep(depth - 1)
    else:
        raise_one()


def caught(function: Callable[..., object], *args: object) -> None:
    with contextlib.suppress(Exception):
        function(*args)


def from_c() -> None:
    int("x")


def chained() -> None:
    try:
        raise_one()
    except ValueError as error:
        raise KeyError("two") from error


def again() -> None:
    try:
        raise_one()
    except ValueError as error:
        kept = error
    raise kept


def returned() -> None:
    def make() -> Exception:
        try:
            raise_one()
        except ValueError as error:
            return error
        raise AssertionError

    raise make()


def numbers() -> Generator[int, None, str]:
    yield 1
    return "end"


class Stops:
    def __iter__(self) -> Stops:
        return self

    def __next__(self) -> int:
        raise StopIteration


def stops_by_hand() -> None:
    next(iter(Stops()))


def loops() -> None:
    for _ in numbers():
        pass
    list(numbers())

    def outer() -> Generator[int, None, None]:
        yield from numbers()

    list(outer())


def loop_of_own_iterator() -> None:
    for _ in Stops():
        pass


def thrown() -> None:
    generator = numbers()
    next(generator)
    generator.throw(KeyError("thrown"))


def suppressed_by_manager() -> None:
    @contextlib.contextmanager
    def manager() -> Iterator[None]:
        with contextlib.suppress(ValueError):
            yield

    with manager():
        raise_one()


def missing_attribute() -> None:
    hasattr(object(), "missing")
    next(iter(()), None)


@pytest.mark.parametrize(
    ("function", "raised"),
    [
        (raise_one, ["ValueError"]),
        (lambda: deep(20), ["ValueError"]),
        (from_c, ["ValueError"]),
        (chained, ["ValueError", "KeyError"]),
        (again, ["ValueError", "ValueError"]),
        (returned, ["ValueError", "ValueError"]),
        (loops, []),
        (stops_by_hand, ["StopIteration"]),
        (loop_of_own_iterator, ["StopIteration"]),
        (thrown, ["KeyError"]),
        (suppressed_by_manager, ["ValueError", "StopIteration"]),  # the manager's generator has ended
        (missing_attribute, []),
    ],
)
def test_an_exception_is_raised_once(
    one: funcgraph.Instance, function: Callable[[], None], raised: list[str]
) -> None:
    with on(one, "py/raise"):
        for _ in range(3):
            caught(function)
    assert [field(text, "type") for text in hits(one, "raise")] == raised * 3


def test_what_a_raise_says(one: funcgraph.Instance) -> None:
    def os_error() -> None:
        open("/nonexistent")

    def own() -> None:
        raise OwnError("text", 3)

    with on(one, "py/raise"):
        caught(deep, 2)
        caught(own)
        caught(dict.__getitem__, {}, "key")
        caught(os_error)
    first, second, third, fourth = hits(one, "raise")
    line = raise_one.__code__.co_firstlineno + 1
    assert first == (
        f'type="ValueError" message="one" function={__name__}.raise_one line={line} file="{__file__}"'
    )
    assert field(second, "message") == "('text', 3)"
    assert field(third, "message") == "'key'"
    assert field(fourth, "message") == "[Errno 2] No such file or directory: '/nonexistent'"


def reraised() -> None:
    try:
        raise_one()
    except ValueError:
        raise


def through_finally() -> None:
    try:
        raise_one()
    finally:
        len("")


def not_matched() -> None:
    try:
        raise_one()
    except KeyError:
        pass


@pytest.mark.skipif(not has_reraise, reason="CPython 3.11 does not tell")
@pytest.mark.parametrize(
    ("function", "count"),
    [(reraised, 1), (through_finally, 1), (not_matched, 1), (chained, 0), (lambda: deep(5), 0), (again, 0)],
)
def test_an_exception_goes_on(one: funcgraph.Instance, function: Callable[[], None], count: int) -> None:
    with on(one, "py/reraise"):
        try:
            function()
        except (ValueError, KeyError):
            pass
    assert len(hits(one, "reraise")) == count


@pytest.mark.skipif(has_reraise, reason="only CPython 3.11 does not tell")
def test_reraise_is_refused_where_python_does_not_tell(one: funcgraph.Instance) -> None:
    with pytest.raises(OSError) as refused:
        one.events["py/reraise"].enable = True
    assert refused.value.errno == errno.EOPNOTSUPP
    assert not one.events["py/reraise"].enable


def test_exceptions_of_all_threads(one: funcgraph.Instance) -> None:
    go, ready = threading.Event(), threading.Barrier(5)

    def work() -> None:
        ready.wait()
        go.wait()
        for _ in range(50):
            caught(deep, 3)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    ready.wait()
    one.events["py/raise"].filter = 'message == "one"'
    with on(one, "py/raise"):
        go.set()
        for thread in threads:
            thread.join()
    assert len(hits(one, "raise")) == 200


def test_the_programs_trace_functions_see_the_same(one: funcgraph.Instance) -> None:
    def run() -> list[tuple[str, str]]:
        seen: list[tuple[str, str]] = []

        def tracer(frame: Any, event: str, arg: object) -> Any:
            if frame.f_code.co_filename == __file__ and frame.f_code.co_name in ("deep", "raise_one"):
                seen.append((event, frame.f_code.co_name))
            return tracer

        sys.settrace(tracer)
        with contextlib.suppress(ValueError):
            deep(2)
        assert sys.gettrace() is tracer
        sys.settrace(None)
        with contextlib.suppress(ValueError):
            deep(2)
        return seen

    before = run()
    with on(one, "py/raise"):
        assert run() == before
        caught(deep, 2)
    assert sys.gettrace() is None
    assert run() == before
    assert [field(text, "message") for text in hits(one, "raise")][-1] == "one"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_other_tools_of_monitoring_go_on(one: funcgraph.Instance) -> None:
    monitoring = sys.monitoring
    seen: Counter[str] = Counter()

    def count(code: Any, *_: object) -> None:
        if code.co_name == "raise_one":
            seen["raise"] += 1

    monitoring.use_tool_id(monitoring.DEBUGGER_ID, "debugger")
    monitoring.register_callback(monitoring.DEBUGGER_ID, monitoring.events.RAISE, count)
    monitoring.register_callback(monitoring.DEBUGGER_ID, monitoring.events.LINE, lambda *_: None)
    try:
        monitoring.set_events(monitoring.DEBUGGER_ID, monitoring.events.RAISE | monitoring.events.LINE)
        caught(raise_one)
        with on(one, "py/raise"):
            caught(raise_one)
            caught(again)  # its instructions are those of line events
        caught(raise_one)
    finally:
        monitoring.set_events(monitoring.DEBUGGER_ID, 0)
        monitoring.free_tool_id(monitoring.DEBUGGER_ID)
    assert seen["raise"] == 4
    assert len(hits(one, "raise")) == 3


def test_results_and_exceptions_are_as_without(one: funcgraph.Instance) -> None:
    def outcome() -> object:
        try:
            chained()
        except KeyError as error:
            trace, lines = error.__traceback__, []
            while trace:
                lines.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
                trace = trace.tb_next
            return lines, repr(error.__cause__), error.args
        return None

    def dive(depth: int) -> int:
        try:
            return dive(depth + 1)
        except RecursionError:
            return depth

    before = outcome()
    with on(one, "py/raise"):
        assert outcome() == before
        assert dive(0) > 100
    assert outcome() == before


def test_nothing_stays_on(one: funcgraph.Instance) -> None:
    for _ in range(3):
        with on(one, "py/raise"):
            caught(raise_one)
        caught(raise_one)
    assert len(hits(one, "raise")) == 3
    if has_reraise:
        tools = [sys.monitoring.get_tool(i) for i in range(6)]
        assert "funcgraph" not in tools


# ---- the garbage collector


def test_collections_are_those_that_the_program_sees(one: funcgraph.Instance) -> None:
    seen: list[tuple[str, int, int]] = []

    def callback(phase: str, info: dict[str, int]) -> None:
        seen.append((phase, info["generation"], info["collected"]))

    before = list(gc.callbacks)
    gc.callbacks.append(callback)
    try:
        with on(one, "py/gc_start", "py/gc_done"):
            assert gc.callbacks == [*before, callback]
            for generation in (0, 1, 2):
                cycle: list[Any] = []
                cycle.append(cycle)
                del cycle
                gc.collect(generation)
        gc.collect()
    finally:
        gc.callbacks.remove(callback)
    assert gc.callbacks == before
    starts, ends = hits(one, "gc_start"), hits(one, "gc_done")
    assert [int(field(text, "generation")) for text in starts] == [0, 1, 2]
    reported = [(int(field(text, "generation")), int(field(text, "collected"))) for text in ends]
    assert reported == [
        (generation, collected) for phase, generation, collected in seen[:6] if phase == "stop"
    ]
    assert len(seen) == 8


def test_callbacks_of_the_program_may_change(one: funcgraph.Instance) -> None:
    seen = []

    def second(phase: str, _: object) -> None:
        seen.append(f"second {phase}")

    def first(phase: str, _: object) -> None:
        seen.append(f"first {phase}")
        if phase == "start":
            one.events["py/gc_done"].enable = False

    gc.callbacks.extend([first, second])
    try:
        one.events["py/gc_done"].enable = True
        gc.collect()
        gc.collect()
    finally:
        gc.callbacks.remove(first)
        gc.callbacks.remove(second)
    assert seen == ["first start", "second start", "first stop", "second stop"] * 2
    assert hits(one, "gc_done") == []


# ---- imports and audit events


def test_imports(one: funcgraph.Instance) -> None:
    for module in ("this_is_no_module", "colorsys"):
        sys.modules.pop(module, None)
    with on(one, "py/import"):
        with contextlib.suppress(ImportError):
            import this_is_no_module  # type: ignore[import-not-found]  # noqa: F401
        import colorsys  # noqa: F401

        __import__("colorsys")
    found = hits(one, "import")
    assert [field(text, "name") for text in found] == ["this_is_no_module", "colorsys"]
    # From 3.15 on CPython tells of an import in the function of importlib that searches.
    where = (
        "importlib._bootstrap._find_and_load" if sys.version_info >= (3, 15) else f"{__name__}.test_imports"
    )
    assert field(found[0], "function") == where


_AUDITED: list[tuple[str, tuple[object, ...]]] | None = None


def _audit(event: str, args: tuple[object, ...]) -> None:
    if _AUDITED is not None and event.startswith("test."):
        _AUDITED.append((event, args))


sys.addaudithook(_audit)


def test_audit_events_are_those_that_the_program_sees(one: funcgraph.Instance) -> None:
    global _AUDITED
    _AUDITED = []
    one.events["py/audit"].filter = 'event ~ "test.*"'
    with on(one, "py/audit"):
        sys.audit("test.none")
        sys.audit("test.some", "text'", 5, None, b"\0", 1.5, ("a", (True,)), object())
        sys.audit("test.long", "x" * 100_000)
    sys.audit("test.off")
    audited, _AUDITED = _AUDITED, None
    first, second, third = hits(one, "audit")
    assert [name for name, _ in audited] == ["test.none", "test.some", "test.long", "test.off"]
    assert (field(first, "event"), field(first, "args")) == ("test.none", "")
    expected = """\\"text'\\", 5, None, b'\\\\x00', 1.5, ('a', (True,)), <object>"""
    assert field(second, "args") == expected
    assert len(third) < 700
    assert field(second, "function").endswith("test_audit_events_are_those_that_the_program_sees")


def test_a_program_may_refuse_audit_hooks() -> None:
    code = """
import sys, funcgraph
def refuse(event, args):
    if event == "sys.addaudithook":
        raise RuntimeError
sys.addaudithook(refuse)
i = funcgraph.Instance("one")
try:
    i.events["py/audit"].enable = True
except PermissionError:
    assert not i.events["py/audit"].enable
    sys.exit(5)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (5, "")


def test_audit_of_files(one: funcgraph.Instance) -> None:
    events.define("t:files/open audit path=args[0] mode=args[1]:string")
    one.events["files/open"].filter = 'mode == "r"'
    with on(one, "files/open"), open(__file__):
        pass
    assert field(hits(one, "open")[0], "path") == f"'{__file__}'"


# ---- threads


@HOOKED
def test_threads_begin_and_end(one: funcgraph.Instance) -> None:
    def work() -> None:
        pass

    with on(one, "py/thread_start", "py/thread_exit"):
        for number in range(3):
            thread = threading.Thread(target=work, name=f"worker {number}", daemon=number == 1)
            thread.start()
            thread.join()
    names = [f"worker {number}" for number in range(3)]
    starts, ends = hits(one, "thread_start"), hits(one, "thread_exit")
    assert [field(text, "name") for text in starts] == names
    assert [field(text, "name") for text in ends] == names
    assert [field(text, "daemon") for text in starts] == ["0", "1", "0"]
    assert {field(text, "target").rpartition(".")[2] for text in starts + ends} == {"work"}
    assert type(threading.Thread._bootstrap).__name__ == "function"  # type: ignore[attr-defined]


# ---- asyncio


async def worker(steps: int) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)


async def fails() -> None:
    raise ValueError("task")


async def two_workers() -> None:
    first = asyncio.create_task(worker(2), name="first")
    second = asyncio.create_task(worker(2), name="second")
    failing = asyncio.create_task(fails(), name="failing")
    cancelled = asyncio.create_task(asyncio.sleep(100), name="cancelled")
    await first
    await second
    with contextlib.suppress(ValueError):
        await failing
    cancelled.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await cancelled


MINE = {"main", "first", "second", "failing", "cancelled"}


def run_in_loop(factory: Any = None) -> None:
    loop = asyncio.new_event_loop()
    loop.set_task_factory(factory)
    try:
        loop.run_until_complete(loop.create_task(two_workers(), name="main"))
    finally:
        loop.close()


def _python_task(loop: Any, coroutine: Any, **kwargs: Any) -> Any:
    return asyncio.tasks._PyTask(coroutine, loop=loop, **kwargs)  # type: ignore[attr-defined]


class OwnTask(asyncio.Task):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


def _own_task(loop: Any, coroutine: Any, **kwargs: Any) -> Any:
    return OwnTask(coroutine, loop=loop, **kwargs)


@HOOKED
@pytest.mark.parametrize("factory", [None, _python_task, _own_task])
def test_tasks(one: funcgraph.Instance, factory: Any) -> None:
    with on(one, "asyncio/task_switch", "asyncio/task_create", "asyncio/task_done"):
        run_in_loop(factory)
    created = [(field(text, "coro"), field(text, "parent")) for text in hits(one, "task_create")]
    assert created == [
        ("two_workers", ""),
        *((coroutine, "main") for coroutine in ("worker", "worker", "fails", "sleep")),
    ]
    done = {field(text, "name"): field(text, "result") for text in hits(one, "task_done")}
    assert done == {
        "main": "finished",
        "first": "finished",
        "second": "finished",
        "failing": "ValueError",
        "cancelled": "cancelled",
    }
    switches = [(field(text, "prev_name"), field(text, "next_name")) for text in hits(one, "task_switch")]
    assert [after for _, after in switches[:5]] == ["main", "first", "second", "failing", "cancelled"]
    assert [before for before, _ in switches[1:]] == [after for _, after in switches[:-1]]
    assert Counter(after for _, after in switches)["first"] == 3
    assert field(hits(one, "task_switch")[1], "next_coro") == "worker"


@HOOKED
@pytest.mark.skipif(
    sys.version_info[:2] not in ((3, 12), (3, 13)), reason="docs/reference/events.md: eager tasks"
)
def test_an_eager_task_makes_a_step_while_it_is_made(one: funcgraph.Instance) -> None:
    async def outer() -> None:
        await asyncio.create_task(worker(0), name="quick")
        await asyncio.create_task(worker(1), name="slow")

    loop = asyncio.new_event_loop()
    loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined, unused-ignore]
    with on(one, "asyncio/task_switch", "asyncio/task_create", "asyncio/task_done"):
        loop.run_until_complete(asyncio.Task(outer(), loop=loop, name="main"))
    loop.close()
    assert len(hits(one, "task_create")) == 3
    assert [field(text, "coro") for text in hits(one, "task_done")] == [
        "worker",
        "worker",
        outer.__qualname__,
    ]
    coroutines = [field(text, "next_coro") for text in hits(one, "task_switch")]
    main = outer.__qualname__
    assert coroutines == [main, "worker", main, "worker", main, "worker", main]


@HOOKED
def test_switching_events_off_and_on_inside_a_task(one: funcgraph.Instance) -> None:
    async def main() -> None:
        for _ in range(3):
            with on(one, "asyncio/task_switch", "asyncio/task_done"):
                await asyncio.create_task(worker(1))

    asyncio.run(main())
    assert [field(text, "next_coro") for text in hits(one, "task_switch")].count("worker") == 6
    assert [field(text, "coro") for text in hits(one, "task_done")] == ["worker"] * 3


@HOOKED
def test_asyncio_is_as_before_afterwards(one: funcgraph.Instance) -> None:
    run = asyncio.events.Handle._run
    with on(one, "asyncio/task_switch"):
        run_in_loop()
    assert asyncio.events.Handle._run is run
    assert pickle.loads(pickle.dumps(run)) is run
    assert type(run).__name__ == "function"
    count = len(hits(one, "task_switch"))
    run_in_loop()
    assert len(hits(one, "task_switch")) == count


@HOOKED
def test_loops_in_several_threads(one: funcgraph.Instance) -> None:
    with on(one, "asyncio/task_switch", "asyncio/task_done"):
        threads = [threading.Thread(target=run_in_loop) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(hits(one, "task_done")) == 15


def stack_of(instance: funcgraph.Instance, name: str) -> list[str]:
    """Return the functions of the stack trace after the first hit of an event."""
    _, _, after = instance.trace().partition(f" {name}: ")
    _, _, stack = after.partition("<stack trace>\n")
    return re.findall(r"^ => (\S+)", stack.partition(": ")[0], re.MULTILINE)


@HOOKED
@pytest.mark.parametrize("name", ["task_switch", "task_create", "task_done"])
def test_the_stack_of_a_tasks_event_has_the_functions_that_run_the_loop(
    one: funcgraph.Instance, name: str
) -> None:
    event = one.events[f"asyncio/{name}"]
    event.trigger = "stacktrace"
    with on(one, f"asyncio/{name}"):
        run_in_loop()
    event.trigger = "!stacktrace"
    stack = stack_of(one, name)
    assert stack[0].startswith("asyncio."), stack
    assert f"{__name__}.run_in_loop" in stack


# ---- ftrace/print


def test_a_text_of_the_program_is_an_event_with_triggers_only(one: funcgraph.Instance) -> None:
    event = one.events["ftrace/print"]
    for change in ("enable", "filter"):
        with pytest.raises(PermissionError):
            setattr(event, change, "0" if change == "filter" else False)
    event.trigger = 'traceoff if buf == "stop"'
    with funcgraph.Instance("two") as two:
        states = []
        for instance, text in ((two, "stop"), (one, "go on"), (one, "stop")):
            instance.trace_marker.write(text)
            states.append((one.tracing_on, two.tracing_on))
    assert states == [(True, True), (True, True), (False, True)]
    assert "stop" in one.trace()


def test_the_folder_of_print_has_the_files_that_the_kernels_has(one: funcgraph.Instance) -> None:
    folder = "events/ftrace/print/"
    assert sorted(name[len(folder) :] for name in one.files if name.startswith(folder)) == [
        "format",
        "hist",
        "id",
        "trigger",
    ]
    for file in ("enable", "filter"):
        with pytest.raises(FileNotFoundError):
            one.files.read(f"{folder}{file}")


# ---- dynamic events on them


@HOOKED
def test_fetch_arguments_are_the_values_objects(one: funcgraph.Instance) -> None:
    class CodedError(Exception):
        def __init__(self, text: str, code: int) -> None:
            super().__init__(text)
            self.code = code

    def fail() -> None:
        raise CodedError("broken", 7)

    made = events.define("t:errors/coded raise msg=exc.args[0] code=exc.code:u8 kind=$arg1 $comm $symbol")
    read_back = "t:errors/coded raise msg=exc.args[0] code=exc.code:u8 kind=$arg1 arg4=$comm arg5=$symbol"
    assert made.text == read_back
    one.events["errors/coded"].filter = "code > 5"
    with on(one, "errors/coded"):
        caught(fail)
        caught(raise_one)
    (text,) = hits(one, "coded")
    assert "fail) msg='broken' code=7 kind='CodedError'" in text


def test_a_probe_on_a_static_event_is_defined_and_deleted_as_any_other(one: funcgraph.Instance) -> None:
    events.define("t:e/x py/raise type")
    assert events.read() == "t:e/x py/raise type=type\n"
    with pytest.raises(ProbeError) as refused:
        events.define("t:e/x py/raise type")
    assert refused.value.errno == errno.EINVAL
    with on(one, "e/x"):
        with pytest.raises(ProbeError) as refused:
            events.delete("-:e/x")
        assert refused.value.errno == errno.EBUSY
    events.delete("-:e/x")
    assert "e/x" not in one.events
    for wrong in ("t:e/y raise nothing", "t:e/y raise $arg99", "t:e/y raise $retval", "t:e/y no_such_event"):
        with pytest.raises(ProbeError):
            events.define(wrong)
    assert len(events) == 0


def test_several_probes_on_one_event(one: funcgraph.Instance) -> None:
    events.define("t:e/x raise type")
    events.define("t:e/x gc_start type=generation")
    with on(one, "e/x", "py/raise"):
        caught(raise_one)
        gc.collect()
        events.delete("-:e/x gc_start")
        gc.collect()
    assert hits(one, "x")[0] == f"({__name__}.raise_one) type='ValueError'"
    assert len([text for text in hits(one, "x") if text.endswith("type=2")]) == 1
    assert len([text for text in hits(one, "raise") if field(text, "message") == "one"]) == 1


# ---- filters, triggers, histograms


def test_filter_trigger_and_histogram(one: funcgraph.Instance) -> None:
    event = one.events["py/raise"]
    event.filter = 'type == "KeyError"'
    event.trigger = 'hist:keys=type if message == "one"'
    with on(one, "py/raise"):
        caught(chained)
        caught(chained)
    assert [field(text, "type") for text in hits(one, "raise")] == ["KeyError", "KeyError"]
    caught(chained)  # off, but the trigger still counts
    assert "{ type: ValueError" in event.hist and "Hits: 3\n" in event.hist
    event.trigger = '!hist:keys=type if message == "one"'
    event.trigger = "traceoff:1 if line > 0"
    caught(raise_one)
    assert not one.tracing_on


def test_instances_are_independent(one: funcgraph.Instance) -> None:
    with funcgraph.Instance("two") as two:
        one.events["py/raise"].enable = True
        two.events["py/raise"].enable = True
        caught(raise_one)
        one.events["py/raise"].enable = False
        caught(raise_one)
        assert (len(hits(one, "raise")), len(hits(two, "raise"))) == (1, 2)
    caught(raise_one)
    assert len(hits(one, "raise")) == 1


# ---- the function graph, recordings, children


def test_they_stand_in_the_graph(one: funcgraph.Instance) -> None:
    one.set_ftrace_filter = f"{__name__}.deep"
    one.current_tracer = "function_graph"
    with on(one, "py/raise"):
        caught(deep, 1)
    lines = [line.partition("|  ")[2] for line in one.trace().splitlines()]
    inside = [line for line in lines if "/* raise: " in line]
    assert len(inside) == 1 and inside[0].startswith("    ")


PROGRAM = """
import gc, os, threading
def fail(): raise ValueError("shop")
def work():
    try: fail()
    except ValueError: pass
work()
gc.collect()
thread = threading.Thread(target=work, name="helper"); thread.start(); thread.join()
if (child := os.fork()) == 0:
    work()
    os._exit(0)
os.waitpid(child, 0)
"""


@HOOKED
def test_a_recording(fg: Funcgraph) -> None:
    (fg.folder / "prog.py").write_text(PROGRAM)
    options = ["-e", "py/raise", "-f", 'message == "shop"', "-e", "py:gc_done", "-e", "thread_start"]
    fg.run(
        "record", "-o", "t.fg", *options, "-e", "t:shop/x raise m=exc.args[0]", "-f", 'm == "shop"', "prog.py"
    )
    text = fg.run("report", "t.fg").stdout
    assert text.count(" raise: type=") == 3 and text.count(" x: (") == 3
    assert "gc_done: generation=2" in text
    (start,) = [line for line in text.splitlines() if " thread_start: " in line]
    assert start.split("-")[0].strip() == "helper" and 'name="helper"' in start
    trace = funcgraph.open(fg.folder / "t.fg")
    found = [event.fields for event in trace.events() if event.type and event.type.name == "raise"]
    assert [(each["type"], each["message"]) for each in found] == [("ValueError", "shop")] * 3
    fg.run("convert", "t.fg", "t.dat")


def test_a_recording_refuses_names_of_no_event(fg: Funcgraph) -> None:
    (fg.folder / "prog.py").write_text("")
    refused = fg.run("record", "-e", "py/rise", "prog.py")
    assert refused.returncode != 0 and "no such event" in refused.stderr and "py/raise" in refused.stderr


def test_a_forked_child_goes_on(one: funcgraph.Instance) -> None:
    with on(one, "py/raise", "py/gc_start"):
        if (child := os.fork()) == 0:
            caught(raise_one)
            gc.collect()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        caught(raise_one)
    assert len(hits(one, "raise")) >= 1


_LATE = """
import sys
import funcgraph
instance = funcgraph.Instance("one")
for name in {names!r}:
    instance.events[name].enable = True
    funcgraph.dynamic_events.define(f"t {{name}}")
assert not sys.modules.keys() & {{"asyncio", "_asyncio", "threading"}}, "imported by an event"
def waiting():
    return {{user.name for user in funcgraph.users()}} - {{"one"}}
"""


def _late(names: list[str], program: str) -> str:
    """Run a program that enables events before it imports what they are about; return what it prints."""
    code = _LATE.format(names=names) + program
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@HOOKED
def test_events_of_asyncio_wait_until_the_program_imports_it() -> None:
    program = """
import asyncio
async def work():
    await asyncio.sleep(0)
async def main():
    await asyncio.gather(work(), work())
asyncio.run(main())
print(instance.trace())
print(waiting())
"""
    text = _late(["asyncio/task_create", "asyncio/task_switch", "asyncio/task_done"], program)
    for what in ("task_create", "task_done"):
        assert len(re.findall(rf'\b{what}: .*coro="(?:main|work)"', text)) == 3, text
    assert len(re.findall(r'\btask_switch: .*next_coro="work"', text)) == 4, text
    assert text.splitlines()[-1] == "set()"  # nobody waits any longer


@HOOKED
def test_events_of_threads_wait_until_the_program_imports_it() -> None:
    program = """
import threading
thread = threading.Thread(target=print, name="late")
thread.start()
thread.join()
print(instance.trace())
"""
    text = _late(["py/thread_start", "py/thread_exit"], program)
    assert len(re.findall(r"thread_(start|exit): name=\"late\"", text)) == 2, text


@HOOKED
def test_events_that_wait_for_nothing_leave_no_user_when_they_go() -> None:
    program = """
print(sorted(waiting()))
for name in {"asyncio/task_switch", "py/thread_start"}:
    instance.events[name].enable = False
print(waiting())
"""
    text = _late(["asyncio/task_switch", "py/thread_start"], program)
    assert text == "['asyncio', 'threading']\nset()\n"


@pytest.mark.one_python
def test_a_recorded_program_without_asyncio_stays_without(fg: Funcgraph) -> None:
    code = "import sys; print(sorted(sys.modules.keys() & {'asyncio', '_asyncio'}))"
    done = fg.record("-e", "asyncio/task_switch", "-o", fg.trace, "--", sys.executable, "-c", code)
    assert done.stdout.splitlines()[0] == "[]"


@HOOKED
def test_a_process_ends_with_all_of_them_on() -> None:
    code = f"""
import asyncio, threading, funcgraph, sys
i = funcgraph.Instance("one")
for name in {NAMES[:-1]!r}:
    if name != "py/reraise" or sys.version_info >= (3, 12):
        i.events[name].enable = True
threading.Thread(target=lambda: None).start()
asyncio.run(asyncio.sleep(0))
class Cycle:
    def __del__(self):
        try: raise ValueError
        except ValueError: pass
cycle = Cycle(); cycle.self = cycle
sys.exit(3)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "")


@HOOKED
def test_subinterpreters_do_not_crash() -> None:
    code = """
import funcgraph, sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
i = funcgraph.Instance("one")
for name in i.events:
    if name != "ftrace/print" and (name != "py/reraise" or sys.version_info >= (3, 12)):
        i.events[name].enable = True
there = interpreters.create()
run = getattr(interpreters, "exec", None) or interpreters.run_string
run(there, '''
import colorsys, gc  # asyncio in a second interpreter makes 3.12.1 abort at its end
gc.collect()
try: 1 / 0
except ZeroDivisionError: pass
''')
interpreters.destroy(there)
try: 1 / 0
except ZeroDivisionError: pass
text = i.trace()
assert text.count('raise: type="ZeroDivisionError"') == 1, text
i.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@HOOKED
@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 loads no module of ours in a second interpreter")
def test_an_interpreter_that_ends_gives_them_back() -> None:
    code = """
import funcgraph, gc
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
there = interpreters.create()
run = getattr(interpreters, "exec", None) or interpreters.run_string
names = ("py/raise", "py/audit", "py/gc_done", "py/thread_exit")
run(there, f'''
import funcgraph, gc
i = funcgraph.Instance("two")
for name in {names}:
    i.events[name].enable = True
gc.collect()
''')
one = funcgraph.Instance("one")
try:
    one.events["py/gc_done"].enable = True
    raise SystemExit("two interpreters have it")
except OSError:
    pass
interpreters.destroy(there)
for name in names:
    one.events[name].enable = True
gc.collect()
assert "gc_done: " in one.trace()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_off_it_costs_no_hook() -> None:
    code = """
import gc, sys, threading
import funcgraph
i = funcgraph.Instance("one")
list(i.events)
assert gc.callbacks == []
if sys.version_info >= (3, 12):
    assert [sys.monitoring.get_tool(n) for n in range(6)] == [None] * 6
assert "asyncio" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
