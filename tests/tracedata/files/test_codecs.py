"""Codecs: the system's libraries, and Python's where there are none.

A library is taken away by a file of its name that is none: the dynamic loader finds it first. Where Python's
own codec needs that library, it is taken away from us alone: dlopen() refuses it.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from ringfile import leaf
from tracefile import Trace
from tracereader import Desk, read_trace

#: Refuses the library to whoever asks for it by its name, as we do. A module that is linked with it finds it.
REFUSE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

void *dlopen(const char *file, int mode)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");

    return file && strcmp(file, "libzstd.so.1") == 0 ? NULL : next(file, mode);
}
"""
PYTHON_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def run(code: str, *words: Path, without: Path | None = None) -> str:
    """Run Python code and return its output.

    Args:
        code: what to run.
        words: its arguments.
        without: a folder; if it is given, the system has no zstd library.
    """
    environ = dict(os.environ)
    if without and (without / "refuse.so").exists():
        environ["LD_PRELOAD"] = str(without / "refuse.so")
    elif without:
        (without / "libzstd.so.1").touch()
        environ["LD_LIBRARY_PATH"] = str(without)
    command = [sys.executable, "-c", code, *words]
    result = subprocess.run(command, env=environ, check=False, capture_output=True, text=True, timeout=60)
    if without and result.returncode == 127:
        pytest.skip("this Python does not start without the library")
    result.check_returncode()
    return result.stdout


@pytest.fixture
def no_library(tmp_path: Path) -> Path:
    """A folder for run(): Python has zstd without the system's library."""
    try:
        run(f"import {PYTHON_ZSTD}")
    except subprocess.CalledProcessError:
        pytest.skip("Python has no zstd")
    try:
        run(f"import {PYTHON_ZSTD}", without=tmp_path)
    except subprocess.CalledProcessError:
        if shutil.which("gcc") is None:
            pytest.skip("Python needs the same library, and no C compiler is here")
        source = tmp_path / "refuse.c"
        source.write_text(REFUSE)
        command = ["gcc", "-shared", "-fPIC", str(source), "-o", str(tmp_path / "refuse.so"), "-ldl"]
        subprocess.run(command, check=True)
    return tmp_path


def test_a_library_that_is_there_is_used_and_nothing_imported() -> None:
    out = run(
        "import sys\n"
        "from funcgraph import _tracedata\n"
        "from funcgraph.tracedata import codecs\n"
        "names = _tracedata.codec_names()\n"
        "before = set(sys.modules)\n"
        "codecs.provide()\n"
        "print(names == _tracedata.codec_names(), 'zstd' in names, *sorted(set(sys.modules) - before))\n"
    )
    if "True False" in out:
        pytest.skip("the system has no libzstd.so.1")
    assert out == "True True\n"


def test_python_provides_a_codec_whose_library_is_missing(no_library: Path) -> None:
    out = run(
        "from funcgraph import _tracedata\n"
        "from funcgraph.tracedata import codecs\n"
        "print('zstd' in _tracedata.codec_names())\n"
        "codecs.provide()\n"
        "print(_tracedata.codec_names()[0])\n"
        "print(_tracedata.provide_codec('zstd', bytes, bytes))\n",
        without=no_library,
    )
    assert out == "False\nzstd\nFalse\n"


def test_an_unknown_codec_is_refused() -> None:
    out = run(
        "from funcgraph import _tracedata\n"
        "try:\n"
        "    _tracedata.provide_codec('lz4', bytes, bytes)\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    assert out == "name must be 'zstd' or 'zlib', got 'lz4'\n"


def many_calls(path: Path, compression: str) -> None:
    trace = Trace(["m.f", "m.g"])
    task = trace.task(69)
    for time in range(0, 400_000, 200):
        task.enter(time, time // 200 % 2, 0)
        task.leave(time + 50, time // 200 % 2, 0, calltime=time)
    path.write_bytes(trace.version_7(compression) if compression != "6" else trace.version_6())


REPORT = """
import hashlib, sys
from funcgraph import _tracedata
from funcgraph.tracedata import TraceFile
loaded = "zstd" in _tracedata.codec_names()
text = b"".join(TraceFile(sys.argv[1]).report())
print(loaded, hashlib.sha256(text).hexdigest())
"""


def test_a_trace_is_read_by_pythons_codec(no_library: Path) -> None:
    """The text is that of the trace without compression. Fails if a trace needs the C library."""
    path = no_library / "trace.dat"
    many_calls(path, "6")
    expected = run(REPORT, path).split()[1]
    many_calls(path, "zstd")
    assert run(REPORT, path, without=no_library).split() == ["False", expected]


WRITE = """
import sys
from funcgraph import _tracedata
from funcgraph.tracedata import codecs
codecs.provide()
recorder = _tracedata.Recorder(sys.argv[1] + ".part", resume=True)
recorder.assemble(sys.argv[1], "{}", version=7, compression="zstd")
"""


def test_a_trace_that_pythons_codec_wrote_is_the_same(no_library: Path) -> None:
    desk = Desk(no_library)
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 4711)
    ring.put_all(1, [leaf(10**9 + 1000 * n, 0, 0, 500) for n in range(1000)])
    trace = desk.record()
    run(WRITE, desk.output, without=no_library)
    assert desk.output.read_bytes()[:30].count(b"zstd")
    assert read_trace(desk.output) == trace


BOMB = """
import resource, sys
from funcgraph import _tracedata
from funcgraph.tracedata import TraceError, TraceFile, codecs
codecs.provide()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    TraceFile(sys.argv[1])
except TraceError as error:
    print("data of" in str(error))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10)
"""


@pytest.mark.parametrize("window_log", [20, 27])
def test_data_that_claims_to_be_small_takes_no_memory(no_library: Path, window_log: int) -> None:
    """The description has 256 MiB of zeros, and says 30,000 bytes. Fails if all of it is decompressed."""
    zstd = import_module(PYTHON_ZSTD)
    options = {
        zstd.CompressionParameter.window_log: window_log,
        zstd.CompressionParameter.content_size_flag: 0,
    }
    compressor = zstd.ZstdCompressor(options=options)
    packed = b"".join(compressor.compress(bytes(1 << 20)) for _ in range(256)) + compressor.flush()
    path = no_library / "trace.dat"
    many_calls(path, "zstd")
    whole = path.read_bytes()
    at = int.from_bytes(whole[-16:-8], "little")
    block = struct.pack("<II", len(packed), 30_000) + packed
    assert len(packed) < 30_000
    out = whole[:at] + struct.pack("<HHIQ", 0x4746, 1, 0, len(block)) + block
    out += b"FGEXTRA1" + struct.pack("<QQ", at, len(out) - at)
    path.write_bytes(out)
    for without in (None, no_library):
        assert run(BOMB, path, without=without) == "True\nTrue\n"


NONE = """
import sys
sys.modules["backports.zstd"] = sys.modules["compression.zstd"] = None
from funcgraph.tracedata import TraceError, TraceFile
try:
    TraceFile(sys.argv[1])
except TraceError as error:
    print(error)
"""


def test_a_trace_that_nothing_can_decompress_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "trace.dat"
    many_calls(path, "zstd")
    assert run(NONE, path, without=tmp_path) == "compressed with zstd, and this system has no zstd library\n"


OWN = """
import sys
import funcgraph
with funcgraph.Instance("one", tracer="function_graph") as one:
    (lambda: None)()
    print("lambda" in one.trace())
print(*{"backports.zstd", "compression.zstd", "funcgraph.tracedata.codecs"} & set(sys.modules))
"""


def test_a_program_that_reads_its_own_trace_imports_no_codec(tmp_path: Path) -> None:
    """Without the C library, too."""
    assert run(OWN, without=tmp_path) == "True\n\n"


OTHER = """
import _interpreters, sys
from importlib import import_module
from funcgraph import _tracedata
zstd = import_module("@PYTHON_ZSTD@")
seen = set()
def decompressor():
    seen.add(_interpreters.get_current()[0])
    return zstd.ZstdDecompressor()
assert _tracedata.provide_codec("zstd", zstd.compress, decompressor)
other = _interpreters.create()
assert _interpreters.exec(other, f"import sys; sys.argv[1:] = {sys.argv[1:]!r}" + '''@REPORT@
print(_tracedata.provide_codec("zlib", len, len))
''') is None
_interpreters.destroy(other)
print(seen == {_interpreters.get_main()[0]})
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="_interpreters")
def test_another_interpreter_reads_by_the_main_ones_codec(no_library: Path) -> None:
    """It has a GIL of its own. Fails if the codec runs in it, which does not own the codec."""
    path = no_library / "trace.dat"
    many_calls(path, "6")
    expected = run(REPORT, path).split()[1]
    many_calls(path, "zstd")
    out = run(
        OTHER.replace("@REPORT@", REPORT).replace("@PYTHON_ZSTD@", PYTHON_ZSTD), path, without=no_library
    )
    assert out.split() == ["True", expected, "False", "True"]
