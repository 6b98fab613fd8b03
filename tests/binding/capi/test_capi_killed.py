"""Once the kill switch has tripped, each registration of the C API returns -ENODEV; it returned 0 before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import extension
import pytest
from kill_switch import TRIP

HERE = Path(__file__).resolve().parent

pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(not extension.available(), reason="no C compiler is here"),
]

PROGRAM = """
import errno, importlib.util, os, sys

def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path).partition(".")[0], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

def f(): pass

users, fprobes, kprobes = map(load, sys.argv[1:])
user = users.new()
trip_kill_switch()
assert users.register(user) == -errno.ENODEV
assert fprobes.register("*", None) == -errno.ENODEV
assert fprobes.register_ips([f]) == -errno.ENODEV
assert fprobes.register_syms(["__main__.f"]) == -errno.ENODEV
assert kprobes.register(f, 0, 0, False, None) == -errno.ENODEV
assert users.status(user)[0] == -1
"""


def test_each_registration_returns_enodev(tmp_path: Path) -> None:
    compiler = extension.available()[0]
    paths = [
        str(extension.compile_extension(tmp_path, name, [HERE / f"{name}.c"], compiler))
        for name in ("capi_probe", "fprobe_probe", "kprobe_probe")
    ]
    done = subprocess.run([sys.executable, "-c", TRIP + PROGRAM, *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
