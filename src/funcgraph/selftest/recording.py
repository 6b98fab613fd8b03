"""Checks a recording whose recorder is killed: `funcgraph recover` makes the trace of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from funcgraph.recorder.directory import Session, all_sessions
from funcgraph.selftest.observer import PROGRAM, FailedError, expect, shortened
from funcgraph.tracedata import TraceFile

_CALLS = 1000
_RECORDED = (f"{PROGRAM}.pair", f"{PROGRAM}.leaf")
# The recorded program. It says that it has made its calls, and goes on until its standard input ends.
_CODE = f"""
import sys
from funcgraph.selftest import program
for number in range({_CALLS}):
    program.pair(number)
print("called", flush=True)
sys.stdin.read()
print("goes on", flush=True)
"""


def killed_recorder() -> None:
    """What was recorded before the recorder was killed is in the trace; the program goes on."""
    with tempfile.TemporaryDirectory(prefix="funcgraph-selftest-") as folder:
        output = os.path.join(os.path.realpath(folder), "trace.dat")
        _record_and_kill(output)
        recovered = _funcgraph("recover", "-o", output, _session_of(output).path)
        expect(recovered.wait(), 0, "the exit status of `funcgraph recover`")
        calls = {row.name: row.calls for row in TraceFile(output).summary()}
        expected = dict(zip(_RECORDED, (_CALLS, 2 * _CALLS), strict=True))
        expect(calls, expected, "calls in the trace")


def _record_and_kill(output: str) -> None:
    filters = [word for name in _RECORDED for word in ("-l", name)]
    words = ["-q", "-o", output, *filters, sys.executable, "-c", _CODE]
    with _funcgraph("record", *words) as recorder:
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        message = recorder.stdout.readline()
        if message != "called\n":
            message += recorder.communicate()[0]
            raise FailedError(f"`funcgraph record` did not run its program: {shortened(message)}")
        recorder.kill()
        recorder.stdin.close()
        expect(recorder.stdout.read(), "goes on\n", "what the program says after the recorder's end")


def _funcgraph(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "funcgraph", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _session_of(output: str) -> Session:
    for session in all_sessions():
        try:
            if session.read_config().get("output") == [output]:
                return session
        except (OSError, ValueError):
            continue
    raise FailedError("the killed recorder left no session")
