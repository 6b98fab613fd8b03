"""funcgraph merge: make one trace of several, of one machine or many."""

from __future__ import annotations

import argparse

from funcgraph.command_support.messages import CommandError, os_error_text, print_message
from funcgraph.command_support.progress_bar import ProgressBar
from funcgraph.command_support.trace import add_strict_argument
from funcgraph.merge.join import Merged, MergedHost, MergeError, merge
from funcgraph.merge.messages import Match
from funcgraph.merge.stamps import read_stamps
from funcgraph.recorder.progress import plural
from funcgraph.steering.output import print_line
from funcgraph.tracedata.description import TraceError
from funcgraph.tracedata.summary import duration_text

NAME = "merge"
HELP = "make one trace of several, of one machine or many"
DESCRIPTION = """\
Make one trace of several. The traces of several machines get one time line, that of the first trace: each
machine is a buffer of the result, and its name stands before each line of the report.

How a machine's clock becomes the first one's is known from exchanged stamps (--stamps), from messages that
one recorded as sent and another as received (--match), or else from the real-time clocks, which each
recording notes. How far off the times may be is printed, and is in the trace."""

#: Less than this is not a clock that was set, but one that runs a little faster or slower for a while.
_SET_NS = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "traces", metavar="TRACE.fg", nargs="+", help="the traces; the first one has the clock"
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the trace to write, a .fg")
    add_strict_argument(parser)
    parser.add_argument(
        "--stamps",
        metavar="FILE",
        help="exchanged stamps: a JSON object, of each host a list of [sent, received, answered, returned], "
        "in ns of CLOCK_MONOTONIC; sent and returned are the first trace's",
    )
    parser.add_argument(
        "--match",
        metavar="SENT=RECEIVED",
        action="append",
        default=[],
        help="the ends of messages, each as GROUP/EVENT.FIELD: events with the same value; may be repeated",
    )
    parser.add_argument(
        "--host",
        metavar="NAME=TRACE.fg",
        action="append",
        default=[],
        help="call this trace's host so; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Merge the traces; return the exit status."""
    if args.output.endswith(".dat"):
        raise CommandError(
            f"{args.output}: a merged trace is a .fg; `funcgraph export trace-dat` makes a trace.dat of it"
        )
    try:
        with ProgressBar(f"writing {args.output}") as bar:
            merged = merge(
                args.traces,
                args.output,
                stamps=read_stamps(args.stamps) if args.stamps else None,
                matches=[Match.parse(text) for text in args.match],
                names=_names(args.host, args.traces),
                strict=args.strict,
                progress=bar,
            )
    except (MergeError, TraceError) as error:
        raise CommandError(str(error)) from None
    except ValueError as error:
        raise CommandError(f"{args.stamps}: {error}" if args.stamps else str(error)) from None
    except OSError as error:
        raise CommandError(os_error_text(error)) from None
    return _report(merged)


def _names(given: list[str], traces: list[str]) -> dict[str, str]:
    names = {}
    for text in given:
        name, _, path = text.partition("=")
        if not name or path not in traces:
            raise CommandError(f"--host {text}: must be NAME=TRACE.fg, with one of the traces")
        names[path] = name
    return names


def _report(merged: Merged) -> int:
    for host in merged.hosts if len(merged.hosts) > 1 else ():
        print_line(_line(host))
        if host.source == "clocks" and host.jump_ns > max(host.error_ns or 0, _SET_NS):
            print_message(
                f"{host.name}: its real-time clock was set by {duration_text(host.jump_ns)} while it recorded"
            )
        if host.slack_ns:
            print_message(
                f"{host.name}: what is known of its clock is wrong by up to {duration_text(host.slack_ns)}"
            )
    for line in merged.flaws:
        print_message(line)
    if merged.damaged:
        print_message(
            f"{plural(merged.damaged, 'place')} of the traces damaged: the events there are missing"
        )
    return 1 if merged.damaged else 0


def _line(host: MergedHost) -> str:
    if host.source == "reference":
        return f"{host.name}: {_count(host)}, the clock of all"
    error = "by how much is not known"
    if host.error_ns is not None:
        error = f"by at most {duration_text(host.error_ns)}"
    return f"{host.name}: {_count(host)}, times off {error} ({host.source}, {host.drift_ppm:+.1f} ppm)"


def _count(host: MergedHost) -> str:
    return f"{len(host.traces)} trace{'s' if len(host.traces) > 1 else ''}"
