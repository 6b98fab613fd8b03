"""`funcgraph recover`: make a trace of what a recorder that was killed left behind."""

from __future__ import annotations

import argparse
import itertools
import json
import os
from typing import Any

import funcgraph
from funcgraph import _tracedata, output_file
from funcgraph.command_support.messages import CommandError, print_message
from funcgraph.names import did_you_mean
from funcgraph.recorder import outcome, rotation
from funcgraph.recorder.descriptor_limit import raise_descriptor_limit
from funcgraph.recorder.directory import Session, all_sessions, command_text
from funcgraph.recorder.leftovers import remove_temporaries
from funcgraph.recorder.limits import Limits
from funcgraph.recorder.recording import Recording, complete_spool, copied
from funcgraph.recorder.spool_owner import SESSION_KEY, owner, spool_of
from funcgraph.session.check import DAT_SETTINGS, OptionError, check_dat_format
from funcgraph.session.options import describe, from_config
from funcgraph.session.output import check_output, is_trace_dat
from funcgraph.settings.table import BY_NAME
from funcgraph.tracedata.dat_format import DatFormat
from funcgraph.tracedata.flaw import DAMAGED_KEY
from funcgraph.tracedata.trace_file import open_reader

NAME = "recover"
HELP = "make a trace of what a killed recorder left behind"
DESCRIPTION = """\
Make a trace of a recording whose recorder was killed: of the spool beside its output (FILE.part), and of
what is left in the ring buffers of the traced processes. Processes that still run are asked to stop
recording, and go on.

SESSION is the session's directory ('funcgraph status' lists them) or a FILE.part. The default is the session
to recover, if there is only one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument(
        "-o", dest="output", metavar="FILE", help="the trace (default: the output of the recording)"
    )
    parser.add_argument("session", nargs="?", metavar="SESSION", help="session directory or FILE.part")


def run(args: argparse.Namespace) -> int:
    """Recover one session; return 0 if a trace was written."""
    if args.session is not None and not os.path.isdir(args.session):
        return _recover_part(args.session, args.output)
    raise_descriptor_limit()
    session = _choose() if args.session is None else _opened(args.session)
    if not session.has_lock_file():
        raise CommandError(f"{session.path}: not the directory of a session (it has no lock)")
    if not session.lock():
        raise CommandError(f"{session.path}: its recorder is alive; it will write the trace itself")
    try:
        return _recover(session, args.output)
    finally:
        session.close()


def _opened(path: str) -> Session:
    """Open a session of our own user.

    Another user's is refused, even to root, who could read it: its contents say where the trace is written,
    and which files are read and removed.
    """
    try:
        return Session.at(os.path.realpath(path))
    except PermissionError as error:
        raise CommandError(
            f"{path}: not a session of this user's ({error.strerror}): only that user recovers it. If a "
            "recorder of this user was killed, 'funcgraph recover FILE.part' makes its trace"
        ) from None


def _dead_sessions() -> list[Session]:
    dead = []
    for session in all_sessions():
        if session.recorder_alive():
            session.close()
        else:
            dead.append(session)
    return dead


def _choose() -> Session:
    dead = _dead_sessions()
    if not dead:
        raise CommandError("no session to recover")
    if len(dead) > 1:
        listing = [f"  {session.path}  {_describe(session)}" for session in dead]
        raise CommandError(f"{len(dead)} sessions to recover; name one:", below=listing)
    return dead[0]


def _describe(session: Session) -> str:
    try:
        values = session.read_config()
    except (OSError, ValueError):
        return "(no readable config)"
    return f"{command_text(values)} -> {''.join(values.get('output', ['?'])[-1:])}"


def _recover(session: Session, output_name: str | None) -> int:
    try:
        values = session.read_config()
        settings = from_config(values)
    except FileNotFoundError:
        # The recorder was killed before it wrote the config: no process can have joined the session.
        session.remove()
        raise CommandError(f"{session.path}: nothing was recorded; removed") from None
    except ValueError as error:
        raise CommandError(f"{session.path}: {error}") from None
    planned, part = _planned(session, values, output_name)
    limits = Limits.of(settings)
    if output_name is not None:
        output, keep = _check_free(output_name, session.name), 1
    else:
        output, keep = check_output(planned), limits.keep
    recording = _open(session, part, planned, limits, _dat_format(settings, output))
    has_part = recording.is_resumed
    recording.settle(0.0)
    totals = recording.totals()
    if not totals["records"] and not _may_be_empty(recording, settings):
        recording.discard()
        session.remove()
        reason = "nothing was recorded" if has_part else "nothing is left to recover"
        raise CommandError(f"{session.path}: {reason}; removed")
    meta = {
        "funcgraph": funcgraph.__version__,
        **describe(settings),
        "command": values.get("command", []),
        "recovered": True,
    }
    meta |= _damage(totals)
    for line in (*recording.damaged, *recording.killed()):
        print_message(line)
    output, keep = _free_name(output, keep, session.name)
    _complete(recording, output, meta, keep)
    for path in (planned, output):
        remove_temporaries(path)
    missing = outcome.missing(*session.missing())
    session.remove()
    for line in (*outcome.losses(totals), *missing, outcome.summary(totals, output)):
        print_message(line)
    return 0


def _planned(session: Session, values: dict[str, list[str]], output_name: str | None) -> tuple[str, str]:
    """Return where the trace was to be, and where its spool is.

    The recorder of another user (root) has both in that user's folders, and does not say where. What is left
    in the rings makes a trace of its own then.
    """
    try:
        return values["output"][-1], values["part"][-1]
    except KeyError:
        if output_name is None:
            raise CommandError(
                f"{session.path}: recorded by another user, who has the trace; -o FILE takes what is left"
            ) from None
        output = check_output(output_name)
        return output, f"{output}.part"


def _check_free(output_name: str, session: str = "") -> str:
    """Return the path of a trace that was named.

    Raises:
        CommandError: there is a file of that name, and not this session's.
    """
    output = check_output(output_name)
    if os.path.lexists(output) and not (session and _owner(output) == session):
        raise CommandError(f"{output}: is there already, and is not replaced")
    return output


def _free_name(output: str, keep: int, session: str) -> tuple[str, int]:
    """Return the name for a trace, and how many of that name are kept: only files of its own session are
    replaced."""
    victim = rotation.replaced(output, keep)
    if victim is None or (session and _owner(victim) == session):
        return output, keep
    name, suffix = os.path.splitext(output)
    names = itertools.chain(["recovered"], (f"recovered-{number}" for number in itertools.count(2)))
    free = next(path for word in names if not os.path.lexists(path := f"{name}.{word}{suffix}"))
    print_message(f"{victim}: another trace, which is not replaced")
    return free, 1


def _owner(path: str) -> str | None:
    try:
        return owner(path)
    except (OSError, NotImplementedError):
        return None


def _may_be_empty(recording: Recording, settings: dict[str, Any]) -> bool:
    """Return whether a trace without events tells something.

    It must not replace one that the recorder made.
    """
    if recording.attached == 0 and not recording.is_resumed:
        return False  # the spool has its name already
    if settings["rotate"] or settings["ring"]:
        return False
    return recording.matched() > 0 or outcome.looks_for_latency(settings)


def _open(session: Session, part: str, output: str, limits: Limits, dat_format: DatFormat) -> Recording:
    """Take in the spool, if there is one.

    That of `record --ring` was in memory. A FILE.part is then a whole trace that had not yet its name; or,
    if it is not whole, what another `recover` left that was killed.
    """
    try:
        spool = spool_of(session, part, output)
        if spool != part:
            print_message(f"{part}: of another recording; left as it is")
        elif os.path.exists(part) and rotation.is_unbegun(part):
            output_file.unlink(part)
        if limits.ring and os.path.exists(spool) and open_reader(spool).is_complete:
            rotation.place(spool, *_free_name(output, limits.keep, session.name))
        rotation.mend(spool, output, limits.keep)
        return Recording(session, spool, resume=os.path.exists(spool), dat_format=dat_format)
    except (OSError, ValueError, NotImplementedError) as error:
        text = outcome.write_failure(error, part) if isinstance(error, OSError) else f"{part}: {error}"
        raise CommandError(text) from None


def _complete(recording: Recording, output: str, meta: dict[str, Any], keep: int) -> None:
    failure = recording.failure
    try:
        if failure is None:
            recording.complete(output, meta, keep)
    except OSError as error:
        failure = error
    if failure is not None:
        recording.close()
        raise CommandError(f"{outcome.write_failure(failure, output)}; nothing was removed") from None


def _recovered(writer: _tracedata.Recorder) -> dict[str, Any]:
    """Return the description of a spool whose session is gone."""
    try:
        described = json.loads(writer.description())
    except ValueError:
        described = {}  # killed before it was written, or damaged
    return {**described, "funcgraph": funcgraph.__version__, "recovered": True}


def _damage(totals: dict[str, int]) -> dict[str, int]:
    """Return what a trace's description says of damage in what it was made of."""
    return {DAMAGED_KEY: totals["damaged"]} if totals["damaged"] else {}


def _dat_format(options: dict[str, Any], output: str) -> DatFormat:
    """Return which trace.dat the recording was to make, by its settings or its description.

    The default for another file, for what another version wrote, and for what is damaged.
    """
    settings = {name: options.get(name, BY_NAME[name].default) for name in DAT_SETTINGS}
    try:
        check_dat_format(settings)
    except OptionError:
        return DatFormat()
    return DatFormat.of(settings) if is_trace_dat(output) else DatFormat()


def _mend_part(part: str) -> int:
    """Finish the change of files that the recorder of this spool was killed in, if it was.

    Returns:
        How many traces of its name are kept.
    """
    there = part if os.path.exists(part) else rotation.following(part)
    writer = _tracedata.Recorder(there, resume=True)
    try:
        options = _recovered(writer).get("options", {})
    finally:
        writer.close()
    keep: int = options["keep"] if options.get("rotate") or options.get("ring") else 1
    rotation.mend(part, part.removesuffix(".part"), keep)
    return keep


def _report_without_events(meta: dict[str, Any], writer: _tracedata.Recorder) -> bool:
    """As _may_be_empty(), of a spool whose session is gone."""
    options = meta.get("options", {})
    if options.get("rotate") or options.get("ring"):
        return False
    instances = list(meta.get("instances", {}).values())
    return writer.matched() > 0 or outcome.looks_for_latency({"instances": instances})


def _recover_part(part: str, output_name: str | None) -> int:
    """Make a trace of a spool whose session is gone, as after a recording that ran out of space.

    FILE.part becomes FILE. With another name for the trace, the spool stays as it is.
    """
    if not part.endswith(".part") and output_name is None:
        names = _session_names()
        hint = did_you_mean(os.path.basename(part), names)
        raise CommandError(f"{part}: neither the directory of a session nor a FILE.part{hint}")
    try:
        part = output_file.resolve(part)
        _check_ownerless(part)
        if os.path.exists(part) and rotation.is_unbegun(part):
            raise CommandError(f"{part}: nothing was recorded; it can be deleted")
        if output_name is None:
            output = check_output(part.removesuffix(".part"))
            return _complete_part(part, output, _mend_part(part))
        output = _check_free(output_name)
        with copied(part, output) as copy:
            return _complete_part(copy, output, 1, name=part)
    except (ValueError, NotImplementedError) as error:
        raise CommandError(f"{part}: {error}") from None
    except OSError as error:
        raise CommandError(outcome.write_failure(error, part)) from None


def _check_ownerless(part: str) -> None:
    """Raise CommandError if a session's recorder writes this spool, or its recovery will read it."""
    name = owner(part) if os.path.exists(part) else None
    for session in all_sessions():
        belongs = session.name == name and _has_spool(session, part)
        session.close()
        if belongs:
            raise CommandError(f"{part}: belongs to the session {session.path}; recover that instead")


def _has_spool(session: Session, part: str) -> bool:
    try:
        values = session.read_config()
        spool = spool_of(session, values["part"][-1], values["output"][-1])
    except (OSError, ValueError, KeyError):
        return False
    return os.path.realpath(spool) == os.path.realpath(part)


def _session_names() -> list[str]:
    names = []
    for session in all_sessions():
        names.append(session.name)
        session.close()
    return names


def _complete_part(part: str, output: str, keep: int, name: str = "") -> int:
    """Make the trace at `output` of the spool at `part`, which is a copy of that of this name."""
    writer = _tracedata.Recorder(part, resume=True)
    try:
        totals = writer.totals()
        meta = _recovered(writer) | _damage(totals)
        if not totals["records"] and not _report_without_events(meta, writer):
            raise CommandError(f"{name or part}: nothing was recorded; it can be deleted")
        dat_format = _dat_format(meta.get("options", {}), output)
        dat_format.check_codec()
        if not name:
            output, keep = _free_name(output, keep, str(meta.get(SESSION_KEY, "")))
        complete_spool(writer, part, output, meta, keep, dat_format)
    except ValueError as error:
        raise CommandError(f"{output}: {error}; nothing was removed") from None
    except OSError as error:
        raise CommandError(f"{outcome.write_failure(error, output)}; nothing was removed") from None
    finally:
        writer.close()
    for line in (*outcome.losses(totals), outcome.summary(totals, output)):
        print_message(line)
    return 0
