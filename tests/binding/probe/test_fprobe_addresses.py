"""Handlers of an fprobe can be addresses of C functions; these get struct fprobe and the raw entry data.

Broken by hand: set_handlers() used the address of the entry handler for the exit too.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")
HERE = __name__


def add(a: int, b: int) -> int:
    return a + b


ENTRY = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
EXIT = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)


@pytest.mark.parametrize("as_int", [False, True])
def test_addresses_as_handlers_of_an_fprobe(as_int):
    seen = []

    def entry(fp, entry_ip, ret_ip, regs, data):
        ctypes.c_uint32.from_address(data).value = 77
        seen.append(("entry", bool(fp and entry_ip and ret_ip and regs)))
        return 0

    def exit(fp, entry_ip, ret_ip, regs, data):
        seen.append(("exit", ctypes.c_uint32.from_address(data).value))

    handlers: list[Any] = [ENTRY(entry), EXIT(exit)]
    given = [ctypes.cast(each, ctypes.c_void_p).value for each in handlers] if as_int else handlers
    fp = funcgraph.Fprobe(*given, entry_data_size=4)
    with funcgraph.registered_fprobe(fp, f"{HERE}.add"):
        add(1, 2)
    assert seen == [("entry", True), ("exit", 77)]


def test_a_c_entry_and_a_python_exit_share_the_data():
    seen = []

    def entry(fp, entry_ip, ret_ip, regs, data):
        ctypes.c_uint32.from_address(data).value = 0x01020304
        return 0

    handler = ENTRY(entry)
    fp = funcgraph.Fprobe(handler, lambda fp, ip, ret_ip, regs, data: seen.append(bytes(data)), 4)
    with funcgraph.registered_fprobe(fp, f"{HERE}.add"):
        add(1, 2)
    assert seen == [(0x01020304).to_bytes(4, sys.byteorder)]
