"""Checks the probes: fprobes, kprobes, kretprobes and kprobe_multi links."""

from __future__ import annotations

import struct
from typing import Any

import funcgraph
from funcgraph.selftest import program
from funcgraph.selftest.observer import FailedError, expect, in_thread, patterns


class _Handlers:
    """Handlers that keep what they saw."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def expect(self, seen: list[object], what: str) -> None:
        """Raise FailedError unless exactly this was seen since the last expect()."""
        got, self.seen = self.seen, []
        expect(got, seen, what)

    def entry(self, fp: Any, function: Any, ret_ip: Any, regs: Any, data: Any) -> bool:
        data[:] = struct.pack("q", regs.get_argument(0))
        self.seen.append((function.qualname, ret_ip.qualname))
        return False

    def exit(self, fp: Any, function: Any, ret_ip: Any, regs: Any, data: Any) -> None:
        self.seen.append((*struct.unpack("q", data), regs.get_return_value()))


def _check_no_error(probe: Any) -> None:
    if probe.last_error is not None:
        raise FailedError(f"in a handler: {probe.last_error}") from probe.last_error


def fprobes() -> None:
    """Entry and exit handlers run once for each call, with the same data; disabled ones do not run."""
    one, other = _Handlers(), _Handlers()
    first = funcgraph.Fprobe(one.entry, one.exit, 8, name="self-test")
    second = funcgraph.Fprobe(lambda *values: other.seen.append(values[1].qualname), name="self-test")
    leaf = [("leaf", "pair"), (3, 3)]
    with funcgraph.registered_fprobe(first, patterns("pair", "leaf")):
        with funcgraph.registered_fprobe(second, patterns("leaf")):
            program.pair(3)
            other.expect(["leaf"] * 2, "calls that the second fprobe saw")
            one.expect(
                [("pair", "fprobes"), *leaf, *leaf, (3, 6)], "entries and exits that the first fprobe saw"
            )
        program.leaf(1)
        other.expect([], "calls after the second fprobe left")
        one.expect([("leaf", "fprobes"), (1, 1)], "entries and exits after the second fprobe left")
        funcgraph.disable_fprobe(first)
        program.leaf(1)
        one.expect([], "calls while the fprobe was disabled")
        funcgraph.enable_fprobe(first)
        in_thread(lambda: program.leaf(2))
        expect(one.seen[1:], [(2, 2)], "exits in another thread")
        one.seen.clear()
    program.leaf(1)
    one.expect([], "calls after the fprobe left")
    for probe in (first, second):
        _check_no_error(probe)


def kprobes() -> None:
    """A kprobe's handler runs each time that the program reaches its line, and sees the variables."""
    seen: list[object] = []
    name = patterns("summed")[0]
    line = program.summed.__code__.co_firstlineno + 4
    probe = funcgraph.Kprobe(
        lambda kprobe, regs: seen.append((regs.get_local("number"), regs.get_local("total"))), name, line=line
    )
    start = funcgraph.Kprobe(lambda kprobe, regs: seen.append(regs.get_local("count")), name, offset=0)
    with funcgraph.probed(probe, start):
        expect(program.summed(3), 3, "the program's result")
        expect(seen, [3, (0, 0), (1, 0), (2, 1)], "variables at the kprobes' places")
        expect(probe.hits, 3, "the kprobe's hits")
        funcgraph.disable_kprobe(probe)
        program.summed(1)
        expect(probe.hits, 3, "the hits of a disabled kprobe")
    program.summed(1)
    expect(len(seen), 5, "hits after the kprobes left")
    for one in (probe, start):
        _check_no_error(one)


def kretprobes() -> None:
    """A kretprobe's handler runs at each return, with the entry's data, unless the entry declined it."""
    seen: list[object] = []

    def entry(instance: Any, regs: Any) -> bool:
        instance.data[:] = struct.pack("q", regs.get_argument(0))
        return bool(regs.get_argument(0) == 7)

    def handler(instance: Any, regs: Any) -> None:
        seen.append((instance.function.qualname, *struct.unpack("q", instance.data), regs.get_return_value()))

    probe = funcgraph.Kretprobe(handler, entry, 8, name="self-test")
    funcgraph.register_kretprobe(probe, patterns("recurse")[0])
    try:
        program.recurse(2)
        program.leaf(1)
        expect(seen, [("recurse", depth, depth) for depth in range(3)], "returns, with their entries' data")
        program.recurse(7)
        expect(len(seen), 3 + 7, "returns without the one that the entry declined")
    finally:
        funcgraph.unregister_kretprobe(probe)
    program.recurse(2)
    expect(len(seen), 3 + 7, "returns after the kretprobe left")
    _check_no_error(probe.fprobe)


def kprobe_multi() -> None:
    """One handler on several functions has each function's cookie, and its session at the return."""
    seen: list[object] = []

    def handler(ctx: Any) -> None:
        if not ctx.is_return:
            ctx.session_cookie = 2 * ctx.cookie
        seen.append((ctx.func.qualname, ctx.cookie, ctx.is_return, ctx.session_cookie))

    names = patterns("leaf", "nothing")
    with funcgraph.kprobe_multi(handler, names, cookies=[1, 2], kind="session", name="self-test") as link:
        program.pair(1)
        program.nothing()
        leaf = [("leaf", 1, False, 2), ("leaf", 1, True, 2)]
        nothing = [("nothing", 2, False, 4), ("nothing", 2, True, 4)]
        expect(seen, [*leaf, *leaf, *nothing], "functions, cookies and sessions")
    program.leaf(1)
    expect(len(seen), 6, "calls of the handler, also after the link was detached")
    _check_no_error(link)
