"""`funcgraph record`: record which functions run, in a command's Python processes or in running ones (-P)."""

from __future__ import annotations

import argparse
import os
import signal
from typing import Any

import funcgraph
from funcgraph.command_support.messages import CommandError, os_error_text, print_message
from funcgraph.command_support.parser import Common
from funcgraph.command_support.record_settings import add_settings, settings_of
from funcgraph.command_support.recording import close, environment, follow, give_up, prepare
from funcgraph.recorder import isolated
from funcgraph.recorder.child import (
    Child,
    NotStartedError,
    become,
    die_like,
    occupy_standard_descriptors,
    resolve,
)
from funcgraph.recorder.descriptor_limit import raise_descriptor_limit
from funcgraph.recorder.progress import ProgressLine
from funcgraph.recorder.recording import Recording
from funcgraph.session.environ import VARIABLE
from funcgraph.session.options import describe
from funcgraph.session.output import DEFAULT_OUTPUT, check_output

NAME = "record"
HELP = "run a program and record its calls, or take a running one (-P)"
TAKES_COMMAND = True
DESCRIPTION = """\
Run COMMAND and record which Python functions run in it and in every Python process it starts, into a file.
COMMAND is 'script.py ARGS', '-m MODULE ARGS', '-c CODE', or any executable whose Python processes have
funcgraph installed. The options of funcgraph come before it.

While the command runs the file is FILE.part, and can be read. The exit status is the command's; 2 if nothing
was recorded.

With -P PID, processes that already run are recorded, and go on untraced afterwards. The recording lasts as
long as COMMAND, which is not recorded itself ('-- sleep 5'); without one until Ctrl-C, or until all of them
have ended. The exit status is 0 then, 2 if nothing was recorded.

PATTERN is a glob over module.qualname: 'json.*', '*Parser.feed', '__main__.main'; ':mod:NAME' stands for the
functions of a module.

Several instances can record at once, each with its own options and into a buffer of its own in the one trace:
options before the first -B configure the top instance, options after a -B that instance. -o, -C, --no-follow,
--control, -q and the options for sizes, times and the trace's format belong to the whole recording and may
stand anywhere."""

GRACE_S = 1.0  # for processes that outlive the command, to end by themselves


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags: those of a recording's settings, and those of the command itself."""
    parser.usage = (
        "funcgraph record [OPTIONS] [-B NAME OPTIONS]... COMMAND...\n"
        "       funcgraph record -P PID [OPTIONS] [-B NAME OPTIONS]... [-- COMMAND...]"
    )
    add = parser.add_argument
    add(
        "-P",
        dest="processes",
        metavar="PID",
        action="append",
        help=Common(
            "record this process, which already runs; PID,PID...: several; anything else: each Python "
            "process whose command line matches this regular expression; can be given again"
        ),
    )
    add(
        "--children",
        action="store_true",
        help="with -P: their child processes too, those that run and those that they will start",
    )
    add(
        "-o",
        dest="output",
        metavar="FILE",
        default=DEFAULT_OUTPUT,
        help=Common(f"the trace ({DEFAULT_OUTPUT}); NAME.dat is a trace.dat, for trace-cmd and KernelShark"),
    )
    add_settings(parser)
    add(
        "--isolated",
        action="store_true",
        help="record Pythons with -I or -E, too, which heed no environment: they inherit a descriptor",
    )
    add("-q", dest="quiet", action="store_true", help="no progress line, no closing summary")
    add(
        "--or-untraced",
        action="store_true",
        help="if the recording cannot start (no space left, no permission), run COMMAND untraced",
    )


def run(args: argparse.Namespace) -> int:
    """Record one command; return its exit status, or die by the signal that it died of.

    With -P, record processes that run: 0, or 2 if nothing was recorded.
    """
    if args.processes:
        from funcgraph.command_support import record_running as _record_running

        return _record_running.run(args, settings_of(args, args.output))
    if args.children:
        raise CommandError("--children: only with -P: the children of COMMAND are recorded without it")
    if not args.command:
        raise CommandError("record: no command given (see 'funcgraph record --help')")
    settings = settings_of(args, args.output)
    try:
        path, argv = resolve(args.command)
        occupy_standard_descriptors()
        try:
            output = check_output(args.output)
            recording = prepare(settings, output, args.command)
            child = _start(recording, path, argv, args.isolated)
        except (CommandError, OSError) as error:
            if not args.or_untraced:
                raise
            reason = os_error_text(error) if isinstance(error, OSError) else str(error)
            print_message(f"{reason}; the program runs untraced")
            become(path, argv, environment())
    except NotStartedError as error:
        raise CommandError(str(error), error.status) from None

    raise_descriptor_limit()  # the command keeps the limit that it inherited
    progress = ProgressLine(not args.quiet)
    try:
        good = _record(child, recording, output, settings, args, progress)
    except Exception as error:  # whatever fails here: the program goes on, and its status is not lost
        progress.close()
        give_up(recording, error)
        good = False
        child.wait_for_end()
    if settings["control"]:
        _remove_sockets()
    if child.status is None:
        print_message("the program does not end by SIGTERM: it goes on untraced")
        return die_like(-signal.SIGTERM)
    return die_like(child.status if child.status != 0 or good else 2)


def _remove_sockets() -> None:
    """Remove the control sockets of recorded processes that were killed."""
    from funcgraph.control.sockets import remove_stale

    try:
        remove_stale()
    except OSError:
        pass  # they are removed when the next process serves


def _record(
    child: Child,
    recording: Recording,
    output: str,
    settings: dict[str, Any],
    args: argparse.Namespace,
    progress: ProgressLine,
) -> bool:
    """Record until the command ends, and make the trace; return whether it is complete."""
    reached, left = follow(child, recording, progress, GRACE_S)
    if reached is not None:
        print_message(f"{reached}: the recording ends, the program goes on untraced")
    meta = {"funcgraph": funcgraph.__version__, **describe(settings), "command": args.command}
    if child.status is not None:
        meta["exit_status"] = child.status
        # The scan may have come when the command was reaped already, and no longer had a status.
        recording.note_death(child.pid, child.status)
    progress.show(f"writing {output}")
    lines, good = close(recording, output, settings, meta, left, quiet=args.quiet)
    progress.close()
    for line in lines:
        print_message(line)
    child.wait_for_end()
    return good


def _start(recording: Recording, path: str, argv: list[str], is_isolated: bool) -> Child:
    own = (signal.SIGUSR2,) if recording.limits.ring else ()
    variables = environment(recording.session.path)
    try:
        if not is_isolated:
            return Child(path, argv, variables, own)
        memory = isolated.session_memory(variables[VARIABLE])
        try:
            return Child(path, argv, variables, own, lambda: isolated.inheritable(memory))
        finally:
            os.close(memory)
    except BaseException:
        recording.discard()
        recording.session.remove()
        raise
