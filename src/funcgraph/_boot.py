"""Starts the engine in a traced process, and makes the instances that FUNCGRAPH asks for.

The line in funcgraph.pth imports this module before the program's first line, in each Python process of a
session. So the module is short, imports few modules and never raises. It leaves an error as a note in the
session's directory, and the recorder reports it.
"""

import os

from funcgraph.session import environ, tracing

_TOO_LARGE = "its limit of a file's size (ulimit -f) is too small for a ring buffer"  # ring_file.c has it too


def _attach(directory: str) -> None:
    """Trace this process into the session in `directory`, if the recorder still takes processes."""
    try:
        settings = tracing.settings_of(directory)
        if settings["control"]:
            _serve("")  # raises nothing
        tracing.join(directory, settings, at_start=True)
    except FileNotFoundError:
        pass  # no config: the recorder has finished; a process that outlived it started this one
    except Exception as error:
        import errno  # only now: the program may import it, too, and its imports are counted

        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            reason = _TOO_LARGE
        tracing.leave_note(directory, f"could not be traced: {reason}")


def _serve(requested_by: str) -> None:
    """Serve the control socket, also in forked children; print what prevents it, if somebody requested it."""
    try:
        from funcgraph.control.serving import serve

        serve(follow_fork=True)
    except Exception as error:
        if requested_by:
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            os.write(2, f"funcgraph: {requested_by}: {reason}\n".encode("utf-8", "backslashreplace"))


def boot() -> None:
    """Join each session whose directories this process inherits, and make the instances of FUNCGRAPH."""
    inherited = environ.take()
    for directory in inherited:
        _attach(directory)
    if inherited and not environ.sessions():
        environ.publish_none()  # --no-follow, or the sessions have ended: children need not look
    parameters = environ.value_of(environ.BOOT_VARIABLE).strip()
    if parameters == environ.BOOT_CONTROL:
        _serve(environ.BOOT_VARIABLE)
    elif parameters:
        from funcgraph.boot.parameters import start

        if start(parameters):
            _serve(environ.BOOT_VARIABLE)


try:
    boot()
except Exception:
    pass  # the traced program must not be harmed, and there is no session's directory for a note
