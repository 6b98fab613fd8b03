"""Runs a program with a probe on any of its functions. Prints entries, returns and, if asked, backtraces.

    $ python fprobe_example.py 'json.*.decode' ../two_tools/both.py

The Linux kernel has a sample module of this name, which also takes a symbol or a pattern.
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
    """Return a value's text without running any of the program's code."""
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
    if entry_ip.code is not None:  # of a C function's arguments CPython reports next to nothing
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
    parts = regs.available()
    known = parts["return_value"] or parts["exception"]
    result = shown(regs.get_return_value()) if known else "?"
    where = f" to {ret_ip.file}:{ret_ip.line}" if ret_ip else ""
    out.write(
        f"Return from {entry_ip.name}, {'raised' if parts['exception'] else 'result'} {result}{where}\n"
    )


def always_matches() -> None:
    """Give the probe one function that matches at registration. It is never called.

    The program's functions are defined only when it runs. The pattern will match them then, but registering a
    probe that matches nothing now is an error, as in the kernel."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backtrace", action="store_true", help="print a backtrace at each entry")
    parser.add_argument("--not", dest="notfilter", metavar="PATTERN", help="never probe these functions")
    parser.add_argument(
        "pattern", help='functions: "module.qualname" with *, ? and [...]; C functions by name'
    )
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    fp = funcgraph.Fprobe(entry, leave, name="fprobe_example", save_regs=options.backtrace)
    sys.argv[:] = [options.script, *options.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    with funcgraph.registered_fprobe(fp, [options.pattern, "__main__.always_matches"], options.notfilter):
        runpy.run_path(options.script, run_name="__main__")
    out.write(f"{fp.nmissed} missed, {fp.errors} errors\n")


if __name__ == "__main__":
    main()
