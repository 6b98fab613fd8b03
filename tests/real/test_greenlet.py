"""Calls follow their greenlet: each has one entry and one end, below the call that made it.

The programs count their own calls and note the callers: the trace must match. Each of these edits makes a
test here fail: fg_greenlet_changed returns at once (calls of a greenlet that switched away end as closed);
resume_calls resumes the newest call first; change() never takes the base for the main greenlet (its calls are
suspended with the others'), or does not change task->floor; is_in_progress always returns true, or false, or
forgets the call that has just ended (3.11); find_main finds nothing; begin() takes all calls for the running
greenlet's (3.11); has_grown returns false (3.11); fg_greenlet_task_exit does not end the calls.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import textwrap
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from pathlib import Path

import pytest
from conftest import Funcgraph
from planned import needs_plans
from sizes import share
from test_trace_cmd import nested
from tracereader import FUNC_BASE, FUNC_STEP, Event, Trace, read_trace

pytest.importorskip("greenlet")

OPTIONS: list[list[str]] = [[], ["--args", "--retval"], ["--c-calls"]]
#: What of a program that uses gevent is traced. It is not there on 3.15, so shares are of four.
FILTERS = [["__main__.*"], ["__main__.*", "gevent.*", "threading.*"]]

RETURN, RAISE, SUSPEND, CLOSE = range(4)


@pytest.fixture(autouse=True)
def gil(fg: Funcgraph) -> None:
    """Enable the GIL at once: else greenlet may enable it, and CPython reports that on standard error."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        fg.env["PYTHON_GIL"] = "1"


# The beginning of every program. Each function of the programs calls note() first.
NOTES = """
import collections, gc, json, os, sys, threading, warnings
import greenlet

warnings.simplefilter("ignore")  # fork with threads

calls = collections.defaultdict(int)  # its __missing__ is C: nothing more is called
callers = collections.defaultdict(int)

def note():
    frame = sys._getframe(1)
    caller = frame.f_back
    calls[frame.f_code.co_name] += 1
    own = caller and caller.f_globals is globals()
    callers[caller.f_code.co_name if own else "", frame.f_code.co_name] += 1

def tell():
    print(json.dumps([dict(calls), [[*key, n] for key, n in callers.items()]]))

def away(value=None):
    note()
    return greenlet.getcurrent().parent.switch(value)

def fib(n, at=-1):
    note()
    if n == at:
        away(n)
    return n if n < 2 else fib(n - 1, at) + fib(n - 2, at)

def down(n, then):
    note()
    return then(n) if n == 0 else down(n - 1, then)

def finish(lets):
    note()
    results = []
    while lets:
        for let in lets:
            results.append(let.switch())
        lets = [let for let in lets if not let.dead]
    return results
"""

PROGRAMS = {
    "recursion": """
        def run(n):
            note()
            return fib(6, n)

        lets = [greenlet.greenlet(run) for _ in range(20)]
        for i, let in enumerate(lets):
            let.switch(i % 5)
        finish([let for let in lets if not let.dead])
    """,
    # Each greenlet recurses deeper than one chunk of Python's stack (about 150 calls), and returns.
    "deep": """
        def run(n):
            note()
            for _ in range(3):
                down(n, away)
                away()

        lets = [greenlet.greenlet(run) for _ in range(8)]
        for i, let in enumerate(lets):
            let.switch(100 * i)
        finish(lets)
        for _ in range(50):  # chunks are used again
            let = greenlet.greenlet(run)
            let.switch(170)
            finish([let])
    """,
    "generators": """
        def gen(n):
            note()
            for i in range(n):
                away(i)
                yield i

        def run(n):
            note()
            return sum(gen(n))

        def shared():
            note()
            yield away()
            yield 2

        def use(iterator):
            note()
            next(iterator)
            away()

        lets = [greenlet.greenlet(run) for _ in range(5)]
        for i, let in enumerate(lets):
            let.switch(i + 1)
        finish(lets)
        # Begun in one greenlet, goes on in another.
        one, other, iterator = greenlet.greenlet(use), greenlet.greenlet(use), shared()
        one.switch(iterator)
        one.switch()
        other.switch(iterator)
        finish([one, other])
        assert list(iterator) == []
        # Greenlets whose first frame is a generator's; it is left suspended.
        lets = [greenlet.greenlet(gen(3).__next__) for _ in range(3)]
        for let in lets: let.switch()
        for let in lets: let.switch()
    """,
    "exceptions": """
        def raises(n):
            note()
            away()
            raise KeyError(n)

        def run(n):
            note()
            try:
                down(n, raises)
            except KeyError:
                away()
            down(n, raises)

        def catches(n):
            note()
            try:
                down(n, away)
            except OSError:
                away()

        for i in range(10):
            let = greenlet.greenlet(run)
            let.switch(i)
            let.switch()
            let.switch()
            try:
                let.switch()
            except KeyError as error:
                assert error.args == (0,) and let.dead
            let = greenlet.greenlet(catches)
            let.switch(i)
            let.throw(OSError)
            finish([let])
            let = greenlet.greenlet(catches)
            let.switch(i)
            let.throw()  # GreenletExit
            assert let.dead
            let = greenlet.greenlet(catches)
            let.switch(i)
            del let  # the same
            let = greenlet.greenlet(catches)
            try:
                let.throw(ValueError)  # before it ever ran
            except ValueError:
                pass
    """,
    # Greenlets start other greenlets, and switch to each other without the main greenlet.
    "family": """
        def child(n):
            note()
            ring[(n + 1) % len(ring)].switch(n)
            away()

        def parent(n):
            note()
            lets = [greenlet.greenlet(child) for _ in range(3)]
            for let in lets: let.switch(n)
            finish(lets)
            return fib(n)

        def hop(n):
            note()
            for _ in range(4):
                fib(3)
                ring[(n + 1) % len(ring)].switch(n + 1)

        ring = [greenlet.greenlet(hop) for _ in range(5)]
        main = greenlet.getcurrent()
        ring[0].switch(0)
        ring.clear()
        ring.append(main)
        lets = [greenlet.greenlet(parent) for _ in range(3)]
        for let in lets: let.switch(3)
        finish([let for let in lets if not let.dead])
    """,
    "threads": """
        def run(n):
            note()
            return fib(5, n)

        def work(n):
            note()
            lets = [greenlet.greenlet(run) for _ in range(5)]
            for let in lets: let.switch(n)
            finish(lets)

        all = [threading.Thread(target=work, args=(1 + i % 3,)) for i in range(8)]
        for thread in all: thread.start()
        for thread in all: thread.join()
    """,
    # A thread kills a greenlet of another thread: greenlet raises GreenletExit at that thread's next switch.
    "killed by another thread": """
        def run(n):
            note()
            down(n, away)

        def work(lets):
            note()
            for i in range(3):
                lets.append(greenlet.greenlet(run))
                lets[-1].switch(i)
            ready.set()
            go.wait()
            other = greenlet.greenlet(run)
            other.switch(2)
            finish([other])

        ready, go, lets = threading.Event(), threading.Event(), []
        thread = threading.Thread(target=work, args=(lets,))
        thread.start()
        ready.wait()
        lets.clear()
        go.set()
        thread.join()
    """,
}

CLOSED = {"generators": {"gen": 3}}


def story(trace: Trace) -> tuple[Counter[str], Counter[tuple[str, str]], Counter[tuple[str, int]]]:
    """Return calls, calls by (Python) caller, and ends by kind."""
    calls: Counter[str] = Counter()
    callers: Counter[tuple[str, str]] = Counter()
    ends: Counter[tuple[str, int]] = Counter()
    stacks: dict[int, list[str]] = defaultdict(list)
    for event in trace.events:
        if event.type not in (10, 11):
            continue
        stack, name, kind = stacks[event.tid], name_of(trace, event), kind_of(event)
        if event.type == 11:
            if kind == 0:
                calls[name] += 1
                callers[next((caller for caller in reversed(stack) if caller[:2] != "C "), ""), name] += 1
            stack.append(name)
        else:
            assert stack.pop() == name
            if kind != SUSPEND:
                ends[name, kind] += 1
    return calls, callers, ends


def name_of(trace: Trace, event: Event) -> str:
    """Return a short name for the program's own functions; others begin with their module, or with C."""
    (func,) = event.fields("I")
    module, qualname, file, *_ = trace.meta["functions"][(func - FUNC_BASE) // FUNC_STEP]
    if module == "__main__":
        return str(qualname).rpartition(".")[2]
    return f"{module if file else 'C ' + module}.{qualname}"


def kind_of(event: Event) -> int:
    *_, kind = event.fields("IIQQHB" if event.type == 10 else "IIB")
    return int(kind) & 0x7F


def check(
    fg: Funcgraph,
    script: Path,
    *options: str,
    filter: Sequence[str] = ("__main__.*",),
    only: Set[str] = frozenset(),
) -> Counter[tuple[str, int]]:
    """Record a program that counts its own calls. The trace must agree, on these functions or on all.

    Returns the ends of its calls.
    """
    plain = fg.plain(sys.executable, script)
    assert plain.returncode == 0, plain.stderr
    result = fg.record("-q", *(word for pattern in filter for word in ("-l", pattern)), *options, script)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == plain.stdout
    trace = read_trace(fg.trace)
    nested(fg.trace)
    calls, callers, ends = story(trace)
    for line in result.stdout.splitlines():
        own_calls, own_callers = json.loads(line)
        own_calls = {name: n for name, n in own_calls.items() if name in (only or own_calls)}
        assert own_calls
        assert {name: calls[name] for name in own_calls} == own_calls
        # The first call of a greenlet has no caller in it: the trace has it below the main greenlet's calls.
        for caller, name, n in own_callers:
            if caller in (only or own_calls) and name in own_calls:
                assert callers[caller, name] == n, (caller, name)
    for name in (name for name in calls if "." not in name):
        n = calls[name]
        assert sum(ends[name, kind] for kind in (RETURN, RAISE, CLOSE)) == n, name
    return ends


@pytest.mark.parametrize(("program", "options"), share(list(PROGRAMS), OPTIONS, of=4))
def test_program(fg: Funcgraph, program: str, options: list[str]) -> None:
    """Only calls that the program itself closes end as closed."""
    ends = check(fg, fg.script(NOTES + textwrap.dedent(PROGRAMS[program]) + "\ntell()\n"), *options)
    closed = {name: n for (name, kind), n in ends.items() if kind == CLOSE}
    assert closed == CLOSED.get(program, {})


@pytest.mark.parametrize("program", ["recursion", "family", "threads"])
def test_only_the_greenlets_are_traced(fg: Funcgraph, program: str) -> None:
    """If the main greenlet is not traced, one greenlet's calls still never appear below another's."""
    script = fg.script(NOTES + textwrap.dedent(PROGRAMS[program]) + "\ntell()\n")
    check(fg, script, filter=["__main__.fib"], only={"fib"})
    depths = {event.fields("II")[1] for event in read_trace(fg.trace).events if event.type == 11}
    assert max(depths) < 6  # fib(6) calls itself five times deep


def test_the_main_greenlets_calls_stay(fg: Funcgraph) -> None:
    """A switch suspends only other greenlets' calls. A greenlet's calls appear below the switch to it."""
    script = fg.script(
        NOTES
        + """
def run(n):
    note()
    fib(n)
    away()
    fib(n)

def main():
    note()
    let = greenlet.greenlet(run)
    let.switch(4)
    let.switch()

main()
tell()
"""
    )
    check(fg, script, "--c-calls")
    report = fg.run("report", "-i", fg.trace).stdout
    lines = [line.partition("|")[2].split(" /*")[0] for line in report.splitlines() if " __main__." in line]
    suspended = [line for line in report.splitlines() if "suspended" in line]
    assert len(suspended) == 3  # switch, away, run
    indents = {line.strip(" (){;"): len(line) - len(line.lstrip()) for line in lines}
    assert indents["__main__.run"] == indents["__main__.main"] + 4  # greenlet.switch is between them


def test_recording_begins_and_ends_within_a_greenlet(fg: Funcgraph) -> None:
    """If recording begins in a non-main greenlet, other greenlets' calls are not below its own."""
    script = fg.script(
        NOTES
        + """
import funcgraph

def work(n):
    note()
    away()
    return fib(n)

def outer():
    with funcgraph.record("block.fg", filter=["__main__.*"]):
        work(3)
        away()
        work(2)
    away()

def other():
    work(4)
    work(1)

one, two = greenlet.greenlet(outer), greenlet.greenlet(other)
calls.clear(), callers.clear()
while not (one.dead and two.dead):
    one.switch()
    two.switch()
"""
    )
    result = fg.plain(sys.executable, script)
    assert (result.returncode, result.stderr) == (0, "")
    trace = read_trace(fg.folder / "block.fg")
    nested(fg.folder / "block.fg")
    calls, callers, ends = story(trace)
    # Five switches: `other` began within the block, so the trace has all its calls until the block ends.
    assert callers["", "work"] + callers["outer", "work"] + callers["other", "work"] == calls["work"] == 4
    assert callers["work", "work"] == 0
    assert callers["other", "work"] == 2
    assert sum(ends["work", kind] for kind in (RETURN, RAISE, CLOSE)) >= 3


def test_thread_ends_with_suspended_greenlets(fg: Funcgraph) -> None:
    """The greenlets never run again: each of their calls ends once, with the thread, as closed."""
    script = fg.script(
        NOTES
        + """
kept = []

def run(n):
    note()
    down(n, away)

def work():
    note()
    for i in range(4):
        kept.append(greenlet.greenlet(run))
        kept[-1].switch(i)

for _ in range(3):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    while os.path.exists(f"/proc/self/task/{thread.native_id}"):
        os.sched_yield()
tell()
"""
    )
    ends = check(fg, script)
    assert ends["run", CLOSE] == ends["away", CLOSE] == 12
    assert ends["down", CLOSE] == 3 * (1 + 2 + 3 + 4)


def test_fork_with_suspended_greenlets(fg: Funcgraph) -> None:
    """The forking thread's greenlets continue in both processes; other threads' are gone in the child."""
    script = fg.script(
        NOTES
        + """
def run(n):
    note()
    return fib(5, n)

def work():
    note()
    lets = [greenlet.greenlet(run) for _ in range(3)]
    for let in lets: let.switch(2)
    ready.set()
    go.wait()
    finish(lets)

ready, go = threading.Event(), threading.Event()
thread = threading.Thread(target=work)
thread.start()
ready.wait()
lets = [greenlet.greenlet(run) for _ in range(3)]
for let in lets: let.switch(3)
fib(1)  # seen in the main greenlet: the others' calls are suspended
calls.clear(), callers.clear()
sys.stdout.flush()
pid = os.fork()
finish(lets)
if pid == 0:
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
go.set()
thread.join()
"""
    )
    result = fg.record("-q", "-l", "__main__.*", script)
    assert (result.returncode, result.stderr) == (0, "")
    trace = read_trace(fg.trace)
    nested(fg.trace)
    _, _, ends = story(trace)
    # Each of the two threads began them before the fork; those of the main thread end in both processes.
    assert ends["run", RETURN] == 3 + 3 + 3
    assert {kind for (_, kind), n in ends.items() if n} == {RETURN}


def run_plain(fg: Funcgraph, program: str) -> None:
    """Run a program that uses funcgraph itself and has its own assertions."""
    result = fg.plain(sys.executable, fg.script(program))
    assert (result.returncode, result.stderr) == (0, "")


def test_data_follows(fg: Funcgraph) -> None:
    """A user finds its data at a call's return, whatever ran meanwhile."""
    run_plain(
        fg,
        """
        import greenlet, funcgraph

        def away(): greenlet.getcurrent().parent.switch()
        def gen(n):
            for i in range(n):
                away()
                yield i
        def down(n): return down(n - 1) if n else sum(gen(3))
        def run(n): down(n); down(n)

        class Call:
            def __init__(self, name):
                self.name, self.ends = name, 0

        def entry(trace, ops, regs):
            number = len(calls)
            calls.append(Call(trace.func.qualname))
            assert ops.reserve_object(calls[-1])
            ops.reserve_data(16)[:] = number.to_bytes(16, "little")
            return True

        def ret(trace, ops, regs):
            call = ops.retrieve_object()
            assert call is calls[int.from_bytes(ops.retrieve_data(), "little")]
            assert call.name == trace.func.qualname and trace.end == "return"
            call.ends += 1

        calls = []
        names = [f"__main__.{name}" for name in ("away", "gen", "down", "run")]
        with funcgraph.registered(funcgraph.FgraphOps(entry, ret, filter=names)) as ops:
            lets = [greenlet.greenlet(run) for _ in range(20)]
            for i, let in enumerate(lets): let.switch(20 * i)
            while lets:
                for let in lets: let.switch()
                lets = [let for let in lets if not let.dead]
        assert ops.errors == 0, ops.last_error
        assert [call.ends for call in calls] == [1] * len(calls)
        assert len(calls) == sum(1 + 2 * (20 * i + 1 + 1 + 3) for i in range(20))
        """,
    )


def test_callback_gives_way(fg: Funcgraph) -> None:
    """While a callback has switched away, calls are not traced.

    Calls that end meanwhile are reported as closed, at the latest when their thread ends. Their frames never
    appear on the stack of another greenlet that reuses their memory.
    """
    run_plain(
        fg,
        """
        import collections, os, threading
        import greenlet, funcgraph

        def away(): greenlet.getcurrent().parent.switch()
        def down(n): return down(n - 1) if n else away()
        def run(n): down(n)
        def probe(): pass

        def entry(trace, ops, regs):
            entered[trace.func.qualname] += 1
            if trace.func.qualname == "run":
                assert trace.depth == 1
            if trace.func.qualname == "probe":
                let = lets.pop()
                let.switch()  # to its end
                assert let.dead
            return True

        def ret(trace, ops, regs):
            ended[trace.func.qualname, trace.end] += 1

        def work():
            for _ in range(20):
                lets.append(greenlet.greenlet(run))
                lets[-1].switch(3)
                probe()
                after = greenlet.greenlet(run)
                after.switch(2)
                after.switch()

        lets, entered, ended = [], collections.Counter(), collections.Counter()
        names = [f"__main__.{name}" for name in ("away", "down", "run", "probe", "work")]
        with funcgraph.registered(funcgraph.FgraphOps(entry, ret, filter=names)) as ops:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            while os.path.exists(f"/proc/self/task/{thread.native_id}"):
                os.sched_yield()
        assert ops.errors == 0, ops.last_error
        assert entered == {"work": 1, "run": 40, "down": 80 + 60, "away": 40, "probe": 20}
        assert ended == {
            ("work", "return"): 1, ("probe", "return"): 20,
            ("run", "return"): 20, ("down", "return"): 60, ("away", "return"): 20,
            ("run", "close"): 20, ("down", "close"): 80, ("away", "close"): 20,
        }
        """,
    )


GEVENT = """
import collections, json, sys
from gevent import monkey; monkey.patch_all()
import gevent, gevent.event, gevent.pool, gevent.queue, gevent.lock
import threading, time

calls = collections.defaultdict(int)
callers = collections.defaultdict(int)

def note():
    frame = sys._getframe(1)
    caller = frame.f_back
    calls[frame.f_code.co_name] += 1
    own = caller and caller.f_globals is globals()
    callers[caller.f_code.co_name if own else "", frame.f_code.co_name] += 1

def fib(n):
    note()
    if n == 3:
        gevent.sleep(0)
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def nap(seconds):
    note()
    gevent.sleep(seconds)

def producer(n):
    note()
    for i in range(n):
        tasks.put(i)
        nap(0.0001)

def consumer():
    note()
    while True:
        item = tasks.get()
        if item is None:
            return
        done.append(handle(item))

def handle(item):
    note()
    with semaphore:
        nap(0.0001)
        return fib(5)

def square(n):
    note()
    nap(0.001 * (n % 3))
    return n * n

def times_out():
    note()
    with gevent.Timeout(0.005, False):
        while True:
            nap(0.05)

def fails():
    note()
    nap(0)
    raise LookupError("in a greenlet")

def thread_work(n):
    note()
    time.sleep(0.001)
    return fib(n)

def main():
    note()
    consumers = [gevent.spawn(consumer) for _ in range(4)]
    producers = [gevent.spawn(producer, 10) for _ in range(3)]
    gevent.joinall(producers)
    for _ in consumers:
        tasks.put(None)
    gevent.joinall(consumers)
    assert done == [5] * 30
    assert gevent.pool.Pool(4).map(square, range(12)) == [n * n for n in range(12)]
    gevent.spawn(times_out).join()
    failed = gevent.spawn(fails)
    failed.join()
    assert isinstance(failed.exception, LookupError)
    threads = [threading.Thread(target=thread_work, args=(5,)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    killed = gevent.spawn(nap, 60)
    gevent.sleep(0)
    killed.kill()
    assert gevent.get_hub().threadpool.apply(fib_in_pool, (4,)) == 3
    gevent.get_hub().threadpool.kill()

def fib_in_pool(n):
    note()
    return n if n < 2 else fib_in_pool(n - 1) + fib_in_pool(n - 2)

tasks, done, semaphore = gevent.queue.Queue(), [], gevent.lock.Semaphore(2)
hub = gevent.get_hub()
hub.print_exception = lambda *args: None
main()
print(json.dumps([dict(calls), [[*key, n] for key, n in callers.items()]]))
"""


@pytest.mark.parametrize(("options", "filter"), share(OPTIONS, FILTERS, of=4))
def test_gevent(fg: Funcgraph, options: list[str], filter: list[str]) -> None:
    """gevent's workers, queues, pool, timeouts, kills, patched threads, thread pool; hub traced or not.

    Not with all functions: nearly all calls would be those of imports.
    """
    pytest.importorskip("gevent")
    ends = check(fg, fg.script(GEVENT), *options, filter=filter)
    own = {
        "fib",
        "nap",
        "producer",
        "consumer",
        "handle",
        "square",
        "times_out",
        "fails",
        "thread_work",
        "main",
    }
    assert {name for (name, kind), n in ends.items() if kind == CLOSE and n} & own == set()
    assert ends["fails", RAISE] == 1
    assert ends["nap", RAISE] == 2  # timed out, killed


@needs_plans
def test_gevent_switches_inside_of_hooked_functions(fg: Funcgraph) -> None:
    """gevent's extensions are on the stack at each switch, all functions of theirs and of libc hooked."""
    pytest.importorskip("gevent")
    script = fg.script(GEVENT)
    native = [word for name in ("_gevent*", "corecext", "libc") for word in ("-l", f"*:mod:{name}")]
    done = fg.record("-q", "-b", "65536", "-l", "__main__.*", *native, sys.executable, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == fg.plain(sys.executable, script).stdout
    summary = fg.summary()
    seen = {function["name"]: function["calls"] for function in summary["functions"]}
    assert not summary["lost"]
    for name, calls in json.loads(done.stdout)[0].items():
        assert seen[f"__main__.{name}"] == calls
    objects = {name.rpartition(" [")[2] for name in seen if name.endswith("]")}
    assert {"corecext]", "libc]", "_gevent_cgreenlet]", "_gevent_cqueue]"} <= objects
