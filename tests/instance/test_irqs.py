"""funcgraph-irqs: signal handlers that CPython calls are shown between arrows, or left out."""

from __future__ import annotations

import functools
import gc
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
from handlers import (
    Handlers,
    any_arguments,
    any_lambda,
    by_hand,
    handler,
    numbers,
    quiet,
    raising,
    raising_another,
    send,
    with_more,
)
from traced import leaf

import funcgraph

HERE = __name__
Handler = Callable[[int, FrameType | None], Any]
ENTER, LEAVE = "==========>", "<=========="


@pytest.fixture(autouse=True)
def handlers_go() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)}
    yield
    for number, old in before.items():
        signal.signal(number, old)


def graph(name: str = "irqs", **settings: Any) -> funcgraph.Instance:
    traced = ["handlers.*", "traced.leaf", f"{HERE}.test_*<locals>*"]
    settings = {"filter": traced, "options": "nofuncgraph-cpu", **settings}
    return funcgraph.Instance(name, tracer="function_graph", **settings)


def shape(text: str) -> list[str]:
    """Return a trace's lines without header, times and modules: the calls and their depths."""
    names = [re.sub(r"\w+\.(?:\w+\.<locals>\.)?(?=[\w<>.]+\()", "", line) for line in text.splitlines()[4:]]
    return [line.strip(" |") if "==" in line else line.partition("|  ")[2] for line in names]


def between(*inside: str) -> list[str]:
    """Return the lines of send(), with these lines for the signal handler."""
    return ["send() {", ENTER, *(f"  {line}" for line in inside), LEAVE, "  leaf();", "}"]


def sent(how: Handler, **settings: Any) -> list[str]:
    signal.signal(signal.SIGUSR1, how)
    with graph(**settings) as i:
        send()
        return shape(i.trace())


# ---- on


def test_the_columns_are_the_kernels() -> None:
    signal.signal(signal.SIGUSR1, quiet)
    with (
        graph() as i,
        graph("other", options="nofuncgraph-cpu nofuncgraph-duration funcgraph-abstime") as other,
    ):
        send()
        lines, others = i.trace().splitlines(), other.trace().splitlines()
    assert lines[5:8:2] == ["  ==========> |", "  <========== |"]
    assert re.fullmatch(r"..\d+\.\d+ us +\|    handlers\.quiet\(\);", lines[6])
    behind_times = [re.fullmatch(r" *\d+\.\d{6} \|  (.*)", line) for line in others[5:8]]
    assert [found and found[1] for found in behind_times] == [ENTER, "  handlers.quiet();", LEAVE]


@pytest.mark.parametrize(
    ("how", "name"),
    [
        (handler, "handler"),
        (Handlers().method, "method"),
        (Handlers.of_class, "of_class"),
        (Handlers(), "__call__"),
        (functools.partial(with_more, "more", named=3), "with_more"),
        (functools.partial(functools.partial(Handlers().method)), "method"),
        (any_arguments, "any_arguments"),
        (functools.partial(any_arguments, 1, named=2), "any_arguments"),
        (any_lambda, "<lambda>"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_handler_can_be(how: Handler, name: str) -> None:
    """Fails if methods, partials or __call__ are not followed, or if the first two arguments are compared."""
    assert [line.replace("Handlers.", "") for line in sent(how)] == between(f"{name}() {{", "  leaf();", "}")


def test_a_signal_in_a_loop() -> None:
    came: list[int] = []

    def in_loop(signum: int, frame: FrameType | None) -> None:
        came.append(signum)

    def loop() -> None:
        end = time.monotonic() + 30
        while len(came) < 3 and time.monotonic() < end:
            pass

    signal.signal(signal.SIGALRM, in_loop)
    with graph() as i:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        loop()
        signal.setitimer(signal.ITIMER_REAL, 0)
        lines = shape(i.trace())
    assert came[:3] == [signal.SIGALRM] * 3
    assert lines[:10] == ["loop() {", *[ENTER, "  in_loop();", LEAVE] * 3][:10]


def test_a_signal_within_a_handler() -> None:
    signal.signal(signal.SIGUSR2, handler)
    assert sent(raising_another) == [
        "send() {", ENTER, "  raising_another() {", ENTER, "    handler() {", "      leaf();", "    }", LEAVE,
        "    leaf();", "  }", LEAVE, "  leaf();", "}",
    ]  # fmt: skip


def test_a_handler_that_raises() -> None:
    signal.signal(signal.SIGUSR1, raising)
    with graph() as i:
        with pytest.raises(LookupError):
            send()
        assert shape(i.trace()) == [
            "send() {", ENTER, "  raising(); /* raised LookupError */", LEAVE, "} /* raised LookupError */",
        ]  # fmt: skip


def test_in_the_middle_of_a_generator() -> None:
    signal.signal(signal.SIGUSR1, quiet)
    with graph() as i:
        assert list(numbers()) == [1, 2]
        assert shape(i.trace()) == [
            "numbers(); /* suspended */",
            "numbers() { /* resumed */", ENTER, "  quiet();", LEAVE, "  leaf();", "} /* suspended */",
            "numbers(); /* resumed */",
        ]  # fmt: skip


def test_in_the_middle_of_a_c_function() -> None:
    signal.signal(signal.SIGALRM, quiet)
    with graph() as i:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        time.sleep(0.1)
        assert shape(i.trace()) == [ENTER, "quiet();", LEAVE]


def test_with_arguments_results_and_callers() -> None:
    options = "nofuncgraph-cpu funcgraph-args funcgraph-retaddr funcgraph-retval"
    signal.signal(signal.SIGUSR1, quiet)
    with graph(options=options) as i:
        send()
        before, call, after = i.trace().splitlines()[5:8]
    assert (before, after) == ("  ==========> |", "  <========== |")
    number = signal.SIGUSR1.value
    assert re.search(
        rf"quiet\(signum={number}, frame=<frame .*\); /\* <-handlers.send:\d+ ret=None \*/", call
    )


def test_a_threshold_leaves_the_arrow_behind() -> None:
    """As in the kernel, whose trace has only ends then."""

    def slow(signum: int, frame: FrameType | None) -> None:
        time.sleep(0.02)

    signal.signal(signal.SIGUSR1, slow)
    with graph(tracing_thresh=10_000) as i:
        send()
        assert [line.split(" /*")[0] for line in shape(i.trace())] == ["  }", LEAVE, "}"]


# ---- handlers called by the program


@pytest.mark.parametrize("by_c", [False, True])
def test_called_by_hand_it_is_a_call_as_any_other(by_c: bool) -> None:
    """Fails if every call of a handler's function, or every call from C, counts as a signal's."""
    signal.signal(signal.SIGUSR1, quiet)
    with graph() as i:
        if by_c:
            list(map(quiet, [signal.SIGUSR1, 10], [None, None]))
            list(map(quiet, [0], [sys._getframe()]))  # 0 is not a signal
        else:
            by_hand(signal.SIGUSR1.value, None)
            by_hand(signal.SIGUSR1.value, sys._getframe())
        assert ENTER not in i.trace()
        assert i.trace().count("handlers.quiet();") == (3 if by_c else 2)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a call from Python is not told from one from C")
def test_called_from_python_with_its_own_frame() -> None:
    signal.signal(signal.SIGUSR1, quiet)
    with graph() as i:
        quiet(signal.SIGUSR1.value, sys._getframe())
        assert shape(i.trace()) == ["quiet();"]


def test_a_handler_no_more() -> None:
    """Fails if it is not checked that the function is still the handler of this signal."""
    signal.signal(signal.SIGUSR1, quiet)
    signal.signal(signal.SIGUSR2, quiet)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    with graph() as i:
        list(map(quiet, [signal.SIGUSR1.value], [sys._getframe()]))
        assert shape(i.trace()) == ["quiet();"]


def test_in_another_thread_it_is_a_call() -> None:
    signal.signal(signal.SIGUSR1, quiet)

    def run() -> None:
        list(map(quiet, [int(signal.SIGUSR1)], [sys._getframe()]))

    with graph() as i:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert ENTER not in i.trace()
        assert "handlers.quiet();" in i.trace()


# ---- functions that become handlers


def test_it_becomes_a_handler_after_calls_while_traced() -> None:
    """Fails if handlers are looked up only at the start, or only when their functions get a record."""

    def late(signum: int, frame: FrameType | None) -> None:
        pass

    with graph() as i:
        late(1, None)
        late(2, None)
        signal.signal(signal.SIGUSR1, late)
        send()
        assert shape(i.trace()) == ["late();", "late();", *between("late();")]


def test_one_that_was_before_the_engine() -> None:
    """Also, when tracing ends, signal.signal is CPython's own function again."""
    program = """
        import signal, sys, _signal
        def handler(signum, frame): pass
        handler(0, None)
        signal.signal(signal.SIGUSR1, handler)
        import funcgraph
        for _ in range(2):
            with funcgraph.Instance("x", tracer="function_graph", filter=["__main__.*"]) as i:
                signal.raise_signal(signal.SIGUSR1)
                assert i.trace().count("==========>") == 1, i.trace()
            signal.signal(signal.SIGUSR1, signal.getsignal(signal.SIGUSR1))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_signals_errors_are_its_own() -> None:
    with graph():
        with pytest.raises(TypeError, match="handler must be"):
            signal.signal(signal.SIGUSR1, "no handler")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="signal number out of range"):
            signal.signal(1000, quiet)
        with pytest.raises(TypeError):
            signal.signal(signal.SIGUSR1)  # type: ignore[call-arg]


def test_nothing_is_kept() -> None:
    class Object:
        def __call__(self, signum: int, frame: FrameType | None) -> None:
            pass

    with graph():
        made = Object()
        before = sys.getrefcount(made)
        signal.signal(signal.SIGUSR1, made)
        send()
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        gc.collect()
        assert sys.getrefcount(made) == before


# ---- off


def test_off_hides_the_handler_and_what_it_calls() -> None:
    """Fails if only the handler itself is hidden, or if calls after it are hidden too."""
    assert sent(handler, options="nofuncgraph-cpu nofuncgraph-irqs") == ["send() {", "  leaf();", "}"]


def test_off_hides_what_a_handler_outside_of_the_filter_calls() -> None:
    options = "nofuncgraph-cpu nofuncgraph-irqs"
    assert sent(handler, options=options, filter=["traced.leaf"]) == ["leaf();"]
    assert sent(handler, filter=["traced.leaf"]) == ["leaf();", "leaf();"]


def test_off_shows_what_is_called_by_hand() -> None:
    signal.signal(signal.SIGUSR1, handler)
    with graph(options="nofuncgraph-cpu nofuncgraph-irqs") as i:
        handler(1, None)
        assert shape(i.trace()) == ["handler() {", "  leaf();", "}"]


def test_off_hides_one_that_raises_and_signals_within_it() -> None:
    signal.signal(signal.SIGUSR1, raising_another)
    signal.signal(signal.SIGUSR2, raising)
    with graph(options="nofuncgraph-cpu nofuncgraph-irqs") as i:
        with pytest.raises(LookupError):
            send()
        leaf(1)
        assert shape(i.trace()) == ["send(); /* raised LookupError */", "leaf();"]


def test_two_instances_have_it_each_their_own_way() -> None:
    signal.signal(signal.SIGUSR1, handler)
    with (
        graph("with") as shown,
        graph("without", options="nofuncgraph-cpu nofuncgraph-irqs") as hidden,
        funcgraph.Instance("function", tracer="function", filter=["handlers.*"]) as function,
    ):
        send()
        assert shape(shown.trace()) == between("handler() {", "  leaf();", "}")
        assert shape(hidden.trace()) == ["send() {", "  leaf();", "}"]
        assert function.trace().count("handlers.handler") == 1
        assert ENTER not in function.trace()


def test_it_changes_while_an_instance_runs() -> None:
    signal.signal(signal.SIGUSR1, handler)
    with graph() as i:
        assert i.options["funcgraph-irqs"] is True
        assert "funcgraph-irqs" in i.trace_options
        send()
        i.options["funcgraph-irqs"] = False
        send()
        assert shape(i.trace()) == ["send() {", "  leaf();", "}"] * 2
        i.trace_options = "funcgraph-irqs"
        once = between("handler() {", "  leaf();", "}")
        assert shape(i.trace()) == [*once, "send() {", "  leaf();", "}"]
        send()
        assert shape(i.trace())[-len(once) :] == once


def test_off_only_where_it_is_shown() -> None:
    """Turned off after recording, the text leaves handlers out, as the kernel's. An old snapshot has them."""
    signal.signal(signal.SIGUSR1, raising_another)
    signal.signal(signal.SIGUSR2, handler)
    with graph() as i:
        send()
        snapshot = i.snapshot()
        i.options["funcgraph-irqs"] = False
        assert shape(i.trace()) == ["send() {", "  leaf();", "}"]
        assert snapshot.trace().count(ENTER) == snapshot.trace().count(LEAVE) == 2


def test_other_users_see_it_as_before() -> None:
    seen: list[str] = []
    signal.signal(signal.SIGUSR1, handler)
    ops = funcgraph.FgraphOps(lambda call, *rest: seen.append(call.func.name), filter=["handlers.*"])
    with graph(options="nofuncgraph-irqs"), funcgraph.registered(ops):
        send()
    assert seen == ["handlers.send", "handlers.handler"]
