"""CPython's own tests pass while they are traced, as they do untraced.

docs/reference/compatibility.md lists the few cases that fail, with reasons; no others are left out. Some of
the tests always run, all of them in `make nightly`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import Funcgraph
from own_tests import check, need, outcome
from sizes import NIGHTLY, share

QUICK = (
    "test_generators",
    "test_coroutines",
    "test_asyncgen",
    "test_exceptions",
    "test_contextlib",
    "test_contextlib_async",
    "test_sys_setprofile",
    "test_sys_settrace",
    "test_gc",
    "test_code",
    "test_frame",
    "test_finalization",
)
SLOW = (
    "test_asyncio",
    "test_atexit",
    "test_bdb",
    "test_capi",
    "test_concurrent_futures",
    "test_context",
    "test_cprofile",
    "test_dataclasses",
    "test_descr",
    "test_enum",
    "test_except_star",
    "test_faulthandler",
    "test_fork1",
    "test_functools",
    "test_import",
    "test_importlib",
    "test_inspect",
    "test_logging",
    "test_opcache",
    "test_pickle",
    "test_profile",
    "test_runpy",
    "test_signal",
    "test_subprocess",
    "test_sys",
    "test_threading",
    "test_threading_local",
    "test_traceback",
    "test_tracemalloc",
    "test_types",
    "test_weakref",
)
#: It asserts that code is not instrumented (docs/reference/compatibility.md).
LEFT_OUT = {"test_code": ["-i", "test_stateless"]} if sys.version_info >= (3, 14) else {}

SHARED_MONITORING = Path(__file__).parent / "shared_monitoring.py"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [*share(QUICK, of=5), *(SLOW if NIGHTLY else ())])
def test_passes_while_traced(fg: Funcgraph, name: str) -> None:
    need(name)
    check(fg, "-m", "test", "-v", *LEFT_OUT.get(name, ()), name)


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not NIGHTLY, reason="takes two minutes: make nightly")
def test_multiprocessing_passes_while_traced(fg: Funcgraph) -> None:
    """Generates test_multiprocessing_fork, which some installations lack, from the module that defines it."""
    need("_test_multiprocessing")
    script = fg.script(
        """
        import unittest
        from test import _test_multiprocessing

        _test_multiprocessing.install_tests_in_module_dict(globals(), "fork")

        if __name__ == "__main__":
            unittest.main()
        """,
        "test_multiprocessing_fork.py",
    )
    check(fg, script)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_monitoring_passes_with_one_id_in_use(fg: Funcgraph) -> None:
    """test_monitoring asserts that no tool has events. With funcgraph's id hidden every case passes."""
    need("test_monitoring")
    check(fg, SHARED_MONITORING)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_what_monitoring_refuses_is_any_tool(fg: Funcgraph) -> None:
    """The same cases fail in the same way with any other tool of sys.monitoring."""
    need("test_monitoring")
    other = fg.script(
        """
        import sys
        import test.test_monitoring
        import unittest

        sys.monitoring.use_tool_id(4, "other")
        sys.monitoring.set_events(4, sys.monitoring.events.PY_START)
        unittest.main(test.test_monitoring, argv=["test_monitoring"])
        """
    )
    with_other = outcome(fg, other, traced=False)
    traced = outcome(fg, "-m", "unittest", "test.test_monitoring", traced=True)
    assert traced.bad
    assert traced.bad == with_other.bad


@pytest.mark.skipif(sys.version_info[:2] != (3, 13), reason="what 3.13's pdb does")
def test_what_pdb_refuses_is_any_tool(fg: Funcgraph) -> None:
    """On 3.13 pdb.set_trace() stops one line later when any tool of sys.monitoring has events."""
    need("test_pdb")
    script = """
        import sys
        if "{tool}":
            sys.monitoring.use_tool_id(4, "other")
            sys.monitoring.set_events(4, sys.monitoring.events.PY_START)

        def f():
            import pdb; pdb.Pdb(nosigint=True, readrc=False).set_trace()
            return 5

        f()
    """
    alone = fg.plain(sys.executable, fg.script(script.format(tool=""), "alone.py"), input="c\n")
    other = fg.plain(sys.executable, fg.script(script.format(tool="other"), "other.py"), input="c\n")
    traced = fg.record("-q", sys.executable, fg.script(script.format(tool=""), "alone.py"), input="c\n")
    assert traced.stdout == other.stdout.replace("other.py", "alone.py").replace("(9)f()", "(9)f()")
    assert alone.stdout != ""
