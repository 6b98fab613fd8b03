"""CPython's own tests pass while all native functions below them are hooked, as they do untraced.

All that can be hooked of libc, of CPython itself, of its extension modules and of the libraries that these
use: each call is recorded. One small test module always runs, the others in `make nightly`.

Broken by hand: a hook lost the sixth argument of a call (SIGSEGV in the first test).
"""

from __future__ import annotations

import json
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


#: Prints for each object how many functions are hooked, and how many could be.
COUNTS = """
import collections, json, sqlite3, zlib
from funcgraph import _engine
zlib.compress(b"")
sqlite3.connect(":memory:").execute("select 1")
hooked, known = collections.Counter(), collections.Counter()
for name, function, is_hooked, refusal in _engine.native_functions():
    hooked[name] += is_hooked
    known[name] += 1
print(json.dumps([hooked, known]))
"""


def test_all_functions_of_these_objects_are_hooked(fg: Funcgraph) -> None:
    """Else the tests above would pass without a hook."""
    done = fg.record("-q", *OPTIONS, sys.executable, fg.script(COUNTS))
    hooked, known = json.loads(done.stdout)
    assert hooked == known
    interpreter = max((name for name in known if "python" in name), key=known.__getitem__)
    for name, least in (("libc", 1500), ("libsqlite3", 500), (interpreter, 2000)):
        assert known[name] > least, name
    called = {name.rpartition(" [")[2].rstrip("]") for name in fg.calls()}
    assert {"libc", "libsqlite3", "libz", "_sqlite3", interpreter} <= called
