"""A piece of a program that trips the kill switch: it breaks a word on its own shadow stack."""

from __future__ import annotations

#: Text for the beginning of a program. Its trip_kill_switch() may be called once.
TRIP = """
import ctypes, funcgraph

def trip_kill_switch():
    words = []

    def entry(trace, ops, regs):
        data = ctypes.addressof(ctypes.c_char.from_buffer(ops.reserve_data(8)))
        # struct fg_buffer in binding/core/view.c: where the data lies on the shadow stack
        words.append(ctypes.c_uint64.from_address(data - 40).value)
        return True

    def breaks_its_frame():
        ctypes.c_uint64.from_address(words[0] + 8).value = 0

    ops = funcgraph.FgraphOps(entry, lambda trace, ops, regs: None, filter=["*.breaks_its_frame"])
    funcgraph.register_ftrace_graph(ops)
    breaks_its_frame()
"""
