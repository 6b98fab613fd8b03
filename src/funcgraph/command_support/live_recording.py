"""A recording of running processes for as long as somebody looks: `funcgraph record -P` as a child, with
files of bounded size in a folder of its own.

The child's COMMAND waits for the end of a pipe. So the recording ends, and the processes go on untraced, also
if this process is killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from funcgraph.command_support.messages import CommandError

__all__ = ["LiveRecording", "live_recording"]

#: Says that the processes are being recorded, and waits until nobody holds the other end of its input.
_WAIT = "import os, sys; os.write(1, b'recorded\\n'); sys.stdin.buffer.read()"
_RING_KB = 256  # small parts of the ring: what a quiet thread does is seen sooner


class LiveRecording:
    """A recording that goes on.

    Attributes:
        output: the name of its trace; while it goes on, OUTPUT.part is the newest file.
    """

    def __init__(self, output: str, recorder: subprocess.Popen[bytes]) -> None:
        self.output = output
        self._recorder = recorder

    def end(self) -> None:
        """End it: the processes go on untraced. May be called twice."""
        if self._recorder.poll() is None:
            self._recorder.communicate()


@contextmanager
def live_recording(
    processes: Sequence[str], options: Sequence[str], size: str, messages: IO[bytes] | None = None
) -> Iterator[LiveRecording]:
    """Record processes for as long as the block runs. At its end their tracing has ended, and the files go.

    Args:
        processes: values of -P.
        options: other options of `funcgraph record`.
        size: of a file, as --rotate takes it: the newest and the one before are kept.
        messages: gets what the recorder says; None: standard error.

    Raises:
        CommandError: nothing is recorded. The recorder has said why.
    """
    with tempfile.TemporaryDirectory(prefix="funcgraph-view-") as folder:
        output = os.path.join(folder, "live.fg")
        words = [word for value in processes for word in ("-P", value)]
        words += ["-q", "-o", output, "--rotate", size, "--keep", "1", "-b", str(_RING_KB), *options]
        command = [sys.executable, "-P", "-m", "funcgraph", "record", *words, "--"]
        recorder = subprocess.Popen(
            [*command, sys.executable, "-I", "-S", "-c", _WAIT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            start_new_session=True,  # Ctrl-C at the terminal is for the server, which ends the recording
        )
        try:
            assert recorder.stdout is not None
            if not recorder.stdout.readline():
                raise CommandError("nothing is recorded", recorder.wait() or 2)
            yield LiveRecording(output, recorder)
        finally:
            LiveRecording(output, recorder).end()
