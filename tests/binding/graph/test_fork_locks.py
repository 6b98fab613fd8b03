"""A fork waits for no thread that waits for it. Without the GIL the hooks have locks, which a fork takes.

Broken by hand (3.13t): the handlers were added with os.register_at_fork() (the first two tests hang until
the program's patience ends); they did not take the import lock (the third hangs); those after a fork
released locks that nobody had taken (CPython ends the program in the fourth).
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

_START = """
    import _imp, os, sys, threading, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
    PATIENCE_S = 20
    is_time, is_done = threading.Event(), threading.Event()

    def call_new(number):
        space = {}
        exec(f"def new_{number}(): return {number}", space)
        return space[f"new_{number}"]()

    def fork():
        child = os.fork()
        if not child:
            os._exit(call_new(7))
        print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    def trace():
        global user
        user = funcgraph.FgraphOps(entryfunc=lambda *_: True, retfunc=lambda *_: None)
        user.set_filter(["new_*"])
        funcgraph.register_ftrace_graph(user)
"""


def printed(program: str) -> str:
    """Return what a program prints that starts as _START does; it may have no errors."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_START) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("time", ["before", "after_in_parent"])
def test_a_fork_handler_may_wait_for_a_thread_that_calls_a_new_function(time: str) -> None:
    """As that of `logging`, which is there before funcgraph, and waits for a thread that writes a message."""
    program = f"""
        def wait():
            is_time.set()
            print("is done", is_done.wait(PATIENCE_S))

        def work():
            is_time.wait()
            call_new(1)
            is_done.set()

        os.register_at_fork({time}=wait)
        import funcgraph
        trace()
        worker = threading.Thread(target=work)
        worker.start()
        fork()
        worker.join()
    """
    assert printed(program) == "is done True\nchild 7\n"


def test_a_fork_waits_for_a_thread_that_imports_and_calls_a_new_function() -> None:
    """CPython takes the import lock after all fork handlers."""
    program = """
        import time
        has_lock = threading.Event()

        def wait():
            is_time.set()
            has_lock.wait()

        def work():
            is_time.wait()
            _imp.acquire_lock()
            has_lock.set()
            time.sleep(0.2)  # the fork goes on meanwhile, as far as it can
            call_new(1)
            _imp.release_lock()

        def watch():
            if not is_done.wait(PATIENCE_S):
                os.abort()

        os.register_at_fork(before=wait)
        import funcgraph
        trace()
        threads = [threading.Thread(target=function) for function in (work, watch)]
        for thread in threads:
            thread.start()
        fork()
        is_done.set()
        for thread in threads:
            thread.join()
    """
    assert printed(program) == "child 7\n"


def test_funcgraph_may_be_loaded_while_a_process_forks() -> None:
    """By a fork handler, or by the control socket's thread, for which one waits."""
    program = """
        def load():
            global funcgraph
            import funcgraph
            trace()

        os.register_at_fork(before=load)
        fork()
        fork()
    """
    assert printed(program) == "child 7\nchild 7\n"
