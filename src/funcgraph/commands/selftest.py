"""`funcgraph selftest`: checks the promises of the function graph on this machine and this Python."""

from __future__ import annotations

import argparse
import faulthandler
import json
import platform
import sys
from dataclasses import asdict, dataclass
from typing import Any

import funcgraph
from funcgraph.command_support.messages import CommandError

NAME = "selftest"
HELP = "check the promises of the function graph on this machine"
DESCRIPTION = """\
Check the promises of the function graph on this machine and this Python: each user sees exactly its own
calls, finds its data at the return, slots are reused, and every limit is counted. Prints a line per check;
the exit status is 1 if a check has failed."""

# A check takes milliseconds. After this time faulthandler prints the stacks of all threads on standard error
# and exits with status 1.
_HANGS_S = 60.0


@dataclass(frozen=True)
class Machine:
    """The machine and the Python of the checks; the fields are those of --json.

    Attributes:
        tool_id: funcgraph's sys.monitoring id; None on 3.11, or if no id is free.
        users: the number of users registered before the checks, such as a recording.
    """

    funcgraph: str
    python: str
    machine: str
    arch: str
    tool_id: int | None
    users: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("-q", dest="quiet", action="store_true", help="print only the checks that fail")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run all checks and print the results. Return 1 if a check failed, else 0."""
    try:
        from funcgraph import selftest
    except ImportError as error:
        raise CommandError(f"cannot load the engine: {error}", status=1) from None
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
    """Return the engine's status while a user is registered: only then it holds a sys.monitoring id."""
    from funcgraph import _engine

    try:
        with funcgraph.registered(funcgraph.FgraphOps(filter=["funcgraph.no_function"], name="self-test")):
            return _engine.status()
    except (OSError, RuntimeError):  # no free slot or id: the checks will report it
        return _engine.status()


def _print_machine(machine: Machine) -> None:
    print(f"funcgraph {machine.funcgraph} on {machine.python}, {machine.machine}")
    held = "" if machine.tool_id is None else f", tool id {machine.tool_id}"
    others = f"{machine.users} other user{'' if machine.users == 1 else 's'}"
    print(f"engine: {machine.arch}{held}, {others}")
    print()
