"""`funcgraph recover`: make a trace of what a recorder that was killed left behind."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import funcgraph
from funcgraph import _tracedata
from funcgraph.commands import CommandError, say
from funcgraph.names import did_you_mean
from funcgraph.session import outcome, rotation
from funcgraph.session.check import DAT_SETTINGS, OptionError, check_dat_format
from funcgraph.session.directory import Session, all_sessions, command_text
from funcgraph.session.leftovers import remove_temporaries
from funcgraph.session.limits import Limits
from funcgraph.session.options import describe, from_config
from funcgraph.session.output import check_output, is_trace_dat
from funcgraph.session.recording import Recording, complete_spool
from funcgraph.settings.table import BY_NAME
from funcgraph.tracedata.dat_format import DatFormat

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
    session = _choose() if args.session is None else Session(args.session)
    if not os.path.exists(f"{session.path}/lock"):
        raise CommandError(f"{session.path}: not the directory of a session (it has no lock)")
    if not session.lock():
        raise CommandError(f"{session.path}: its recorder is alive; it will write the trace itself")
    try:
        return _recover(session, args.output)
    finally:
        session.unlock()


def _dead_sessions() -> list[Session]:
    return [session for session in all_sessions() if not session.recorder_alive()]


def _choose() -> Session:
    dead = _dead_sessions()
    if not dead:
        raise CommandError("no session to recover")
    if len(dead) > 1:
        listing = "".join(f"\n  {session.path}  {_describe(session)}" for session in dead)
        raise CommandError(f"{len(dead)} sessions to recover; name one:{listing}")
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
        part, planned = values["part"][-1], values["output"][-1]
        settings = from_config(values)
    except (FileNotFoundError, KeyError):
        # The recorder was killed before it wrote the config: no process can have joined the session.
        session.remove()
        raise CommandError(f"{session.path}: nothing was recorded; removed") from None
    except ValueError as error:
        raise CommandError(f"{session.path}: {error}") from None
    output = check_output(output_name or planned)
    limits = Limits.of(settings)
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
    for line in (*recording.damaged, *recording.killed()):
        say(line)
    # A name that was asked for here is that of one file.
    _complete(recording, output, meta, limits.keep if output_name is None else 1)
    remove_temporaries(os.path.realpath(planned))
    missing = outcome.missing(*session.missing())
    session.remove()
    for line in (*outcome.losses(totals), *missing, outcome.summary(totals, output)):
        say(line)
    return 0


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
        rotation.drop_unbegun(part)
        if limits.ring and os.path.exists(part) and _tracedata.Reader(part).is_complete:
            rotation.place(part, output, limits.keep)
        rotation.mend(part, output, limits.keep)
        return Recording(session, part, resume=os.path.exists(part), dat_format=dat_format)
    except (OSError, ValueError) as error:
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


def _tells_without_events(meta: dict[str, Any], writer: _tracedata.Recorder) -> bool:
    """As _may_be_empty(), of a spool whose session is gone."""
    options = meta.get("options", {})
    if options.get("rotate") or options.get("ring"):
        return False
    instances = list(meta.get("instances", {}).values())
    return writer.matched() > 0 or outcome.looks_for_latency({"instances": instances})


def _recover_part(part: str, output_name: str | None) -> int:
    """Make a trace of a spool whose session is gone, as after a recording that ran out of space."""
    if not part.endswith(".part") and output_name is None:
        names = [os.path.basename(session.path) for session in all_sessions()]
        hint = did_you_mean(os.path.basename(part), names)
        raise CommandError(f"{part}: neither the directory of a session nor a FILE.part{hint}")
    for session in all_sessions():
        try:
            writes_it = os.path.realpath(part) in session.read_config().get("part", [])
        except (OSError, ValueError):
            continue
        if writes_it:
            raise CommandError(f"{part}: belongs to the session {session.path}; recover that instead")
    output = check_output(output_name or part.removesuffix(".part"))
    try:
        if rotation.drop_unbegun(part):
            raise CommandError(f"{part}: nothing was recorded; removed")
        keep = _mend_part(part)
        writer = _tracedata.Recorder(part, resume=True)
    except ValueError as error:
        raise CommandError(f"{part}: {error}") from None
    except OSError as error:
        raise CommandError(outcome.write_failure(error, part)) from None
    try:
        totals, meta = writer.totals(), _recovered(writer)
        if not totals["records"] and not _tells_without_events(meta, writer):
            os.unlink(part)
            raise CommandError(f"{part}: nothing was recorded; removed")
        dat_format = _dat_format(meta.get("options", {}), output)
        dat_format.check_codec()
        complete_spool(writer, part, output, meta, keep if output_name is None else 1, dat_format)
    except ValueError as error:
        raise CommandError(f"{output}: {error}; nothing was removed") from None
    except OSError as error:
        raise CommandError(f"{outcome.write_failure(error, output)}; nothing was removed") from None
    finally:
        writer.close()
    for line in (*outcome.losses(totals), outcome.summary(totals, output)):
        say(line)
    return 0
