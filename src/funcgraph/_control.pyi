"""A native thread that answers requests at a Unix socket: one for the whole process."""

def start(folders: tuple[str, ...], handler: str, follow_fork: bool, /) -> str:
    """Start to serve; return the path of the socket. If it serves already, that goes on.

    Args:
        folders: where there may be room for the socket; the first that can be used is taken, of 8 at most.
        handler: "module:function". It is imported at the first request, and called for each one, in the
            thread, with the number of the client and the message, bytes. It returns the answer, bytes. When a
            client has gone, it is called with None. If it raises, the client is dropped.
        follow_fork: whether a child of fork has a socket of its own.

    Raises:
        OSError: no folder can be used; the message names each with the reason.
        RuntimeError: this is not the main interpreter.
        ValueError: the handler has no colon.
    """

def stop() -> bool:
    """Stop to serve: end the thread, remove the socket. Return whether it did serve."""

def hold_forks() -> None:
    """Have forks of other threads wait until this thread has ended, for a second at most.

    CPython warns of forks with threads, and the program knows nothing of a thread that attaching has started.
    """

def path() -> str | None:
    """Return the path of the socket; None: there is none."""
