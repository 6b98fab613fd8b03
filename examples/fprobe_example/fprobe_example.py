"""Runs a program with a probe on any of its functions; prints entries, returns and, if asked to, backtraces.

    $ python fprobe_example.py 'json.*.decode' ../two_tools/both.py

The Linux kernel has a sample module of this name, which takes a symbol or a pattern too.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from types import FrameType

import funcgraph

out = sys.stderr


def shown(value: object) -> str:
    """What a value is, without running any of the program's code."""
    simple = isinstance(value, int | float | str | bytes | None) and type(value).__module__ == "builtins"
    return repr(value)[:60] if simple else f"<{type(value).__name__}>"


def backtrace(frame: FrameType | None) -> None:
    for line in traceback.format_stack(frame, limit=8):
        out.write(line)


def entry(
    fp: funcgraph.Fprobe,
    entry_ip: funcgraph.Function,
    ret_ip: funcgraph.ReturnAddress | None,
    regs: funcgraph.FtraceRegs,
    entry_data: memoryview | None,
) -> None:
    given = ""
    if entry_ip.code is not None:  # CPython tells next to nothing of the arguments of C functions
        given = ", ".join(f"{name}={shown(value)}" for name, value in regs.arguments().items())
    where = f" from {ret_ip.file}:{ret_ip.line}" if ret_ip else ""
    out.write(f"Enter {entry_ip.name}({given}){where}\n")
    if fp.save_regs and entry_ip.code is not None:
        backtrace(regs.get_regs())


def leave(
    fp: funcgraph.Fprobe,
    entry_ip: funcgraph.Function,
    ret_ip: funcgraph.ReturnAddress | None,
    regs: funcgraph.FtraceRegs,
    entry_data: memoryview | None,
) -> None:
    parts = regs.partial_regs()
    known = parts["return_value"] or parts["exception"]
    result = shown(regs.get_return_value()) if known else "?"
    where = f" to {ret_ip.file}:{ret_ip.line}" if ret_ip else ""
    out.write(
        f"Return from {entry_ip.name}, {'raised' if parts['exception'] else 'result'} {result}{where}\n"
    )


def is_there() -> None:
    """Never called. The program's functions come only when it runs: a pattern takes those too, but
    registering with nothing that matches now is an error, as the kernel has it. This function always
    matches."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backtrace", action="store_true", help="print who called, at each entry")
    parser.add_argument("--not", dest="notfilter", metavar="PATTERN", help="not these functions")
    parser.add_argument(
        "pattern", help='functions: "module.qualname" with *, ? and [...]; C functions by name'
    )
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    fp = funcgraph.Fprobe(entry, leave, name="fprobe_example", save_regs=options.backtrace)
    sys.argv[:] = [options.script, *options.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    with funcgraph.registered_fprobe(fp, [options.pattern, "__main__.is_there"], options.notfilter):
        runpy.run_path(options.script, run_name="__main__")
    out.write(f"{fp.nmissed} missed, {fp.errors} errors\n")


if __name__ == "__main__":
    main()
