"""What runs in the process: the code that was sent. Its outcome goes into the folder that it came through.

This module is not imported there. Its text is sent after that of funcgraph.attach.turns, and followed by a
call of `run`.
"""

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from funcgraph.attach.turns import with_short_gil_turns


def import_threading() -> None:
    """Import `threading` so that it takes the main thread for the main thread.

    Up to CPython 3.12 it takes the thread that imports it first, and at the end waits for that one's end.
    """
    import _thread
    import sys

    if "threading" in sys.modules or sys.version_info >= (3, 13):
        return
    own, ident = _thread.get_ident(), _thread.get_ident
    sentinel = getattr(_thread, "_set_sentinel")  # noqa: B009
    # The newest thread state comes first, and the main thread's is the oldest.
    main = [thread for thread in sys._current_frames() if thread != own][-1:] or [own]
    try:
        _thread.get_ident = lambda: main[0]
        setattr(_thread, "_set_sentinel", _thread.allocate_lock)  # noqa: B010
        import threading
    finally:
        _thread.get_ident = ident
        setattr(_thread, "_set_sentinel", sentinel)  # noqa: B010
    threading.get_ident = ident
    setattr(threading, "_set_sentinel", sentinel)  # noqa: B010


def run(folder: str, source: str) -> None:
    """Run `source`, and write "ok" with what it leaves in `answer`, or "error" with its exception."""
    with_short_gil_turns(_run)(folder, source)


def _run(folder: str, source: str) -> None:
    import _signal  # type: ignore[import-not-found]
    import posix

    # Signals are for the program's threads: one of them may wait for them.
    _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    try:
        import_threading()
        namespace: dict[str, object] = {"__name__": "funcgraph.attach"}
        exec(compile(source, "<funcgraph attach>", "exec"), namespace)
        text = f"ok\n{namespace.get('answer', '')}"
    except BaseException as error:  # nothing of it may reach the program
        text = f"error\n{type(error).__name__}: {error}"
    try:
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC
        fd = posix.open(f"{folder}/result.part", flags, 0o600)
        posix.write(fd, text.encode(errors="backslashreplace"))
        posix.close(fd)
        posix.rename(f"{folder}/result.part", f"{folder}/result")
    except OSError:
        pass  # nobody waits for it any longer
