"""CPython's own tests pass while all native functions below them are hooked, as they do untraced.

All that can be hooked of libc, of CPython itself, of its extension modules and of the libraries that these
use: each call is recorded. One small test module always runs, the others in `make nightly`.

Broken by hand: a hook lost the sixth argument of a call (SIGSEGV in the first test).
"""

from __future__ import annotations

import sys

import pytest
from conftest import Funcgraph
from own_tests import check, need
from planned import needs_plans
from sizes import NIGHTLY

pytestmark = needs_plans

QUICK = ("test_zlib",)
SLOW = (
    "test_asyncio",
    "test_ctypes",
    "test_exceptions",
    "test_faulthandler",
    "test_generators",
    "test_json",
    "test_re",
    "test_signal",
    "test_socket",
    "test_sqlite3",
    "test_ssl",
    "test_subprocess",
    "test_threading",
)
#: CPython is a library of its own, or the program.
OBJECTS = ("libc", "libpython*", "python*", "libsqlite3", "libssl", "libcrypto", "libz", "libffi", "_*")
OPTIONS = tuple(word for name in OBJECTS for word in ("-l", f"*:mod:{name}"))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [*QUICK, *(SLOW if NIGHTLY else ())])
def test_passes_while_native_functions_are_hooked(fg: Funcgraph, name: str) -> None:
    need(name)
    check(fg, "-m", "test", "-v", name, options=OPTIONS, timeout=1700)


def test_hooked_functions_are_those_of_all_these_objects(fg: Funcgraph) -> None:
    """Else the tests above would pass without a hook."""
    script = fg.script(
        "import sqlite3, zlib; zlib.compress(b''); sqlite3.connect(':memory:').execute('select 1')"
    )
    fg.record("-q", *OPTIONS, sys.executable, script)
    objects = {name.rpartition(" [")[2].rstrip("]") for name in fg.calls()}
    assert {"libc", "libsqlite3", "libz", "_sqlite3"} <= objects
    assert any(name.startswith(("libpython", "python")) for name in objects)
