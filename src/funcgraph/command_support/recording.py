"""What the two ways of `funcgraph record` share: beginning, draining, and the trace at the end."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable
from typing import Any, Protocol

import funcgraph
from funcgraph.command_support.messages import CommandError, print_message
from funcgraph.recorder import outcome
from funcgraph.recorder.directory import Session
from funcgraph.recorder.files import most_ring_bytes
from funcgraph.recorder.limits import Limits, LimitWatch
from funcgraph.recorder.progress import ProgressLine, plural
from funcgraph.recorder.reach import OUR_REACH, Reach
from funcgraph.recorder.recording import Recording
from funcgraph.recorder.volume import VolumeWatch
from funcgraph.session import environ
from funcgraph.session.options import describe, most_buffer_kb, requested_patterns, ring_bytes
from funcgraph.tracedata.dat_format import DatFormat

__all__ = ["Ending", "close", "environment", "follow", "give_up", "prepare"]


class Ending(Protocol):
    """What ends a recording."""

    @property
    def received(self) -> list[int]:
        """The signals that are for the recorder itself, and that it has not looked at."""

    def wait(self, pause_s: float) -> bool:
        """Wait until the recording is to end, at most `pause_s` seconds; return whether it is."""


def prepare(settings: dict[str, Any], output: str, command: list[str], reach: Reach = OUR_REACH) -> Recording:
    """Make the session's directory and the spool; what was made is removed again if that fails.

    Args:
        command: what is recorded, for a person.
        reach: of the processes that are to find the session.

    Raises:
        CommandError, OSError: there is no place for the session or the spool.
    """
    bound = None if reach.is_own else most_ring_bytes(settings)
    session = Session.create(ring_bytes(settings), output, reach.places(), bound)
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
    recording.outer_pid = reach.outer_pid
    return recording


def environment(*sessions: str) -> dict[str, str]:
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
            buffer_kb=most_buffer_kb(settings),
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


def give_up(recording: Recording, error: Exception) -> None:
    """Leave everything to `funcgraph recover`, and tell why."""
    recording.close()
    recording.session.unlock()  # the programs see that nobody reads their rings
    reason = "out of memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}"
    # Another user's session says nothing that a recovery of ours may act on. The spool is ours.
    path = shlex.quote(recording.session.path if recording.session.is_own else recording.part)
    print_message(
        f"the recorder failed ({reason}); 'funcgraph recover {path}' makes a trace of what it recorded"
    )


def follow(
    ending: Ending,
    recording: Recording,
    progress: ProgressLine,
    grace_s: float,
    stop: Callable[[], object] | None = None,
) -> tuple[str | None, list[int]]:
    """Drain until the recording is to end, or a bound of it is reached.

    Args:
        grace_s: for processes that still run when it is to end, to end by themselves, in seconds.
        stop: asks them to stop, as in Recording.settle().

    Returns:
        The bound that was reached, or None; and the ids of the processes that still run.
    """
    is_reported, reached = False, None
    volume, watch = VolumeWatch(recording), LimitWatch(recording.limits)
    pause_s = recording.step()
    while not ending.wait(pause_s):
        pause_s = recording.step()
        if volume.due():
            _warn(volume, progress)
        _dump_if_requested(ending, recording, progress)
        reached = watch.reached(recording.written())
        if reached is not None:
            break
        if recording.failure is not None and not is_reported:
            progress.close()
            reason = outcome.write_failure(recording.failure, recording.part)
            print_message(f"{reason}; recording stops, the program goes on")
            is_reported = True
        if progress.due():
            progress.show(outcome.figures(recording.totals()))
    _take_signals(ending, recording)
    if reached is None:
        left = recording.settle(grace_s, stop)
    else:
        left = []  # all of them still run, as the line about the bound says
        recording.settle(0.0, stop)
    progress.close()
    _warn(volume, progress)
    if recording.failure is not None and not is_reported:
        print_message(outcome.write_failure(recording.failure, recording.part))
    return reached, left


def _dump_if_requested(ending: Ending, recording: Recording, progress: ProgressLine) -> None:
    """Write what is kept in memory, for each reason that there is now."""
    _take_signals(ending, recording)
    if recording.reasons:
        progress.close()
        for line in _dump(recording):
            print_message(line)


def _take_signals(ending: Ending, recording: Recording) -> None:
    recording.reasons += [signal.Signals(number).name for number in ending.received]
    ending.received.clear()


def _dump(recording: Recording) -> list[str]:
    """Return lines for the user: what was written, or why it could not be."""
    reasons = "; ".join(recording.reasons)
    try:
        path = recording.dump()
    except (OSError, MemoryError) as error:
        return [f"{reasons}: {outcome.write_failure(error, recording.part)}; what is kept was not written"]
    return [] if path is None else [outcome.dumped(reasons, recording.dumped, path)]


def close(
    recording: Recording,
    output: str,
    settings: dict[str, Any],
    meta: dict[str, Any],
    left: list[int],
    *,
    quiet: bool,
) -> tuple[list[str], bool]:
    """End the recording; return lines for the user, and whether all that was to be written is.

    Args:
        meta: the entries of the trace's JSON.
        left: the ids of processes that still run and should not.
    """
    if recording.limits.ring:
        return _close_in_memory(recording, meta, left, quiet=quiet)
    return _close_written(recording, output, settings, meta, left, quiet=quiet)


def _close_in_memory(
    recording: Recording, meta: dict[str, Any], left: list[int], *, quiet: bool
) -> tuple[list[str], bool]:
    """Write what is kept in memory if the program's end is a reason; return lines as close() does."""
    lines = _findings(recording, recording.session.files.notes(), left)
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
        print_message(warning)


def _close_written(
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
    totals, notes = recording.totals(), session.files.notes()
    lines = _findings(recording, notes, left)
    lines += [*outcome.losses(totals), *outcome.missing(*session.missing())]
    try:
        nothing = _nothing(recording, totals, settings, bool(notes))
        if nothing is not None:
            recording.discard()
            return [*lines, f"{nothing}; no trace was written"], False
        if recording.failure is None:
            lines += outcome.silent(settings, recording.records, recording.seen_functions())
        recording.complete(output, meta)
    except (OSError, MemoryError) as error:
        recording.close()
        line = f"what was recorded is kept: 'funcgraph recover {shlex.quote(part)}' makes a trace of it"
        return [*lines, outcome.write_failure(error, output), line], False
    finally:
        session.remove()
    if not quiet:
        message = outcome.summary(totals, output, recording.files, recording.limits.keep)
        lines += [*outcome.waits(totals), message]
    return lines, recording.failure is None


def _findings(recording: Recording, notes: list[str], left: list[int]) -> list[str]:
    """Return a line for each thing that a person should know, whatever becomes of the trace."""
    session = recording.session
    lines = [*session.messages, *session.files.messages, *notes, *recording.damaged, *recording.killed()]
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
        nobody = "no Python process with funcgraph installed ran, or only isolated ones (-I, -E: --isolated)"
        return "no process was traced" if refused else nobody
    if recording.matched() and not any(instance["graph"] for instance in settings["instances"]):
        return None
    if outcome.looks_for_latency(settings):
        return None
    missing = outcome.undeclared(settings)
    return missing or outcome.nothing_matched(requested_patterns(settings), recording.seen_functions())
