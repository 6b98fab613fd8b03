"""funcgraph plan: find out which native functions of objects can be hooked, and keep it in the cache."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing

from funcgraph.command_support.messages import print_message, process_error_text
from funcgraph.command_support.native import plans_of_process, print_plan_error
from funcgraph.command_support.progress_bar import ProgressBar
from funcgraph.names import printable
from funcgraph.native.errors import PlanError
from funcgraph.native.objects import ObjectPlan, Planner
from funcgraph.native.reasons import Reason
from funcgraph.steering.output import print_line

NAME = "plan"
HELP = "plan hooks of native functions ahead"
DESCRIPTION = """\
Find out which functions of libraries and programs can be hooked, and keep that in the cache
(~/.cache/funcgraph/native), where recordings find it. A line for each object says how many functions it has,
how many can be hooked, why the others cannot, and how long that took. pip install 'funcgraph[native]' brings
what it needs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "objects",
        metavar="OBJECT|PID",
        nargs="+",
        help="a library or program; a process: all that it has loaded",
    )
    parser.add_argument(
        "--place",
        metavar="SYMBOL+OFFSET",
        action="append",
        help="plan only this place in a function, where a `p` event can be; may be given several times",
    )
    parser.add_argument("--afresh", action="store_true", help="plan again what the cache has")


def run(args: argparse.Namespace) -> int:
    """Plan each object; return the exit status."""
    # By path and place: several processes may have loaded an object.
    plans: dict[tuple[str, str], ObjectPlan] = {}
    failed = number = 0

    def report(share: float) -> None:
        bar((number + share) / len(args.objects))

    with (
        ProgressBar("planning") as bar,
        closing(Planner(afresh=args.afresh, progress=report)) as planner,
    ):
        for number, name in enumerate(args.objects):  # noqa: B007 (report() uses it)
            try:
                for plan in _plans(planner, name, args.place, bar):
                    plans[plan.path, plan.place] = plan
            except (OSError, PlanError) as error:
                failed += 1
                bar.clear()
                _print_error(name, error)
        bar.stop()
        if planner.cache.flaw:
            print_message(f"plans are not kept: {planner.cache.flaw}")
    if plans:
        for line in _table(list(plans.values())).splitlines():
            print_line(line)
    return 0 if not failed else 1 if plans else 2


def _plans(
    planner: Planner, name: str, places: Sequence[str] | None, bar: ProgressBar
) -> Iterator[ObjectPlan]:
    if name.isdecimal():
        yield from plans_of_process(planner, int(name), before_message=bar.clear)
        return
    for place in places or ("",):
        yield planner.of_file(name, place)


def _print_error(name: str, error: OSError | PlanError) -> None:
    if name.isdecimal():
        print_message(process_error_text(int(name), error))
    else:
        print_plan_error(name, error)


def _table(plans: Sequence[ObjectPlan]) -> str:
    rows = [("object", "functions", "hookable", "%", "seconds", "plan", "not hookable"), *map(_row, plans)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *cells, reasons in rows:
        numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths[1:-1], strict=True))
        lines.append(f"{name:<{widths[0]}}  {numbers}  {reasons}".rstrip() + "\n")
    return "".join(lines)


def _name(found: ObjectPlan) -> str:
    return printable(f"{found.name}:{found.place}" if found.place else found.name)


def _row(found: ObjectPlan) -> tuple[str, ...]:
    counts = found.plan.reasons()
    hookable = counts.get(Reason.HOOKABLE, 0)
    total = len(found.plan)
    others = sorted(
        (reason for reason in counts if reason is not Reason.HOOKABLE), key=lambda reason: -counts[reason]
    )
    return (
        _name(found), str(total), str(hookable), f"{100 * hookable / total:.1f}" if total else "-",
        f"{found.seconds:.3f}", "new" if found.is_new else "cache",
        ", ".join(f"{counts[reason]} {reason.text}" for reason in others),
    )  # fmt: skip
