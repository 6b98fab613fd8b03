"""The records that an instance's options add, in a running program."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ringfile import add_ring

from funcgraph import _engine
from funcgraph._tracedata import Recorder
from funcgraph.tracedata import TraceFile, parse_options

HERE = __name__
SLEEP_NS = WORK_NS = 30_000_000


def leaf(x: int) -> int:
    return x + 1


def caller() -> None:
    leaf(1)
    leaf(2)


def sort_by_leaf() -> None:
    sorted([3, 4], key=leaf)


def sleep() -> None:
    time.sleep(SLEEP_NS / 1e9)


def work() -> None:
    end_ns = time.thread_time_ns() + WORK_NS
    while time.thread_time_ns() < end_ns:
        pass


def sleeping_generator() -> Iterator[int]:
    time.sleep(SLEEP_NS / 1e9)
    yield 1
    work()


def repeat() -> None:
    for _ in range(5):
        leaf(1)
    work()
    leaf(1)
    for _ in range(3):
        leaf(1)


def line_of(function: Callable[..., object], offset: int) -> int:
    return function.__code__.co_firstlineno + offset


@pytest.fixture
def traced(tmp_path: Path) -> Callable[..., str]:
    """Call a function while an instance traces; return the report's lines after the header."""
    folders = (tmp_path / str(n) for n in itertools.count())

    def run(function: Callable[[], object], options: str = "", **settings: object) -> str:
        folder = next(folders)
        folder.mkdir()
        handle = _engine.start(str(folder), mode="drop", **settings)  # type: ignore[arg-type]
        try:
            function()
        finally:
            _engine.stop(handle)
        recorder = Recorder(str(folder / "trace.part"))
        recorder.finish(add_ring(recorder, str(next(folder.glob("*.ring")))))
        tracer = settings.get("tracer", "function_graph")
        recorder.assemble(str(folder / "trace.dat"), f'{{"tracer": "{tracer}"}}')
        trace = TraceFile(folder / "trace.dat")
        shown = [task for task in trace.tasks if task.tid == threading.get_native_id()]
        text = b"".join(trace.report(parse_options(options.split()), tasks=shown)).decode()
        return re.sub(r"\A(#(?! \d+\.).*\n)+", "", text)

    return run


def names(*functions: Callable[..., object]) -> list[str]:
    return [f"{HERE}.{function.__name__}" for function in functions]


# ---- function_graph: where a call is made


def test_retaddr_says_function_and_line_of_the_caller(traced: Callable[..., str]) -> None:
    text = traced(caller, "nofuncgraph-duration", retaddr=True, filter=names(caller, leaf))
    at_run = re.search(r"<-(\S+run):(\d+) ", text)
    assert at_run, text  # the caller was already running when tracing began
    assert text.splitlines()[1:3] == [
        f"  {HERE}.leaf(); /* <-{HERE}.caller:{line_of(caller, 1)} */",
        f"  {HERE}.leaf(); /* <-{HERE}.caller:{line_of(caller, 2)} */",
    ]


def test_retaddr_names_callers_that_are_not_traced(traced: Callable[..., str]) -> None:
    text = traced(caller, "nofuncgraph-duration", retaddr=True, filter=names(leaf))
    assert text.splitlines()[0] == f"{HERE}.leaf(); /* <-{HERE}.caller:{line_of(caller, 1)} */"


def test_through_a_c_function_the_python_function_is_the_caller(traced: Callable[..., str]) -> None:
    text = traced(sort_by_leaf, "nofuncgraph-duration", retaddr=True, filter=names(leaf))
    assert text.splitlines() == [f"{HERE}.leaf(); /* <-{HERE}.sort_by_leaf:{line_of(sort_by_leaf, 1)} */"] * 2


def test_retaddr_goes_with_arguments_and_results(traced: Callable[..., str]) -> None:
    text = traced(caller, "nofuncgraph-duration", retaddr=True, args=True, retval=True, filter=names(leaf))
    where = f"<-{HERE}.caller:{line_of(caller, 1)}"
    assert text.splitlines()[0] == f"{HERE}.leaf(x=1); /* {where} ret=2 */"


# ---- function_graph: durations without sleep


def durations(text: str) -> list[float]:
    """In nanoseconds."""
    return [float(number) * 1000 for number in re.findall(r"([\d.]+) us", text)]


class Measured:
    """What a block took, by the clocks outside of it: no call inside can have taken more."""

    def __enter__(self) -> Measured:
        self._begin_ns, self._begin_work_ns = time.monotonic_ns(), time.thread_time_ns()
        return self

    def __exit__(self, *_: object) -> None:
        # A short recording knows the length of a tick to some 1%.
        self.work_ns = 1.02 * (time.thread_time_ns() - self._begin_work_ns)
        self.wall_ns = 1.02 * (time.monotonic_ns() - self._begin_ns)


def measured(measures: list[Measured], function: Callable[[], object]) -> None:
    with Measured() as taken:
        function()
    measures.append(taken)


def test_without_sleep_time_a_duration_is_the_threads_running_time(traced: Callable[..., str]) -> None:
    taken: list[Measured] = []
    (slept,) = durations(traced(lambda: measured(taken, sleep), no_sleep_time=True, filter=names(sleep)))
    (worked,) = durations(traced(lambda: measured(taken, work), no_sleep_time=True, filter=names(work)))
    assert 0 < slept <= taken[0].work_ns < taken[0].wall_ns - 0.98 * SLEEP_NS
    assert 0.98 * WORK_NS <= worked <= taken[1].work_ns


def test_with_sleep_time_it_is_the_time_that_passed(traced: Callable[..., str]) -> None:
    taken: list[Measured] = []
    (slept,) = durations(traced(lambda: measured(taken, sleep), filter=names(sleep)))
    assert 0.98 * SLEEP_NS <= slept <= taken[0].wall_ns


def test_each_stretch_of_a_generator_has_its_own_work(traced: Callable[..., str]) -> None:
    taken: list[Measured] = []

    def both() -> None:
        generator = sleeping_generator()
        measured(taken, lambda: next(generator))
        measured(taken, lambda: next(generator, None))

    text = traced(both, no_sleep_time=True, filter=names(sleeping_generator))
    first, second = text.splitlines()
    assert first.endswith("/* suspended */")
    assert second.endswith("/* resumed */")
    assert 0 < durations(first)[0] <= taken[0].work_ns
    assert 0.98 * WORK_NS <= durations(second)[0] <= taken[1].work_ns


def test_a_threshold_is_for_the_time_without_sleep(traced: Callable[..., str]) -> None:
    """The work of a thread that sleeps is far under the threshold, however busy the machine is."""

    def both() -> None:
        sleep()
        work()

    text = traced(
        both, "nofuncgraph-duration", no_sleep_time=True, thresh_us=20_000, filter=names(sleep, work)
    )
    assert text == f"}} /* {HERE}.work */\n"


# ---- function: callers, stacks and repeats


def calls(text: str) -> list[str]:
    """Return the lines without task and time."""
    return [re.sub(r"^.*\[\d+\] +[\d.]+: ", "", line) for line in text.splitlines()]


def two_leaves() -> Iterator[int]:
    leaf(1)
    yield 1
    leaf(2)


class Meeting:
    def __enter__(self) -> None:
        leaf(1)

    def __exit__(self, *_: object) -> None:
        leaf(2)


def sort_and_meet() -> None:
    sorted([3], key=leaf)
    with Meeting():
        pass


def test_the_caller_is_who_called_traced_or_not(traced: Callable[..., str]) -> None:
    """Fails if the nearest traced function is reported instead: leaf has none."""
    assert calls(traced(sort_and_meet, tracer="function", filter=names(leaf))) == [
        f"{HERE}.leaf <-{HERE}.sort_and_meet",
        f"{HERE}.leaf <-{HERE}.Meeting.__enter__",
        f"{HERE}.leaf <-{HERE}.Meeting.__exit__",
    ]


def test_a_generator_is_the_caller_in_each_stretch(traced: Callable[..., str]) -> None:
    text = traced(lambda: list(two_leaves()), tracer="function", filter=names(leaf, two_leaves))
    assert calls(text) == [
        f"{HERE}.two_leaves <-{HERE}.test_a_generator_is_the_caller_in_each_stretch.<locals>.<lambda>",
        f"{HERE}.leaf <-{HERE}.two_leaves",
        f"{HERE}.leaf <-{HERE}.two_leaves",
    ]


def test_func_stack_trace_has_the_callers_that_are_not_traced_too(traced: Callable[..., str]) -> None:
    lines = calls(traced(caller, tracer="function", stack_trace=True, filter=names(leaf)))
    stack = lines.index("<stack trace>")
    assert lines[:stack] == [f"{HERE}.leaf <-{HERE}.caller"]
    assert lines[stack + 1 : stack + 4] == [
        f" => {HERE}.leaf",
        f" => {HERE}.caller",
        f" => {HERE}.traced.<locals>.run",
    ]
    assert lines.count("<stack trace>") == 2


def test_func_no_repeats_counts_repeated_calls(traced: Callable[..., str]) -> None:
    lines = calls(traced(repeat, tracer="function", no_repeats=True, filter=names(repeat, leaf, work)))
    assert [re.sub(r"last_ts: +[\d.]+", "last_ts", line) for line in lines] == [
        f"{HERE}.repeat <-{HERE}.traced.<locals>.run",
        f"{HERE}.leaf <-{HERE}.repeat",
        f"{HERE}.leaf <-{HERE}.repeat (repeats: 4, last_ts)",
        f"{HERE}.work <-{HERE}.repeat",
        f"{HERE}.leaf <-{HERE}.repeat",
        f"{HERE}.leaf <-{HERE}.repeat (repeats: 3, last_ts)",
    ]


def _lines(text: str) -> list[int]:
    """Return the lines of callers in a trace of the function tracer."""
    return [int(line) for line in re.findall(r" <-[^ :]*:(\d+)", text)]


def repeat_on_two_lines() -> None:
    for _ in range(3):
        leaf(1)
    leaf(1)


def test_sym_offset_has_the_line_of_the_caller(traced: Callable[..., str]) -> None:
    first = repeat_on_two_lines.__code__.co_firstlineno
    text = traced(repeat_on_two_lines, tracer="function", places=True, args=True, filter=names(leaf))
    assert calls(text) == [
        *[f"{HERE}.leaf(x=1) <-{HERE}.repeat_on_two_lines:{first + 2}"] * 3,
        f"{HERE}.leaf(x=1) <-{HERE}.repeat_on_two_lines:{first + 3}",
    ]


def test_calls_of_two_lines_are_no_repeats_of_each_other_with_sym_offset(traced: Callable[..., str]) -> None:
    first = repeat_on_two_lines.__code__.co_firstlineno
    text = traced(repeat_on_two_lines, tracer="function", places=True, no_repeats=True, filter=names(leaf))
    assert _lines(text) == [first + 2, first + 2, first + 3]
    assert "repeats: 2," in text
    text = traced(repeat_on_two_lines, tracer="function", no_repeats=True, filter=names(leaf))
    assert _lines(text) == [] and "repeats: 3," in text


def test_a_folded_call_has_one_stack(traced: Callable[..., str]) -> None:
    lines = calls(traced(repeat, tracer="function", no_repeats=True, stack_trace=True, filter=names(leaf)))
    assert lines.count("<stack trace>") == 1  # work() is not traced: all eight stacks are the same
    here = re.escape(HERE)
    assert re.fullmatch(rf"{here}\.leaf <-{here}\.repeat \(repeats: 8, last_ts: +[\d.]+\)", lines[-1])


def test_repeats_are_right_over_many_sub_buffers_and_threads(traced: Callable[..., str]) -> None:
    def other() -> None:
        for i in range(20_000):
            leaf(i)
            if i % 7 == 0:
                caller()

    def both() -> None:
        thread = threading.Thread(target=other)
        thread.start()
        other()
        thread.join()

    lines = calls(
        traced(both, tracer="function", no_repeats=True, filter=names(leaf, caller), buffer_kb=16_384)
    )
    found = [re.search(r"repeats: (\d+)", line) for line in lines]
    reported = sum(int(one[1]) if one else 1 for one in found)
    assert reported == 20_000 + 3 * 2858


def test_no_repeats_and_args_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no_repeats and args"):
        _engine.start(str(tmp_path), tracer="function", no_repeats=True, args=True)
    assert not list(tmp_path.iterdir())
