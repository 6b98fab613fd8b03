"""With users registered, the interpreter's exit and forks cause no crash and no message, and leave the
program's results unchanged.

Broken by hand: at_exit() muted no user (callbacks ran after it); it unregistered no user (the program's
finalisers did not run); it ignored daemon threads in callbacks (one of them blocked the exit for ever).
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

HEAD = """
import atexit, os, sys, threading, time
import funcgraph

def work():
    return 1

calls = []
def entry(trace, ops, regs):
    calls.append(trace.func.qualname)
    return True
"""


def run(text: str, expected: str = "", status: int = 0) -> None:
    result = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(text)], capture_output=True, text=True, timeout=60
    )
    assert (result.stdout, result.stderr, result.returncode) == (expected, "", status)


def test_registered_at_the_end():
    run(
        """
        class Late:
            def __del__(self):
                work()
        late = Late()
        funcgraph.register_ftrace_graph(funcgraph.FgraphOps(entry, entry))
        work()
        sys.exit(3)
        """,
        status=3,
    )


def test_callbacks_stop_before_the_world_is_taken_apart():
    run(
        """
        def late(trace, ops, regs, write=os.write):
            calls.append(1)
            if ending:
                write(2, b"too late\\n")
            return True

        class Keeper:
            def __del__(self, work=work):
                ending.append(1)
                work()
                os.write(1, b"work is done\\n")
        ending = []
        keeper = Keeper()
        for i in range(5):
            funcgraph.register_ftrace_graph(funcgraph.FgraphOps(late, late, filter=["__main__.work"]))
        work()
        os.write(1, b"%d\\n" % len(calls))
        """,
        "10\nwork is done\n",
    )


def test_a_daemon_thread_in_the_middle_of_a_callback():
    run(
        """
        @atexit.register  # before the engine is imported: it runs after the engine's own
        def late():
            work()
            print("callbacks:", len(calls))

        def stays(trace, ops, regs):
            calls.append(1)
            inside.set()
            time.sleep(1000)
        inside = threading.Event()
        ops = funcgraph.FgraphOps(stays, stays, filter=["__main__.work"])
        funcgraph.register_ftrace_graph(ops)
        threading.Thread(target=work, daemon=True).start()
        inside.wait()
        print("bye")
        """,
        "bye\ncallbacks: 1\n",
    )


def test_daemon_threads_that_go_on_calling():
    run(
        """
        def forever():
            while True:
                work()
        funcgraph.register_ftrace_graph(funcgraph.FgraphOps(entry, entry, filter=["__main__.*"]))
        for _ in range(4):
            threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
        """
    )


def test_registering_at_the_end_is_refused():
    run(
        """
        @atexit.register  # before the engine is imported: handlers run in the reverse order
        def late():
            try:
                funcgraph.register_ftrace_graph(funcgraph.FgraphOps(entry))
            except RuntimeError as error:
                print(error)
        funcgraph.register_ftrace_graph(funcgraph.FgraphOps(entry))
        """,
        "the interpreter is ending: users can no longer be registered\n",
    )


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_a_callback():
    run(
        """
        import warnings
        warnings.simplefilter("ignore")
        def busy():
            while not stop:
                work()
        stop = []
        threads = [threading.Thread(target=busy) for _ in range(3)]

        pids = []
        def forks(trace, ops, regs):
            data = ops.reserve_data(8)
            ops.reserve_object(trace.func)
            if threading.current_thread() is threading.main_thread() and not pids:
                pids.append(os.fork())
            data[0] = 42
            return True
        ends = []
        def ret(trace, ops, regs):
            assert ops.retrieve_data()[0] == 42 and ops.retrieve_object() is trace.func
            # Alone: CPython 3.13t may hand a list's lock to a thread that the fork leaves behind.
            if threading.current_thread() is threading.main_thread():
                ends.append(trace.end)
        ops = funcgraph.FgraphOps(forks, ret, filter=["__main__.work"])
        with funcgraph.registered(ops):
            for thread in threads:
                thread.start()
            for _ in range(100):
                work()
            child = pids[0] == 0
            if child:
                assert ops.last_error is None and len(ends) >= 100, (ops.last_error, len(ends))
                funcgraph.unregister_ftrace_graph(ops)
                funcgraph.register_ftrace_graph(ops)
                work()
                sys.stdout.write("child\\n")
                sys.stdout.flush()
                os._exit(0)
            stop.append(1)
            for thread in threads:
                thread.join()
        assert os.waitpid(pids[0], 0)[1] == 0
        assert ops.last_error is None
        print("parent")
        """,
        "child\nparent\n",
    )


def test_a_thread_that_ends_in_a_call_of_which_only_the_return_is_waited_for():
    """Broken without `exiting` in fg_progress_call_ended(): the thread, which has no thread state then, set
    the function's events (a crash)."""
    run(
        """
        import ctypes, _thread
        from funcgraph import _engine

        def f():
            ops.set_filter(["nothing"], reset=True)
            ctypes.CDLL(None).pthread_exit(None)

        def returned(trace, ops, regs):
            print(trace.end, flush=True)
            ended.set()

        ended = threading.Event()
        ops = funcgraph.FgraphOps(entry, returned, filter=["__main__.f"])
        funcgraph.register_ftrace_graph(ops)
        _thread.start_new_thread(f, ())
        assert ended.wait(10)
        while _engine.status()["tasks"] > 1:
            time.sleep(0)
        os._exit(0)  # CPython itself cannot go on: the thread has left its frames behind
        """,
        "close\n",
    )


def test_a_fork_by_a_thread_that_is_apart():
    """The child's only thread has a task, though it is not the current one. It crashed at its next call: its
    task was unmapped with those of other threads."""
    run(
        """
        from funcgraph import _engine

        with funcgraph.Instance("forks") as one:
            one.current_tracer = "function_graph"
            work()
            pid = _engine.apart(os.fork)
            work()
            if pid == 0:
                os._exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """,
        "7\n",
    )
