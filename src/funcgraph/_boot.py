"""What the .pth line runs in a traced process: hide the variable, start the engine, mind the children; and
make the instances that FUNCGRAPH asks for.

Runs before the program's first line, in every Python process of a session, so it is short, imports next to
nothing and never raises: what went wrong is left in the session's directory for the recorder to report.
"""

import os

from funcgraph.session import config, environ, options


def _attach(directory: str) -> None:
    """Trace this process into the session in `directory`, if that session is still there."""
    try:
        with open(f"{directory}/config", encoding="utf-8", errors="surrogateescape") as file:
            settings = options.from_config(config.parse(file.read()))
        if settings["follow_fork"]:
            environ.join(directory)
        from funcgraph import _engine

        for instance in settings["instances"]:
            _engine.start(directory, after_site=True, **options.engine_keywords(settings, instance))
    except FileNotFoundError:
        pass  # no config: the recorder has finished, and a process that outlived it started us
    except Exception as error:
        _leave_note(directory, f"could not be traced: {type(error).__name__}: {error}")


def _leave_note(directory: str, text: str) -> None:
    try:
        with open(
            f"{directory}/{os.getpid()}.note", "w", encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(text)
    except OSError:
        pass  # nobody left to tell


def boot() -> None:
    """Join every session that the environment names."""
    inherited = environ.take()
    for directory in inherited:
        _attach(directory)
    if inherited and not environ.sessions():
        environ.publish_none()  # --no-follow, or sessions that are over: children need not look
    parameters = os.environ.get(environ.BOOT_VARIABLE)
    if parameters:
        from funcgraph.instance.boot import start

        start(parameters)


try:
    boot()
except Exception:
    pass  # the traced program is never harmed; without a session's directory there is nobody to tell
