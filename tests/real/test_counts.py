"""For real programs, funcgraph's counts equal cProfile's, function by function.

cProfile counts each resume of a generator or coroutine as a call; funcgraph counts calls and resumes
separately. So calls + resumes = cProfile's ncalls, for every function.
"""

from __future__ import annotations

import sys
import sysconfig
import threading

import pytest
from conftest import Funcgraph
from sizes import share
from workloads import PROGRAMS, difference, profile, recorded, warm

SMALL = ("recursion", "generators", "coroutines", "exceptions", "classes", "stdlib_text")


def test_cprofile_counts_each_resume_as_a_call(fg: Funcgraph) -> None:
    """The premise of the equation, verified with CPython itself."""
    script = fg.script(
        """
        import cProfile

        def gen():
            try:
                while True:
                    yield
            except KeyError:
                yield

        def ncalls(use):
            profiler = cProfile.Profile()
            profiler.enable()
            use(gen())
            profiler.disable()
            return sum(entry.callcount for entry in profiler.getstats() if entry.code is gen.__code__)

        def send(g): next(g); g.send(1)
        def throw(g): next(g); g.throw(KeyError)
        def close(g): next(g); g.close()
        def collect(g): next(g); del g
        def throw_at_once(g):
            try:
                g.throw(OSError)
            except OSError:
                pass

        print(*map(ncalls, (lambda g: None, next, send, throw, close, collect, throw_at_once,
                            lambda g: g.close())))
        """
    )
    result = fg.plain(sys.executable, script)
    # 3.11 also runs the frame of a generator that is closed or collected before it ever ran.
    never_ran = "1" if sys.version_info < (3, 12) else "0"
    assert result.stdout.split() == [never_ran, "2", "3", "3", "2", "2", "1", never_ran]


@pytest.mark.parametrize("program", share([name for name in PROGRAMS if name != "threads"], of=5))
def test_counts_equal_cprofiles(fg: Funcgraph, program: str) -> None:
    warm(fg, program)
    ours, _ = recorded(fg, program)
    theirs, _ = profile(fg, program, "cprofile")
    assert difference(ours, theirs) == {}
    assert len(ours) > 20


@pytest.mark.parametrize("program", share(SMALL, of=5))
def test_counts_with_values_and_c_calls_equal_cprofiles(fg: Funcgraph, program: str) -> None:
    """The counts of C functions match too. Recording them, and arguments, changes no count."""
    warm(fg, program)
    ours, our_c_functions = recorded(fg, program, "--c-calls", "--args", "--retval")
    theirs, their_c_functions = profile(fg, program, "cprofile")
    assert difference(ours, theirs) == {}
    assert our_c_functions == their_c_functions
    assert len(our_c_functions) > 5


@pytest.mark.parametrize("program", share(SMALL, of=5))
def test_counts_equal_those_of_a_profile_function(fg: Funcgraph, program: str) -> None:
    """The "call" events of sys.setprofile are a second reference, which shares no code with cProfile."""
    warm(fg, program)
    ours, _ = recorded(fg, program)
    theirs, _ = profile(fg, program, "setprofile")
    assert difference(ours, theirs) == {}


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="cProfile never ends there when threads call"
)
def test_counts_of_threads(fg: Funcgraph) -> None:
    """From 3.12 on cProfile sees all threads; on 3.11 a profile function in each thread is the reference."""
    warm(fg, "threads")
    ours, _ = recorded(fg, "threads")
    if sys.version_info >= (3, 12):
        theirs, _ = profile(fg, "threads", "cprofile")
    else:
        theirs, _ = profile(fg, "threads", "setprofile")

    def is_compared(key: tuple[str, int, str]) -> bool:
        """A thread sets its profile function when it runs, so it does not see threading's calls before and
        after that. Whether start() has to wait for its thread is chance."""
        in_threading = key[0] == threading.__file__
        return not in_threading or (sys.version_info >= (3, 12) and not key[2].startswith("Condition."))

    kept = [{key: calls for key, calls in counts.items() if is_compared(key)} for counts in (ours, theirs)]
    ours, theirs = map(type(ours), kept)
    assert difference(ours, theirs) == {}
    assert sum(ours.values()) > 14_000
