"""`funcgraph selftest`: what the function graph promises, checked on this machine and this Python."""

from __future__ import annotations

import argparse
import faulthandler
import json
import platform
import sys
from dataclasses import asdict, dataclass
from typing import Any

import funcgraph
from funcgraph.commands import CommandError

NAME = "selftest"
HELP = "check on this machine what the function graph promises"
DESCRIPTION = """\
Check on this machine, with this Python, what the function graph promises to its users: that each is told
of its own calls and of no others, that what it keeps from entry to return is there, that limits are
counted and slots are used again. A line for each check; exit status 1 if one of them has failed."""

# A check takes milliseconds. One that hangs is ended here, with the stacks of all threads on standard error,
# and exit status 1.
_HANGS_S = 60.0


@dataclass(frozen=True)
class Machine:
    """What the checks ran on; the fields are those of --json.

    Attributes:
        tool_id: the id of sys.monitoring that we get; None on 3.11, and if none is free.
        users: those that were registered before the checks (a recording is one).
    """

    funcgraph: str
    python: str
    machine: str
    arch: str
    tool_id: int | None
    users: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("-q", dest="quiet", action="store_true", help="print only the checks that fail")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run all checks and print what came of them; 1 if one failed."""
    try:
        from funcgraph import selftest
    except ImportError as error:
        raise CommandError(f"the engine cannot be loaded: {error}", status=1) from None
    machine = _machine()
    width = max(map(len, selftest.CHECKS))
    in_full = not (args.quiet or args.json)

    def begin(title: str) -> None:
        faulthandler.dump_traceback_later(_HANGS_S, exit=True)
        if in_full:
            print(f"{title:<{width}}  ", end="", flush=True)

    if in_full:
        _print_machine(machine)
    results = []
    for result in selftest.run(begin):
        faulthandler.cancel_dump_traceback_later()
        results.append(result)
        if in_full:
            print(_verdict(result.error), flush=True)
        elif result.error is not None and not args.json:
            print(f"{result.title:<{width}}  {_verdict(result.error)}", flush=True)
    failed = sum(result.error is not None for result in results)
    if args.json:
        checks = [asdict(result) for result in results]
        print(json.dumps({**asdict(machine), "ok": not failed, "checks": checks}, indent=1))
    elif failed or in_full:
        print(f"{failed} of {len(results)} checks FAILED" if failed else f"{len(results)} checks: ok")
    return 1 if failed else 0


def _verdict(error: str | None) -> str:
    return "ok" if error is None else f"FAILED: {error}"


def _machine() -> Machine:
    status = _status_while_registered()
    tool_id = int(status["tool_id"])
    return Machine(
        funcgraph=funcgraph.__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}{_build()}",
        machine=f"{platform.system()} {platform.release()} {platform.machine()}",
        arch=str(status["arch"]),
        tool_id=None if tool_id < 0 else tool_id,
        users=len(funcgraph.users()),
    )


def _build() -> str:
    is_gil_enabled = getattr(sys, "_is_gil_enabled", lambda: True)
    return "" if is_gil_enabled() else ", without the GIL"


def _status_while_registered() -> dict[str, Any]:
    """The engine's status. An id of sys.monitoring is held only while there are users."""
    from funcgraph import _engine

    try:
        with funcgraph.registered(funcgraph.FgraphOps(filter=["funcgraph.no_function"], name="self-test")):
            return _engine.status()
    except (OSError, RuntimeError):  # no slot, no id: the checks will say so
        return _engine.status()


def _print_machine(machine: Machine) -> None:
    print(f"funcgraph {machine.funcgraph} on {machine.python}, {machine.machine}")
    held = "" if machine.tool_id is None else f", tool id {machine.tool_id}"
    others = f"{machine.users} other user{'' if machine.users == 1 else 's'}"
    print(f"engine: {machine.arch}{held}, {others}")
    print()
