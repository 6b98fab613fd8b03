"""funcgraph plan: find out which native functions of objects can be hooked, and keep it in the cache."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing

from funcgraph.command_support.messages import os_error_text, print_message
from funcgraph.names import printable
from funcgraph.native.cache import PlanCache
from funcgraph.native.errors import PlanError
from funcgraph.native.objects import ObjectPlan, plan_file_at
from funcgraph.native.reasons import Reason

NAME = "plan"
HELP = "plan hooks of native functions ahead"
DESCRIPTION = """\
Find out which functions of libraries and programs can be hooked, and keep that in the cache
(~/.cache/funcgraph/native), where recordings find it. Prints a line for each object: its functions, how many
can be hooked, why the others cannot, and how long it took. Takes iced-x86 (pip install 'funcgraph[native]')."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "objects",
        metavar="OBJECT|PID",
        nargs="+",
        help="a library or program; a process: all that it has loaded",
    )
    parser.add_argument("--afresh", action="store_true", help="plan again what the cache has")


def run(args: argparse.Namespace) -> int:
    """Plan each object; return the exit status."""
    plans, failed = [], 0
    with closing(PlanCache()) as cache:
        for path in args.objects:
            try:
                plans.append(plan_file_at(path, cache, afresh=args.afresh))
            except (OSError, PlanError) as error:
                failed += 1
                print_message(os_error_text(error) if isinstance(error, OSError) else f"{path}: {error}")
        if cache.flaw:
            print_message(f"plans are not kept: {cache.flaw}")
    if plans:
        print(_table(plans), end="")
    return 0 if not failed else 1 if plans else 2


def _table(plans: Sequence[ObjectPlan]) -> str:
    rows = [("object", "functions", "hookable", "%", "seconds", "plan", "not hookable"), *map(_row, plans)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *cells, reasons in rows:
        numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths[1:-1], strict=True))
        lines.append(f"{name:<{widths[0]}}  {numbers}  {reasons}".rstrip() + "\n")
    return "".join(lines)


def _row(found: ObjectPlan) -> tuple[str, ...]:
    counts = found.plan.reasons()
    hookable = counts.get(Reason.HOOKABLE, 0)
    total = len(found.plan)
    others = sorted(
        (reason for reason in counts if reason is not Reason.HOOKABLE), key=lambda reason: -counts[reason]
    )
    return (
        printable(found.name), str(total), str(hookable), f"{100 * hookable / total:.1f}" if total else "-",
        f"{found.seconds:.3f}", "new" if found.is_new else "cache",
        ", ".join(f"{counts[reason]} {reason.text}" for reason in others),
    )  # fmt: skip
