"""Starting code in a process of CPython 3.14 or later, by its interface for debuggers (PEP 768).

sys.remote_exec() does the same for processes of its own version, whose files it sees under the same paths.
Here neither matters.
"""

from __future__ import annotations

import os
import struct
import time

from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.attach.exchange import Exchange, folder_in
from funcgraph.attach.process import RESTORE_S
from funcgraph.attach.runtime import debugger_of
from funcgraph.attach.target import Target

__all__ = ["Request"]

_PAUSE_S = 0.01
_STOP_BIT = 1 << 5  # _PY_EVAL_PLEASE_STOP_BIT of Include/internal/pycore_ceval.h


class Request:
    """A script that the main thread is asked to run, to be used in a `with` statement.

    Args:
        target: the process.
        exchange: has the script, `script`.
        deadline: how long another attacher is waited for.

    Raises:
        AttachError: it takes no requests, or has another one.
    """

    def __init__(self, target: Target, exchange: Exchange, deadline: Deadline) -> None:
        self._target = target
        self._exchange = exchange
        self._debugger = debugger_of(target)
        if self._int(self._debugger.enabled) == 0:
            raise AttachError(
                target.pid,
                "it was started with PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug",
            )
        self._wait_for_others(deadline)
        self._request(f"{exchange.path}/script")

    def __enter__(self) -> Request:
        return self

    def __exit__(self, *exception: object) -> None:
        self._target.process.extend(RESTORE_S)
        try:
            if not self._target.process.has_ended():
                self._withdraw()
        except AttachError:
            pass  # it has ended meanwhile

    def _request(self, path: str) -> None:
        debugger = self._debugger
        self._target.process.write(debugger.path, os.fsencode(path) + b"\0")
        self._target.process.write(debugger.pending, struct.pack("<i", 1))
        # Other threads set bits of this word too, and the protocol has no better way. All the bits are in the
        # first byte; what else is in the word stays untouched.
        breaker = self._target.process.read(debugger.eval_breaker, 1)[0]
        self._target.process.write(debugger.eval_breaker, bytes([breaker | _STOP_BIT]))

    def _withdraw(self) -> None:
        """Take a request back. The main thread may have taken it just before: let it open the script."""
        if self._int(self._debugger.pending):
            self._target.process.write(self._debugger.pending, struct.pack("<i", 0))
            self._target.process.let_main_thread_pass()

    def _wait_for_others(self, deadline: Deadline) -> None:
        """Wait until the process has no other request. One of an attacher that was killed is taken back."""
        process, debugger = self._target.process, self._debugger
        while self._int(debugger.pending):
            folder = folder_in(process.read(debugger.path, 512))
            if folder and not self._exchange.is_owned(folder):
                self._withdraw()
                return
            if deadline.is_over():
                raise AttachError(process.pid, "it has another debugger's request, which it has not run yet")
            time.sleep(_PAUSE_S)

    def _int(self, address: int) -> int:
        value: int = struct.unpack("<i", self._target.process.read(address, 4))[0]
        return value
