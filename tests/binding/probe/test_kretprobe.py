"""Kretprobe: a handler at the return, with data from the entry.

Broken by hand: _entry() always returned None and ignored the handler's result.
"""

from __future__ import annotations

import errno
import struct
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")
HERE = __name__


def deep(n: int) -> int:
    return n and deep(n - 1) + 1


@pytest.mark.parametrize("symbol", [deep, f"{HERE}.deep", deep.__code__])
def test_entry_and_return(symbol):
    seen = []

    def entry(ri, regs):
        assert ri.rp is rp and len(ri.data) == 8
        ri.data[:] = struct.pack("q", regs.get_argument("n"))
        return regs.get_argument("n") == 1

    def handler(ri, regs):
        (n,) = struct.unpack("q", ri.data)
        seen.append((n, regs.get_return_value(), ri.function.name, ri.ret_ip.qualname))

    rp = funcgraph.Kretprobe(handler, entry, data_size=8, maxactive=1)
    funcgraph.register_kretprobe(rp, symbol)
    assert rp.registered and repr(rp) == "<Kretprobe '', registered>"
    assert deep(3) == 3
    funcgraph.unregister_kretprobe(rp)
    deep(3)
    name, here = f"{HERE}.deep", "test_entry_and_return"
    assert seen == [(0, 0, name, "deep"), (2, 2, name, "deep"), (3, 3, name, here)]
    assert rp.nmissed == 0


def test_without_an_entry_handler_and_without_data():
    seen = []
    rp = funcgraph.Kretprobe(lambda ri, regs: seen.append((ri.data, regs.get_return_value())))
    funcgraph.register_kretprobe(rp, deep)
    deep(0)
    funcgraph.disable_kretprobe(rp)
    deep(0)
    funcgraph.enable_kretprobe(rp)
    deep(0)
    funcgraph.unregister_kretprobe(rp)
    assert seen == [(None, 0)] * 2


def test_no_limit_of_calls_in_flight():
    seen = []
    rp = funcgraph.Kretprobe(lambda ri, regs: seen.append(1), maxactive=1)
    funcgraph.register_kretprobe(rp, deep)
    deep(300)
    funcgraph.unregister_kretprobe(rp)
    assert len(seen) == 301 and rp.nmissed == 0


def test_errors(no_users_left):
    def number_of(call: Any, *args: Any) -> int | None:
        with pytest.raises(OSError) as raised:
            call(*args)
        return raised.value.errno

    rp = funcgraph.Kretprobe(lambda ri, regs: 1 / 0)
    assert number_of(funcgraph.register_kretprobe, rp, f"{HERE}.dep") == errno.ENOENT
    assert number_of(funcgraph.unregister_kretprobe, rp) == errno.EINVAL
    assert number_of(funcgraph.enable_kretprobe, rp) == errno.EINVAL
    assert number_of(funcgraph.disable_kretprobe, rp) == errno.EINVAL
    too_much = funcgraph.Kretprobe(lambda ri, regs: None, data_size=121)
    assert number_of(funcgraph.register_kretprobe, too_much, deep) == errno.E2BIG
    for args in ((None,), (print, 3)):
        with pytest.raises(TypeError):
            funcgraph.Kretprobe(*args)
    with pytest.raises(TypeError):
        funcgraph.register_kretprobe(rp, 3)
    funcgraph.register_kretprobe(rp, deep)
    assert number_of(funcgraph.register_kretprobe, rp, deep) == errno.EEXIST
    assert deep(2) == 2
    funcgraph.unregister_kretprobe(rp)
    assert rp.fprobe.errors == 1 and not rp.fprobe.enabled and len(no_users_left) == 1
