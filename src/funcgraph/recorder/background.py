"""The recorder process of `with funcgraph.record(...)`, which is no child of the program.

block.py starts it with two pipes and documents their messages. If the program is killed, the recorder
finishes the trace.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from typing import Any, NoReturn

from funcgraph.recorder import outcome
from funcgraph.recorder.descriptor_limit import raise_descriptor_limit
from funcgraph.recorder.directory import Session
from funcgraph.recorder.limits import Limits, LimitWatch
from funcgraph.recorder.process import ProcessWatch
from funcgraph.recorder.recording import Recording
from funcgraph.recorder.volume import VolumeWatch
from funcgraph.session.options import describe, most_buffer_kb, requested_patterns, ring_bytes
from funcgraph.tracedata.dat_format import DatFormat
from funcgraph.version import installed_version

__all__ = ["main"]

UNTRACED_PAUSE_S = 0.1  # between two looks at the program once the recording has ended
GRACE_S = 1.0  # for children of a program that was killed, to end by themselves


def main() -> NoReturn:
    """Leave the program's process tree and record. sys.argv has the two pipes and the program's id."""
    requests, answers, program = map(int, sys.argv[1:])
    if os.fork() != 0:
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the end of the program ends this process
    os.chdir("/")
    raise_descriptor_limit()
    status = 0
    try:
        Background(requests, answers, ProcessWatch(program)).run()
    except Exception:
        status = 1
    os._exit(status)


class Background:
    """One recording, from request to trace.

    Args:
        requests, answers: descriptors of the pipes from and to the program.
        program: notices the program's end. A pipe does not: a forked child may hold it open.
    """

    def __init__(self, requests: int, answers: int, program: ProcessWatch) -> None:
        self._requests = requests
        self._answers = answers
        self._program = program
        self._received = b""
        self._signals: list[int] = []  # of each SIGUSR2 that no look at them has noticed yet
        self._warnings: list[str] = []
        signal.signal(signal.SIGUSR2, lambda number, frame: self._signals.append(number))

    def run(self) -> None:
        """Serve the program until its block or the program itself ends."""
        line = self._line(60.0)
        if line is None:
            return
        request = json.loads(line)
        try:
            session, recording = self._open(request)
        except Exception as error:
            self._answer_error(error)
            return
        self._answer({"session": session.path})
        try:
            volume = VolumeWatch(recording)
            word, reached = self._record_until_stopped(recording, volume)
            answer = self._close(recording, volume, request, word, reached)
            session.remove()
            if reached is not None:
                self._wait_for_word()
            self._answer(answer)
        except Exception as error:  # the spool stays for `funcgraph recover`
            recording.close()
            self._answer_error(error)

    def _open(self, request: dict[str, Any]) -> tuple[Session, Recording]:
        settings, output = request["settings"], request["output"]
        session = Session.create(ring_bytes(settings), output)
        try:
            recording = Recording(
                session,
                f"{output}.part",
                clock=settings["clock"],
                output=output,
                limits=Limits.of(settings),
                dat_format=DatFormat.of(settings),
                buffer_kb=most_buffer_kb(settings),
            )
            recording.describe(self._meta(request))
            session.write_config(settings, output=output, part=recording.part, command=request["command"])
        except BaseException:
            session.remove()
            raise
        return session, recording

    @staticmethod
    def _meta(request: dict[str, Any]) -> dict[str, Any]:
        return {
            "funcgraph": installed_version(),
            **describe(request["settings"]),
            "command": request["command"],
        }

    def _record_until_stopped(
        self, recording: Recording, volume: VolumeWatch
    ) -> tuple[bytes | None, str | None]:
        """Drain until the program sends a line, ends, or a bound is reached.

        Returns:
            The line, or None; and which bound was reached, or None.
        """
        watch = LimitWatch(recording.limits)
        while not self._program.gone():
            word = self._line(recording.step())
            if word is not None:
                return word, None
            if volume.due():
                volume.warning()
            self._dump_if_requested(recording)
            reached = watch.reached(recording.written())
            if reached is not None:
                return None, reached
        if self._program.status:
            recording.reasons.append(f"the program ended with status {self._program.status}")
        return None, None

    def _dump_if_requested(self, recording: Recording) -> None:
        if self._signals:
            self._signals.clear()
            recording.reasons.append("SIGUSR2")
        try:
            recording.dump()
        except (OSError, MemoryError) as error:
            self._warnings.append(outcome.write_failure(error, recording.part))

    def _wait_for_word(self) -> None:
        while not self._program.gone() and self._line(UNTRACED_PAUSE_S) is None:
            pass

    def _close(
        self,
        recording: Recording,
        volume: VolumeWatch,
        request: dict[str, Any],
        word: bytes | None,
        reached: str | None,
    ) -> dict[str, Any]:
        recording.settle(GRACE_S if word is None and reached is None else 0.0)
        if word == b"abandon":
            recording.discard()
            return {}
        volume.warning()
        totals = recording.totals()
        warnings = [*self._warnings, *recording.damaged, *recording.killed()]
        if reached is not None:
            warnings.append(f"{reached}: the recording ended before the block")
        files = recording.session.files
        warnings += [*recording.session.messages, *files.notes(), *files.messages]
        warnings += self._nothing(recording, request["settings"], totals)
        warnings += [*outcome.losses(totals), *outcome.missing(*recording.session.missing())]
        warnings += volume.warnings
        if recording.limits.ring:
            if word is not None and word.startswith(b"end "):
                recording.reasons.append(f"the block raised {word[4:].decode()}")
            recording.dump()
            recording.close()
        else:
            recording.complete(request["output"], self._meta(request))
        if recording.failure is not None:
            raise recording.failure
        return {"totals": totals, "warnings": warnings}

    @staticmethod
    def _nothing(recording: Recording, settings: dict[str, Any], totals: dict[str, int]) -> list[str]:
        """Return lines that say why an instance, or all of them, recorded nothing."""
        patterns = requested_patterns(settings)
        if totals["records"]:
            return outcome.silent(settings, recording.records, recording.seen_functions())
        if patterns and not outcome.looks_for_latency(settings):
            return [outcome.nothing_matched(patterns, recording.seen_functions())]
        return list(filter(None, [outcome.undeclared(settings)]))

    def _line(self, wait_s: float) -> bytes | None:
        """Return the program's next line, or None if none is complete within `wait_s` seconds.

        The end of the pipe counts as a line: b"gone".
        """
        while b"\n" not in self._received:
            if not select.select([self._requests], [], [], wait_s)[0]:
                return None
            piece = os.read(self._requests, 65536)
            if not piece:
                return b"gone"
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _answer(self, message: dict[str, Any]) -> None:
        try:
            os.write(self._answers, json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            pass  # the program has ended

    def _answer_error(self, error: Exception) -> None:
        number = error.errno if isinstance(error, OSError) else None
        text = (error.strerror if isinstance(error, OSError) else None) or str(error)
        filename = error.filename if isinstance(error, OSError) else None
        self._answer(
            {"error": {"type": type(error).__name__, "errno": number, "text": text, "filename": filename}}
        )
