"""funcgraph diff: two versions of a program side by side."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from funcgraph.command_support.messages import CommandError, os_error_text, print_message, refusal_of
from funcgraph.command_support.trace import (
    add_selection_arguments,
    check_whole,
    open_file,
    reading_bar,
    selection_of,
    trace_errors,
)
from funcgraph.diff.bootstrap import FEW_RUNS
from funcgraph.diff.comparison import Compared, Comparison, Measure, compare
from funcgraph.diff.fail_if import FIGURES, ConditionError, parse_condition
from funcgraph.names import printable
from funcgraph.tracedata.pager import write_text
from funcgraph.tracedata.summary import FunctionSummary, duration_text
from funcgraph.tracedata.trace_file import TraceFile

NAME = "diff"
HELP = "compare calls and times of two traces, or of several runs each"
DESCRIPTION = """\
Print calls and times of each function in two traces side by side: those with the largest difference first.

  funcgraph diff OLD NEW
  funcgraph diff OLD OLD OLD --with NEW NEW NEW

With several runs of each, a verdict says which differences are more than noise: Welch's t-test over the
logarithms of the runs, with at most 5 % false verdicts among all functions (Benjamini and Hochberg). Beside
it stands the ratio's 95 % percentile bootstrap interval over the runs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "files", metavar="TRACE", nargs="+", help="two traces; or, before --with, runs of the first side"
    )
    parser.add_argument("--with", dest="others", metavar="TRACE", nargs="+", help="runs of the second side")
    parser.add_argument("--json", action="store_true", help="print JSON, times in nanoseconds")
    parser.add_argument(
        "--top", metavar="N", type=int, help="only the N functions with the largest difference"
    )
    parser.add_argument(
        "--fail-if",
        dest="conditions",
        metavar="CONDITION",
        action="append",
        default=[],
        help="exit with 1 if this is true: '[PATTERN:] FIGURE OPERATOR NUMBER', as 'time > 1.1', 'calls > 1' "
        f"or 'shop.*: total > 1.2'; figures: {', '.join(FIGURES)}; may be repeated",
    )
    parser.add_argument(
        "--first-difference",
        action="store_true",
        help="print where two runs of one thread first differ: in a call, its recorded arguments or its "
        "recorded result; exit with 1 if they do",
    )
    add_selection_arguments(parser, events=False)


def run(args: argparse.Namespace) -> int:
    """Print the comparison; return the exit status."""
    a, b = _sides(args)
    try:
        conditions = [parse_condition(text) for text in args.conditions]
    except ConditionError as error:
        raise refusal_of(error, "--fail-if: ") from None
    if args.top is not None and args.top < 1:
        raise CommandError(f"--top {args.top}: must be at least 1")
    if args.first_difference:
        return _first_difference(args, a, b)
    with reading_bar(", ".join((*a, *b))) as bar:
        traces = [[open_file(path, args, bar) for path in side] for side in (a, b)]
        rows = [[_summary(trace, args) for trace in side] for side in traces]
    is_cpu = {trace.has_cpu_time for side in traces for trace in side}
    if len(is_cpu) > 1:
        print_message(
            "some runs have CPU time (record -O nosleep-time), others have not: their times do not compare"
        )
    comparison = compare(*rows)
    try:
        failures = [line for condition in conditions for line in condition.failures(comparison)]
    except ConditionError as error:
        raise refusal_of(error, "--fail-if: ") from None
    text = (
        _json(comparison, a, b, args.top, failures)
        if args.json
        else "".join((*_lines(comparison, args.top), *_clock_lines(comparison, is_cpu)))
    )
    write_text([text.encode("utf-8", "backslashreplace")], pager=False)
    for line in failures:
        print_message(printable(line))
    return 1 if failures else 0


def _sides(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    if args.others:
        return args.files, args.others
    if len(args.files) != 2:
        raise CommandError(
            f"two traces, or 'A A ... --with B B ...', must be given; got {len(args.files)} without --with"
        )
    return [args.files[0]], [args.files[1]]


def _summary(trace: TraceFile, args: argparse.Namespace) -> list[FunctionSummary]:
    with trace_errors(trace.path):
        try:
            return trace.summary(select=selection_of(args))
        except OSError as error:
            raise CommandError(os_error_text(error)) from None


# ---- text

_MARKS = {
    "more": "more",
    "less": "less",
    "same": "",
    "noise": "noise",
    "unknown": "",
    "new": "new",
    "gone": "gone",
}


def _lines(comparison: Comparison, top: int | None) -> Iterator[str]:
    header = (
        "CALLS A",
        "CALLS B",
        "",
        "SELF A",
        "SELF B",
        "RATIO",
        "TOTAL A",
        "TOTAL B",
        "RATIO",
        "BEST CALL",
        "BOOTSTRAP" if min(comparison.runs) > 1 else "",
        "VERDICT",
        "FUNCTION",
    )
    shown = comparison.functions[:top]
    rows = [_cells(row) for row in shown]
    whole = _cells(comparison.whole)
    whole[6:10] = [""] * 4
    whole[-1] = f"{len(comparison.functions):,} functions"
    widths = [max(map(len, column)) for column in zip(header, whole, *rows, strict=True)]
    for cells in (header, *rows, whole):
        line = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells[:-2], widths, strict=False))
        yield f"{line}  {cells[-2]:<{widths[-2]}}  {cells[-1]}\n"
    runs_a, runs_b = comparison.runs
    if min(runs_a, runs_b) < 2:
        yield "One run of a side does not tell a difference from noise: give several, A A A --with B B B\n"
    else:
        yield f"{runs_a} and {runs_b} runs: geometric means; verdicts on SELF, by Welch's t-test\n"
        yield "BOOTSTRAP: the 95 % percentile bootstrap interval of the verdict's ratio, over the runs"
        yield f"{'; too narrow for so few' if min(runs_a, runs_b) < FEW_RUNS else ''}\n"
        if any(row.own_time is row.best_ns for row in comparison.functions):
            yield "(best): on the shortest call of each run, which does not depend on the machine's load\n"
        yield from _sensitivity(comparison)


def _clock_lines(comparison: Comparison, is_cpu: set[bool]) -> Iterator[str]:
    """Yield what the times are, as far as that says how much they depend on the machine's load."""
    if is_cpu == {True}:
        yield "times are CPU time (record -O nosleep-time)\n"
    elif any(row.own_time.verdict == "noise" for row in comparison.functions):
        yield "record -O nosleep-time records CPU time, which does not depend on the machine's load\n"


def _sensitivity(comparison: Comparison) -> Iterator[str]:
    """Yield what differences the runs could have shown."""
    whole = comparison.whole.self_ns.detectable
    if whole is not None:
        yield f"the smallest difference that these runs can show (4 of 5 times): {_factor(whole)} in all"
    found = [
        min(figure.detectable for figure in figures if figure.detectable is not None)
        for row in comparison.functions
        if row.calls.verdict not in ("new", "gone")
        and (figures := [row.self_ns, *([row.best_ns] if row.is_leaf else [])])[0].detectable is not None
    ]
    if found:
        yield f", {_factor(min(found))} to {_factor(max(found))} in a function"
    yield "\n"


def _factor(value: float) -> str:
    return f"{value:.2f}x" if value < 1000 else "over 1000x"


def _cells(row: Compared) -> list[str]:
    calls, own, total, best = row.measures()
    shown = row.own_time
    verdict = _MARKS[shown.verdict if calls.verdict not in ("new", "gone") else calls.verdict]
    return [
        f"{calls.mean_a:,.0f}", f"{calls.mean_b:,.0f}", _mark(calls),
        duration_text(own.mean_a), duration_text(own.mean_b), _ratio(own),
        duration_text(total.mean_a), duration_text(total.mean_b), _ratio(total),
        _ratio(best), _interval(shown),
        f"{verdict} (best)" if shown is best else verdict, printable(row.name),
    ]  # fmt: skip


def _mark(calls: Measure) -> str:
    """Return how calls differ: exactly, unless the runs of one side do."""
    if calls.verdict in ("same", "noise", "new", "gone"):
        return "~" if calls.verdict == "noise" else ""
    return f"{calls.ratio:.2f}x" if calls.ratio else ""


def _ratio(figure: Measure) -> str:
    if not figure.ratio:
        return ""
    if figure.low is None or figure.high is None or figure.verdict == "same":
        return f"{figure.ratio:.2f}x"
    return f"{figure.ratio:.2f}x {_bounds(figure.low, figure.high)}"


def _interval(figure: Measure) -> str:
    interval = None if figure.verdict == "same" else figure.bootstrap
    return _bounds(*interval) if interval else ""


def _bounds(low: float, high: float) -> str:
    return f"[{_bound(low)}, {_bound(high)}]"


def _bound(value: float) -> str:
    return f"{value:.2f}" if value < 1000 else "..."


# ---- JSON


def _json(
    comparison: Comparison, a: Sequence[str], b: Sequence[str], top: int | None, failures: Sequence[str]
) -> str:
    made: dict[str, Any] = {
        "a": list(a),
        "b": list(b),
        "whole": {"calls": _figure(comparison.whole.calls), "self_ns": _figure(comparison.whole.self_ns)},
        "functions": [
            {"name": row.name, "verdict": row.own_time.verdict}
            | {name: _figure(getattr(row, name)) for name in ("calls", "self_ns", "total_ns", "best_ns")}
            for row in comparison.functions[:top]
        ],
        "failures": list(failures),
    }
    return json.dumps(made, indent=1) + "\n"


def _figure(figure: Measure) -> dict[str, Any]:
    return {
        "a": figure.a, "b": figure.b, "ratio": figure.ratio, "low": figure.low, "high": figure.high,
        "bootstrap": figure.bootstrap, "p": figure.p, "detectable": figure.detectable,
        "verdict": figure.verdict,
    }  # fmt: skip


# ---- the first difference


def _first_difference(args: argparse.Namespace, a: Sequence[str], b: Sequence[str]) -> int:
    from funcgraph.diff.first_difference import first_difference
    from funcgraph.tracedata.opened import Trace

    if len(a) != 1 or len(b) != 1 or args.conditions or args.top is not None:
        raise CommandError("--first-difference compares two traces, without --fail-if and --top")
    with ExitStack() as stack:
        bar = stack.enter_context(reading_bar(", ".join((*a, *b))))
        traces = []
        for path in (*a, *b):
            with trace_errors(path):
                try:
                    traces.append(stack.enter_context(Trace(path, progress=bar)))
                except OSError as error:
                    raise CommandError(os_error_text(error)) from None
            check_whole(traces[-1], args)
        with trace_errors(f"{a[0]}, {b[0]}"):
            found = first_difference(traces[0], traces[1], selection_of(args))
        beginnings = [
            min((task.first_ns for task in trace.tasks if task.records), default=0) for trace in traces
        ]
    if args.json:
        made = None if found is None else {name: getattr(found, name) for name in found.__slots__}
        text = json.dumps({"difference": made}, indent=1) + "\n"
    elif found is None:
        text = "both make the same calls\n"
    else:
        text = "".join(_parting(found, a[0], b[0], beginnings))
    write_text([text.encode("utf-8", "backslashreplace")], pager=False)
    return int(found is not None)


_BUT = {"call": "", "arguments": "arguments differ", "result": "a result differs"}


def _parting(found: Any, a: str, b: str, beginnings: Sequence[int]) -> Iterator[str]:
    from funcgraph.answers.facts import same_calls

    but = _BUT[found.what]
    then = f"; {'then ' if found.calls else ''}{but}" if but else ""
    yield f"{same_calls(found.calls)}{then}\n"
    for depth, name in enumerate(found.path):
        yield f"  {'  ' * depth}{printable(name)}() {{\n"
    for mark, path, end, begin in (("-", a, found.a, beginnings[0]), ("+", b, found.b, beginnings[1])):
        if end is None:
            yield f"{mark} {'  ' * len(found.path)}no further call ({printable(path)})\n"
        else:
            depth, name, time = end
            after = duration_text(max(time - begin, 0))
            call = f"{printable(name)}()" if found.what == "call" else printable(name)
            yield f"{mark} {'  ' * depth}{call} ({printable(path)}, after {after})\n"
