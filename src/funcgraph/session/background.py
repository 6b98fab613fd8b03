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

from funcgraph.session import outcome
from funcgraph.session.directory import Session
from funcgraph.session.options import describe, ring_bytes, wanted_patterns
from funcgraph.session.process import ProcessWatch
from funcgraph.session.recording import Recording
from funcgraph.session.volume import VolumeWatch
from funcgraph.version import installed_version

__all__ = ["main"]

GRACE_S = 1.0  # for children of a program that was killed, to end by themselves


def main() -> NoReturn:
    """Leave the program's process tree and record. sys.argv has the two pipes and the program's id."""
    requests, answers, program = map(int, sys.argv[1:])
    if os.fork() != 0:
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the end of the program ends this process
    os.chdir("/")
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
            word = self._record_until_told(recording, volume)
            answer = self._close(recording, volume, request, word)
            session.remove()
            self._answer(answer)
        except Exception as error:  # the spool stays for `funcgraph recover`
            recording.close()
            self._answer_error(error)

    def _open(self, request: dict[str, Any]) -> tuple[Session, Recording]:
        session = Session.create(ring_bytes(request["settings"]), request["output"])
        try:
            recording = Recording(session, f"{request['output']}.part", clock=request["settings"]["clock"])
            recording.describe({**describe(request["settings"]), "command": request["command"]})
            session.write_config(
                request["settings"], output=request["output"], part=recording.part, command=request["command"]
            )
        except BaseException:
            session.remove()
            raise
        return session, recording

    def _record_until_told(self, recording: Recording, volume: VolumeWatch) -> bytes | None:
        """Drain until the program sends a line, and return that; None if the program has ended."""
        word = None
        while word is None and not self._program.gone():
            word = self._line(recording.step())
            if volume.due():
                volume.warning()
        return word

    def _close(
        self, recording: Recording, volume: VolumeWatch, request: dict[str, Any], word: bytes | None
    ) -> dict[str, Any]:
        recording.settle(GRACE_S if word is None else 0.0)
        if word == b"abandon":
            recording.discard()
            return {}
        volume.warning()
        settings = request["settings"]
        totals = recording.totals()
        warnings = [*recording.damaged, *recording.killed()]
        warnings += [*recording.session.places, *recording.session.notes()]
        patterns = wanted_patterns(settings)
        if not totals["records"] and patterns and not outcome.looks_for_latency(settings):
            warnings.append(outcome.nothing_matched(patterns, recording.seen_names()))
        if totals["records"]:
            warnings += outcome.silent(settings, recording.records, recording.seen_names())
        warnings += [*outcome.losses(totals), *outcome.missing(*recording.session.missing())]
        warnings += volume.warnings
        recording.complete(
            request["output"],
            {
                "funcgraph": installed_version(),
                **describe(settings),
                "command": request["command"],
            },
        )
        if recording.failure is not None:
            raise recording.failure
        return {"totals": totals, "warnings": warnings}

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
