"""Codecs: the system's libraries, and Python's where there are none.

A library is taken away by a file of its name that is none: the dynamic loader finds it first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PYTHON_HAS_ZSTD = any(find_spec(name) and find_spec(f"{name}.zstd") for name in ("compression", "backports"))


def run(code: str, *, without: Path | None = None) -> str:
    """Run Python code and return its output.

    Args:
        code: what to run.
        without: a folder; if it is given, the system has no zstd library.
    """
    environ = dict(os.environ)
    if without:
        (without / "libzstd.so.1").touch()
        environ["LD_LIBRARY_PATH"] = str(without)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True, timeout=60).stdout


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


@pytest.mark.skipif(not PYTHON_HAS_ZSTD, reason="this Python has no zstd")
def test_python_provides_a_codec_whose_library_is_missing(tmp_path: Path) -> None:
    out = run(
        "from funcgraph import _tracedata\n"
        "from funcgraph.tracedata import codecs\n"
        "print('zstd' in _tracedata.codec_names())\n"
        "codecs.provide()\n"
        "print(_tracedata.codec_names()[0])\n"
        "print(_tracedata.provide_codec('zstd', bytes, bytes))\n",
        without=tmp_path,
    )
    if out.splitlines()[1] != "zstd":
        pytest.skip("Python's zstd needs the same library")
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
