"""`funcgraph record`: run a command and record which functions of its Python processes run."""

from __future__ import annotations

import argparse
import os
import resource
import shlex
from typing import Any

import funcgraph
from funcgraph import _engine
from funcgraph.commands import CommandError, say
from funcgraph.session import environ, outcome
from funcgraph.session.child import Child, NotStartedError, die_like, occupy_standard_descriptors, resolve
from funcgraph.session.directory import Session
from funcgraph.session.options import DEFAULTS, LIMITS, PATTERN_OPTIONS
from funcgraph.session.output import check_output
from funcgraph.session.progress import ProgressLine, plural
from funcgraph.session.recording import Recording

NAME = "record"
HELP = "run a command and record the functions it calls"
TAKES_COMMAND = True
DESCRIPTION = """\
Run COMMAND and record which Python functions run in it and in every Python process it starts, into a
trace.dat file.

COMMAND is 'script.py ARGS', '-m MODULE ARGS', '-c CODE', or any executable whose Python processes have
funcgraph installed. Options of funcgraph's own come before it. The exit status is the command's; 2 if nothing
was recorded.

PATTERN is a glob over module.qualname: 'json.*', '*Parser.feed', '__main__.main', with ':mod:NAME' for a
module."""

GRACE_S = 1.0  # for processes that outlive the command, to end by themselves

# Flags of the options whose values are checked here, for the message.
_CHECKED_FLAGS = {
    "filter": "-l",
    "notrace": "-n",
    "graph": "-g",
    "max_graph_depth": "--max-graph-depth",
    "thresh_us": "--thresh",
    "buffer_kb": "-b",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags; each sets the recording's option (options.py) of the name in `dest`."""
    parser.usage = "funcgraph record [OPTIONS] COMMAND..."
    add = parser.add_argument
    add("-o", dest="output", metavar="FILE", default="trace.dat", help="the trace (trace.dat)")
    add("-p", dest="tracer", metavar="TRACER", choices=_engine.TRACERS, help=" or ".join(_engine.TRACERS))
    add("-l", dest="filter", metavar="PATTERN", action="append", help="only these functions")
    add("-n", dest="notrace", metavar="PATTERN", action="append", help="never these functions")
    add("-g", dest="graph", metavar="PATTERN", action="append", help="these and all that they call")
    add("--max-graph-depth", metavar="N", type=int, help="only the first N levels of calls")
    add("--thresh", dest="thresh_us", metavar="USEC", type=int, help="only calls that take at least so long")
    add("--args", action="store_true", help="record the arguments of calls")
    add("--retval", action="store_true", help="record what calls return")
    add("--c-calls", action="store_true", help="record C functions that recorded functions call")
    add("-b", dest="buffer_kb", metavar="KB", type=int, help="size of each process's ring buffer (8192)")
    full = parser.add_mutually_exclusive_group()
    full.add_argument(
        "--drop", dest="mode", action="store_const", const="drop", help="buffer full: drop the newest events"
    )
    full.add_argument(
        "--overwrite",
        dest="mode",
        action="store_const",
        const="overwrite",
        help="buffer full: overwrite the oldest events (default: wait, nothing is lost)",
    )
    add("--no-follow", dest="follow_fork", action="store_false", help="do not record child processes")
    add("-q", dest="quiet", action="store_true", help="no progress line, no closing summary")
    # argparse would append patterns to the very tuple that is the default.
    parser.set_defaults(**{name: None if value == () else value for name, value in DEFAULTS.items()})


def run(args: argparse.Namespace) -> int:
    """Record one command; return its exit status, or die by the signal that it died of."""
    if not args.command:
        raise CommandError("record: no command given (see 'funcgraph record --help')")
    settings = {name: _as_option(getattr(args, name), default) for name, default in DEFAULTS.items()}
    _check(settings)
    output = check_output(args.output)
    try:
        path, argv = resolve(args.command)
    except NotStartedError as error:
        raise CommandError(str(error), error.status) from None

    occupy_standard_descriptors()
    session = Session.create()
    try:
        recording = _open_recording(session, f"{output}.part")
    except BaseException:
        session.remove()
        raise
    try:
        session.write_config(settings, output=output, part=recording.part, command=args.command)
        environment = {**os.environ, environ.VARIABLE: os.pathsep.join([*environ.sessions(), session.path])}
        child = Child(path, argv, environment)
    except BaseException as error:
        recording.discard()
        session.remove()
        if isinstance(error, NotStartedError):
            raise CommandError(str(error), error.status) from None
        raise

    # A descriptor for each traced process. The command has its own limit already.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    progress = ProgressLine(not args.quiet)
    status, left = _follow(child, recording, progress)
    meta = {
        "funcgraph": funcgraph.__version__,
        "tracer": settings["tracer"],
        "options": settings,
        "command": args.command,
        "exit_status": status,
    }
    progress.show(f"writing {output}")
    lines, good = _close(recording, output, meta, left, quiet=args.quiet)
    progress.close()
    for line in lines:
        say(line)
    return die_like(status if status != 0 or good else 2)


def _as_option(value: Any, default: object) -> Any:
    return tuple(value or ()) if isinstance(default, tuple) else value


def _check(settings: dict[str, Any]) -> None:
    for option in PATTERN_OPTIONS:
        for pattern in settings[option]:
            try:
                _engine.check_pattern(pattern)
            except ValueError as error:
                raise CommandError(f"{_CHECKED_FLAGS[option]} {shlex.quote(pattern)}: {error}") from None
    for option, (least, most) in LIMITS.items():
        if not least <= settings[option] <= most:
            raise CommandError(f"{_CHECKED_FLAGS[option]} {settings[option]}: must be from {least} to {most}")


def _open_recording(session: Session, part: str) -> Recording:
    try:
        return Recording(session, part)
    except FileExistsError:
        raise CommandError(
            f"{part}: is there already: another recording writes it, or one that was killed left it "
            f"('funcgraph recover {shlex.quote(part)}' makes a trace of it)"
        ) from None
    except OSError as error:
        raise CommandError(outcome.write_failure(error, part)) from None


def _follow(child: Child, recording: Recording, progress: ProgressLine) -> tuple[int, list[int]]:
    """Drain until the command has ended and what it left running had its time.

    Returns:
        The command's status (Child.status) and the ids of processes that still run.
    """
    told = False
    pause_s = recording.step()
    while not child.wait(pause_s):
        pause_s = recording.step()
        if recording.failure is not None and not told:
            progress.close()
            reason = outcome.write_failure(recording.failure, recording.part)
            say(f"{reason}; recording stops, the program goes on")
            told = True
        if progress.due():
            progress.show(outcome.figures(recording.totals()))
    left = recording.settle(GRACE_S)
    progress.close()
    if recording.failure is not None and not told:
        say(outcome.write_failure(recording.failure, recording.part))
    assert child.status is not None
    return child.status, left


def _close(
    recording: Recording, output: str, meta: dict[str, Any], left: list[int], *, quiet: bool
) -> tuple[list[str], bool]:
    """Make the trace; return what to say of it, and whether it is there and whole."""
    session, part = recording.session, recording.part
    totals, notes = recording.totals(), session.notes()
    lines = [*notes, *recording.damaged, *recording.killed()]
    if left:
        ids = ", ".join(map(str, left))
        lines.append(f"{plural(len(left), 'process')} still running, no longer traced: {ids}")
    lines += outcome.losses(totals)
    try:
        nothing = _nothing(recording, totals, meta["options"], bool(notes))
        if nothing is not None:
            recording.discard()
            return [*lines, f"{nothing}; no trace was written"], False
        recording.assemble(output, meta)
    except OSError as error:
        recording.close()
        kept = f"what was recorded is kept: 'funcgraph recover {shlex.quote(part)}' makes a trace of it"
        return [*lines, outcome.write_failure(error, output), kept], False
    finally:
        session.remove()
    if not quiet:
        lines += [*outcome.waits(totals), outcome.summary(totals, output)]
    return lines, recording.failure is None


def _nothing(
    recording: Recording, totals: dict[str, int], settings: dict[str, Any], refused: bool
) -> str | None:
    """Return why nothing was recorded; None if something was, or nothing took as long as --thresh says."""
    if totals["records"] or recording.failure is not None:
        return None
    if not recording.attached:
        return "no process was traced" if refused else "no Python process with funcgraph installed ran"
    if recording.matched() and not settings["graph"]:
        return None
    return outcome.nothing_matched([*settings["filter"], *settings["graph"]], recording.seen_names())
