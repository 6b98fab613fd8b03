"""`funcgraph record`: run a command and record which functions of its Python processes run."""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import signal
from typing import Any

import funcgraph
from funcgraph.commands import CommandError, os_error_text, say
from funcgraph.commands._settings import add_setting, refusal
from funcgraph.events import asked
from funcgraph.session import environ, outcome
from funcgraph.session.check import OptionError, check, check_file, record_options
from funcgraph.session.child import (
    Child,
    NotStartedError,
    become,
    die_like,
    occupy_standard_descriptors,
    resolve,
)
from funcgraph.session.dat_format import DatFormat
from funcgraph.session.directory import Session
from funcgraph.session.limits import Limits, LimitWatch
from funcgraph.session.options import DEFAULTS, RECORDING, describe, ring_bytes, wanted_patterns
from funcgraph.session.output import DEFAULT_OUTPUT, check_output
from funcgraph.session.progress import ProgressLine, plural
from funcgraph.session.recording import Recording
from funcgraph.session.volume import VolumeWatch
from funcgraph.settings.table import INSTANCE, SETTINGS
from funcgraph.settings.table import RECORDING as RECORDING_SCOPE

NAME = "record"
HELP = "run a command and record the functions it calls"
TAKES_COMMAND = True
DESCRIPTION = """\
Run COMMAND and record which Python functions run in it and in every Python process it starts, into a file.
While the command runs that file is FILE.part, and can be read.

COMMAND is 'script.py ARGS', '-m MODULE ARGS', '-c CODE', or any executable whose Python processes have
funcgraph installed. The options of funcgraph come before it. The exit status is the command's; 2 if nothing
was recorded.

PATTERN is a glob over module.qualname: 'json.*', '*Parser.feed', '__main__.main'; ':mod:NAME' stands for the
functions of a module.

Several instances can record at once, each with its own options and into a buffer of its own in the one trace:
options before the first -B configure the top instance, options after a -B that instance. -o, -C, --no-follow,
--control, -q and the options for sizes, times and the trace's format belong to the whole recording and may
stand anywhere."""

GRACE_S = 1.0  # for processes that outlive the command, to end by themselves


class _NextInstance(argparse.Action):
    """-B: the options so far are those of the instance before; those that follow are this one's."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if not values:
            parser.error("argument -B: invalid instance name '': must be non-empty")
        namespace.instances = [*namespace.instances, _take_instance(namespace)]
        namespace.name = values


class _EventFilter(argparse.Action):
    """-f: which hits of the event before are recorded."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if not namespace.events:
            parser.error("argument -f: filters the event of the -e before it, and there is none")
        namespace.events[-1] = asked.with_filter(namespace.events[-1], values)


class _EventTrigger(argparse.Action):
    """-R: what hits of the event before do besides being recorded."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if not namespace.events:
            parser.error("argument -R: a trigger of the event of the -e before it, and there is none")
        namespace.events[-1] = asked.with_trigger(namespace.events[-1], values)


def _take_instance(namespace: argparse.Namespace) -> dict[str, Any]:
    """Return the options given for one instance, None for those not given; then reset them."""
    instance = {name: getattr(namespace, name) for name in ("name", *DEFAULTS)}
    for name in DEFAULTS:
        setattr(namespace, name, None)
    return instance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags: those of the settings (settings/table.py), and those of the command
    itself."""
    parser.usage = "funcgraph record [OPTIONS] [-B NAME OPTIONS]... COMMAND..."
    add = parser.add_argument
    add(
        "-o",
        dest="output",
        metavar="FILE",
        default=DEFAULT_OUTPUT,
        help=f"the trace ({DEFAULT_OUTPUT}); NAME.dat is a trace.dat, for trace-cmd and KernelShark",
    )
    for setting in SETTINGS:
        if setting.scope == INSTANCE:
            add_setting(parser, setting)
    add(
        "-f",
        dest="event_filter",
        metavar="FILTER",
        action=_EventFilter,
        help="of the event before: only hits whose fields are so, as 'amount > 1000 && user ~ \"a*\"'",
    )
    add(
        "-R",
        dest="event_trigger",
        metavar="TRIGGER",
        action=_EventTrigger,
        help="a trigger of the event before, as 'traceoff:1 if amount < 0'; can be given again",
    )
    add(
        "-B",
        dest="name",
        metavar="NAME",
        action=_NextInstance,
        help="record into an instance of this name too; those of the options above that come after it "
        "configure it",
    )
    for setting in SETTINGS:
        if setting.scope == RECORDING_SCOPE:
            add_setting(parser, setting)
    add("-q", dest="quiet", action="store_true", help="no progress line, no closing summary")
    add(
        "--or-untraced",
        action="store_true",
        help="if the recording cannot start (no space left, no permission), run COMMAND untraced",
    )
    parser.set_defaults(**RECORDING, **dict.fromkeys(DEFAULTS), name="", instances=[])


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the recording's settings (session/options.py).

    With -B, there is no top instance unless it has options.
    """
    given = [*args.instances, _take_instance(args)]
    if len(given) > 1 and all(given[0][name] is None for name in DEFAULTS):
        del given[0]
    instances: list[dict[str, Any]] = [
        {
            name: default if instance.get(name) is None else instance[name]
            for name, default in {"name": "", **DEFAULTS}.items()
        }
        for instance in given
    ]
    settings = {name: getattr(args, name) for name in RECORDING} | {"instances": instances}
    for instance, options in zip(instances, given, strict=True):
        if instance["events"] and options["tracer"] is None:
            instance["tracer"] = "nop"  # as trace-cmd: events and nothing else
    try:
        check(settings)
        check_file(settings, args.output)
    except OptionError as error:
        raise refusal(error) from None
    for instance in instances:
        instance.update(record_options(instance["options"]))
    return settings


def run(args: argparse.Namespace) -> int:
    """Record one command; return its exit status, or die by the signal that it died of."""
    if not args.command:
        raise CommandError("record: no command given (see 'funcgraph record --help')")
    settings = _settings(args)
    try:
        path, argv = resolve(args.command)
        occupy_standard_descriptors()
        try:
            output = check_output(args.output)
            recording = _prepare(settings, output, args.command)
            child = _start(recording, path, argv)
        except (CommandError, OSError) as error:
            if not args.or_untraced:
                raise
            reason = os_error_text(error) if isinstance(error, OSError) else str(error)
            say(f"{reason}; the program runs untraced")
            become(path, argv, _environment())
    except NotStartedError as error:
        raise CommandError(str(error), error.status) from None

    # The recorder needs a descriptor for each traced process. The command keeps the limit that it
    # inherited.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    progress = ProgressLine(not args.quiet)
    try:
        good = _record(child, recording, output, settings, args, progress)
    except Exception as error:  # whatever fails here: the program goes on, and its status is not lost
        progress.close()
        _give_up(recording, error)
        good = False
        while child.status is None:
            child.wait(1.0)
    assert child.status is not None
    if settings["control"]:
        _remove_sockets()
    return die_like(child.status if child.status != 0 or good else 2)


def _remove_sockets() -> None:
    """Remove the control sockets of recorded processes that were killed."""
    from funcgraph.control.processes import remove_stale

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
    reached, left = _follow(child, recording, progress)
    if reached is not None:
        say(f"{reached}: the recording ends, the program goes on untraced")
    meta = {"funcgraph": funcgraph.__version__, **describe(settings), "command": args.command}
    if child.status is not None:
        meta["exit_status"] = child.status
        # The scan may have come when the command was reaped already, and no longer had a status.
        recording.note_death(child.pid, child.status)
    progress.show(f"writing {output}")
    close = _close_kept if recording.limits.ring else _close
    lines, good = close(recording, output, settings, meta, left, quiet=args.quiet)
    progress.close()
    for line in lines:
        say(line)
    child.wait_for_end()
    return good


def _give_up(recording: Recording, error: Exception) -> None:
    """Leave everything to `funcgraph recover`, and tell why."""
    recording.close()
    recording.session.unlock()  # the programs see that nobody reads their rings
    reason = "out of memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}"
    path = shlex.quote(recording.session.path)
    say(f"the recorder failed ({reason}); 'funcgraph recover {path}' makes a trace of what it recorded")


def _prepare(settings: dict[str, Any], output: str, command: list[str]) -> Recording:
    """Make the session's directory and the spool; what was made is removed again if that fails."""
    session = Session.create(ring_bytes(settings), output)
    try:
        recording = _open_recording(session, output, settings)
        try:
            recording.describe({"funcgraph": funcgraph.__version__, **describe(settings), "command": command})
            session.write_config(settings, output=output, part=recording.part, command=command)
        except BaseException:
            recording.discard()
            raise
    except BaseException:
        session.remove()
        raise
    return recording


def _start(recording: Recording, path: str, argv: list[str]) -> Child:
    try:
        own = (signal.SIGUSR2,) if recording.limits.ring else ()
        return Child(path, argv, _environment(recording.session.path), own)
    except BaseException:
        recording.discard()
        recording.session.remove()
        raise


def _environment(*sessions: str) -> dict[str, str]:
    """Return the command's environment: it joins the sessions that we are in, and `sessions`."""
    joined = os.pathsep.join([*environ.sessions(), *sessions])
    return {**os.environ, environ.VARIABLE: joined} if joined else dict(os.environ)


def _open_recording(session: Session, output: str, settings: dict[str, Any]) -> Recording:
    part = f"{output}.part"
    try:
        return Recording(
            session,
            part,
            clock=settings["clock"],
            output=output,
            limits=Limits.of(settings),
            dat_format=DatFormat.of(settings),
        )
    except ValueError as error:
        raise CommandError(f"{output}: {error}") from None
    except FileExistsError as error:
        part = error.filename or part
        raise CommandError(
            f"{part}: file exists: another recording writes it, or one that was killed left it "
            f"('funcgraph recover {shlex.quote(part)}' makes a trace of it)"
        ) from None
    except OSError as error:
        raise CommandError(outcome.write_failure(error, part)) from None


def _follow(child: Child, recording: Recording, progress: ProgressLine) -> tuple[str | None, list[int]]:
    """Drain until the command has ended, and its other processes have ended or had GRACE_S to end; or until a
    bound of the recording is reached.

    Returns:
        The bound that was reached, or None; and the ids of the processes that still run.
    """
    told, reached = False, None
    volume, watch = VolumeWatch(recording), LimitWatch(recording.limits)
    pause_s = recording.step()
    while not child.wait(pause_s):
        pause_s = recording.step()
        if volume.due():
            _warn(volume, progress)
        _dump_if_asked(child, recording, progress)
        reached = watch.reached(recording.written())
        if reached is not None:
            break
        if recording.failure is not None and not told:
            progress.close()
            reason = outcome.write_failure(recording.failure, recording.part)
            say(f"{reason}; recording stops, the program goes on")
            told = True
        if progress.due():
            progress.show(outcome.figures(recording.totals()))
    _take_signals(child, recording)
    if reached is None:
        left = recording.settle(GRACE_S)
    else:
        left = []  # all of them still run, as the line about the bound says
        recording.settle(0.0)
    progress.close()
    _warn(volume, progress)
    if recording.failure is not None and not told:
        say(outcome.write_failure(recording.failure, recording.part))
    return reached, left


def _dump_if_asked(child: Child, recording: Recording, progress: ProgressLine) -> None:
    """Write what is kept in memory, for each reason that there is now."""
    _take_signals(child, recording)
    if recording.reasons:
        progress.close()
        for line in _dump(recording):
            say(line)


def _take_signals(child: Child, recording: Recording) -> None:
    recording.reasons += [signal.Signals(number).name for number in child.received]
    child.received.clear()


def _dump(recording: Recording) -> list[str]:
    """Return lines for the user: what was written, or why it could not be."""
    reasons = "; ".join(recording.reasons)
    try:
        path = recording.dump()
    except (OSError, MemoryError) as error:
        return [f"{reasons}: {outcome.write_failure(error, recording.part)}; what is kept was not written"]
    return [] if path is None else [outcome.dumped(reasons, recording.dumped, path)]


def _close_kept(
    recording: Recording,
    output: str,
    settings: dict[str, Any],
    meta: dict[str, Any],
    left: list[int],
    *,
    quiet: bool,
) -> tuple[list[str], bool]:
    """Write what is kept in memory if the program's end is a reason; return lines as _close() does."""
    lines = _findings(recording, recording.session.notes(), left)
    status = meta.get("exit_status", 0)
    if status > 0:
        recording.reasons.append(f"exit status {status}")
    if not recording.reasons and not recording.files and not quiet:
        lines.append("there was no reason to write a trace (--ring)")
    try:
        recording.describe(meta)
        had_reasons = bool(recording.reasons)
        files = recording.files
        lines += _dump(recording)
        return lines, not had_reasons or recording.files > files
    finally:
        recording.close()
        recording.session.remove()


def _warn(volume: VolumeWatch, progress: ProgressLine) -> None:
    warning = volume.warning()
    if warning is not None:
        progress.close()
        say(warning)


def _close(
    recording: Recording,
    output: str,
    settings: dict[str, Any],
    meta: dict[str, Any],
    left: list[int],
    *,
    quiet: bool,
) -> tuple[list[str], bool]:
    """Make the trace; return lines for the user, and whether the trace is complete."""
    session, part = recording.session, recording.part
    totals, notes = recording.totals(), session.notes()
    lines = _findings(recording, notes, left)
    lines += [*outcome.losses(totals), *outcome.missing(*session.missing())]
    try:
        nothing = _nothing(recording, totals, settings, bool(notes))
        if nothing is not None:
            recording.discard()
            return [*lines, f"{nothing}; no trace was written"], False
        if recording.failure is None:
            lines += outcome.silent(settings, recording.records, recording.seen_names())
        recording.complete(output, meta)
    except (OSError, MemoryError) as error:
        recording.close()
        kept = f"what was recorded is kept: 'funcgraph recover {shlex.quote(part)}' makes a trace of it"
        return [*lines, outcome.write_failure(error, output), kept], False
    finally:
        session.remove()
    if not quiet:
        lines += [*outcome.waits(totals), outcome.summary(totals, output, recording.files)]
    return lines, recording.failure is None


def _findings(recording: Recording, notes: list[str], left: list[int]) -> list[str]:
    """Return a line for each thing that a person should know, whatever becomes of the trace."""
    lines = [*recording.session.places, *notes, *recording.damaged, *recording.killed()]
    if left:
        ids = ", ".join(map(str, left))
        lines.append(f"{plural(len(left), 'process')} still running, no longer traced: {ids}")
    return lines


def _nothing(
    recording: Recording, totals: dict[str, int], settings: dict[str, Any], refused: bool
) -> str | None:
    """Return why nothing was recorded; None if something was, or nothing took as long as --thresh."""
    if totals["records"] or recording.failure is not None:
        return None
    if not recording.attached:
        return "no process was traced" if refused else "no Python process with funcgraph installed ran"
    if recording.matched() and not any(instance["graph"] for instance in settings["instances"]):
        return None
    if outcome.looks_for_latency(settings):
        return None
    return outcome.nothing_matched(wanted_patterns(settings), recording.seen_names())
