"""Having a process serve its control socket."""

from __future__ import annotations

from pathlib import Path

import funcgraph
from funcgraph.attach import loading
from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in
from funcgraph.control.client import NotServedError, connect

__all__ = ["LOADING", "attach"]

#: What is sent before the call of `serve_with`.
LOADING = Path(loading.__file__).read_text(encoding="utf-8")


def attach(
    pid: int, timeout_s: float = 10.0, *, ignores_seccomp: bool = False, within: Deadline | None = None
) -> bool:
    """Make sure that a process serves its control socket: `funcgraph.control.client.connect(pid)` works then.

    The funcgraph that it loads is its own if it has one, else this one if that was built for its Python.

    Args:
        pid: the process, of CPython 3.11 or later.
        timeout_s: how long to try, in seconds, also to connect.
        ignores_seccomp: attach to a process that has a seccomp filter, which may end the process.
        within: another deadline that ends this, too.

    Returns:
        Whether that was needed: False: it served its socket already.

    Raises:
        AttachError: the process cannot be attached to. One line says why.
        OSError: it serves a socket, but refuses this user.

    Example:
        >>> attach(4711)
        True
    """
    deadline = Deadline(timeout_s, within)
    try:
        connect(pid, timeout_s).close()
    except NotServedError:
        ours = Path(funcgraph.__file__).parents[1]
        code = f"{LOADING}\nanswer = serve_with({str(ours)!r})\n"
        missing = run_in(pid, code, deadline.left_s(), ignores_seccomp=ignores_seccomp, within=within)
        if missing:
            raise AttachError(pid, missing) from None
        return True
    return False
