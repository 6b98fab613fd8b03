"""A traced program does, prints and raises the same as untraced, and has the same exit status."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from conftest import Funcgraph
from sizes import NIGHTLY, share

OPTIONS = ([], ["--args", "--retval"], ["--c-calls"])
MODES = pytest.mark.parametrize("options", share(OPTIONS, of=3))


def same(fg: Funcgraph, text: str, *options: str, flags: tuple[str, ...] = (), reported: str = "") -> str:
    """Run a program untraced and recorded; status, output and errors must be equal. Return its output.

    `reported` is a pattern for messages of the recorder itself.
    """
    script = fg.script(text)
    words = [sys.executable, "-X", "faulthandler", *flags, str(script)]
    expected = fg.plain(*words, timeout=120)
    result = fg.record("-q", *options, *words, timeout=180)
    assert result.returncode == expected.returncode, result.stderr
    assert result.stdout == expected.stdout
    assert without_addresses(re.sub(reported, "", result.stderr)) == without_addresses(expected.stderr)
    return result.stdout


def without_addresses(text: str) -> str:
    # faulthandler lists the extension modules of a crashed process, funcgraph's included.
    return re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"\n\nExtension modules: .*", "", text))


TRACEBACKS = """
    import asyncio, contextlib, functools, sys, threading, traceback

    def deep(n, kind):
        if n == 0:
            raise kind("bottom")
        return deep(n - 1, kind)

    def chained():
        try:
            deep(2, KeyError)
        except KeyError as error:
            raise ValueError("chained") from error

    def generator():
        yield from inner()

    def inner():
        try:
            yield 1
        finally:
            deep(1, OSError)

    @contextlib.contextmanager
    def manager():
        try:
            yield
        except LookupError:
            deep(1, TypeError)

    async def coroutine(n):
        if n:
            await coroutine(n - 1)
        await asyncio.sleep(0)
        deep(1, RuntimeError)

    class Bad:
        def __eq__(self, other):
            return deep(1, ArithmeticError)

        @functools.cached_property
        def value(self):
            return deep(1, AttributeError)

    def with_manager():
        with manager():
            deep(1, LookupError)

    def closed():
        g = generator()
        next(g)
        g.close()

    def thrown():
        g = generator()
        next(g)
        g.throw(ZeroDivisionError("thrown"))

    def not_begun():
        generator().throw(ZeroDivisionError("thrown"))

    for case in (
        lambda: deep(3, Exception), chained, with_manager, closed, thrown, not_begun,
        lambda: asyncio.run(coroutine(2)), lambda: [Bad()].index(1), lambda: Bad().value,
        lambda: sorted([2, 1], key=lambda n: deep(n, SystemError)), lambda: int("x"), lambda: deep(),
        lambda: exec("def f():\\n  return deep(1, EOFError)\\nf()", globals()),
    ):
        try:
            case()
        except BaseException as error:
            traceback.print_exc()
            frame, depth = error.__traceback__, 0
            while frame:
                frame, depth = frame.tb_next, depth + 1
            print(type(error), depth, error.__context__)

    threads = [threading.Thread(target=deep, args=(2, IndexError), name=f"thread {n}") for n in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
    sys.exit(deep(4, BufferError))
"""


@MODES
def test_tracebacks(fg: Funcgraph, options: list[str]) -> None:
    same(fg, TRACEBACKS, *options)


@pytest.mark.parametrize("limit", [60, 1000, 5_000])
@pytest.mark.parametrize("shape", ["python", "generator", "through_c", "method", "repr"])
def test_recursion_limit(fg: Funcgraph, shape: str, limit: int) -> None:
    """RecursionError is raised at the same depth, however the program recurses."""
    same(
        fg,
        f"""
        import sys
        from functools import reduce

        deepest = 0

        def python(n):
            global deepest
            deepest = n
            python(n + 1)

        def generator(n):
            global deepest
            deepest = n
            yield from generator(n + 1)

        def through_c(n):
            global deepest
            deepest = n
            list(map(through_c, [n + 1]))

        class C:
            def method(self, n):
                global deepest
                deepest = n
                self.__getattr__(n + 1)

            def __getattr__(self, n):
                return self.method(n)

        class R:
            def __repr__(self):
                global deepest
                deepest += 1
                return repr([self])

        cases = dict(python=lambda: python(0), generator=lambda: list(generator(0)),
                     through_c=lambda: through_c(0), method=lambda: C().method(0), repr=lambda: repr(R()))
        sys.setrecursionlimit({limit})
        for _ in range(3):
            deepest = 0
            try:
                cases["{shape}"]()
            except RecursionError as error:
                print(deepest, error)
        """,
    )


@pytest.mark.parametrize("where", ["main", "thread"])
def test_deep_recursion(fg: Funcgraph, where: str) -> None:
    """60,000 nested Python calls need no C stack in CPython, so a traced program must not need it either."""
    out = same(
        fg,
        f"""
        import sys, threading

        def down(n):
            return 0 if n == 0 else 1 + down(n - 1)

        def run():
            sys.setrecursionlimit(60_100)
            for _ in range(3):
                print(down(60_000))

        if "{where}" == "main":
            run()
        else:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        """,
    )
    assert out == "60000\n" * 3
    summary = fg.summary()
    (down,) = [function for function in summary["functions"] if function["name"] == "__main__.down"]
    assert down["calls"] == 3 * 60_001
    assert summary["lost"] == summary["overrun"] == 0


def test_exception_out_of_deep_recursion(fg: Funcgraph) -> None:
    same(
        fg,
        """
        import sys, traceback

        def down(n):
            if n == 0:
                raise LookupError("at the bottom")
            try:
                down(n - 1)
            finally:
                touched.append(n)

        touched = []
        sys.setrecursionlimit(50_100)
        try:
            down(50_000)
        except LookupError as error:
            print(len(traceback.extract_tb(error.__traceback__)), len(touched))
        """,
    )


def test_exit_in_every_way(fg: Funcgraph) -> None:
    for end in (
        "sys.exit(3)", "sys.exit('message')", "raise SystemExit", "raise KeyError('x')", "os._exit(7)",
        "os.kill(os.getpid(), signal.SIGTERM)", "threading.Thread(target=sys.exit, args=(5,)).start()",
        "os.abort()",
    ):  # fmt: skip
        same(
            fg,
            f"""
            import os, signal, sys, threading, atexit

            def finish(n):
                print("atexit", n, flush=True)

            def f(n):
                if n:
                    return f(n - 1)
                {end}

            atexit.register(finish, 1)
            atexit.register(finish, 2)
            print("begin", flush=True)
            f(4)
            """,
        )


def test_signals_during_traced_code(fg: Funcgraph) -> None:
    out = same(
        fg,
        """
        import _signal, signal

        count = 0

        def handler(number, frame):
            global count
            count += 1
            if count == 50:  # by the C function: before another one is counted
                _signal.signal(_signal.SIGALRM, _signal.SIG_IGN)
            nested(3)
            if count == 50:
                raise TimeoutError("enough")

        def nested(n):
            return n and nested(n - 1)

        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        try:
            while True:
                fib(15)
        except TimeoutError as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(count, error)
        """,
    )
    assert out == "50 enough\n"
    assert fg.calls()["__main__.handler"] == 50
    assert fg.calls()["__main__.nested"] == 200


def test_shutdown_with_threads_that_still_run(fg: Funcgraph) -> None:
    """Daemon threads run traced code while the interpreter is finalised."""
    for _ in range(30 if NIGHTLY else 1):
        same(
            fg,
            """
            import threading, time

            def fib(n):
                return n if n < 2 else fib(n - 1) + fib(n - 2)

            def forever():
                while True:
                    list(gen(3))

            def gen(n):
                for i in range(n):
                    yield fib(i + 5)

            class Late:
                def __del__(self):
                    print("collected", fib(3), flush=True)

            late = Late()
            for _ in range(8):
                threading.Thread(target=forever, daemon=True).start()
            suspended = gen(5)
            next(suspended)
            time.sleep(0.05)
            print("end", flush=True)
            """,
        )


def test_fork_in_threads(fg: Funcgraph) -> None:
    out = same(
        fg,
        """
        import os, sys, threading, warnings
        warnings.simplefilter("ignore")

        def work(n):
            return n and 1 + work(n - 1)

        def fork_one(i):
            for _ in range(5):
                pid = os.fork()
                if pid == 0:
                    os._exit(work(10 + i))
                _, status = os.waitpid(pid, 0)
                statuses.append(os.waitstatus_to_exitcode(status))
                work(20)

        statuses = []
        threads = [threading.Thread(target=fork_one, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(sorted(statuses))
        """,
    )
    assert out == f"{sorted([10, 11, 12, 13] * 5)}\n"
    work = fg.calls()["__main__.work"]
    assert work == 4 * 5 * 21 + 5 * sum(range(11, 15))


def test_functions_made_at_run_time_leave_nothing(fg: Funcgraph) -> None:
    """A code object's record is freed with it: the table does not grow with 20,000 code objects."""
    out = fg.script(
        """
        import funcgraph._engine as engine

        def rss():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4

        def make(i):
            namespace = {}
            exec(compile(f"def f(n): return n + {i}", "<made>", "exec"), namespace)
            assert namespace["f"](1) == i + 1
            assert eval(f"(lambda: {i})()") == i

        for i in range(500):
            make(i)
        functions, memory = engine.status()["functions"], rss()
        for i in range(20_000):
            make(i)
        print(engine.status()["functions"] - functions, rss() - memory)
        """
    )
    result = fg.record("-q", out)
    assert result.returncode == 0, result.stderr
    functions, kib = map(int, result.stdout.split())
    assert functions < 2_000, "records of code that died wait for each other to be given back"
    assert kib < 16 * 1024, "the ring buffer is mapped too, and touched once"
    assert fg.calls()["__main__.make"] == 20_500


def test_short_lived_threads_leave_nothing(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import os, threading, time
        import funcgraph._engine as engine

        def figures():
            with open("/proc/self/statm") as file:
                kib = int(file.read().split()[1]) * 4
            with open("/proc/self/maps") as file:
                return kib, len(file.readlines())

        def threads_of_the_kernel():
            return len(os.listdir("/proc/self/task"))

        def wait_for_threads():
            # Before 3.13 join() returns when the thread's Python code is over, and its thread of the kernel
            # still has its destructors to run: one of them gives back what we have of it.
            end = time.monotonic() + 60
            while threads_of_the_kernel() > others and time.monotonic() < end:
                time.sleep(0.01)

        def work(n):
            return n and work(n - 1)

        def run(count):
            for _ in range(count // 20):
                threads = [threading.Thread(target=work, args=(9,)) for _ in range(20)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

        others = threads_of_the_kernel()
        tasks = engine.status()["tasks"]
        run(200)
        wait_for_threads()
        before = figures()
        run(2_000)
        wait_for_threads()
        after = figures()
        print(after[0] - before[0], after[1] - before[1], engine.status()["tasks"] - tasks)
        """
    )
    result = fg.record("-q", script, timeout=120)
    assert result.returncode == 0, result.stderr
    kib, mappings, tasks = map(int, result.stdout.split())
    assert kib < 9 * 1024, "the ring buffer is mapped too, and touched once"
    assert mappings < 100, (
        "the C library maps an arena or keeps a stack; what a thread leaves would be there 2,000 times"
    )
    assert tasks == 0
    assert fg.calls()["__main__.work"] == 22_000


def test_import_hooks(fg: Funcgraph) -> None:
    out = same(
        fg,
        """
        import importlib.abc, importlib.util, sys

        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, name, path, target=None):
                if name.startswith("made_"):
                    return importlib.util.spec_from_loader(name, self)

            def exec_module(self, module):
                exec("def f(): return __name__", module.__dict__)

        sys.meta_path.insert(0, Finder())
        for i in range(5):
            print(__import__(f"made_{i}").f())
        import this_does_not_exist_at_all
        """,
    )
    assert out.split() == [f"made_{i}" for i in range(5)]
    assert fg.calls()["made_3.f"] == 1


@MODES
def test_generators_of_all_ends(fg: Funcgraph, options: list[str]) -> None:
    same(
        fg,
        """
        import asyncio, gc, sys, weakref

        log = []

        def gen(name):
            try:
                yield 1
                yield 2
            except GeneratorExit:
                log.append((name, "exit"))
                raise
            finally:
                log.append((name, "finally"))

        async def agen(name):
            try:
                yield 1
                await asyncio.sleep(0)
                yield 2
            finally:
                log.append((name, "finally"))
                await asyncio.sleep(0)
                log.append((name, "after"))

        def outer(name):
            yield from gen(name)

        g = outer("collected"); next(g); del g
        g = outer("closed"); next(g); g.close()
        g = outer("thrown"); next(g)
        try:
            g.throw(KeyError)
        except KeyError:
            pass
        cycle = [outer("cycle")]; next(cycle[0]); cycle.append(cycle); del cycle; gc.collect()
        never = outer("never begun"); del never

        async def main():
            async for _ in agen("left"):
                break
            kept = agen("closed by the loop")
            await anext(kept)
            globals()["kept"] = kept
            task = asyncio.create_task(asyncio.sleep(100))
            await asyncio.sleep(0)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                log.append("cancelled")

        asyncio.run(main())

        class Node:
            def __del__(self):
                log.append("node")

        def holder():
            node = Node()
            yield node

        g = holder(); next(g); reference = weakref.ref(g); del g
        assert reference() is None
        for entry in log:
            print(entry)
        last = outer("at shutdown"); next(last)

        async def unawaited(): pass
        unawaited()
        """,
        *options,
    )


@MODES
def test_reference_counts_are_left_alone(fg: Funcgraph, options: list[str]) -> None:
    same(
        fg,
        """
        import gc, sys

        class Thing:
            pass

        def f(thing, *args, **kwargs):
            return sys.getrefcount(thing)

        def g(thing):
            yield sys.getrefcount(thing)
            yield thing
            raise ValueError(thing)

        def h(thing):
            raise ValueError(thing)

        thing = Thing()
        print(sys.getrefcount(thing), f(thing), f(thing, 1, a=2), list(zip(g(thing), "ab"))[0][0])
        for _ in range(100):
            f(thing)
            try:
                h(thing)
            except ValueError:
                pass
            next(g(thing))
            [].append(thing)
        print(sys.getrefcount(thing))
        gc.collect()
        print([type(x) for x in gc.get_referrers(thing)])
        before = len(gc.get_objects())
        for _ in range(1000):
            f(thing)
        print(abs(len(gc.get_objects()) - before) < 50)
        """,
        *options,
    )


def test_values_never_run_the_programs_code(fg: Funcgraph) -> None:
    out = same(
        fg,
        """
        class Trap:
            def __getattribute__(self, name):
                raise SystemExit(f"asked for {name}")

            def __repr__(self):
                raise SystemExit("repr")

            def __len__(self):
                raise SystemExit("len")

            def __bool__(self):
                raise SystemExit("bool")

            __eq__ = __hash__ = __str__ = __iter__ = __int__ = __index__ = __float__ = __repr__

        class TrapMeta(type):
            def __getattribute__(cls, name):
                raise SystemExit(f"asked the class for {name}")

            def __repr__(cls):
                raise SystemExit("repr of the class")

        class TrapInt(int):
            __repr__ = __int__ = __index__ = Trap.__repr__

        class TrapList(list):
            __len__ = __repr__ = Trap.__repr__

        Meta = TrapMeta("Meta", (), {})

        class BadError(Exception):
            __str__ = __repr__ = Trap.__repr__

        def f(a, *args, b=None, **kwargs):
            return a

        def g(x):
            yield x

        def h():
            raise BadError

        traps = Trap(), Meta, TrapInt(5), TrapList([1])
        for value in (*traps, "x" * 100_000, "\\ud800", 10**5000, b"\\0" * 100):
            f(value, value, b=value, c=value)
            for _ in g(value):
                pass
        try:
            h()
        except BadError:
            pass
        print("unharmed")
        """,
        "--args",
        "--retval",
    )
    assert out == "unharmed\n"


@MODES
def test_settrace_and_setprofile_in_the_middle(fg: Funcgraph, options: list[str]) -> None:
    same(
        fg,
        """
        import sys, threading

        events = []

        def tracer(frame, event, arg):
            if frame.f_code.co_filename == __file__:
                events.append((frame.f_code.co_name, event, frame.f_lineno - frame.f_code.co_firstlineno))
            return tracer

        def profiler(frame, event, arg):
            if frame.f_code.co_filename == __file__:
                events.append((frame.f_code.co_name, event, getattr(arg, "__name__", None)))

        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        def gen(n):
            for i in range(n):
                yield len("x" * i)

        def fails():
            raise ValueError

        def body(on, off):
            fib(3)
            on()
            fib(4)
            list(gen(3))
            try:
                fails()
            except ValueError:
                pass
            suspended = gen(3)
            next(suspended)
            off()
            next(suspended)
            fib(3)

        body(lambda: sys.settrace(tracer), lambda: sys.settrace(None))
        body(lambda: sys.setprofile(profiler), lambda: sys.setprofile(None))
        body(lambda: (sys.settrace(tracer), sys.setprofile(profiler)),
             lambda: (sys.settrace(None), sys.setprofile(None)))
        # A call that is instrumented for us when sys.setprofile() runs tells the new profile function of its
        # own end, as it does when another profile function was set before: CPython's way, also without us.
        events[:] = [event for event in events if event[1:] != ("c_return", "setprofile")]
        threading.settrace(tracer)
        threading.setprofile(profiler)
        thread = threading.Thread(target=fib, args=(3,))
        thread.start()
        thread.join()
        for event in events:
            print(event)
        print(sys.getprofile(), sys.gettrace())
        """,
        *options,
    )


GREENLETS = """
    import greenlet

    def fib(n):
        if n == 3:
            greenlet.getcurrent().parent.switch("deep")
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def gen(n):
        for i in range(n):
            greenlet.getcurrent().parent.switch(i)
            yield i

    def run(n):
        return sum(gen(4)) + fib(n)

    def raises():
        greenlet.getcurrent().parent.switch("before")
        raise KeyError("out of a greenlet")

    lets = [greenlet.greenlet(run) for _ in range(20)]
    results = []
    alive = [(let, (5 + i % 3,)) for i, let in enumerate(lets)]
    while alive:
        alive = [(let, ()) for let, args in alive if (results.append(let.switch(*args)), not let.dead)[1]]
    print(results)
    bad = greenlet.greenlet(raises)
    print(bad.switch())
    try:
        bad.switch()
    except KeyError as error:
        print(error)
    for _ in range(50):
        dropped = greenlet.greenlet(run)
        dropped.switch(5)
        del dropped
    print(fib.__name__)
"""


@MODES
def test_greenlets(fg: Funcgraph, options: list[str]) -> None:
    """greenlet swaps stacks under the engine: calls may appear truncated, but the program is unharmed."""
    pytest.importorskip("greenlet")
    same(fg, GREENLETS, *options)


DEEP_GREENLETS = """
    import sys, threading
    from greenlet import getcurrent, greenlet

    def down(n):
        if n == 0:
            return getcurrent().parent.switch("at the bottom")
        return 1 + down(n - 1)

    def fails(n):
        if n == 0:
            getcurrent().parent.switch("fails")
            raise LookupError("at the bottom")
        return fails(n - 1)

    def between(n):
        return n and 1 + between(n - 1)

    def run():
        lets = [greenlet(down) for _ in range(3)]
        print([let.switch(20_000) for let in lets], between(10))
        print([let.switch(i) for i, let in enumerate(lets)], [let.dead for let in lets])
        bad = greenlet(fails)
        print(bad.switch(20_000))
        try:
            bad.switch()
        except LookupError as error:
            print(error)
        dropped = greenlet(down)
        dropped.switch(20_000)
        del dropped

    def after(n):
        return n and 1 + after(n - 1)

    sys.setrecursionlimit(70_000)
    run()
    threading.stack_size(8 << 20)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    print(after(1000))
"""


@MODES
def test_deep_greenlets(fg: Funcgraph, options: list[str]) -> None:
    """Greenlets switch in the middle of a recursion that needs no C stack untraced.

    On 3.11 it needs C stack when traced. From some depth on it runs untraced, and the recorder reports that.
    After the recursion tracing continues.
    """
    pytest.importorskip("greenlet")
    same(fg, DEEP_GREENLETS, *options, reported=r"^funcgraph: \d+ calls? not traced: .*\n")
    summary = fg.summary()
    calls = fg.calls()
    assert calls["__main__.after"] == 1001
    deep = 4 * 2 * 20_001, 2 * 20_001
    if sys.version_info >= (3, 12):
        assert (calls["__main__.down"], calls["__main__.fails"]) == deep
        assert summary["overrun"] == 0
    else:
        assert 1000 < calls["__main__.down"] < deep[0]
        assert summary["overrun"] > 0


def test_gevent(fg: Funcgraph) -> None:
    pytest.importorskip("gevent")
    same(
        fg,
        """
        from gevent import monkey; monkey.patch_all()
        import gevent, gevent.pool, gevent.queue, time, threading

        def fib(n):
            if n == 4:
                time.sleep(0)
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        def worker(queue, n):
            for i in range(n):
                queue.put(fib(i))

        queue = gevent.queue.Queue()
        gevent.joinall([gevent.spawn(worker, queue, 8) for _ in range(10)])
        print(sum(queue.get() for _ in range(80)))
        print(gevent.pool.Pool(5).map(fib, range(10)))
        threads = [threading.Thread(target=worker, args=(queue, 5)) for _ in range(5)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        with gevent.Timeout(0.05, False):
            while True: fib(6)
        print("done")
        """,
    )


def test_gc_during_calls(fg: Funcgraph) -> None:
    same(
        fg,
        """
        import gc
        gc.set_threshold(1, 1, 1)

        class Node:
            def __init__(self):
                self.me = self

            def __del__(self):
                calls.append(down(2))

        def down(n):
            return n and down(n - 1)

        def gen():
            node = Node()
            yield node
            yield Node()

        calls = []
        for _ in range(300):
            Node()
            next(gen())
            list(gen())
        gc.collect()
        print(len(calls))
        """,
        "--args",
        "--retval",
    )


def test_multiprocessing(fg: Funcgraph) -> None:
    for method in ("fork", "spawn", "forkserver"):
        out = same(
            fg,
            f"""
            import multiprocessing, warnings
            warnings.simplefilter("ignore")

            def fib(n):
                return n if n < 2 else fib(n - 1) + fib(n - 2)

            def fails(n):
                raise LookupError(n)

            if __name__ == "__main__":
                context = multiprocessing.get_context("{method}")
                with context.Pool(2) as pool:
                    print(pool.map(fib, range(12)))
                    try:
                        pool.map(fails, [1])
                    except LookupError as error:
                        print(error)
            """,
        )
        assert out.endswith("\n1\n")


def test_interpreter_with_development_mode(fg: Funcgraph) -> None:
    """Memory debug hooks and resource warnings report nothing about funcgraph."""
    same(fg, TRACEBACKS, flags=("-X", "dev"))


def test_exec_of_another_program(fg: Funcgraph) -> None:
    out = same(
        fg,
        """
        import os, sys

        def f(n):
            return n and f(n - 1)

        f(3)
        if len(sys.argv) == 1:
            sys.stdout.flush()
            os.execv(sys.executable, [sys.executable, __file__, "again"])
        print("second", f(4))
        """,
    )
    assert out == "second 0\n"
    assert fg.calls()["__main__.f"] == 4 + 4 + 5


def test_subprocess_of_every_kind(fg: Funcgraph) -> None:
    assert subprocess.run is not None
    same(
        fg,
        """
        import subprocess, sys
        code = "import sys; f = lambda n: n and f(n - 1); f(5); sys.exit(len(sys.argv))"
        print(subprocess.run([sys.executable, "-c", code, "a"]).returncode)
        print(subprocess.run([sys.executable, "-I", "-S", "-c", code]).returncode)
        print(subprocess.getoutput("echo hello"))
        print(subprocess.Popen([sys.executable, "-c", code], env={}).wait())
        """,
    )


@pytest.mark.parametrize("kib", [64, 256, 2048])
def test_deep_recursion_on_a_small_stack(fg: Funcgraph, kib: int) -> None:
    out = same(
        fg,
        f"""
        import sys, threading

        def down(n):
            return n and down(n - 1)

        def run():
            print(down(30_000), sorted([3, 1, 2], key=lambda n: down(100) - n))

        sys.setrecursionlimit(31_000)
        threading.stack_size({kib} * 1024)
        for _ in range(2):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        """,
    )
    assert out == "0 [3, 2, 1]\n" * 2


def test_threads_that_never_end_deep_in_recursion(fg: Funcgraph) -> None:
    """When the interpreter ends, daemon threads are thousands of calls deep; some of them fork there."""
    same(
        fg,
        """
        import os, sys, threading, time, warnings

        def down(n):
            if n == 0:
                pid = os.fork()
                if pid == 0:
                    return None
                os.waitpid(pid, 0)
                ready.release()
                while True:
                    time.sleep(0.001)
            return down(n - 1)

        def run():
            down(50_000)
            os._exit(0)

        sys.setrecursionlimit(51_000)
        warnings.simplefilter("ignore")
        ready = threading.Semaphore(0)
        for _ in range(3):
            threading.Thread(target=run, daemon=True).start()
        for _ in range(3):
            ready.acquire()
        print("end", flush=True)
        """,
    )
