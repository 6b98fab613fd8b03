"""Joining the sessions of recorders, in the traced process, and leaving them.

A process joins a session when it starts (_boot.py), when a recorder asks it to (`record -P`), or for a block
of its own (block.py). Every traced process imports this module, so it imports the engine when it is needed.
"""

import os
import sys

from funcgraph.session import config, environ
from funcgraph.session.options import engine_keywords, from_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["directories", "join", "leave", "leave_dead", "leave_note", "settings_of", "start", "stop"]

# The sessions that this process has joined, oldest first, each with the handles of its instances here.
_joined: "dict[str, list[int]]" = {}


def directories() -> list[str]:
    """Return the directories of the sessions that this process has joined, oldest first."""
    return list(_joined)


def settings_of(directory: str) -> "dict[str, Any]":
    """Return the settings of a session's recording.

    A directory of another user is no session for this process: that user may put links there, and would get
    what this process writes.

    Raises:
        FileNotFoundError: no session takes processes there.
        OSError, ValueError: they cannot be read.
    """
    if os.lstat(directory).st_uid != os.geteuid():
        raise FileNotFoundError(f"{directory} is another user's")
    with open(f"{directory}/config", encoding="utf-8", errors="surrogateescape") as file:
        return from_config(config.parse(file.read()))


def join(directory: str, settings: "dict[str, Any]", *, at_start: bool) -> None:
    """Trace this process into a session, and its children if the recording follows them.

    Args:
        directory: the session's directory.
        settings: those of the recording.
        at_start: the process has just started: record only after the site module's work; and if an instance
            cannot be started, go on with the others before that is raised. Otherwise all or none start.

    Raises:
        ValueError, OSError, RuntimeError: as _engine.start() and _engine.latency_start().
    """
    if settings["follow_fork"]:
        environ.join(directory)
    problem = None
    try:
        for instance in settings["instances"]:
            try:
                start(directory, settings, instance, after_site=at_start)
            except OSError as error:  # such as a latency tracer that does not work here
                if not at_start:
                    raise
                problem = error
        if problem is not None:
            raise problem
    except BaseException:
        if not at_start:
            leave(directory)
        raise


def leave(directory: str) -> None:
    """Stop tracing this process and its future children into a session, if it has joined."""
    stop(_joined.get(directory, []))
    environ.leave(directory)
    _release_native(directory)


def leave_dead() -> None:
    """Leave the sessions whose recorders were killed.

    The engine has stopped, or will at the next call. This is for the rest: the environment of children, and
    events.
    """
    for directory in directories():
        if not _has_recorder(directory):
            leave(directory)


def _has_recorder(directory: str) -> bool:
    """Return whether a process holds the session's lock. Asking neither takes nor releases it."""
    import fcntl
    import struct

    flock = struct.Struct("hhqqi4x")  # struct flock: type, whence, start, len, pid
    try:
        with open(f"{directory}/lock", "rb+") as file:
            lock = flock.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind: int = flock.unpack(fcntl.fcntl(file, fcntl.F_GETLK, lock))[0]
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it is not known: no descriptor, another root directory
    return kind != fcntl.F_UNLCK


def _hook_native(directory: str, instance: "dict[str, Any]", keywords: "dict[str, Any]") -> list[str]:
    """Have the native functions that an instance may record hooked; return a line for each problem.

    Args:
        keywords: the engine's; changed to what `native_under` of the instance stands for.
    """
    problems: list[str] = []
    if instance["native_under"]:
        from funcgraph.native.under import record_under

        problems = record_under(keywords, instance["native_under"], instance["native_objects"], directory)
    patterns = (*keywords["filter"], *keywords["graph"])
    if any(":mod:" in pattern for pattern in patterns):
        from funcgraph.native.hooking import hook

        problems += hook(directory, patterns, directory)
    return problems


def _release_native(directory: str) -> None:
    if hooking := sys.modules.get("funcgraph.native.hooking"):
        hooking.release(directory)


def _leave_problems(directory: str, patterns: list[str], problems: list[str]) -> None:
    """Leave a note of native functions and places that are not hooked. The others are recorded."""
    if hooking := sys.modules.get("funcgraph.native.hooking"):
        from functools import partial

        problems += hooking.refusals(patterns)
        hooking.listen(directory, partial(leave_note, directory))
    if problems:
        leave_note(directory, "; ".join(problems))


def start(
    directory: str,
    settings: "dict[str, Any]",
    instance: "dict[str, Any]",
    *,
    after_site: bool = False,
) -> int:
    """Start an instance and return its handle, for stop().

    Of a latency tracer the instance gets a text for each section that is kept. It records no calls, and the
    threshold is that of sections.

    Args:
        directory: the session's directory.
        settings: the recording's settings (options.py).
        instance: the settings of the instance.
        after_site: record only after the site module's start-up work.

    Raises:
        ValueError, OSError, RuntimeError: as _engine.start() and _engine.latency_start().
    """
    from funcgraph import _engine

    keywords = engine_keywords(settings, instance)
    tracer, thresh_us = keywords["tracer"], keywords["thresh_us"]
    is_latency = tracer in _engine.LATENCY_TRACERS
    if is_latency:
        keywords |= {"tracer": "nop", "thresh_us": 0}
    problems = _hook_native(directory, instance, keywords)
    handle = _engine.start(directory, after_site=after_site, **keywords)
    _joined.setdefault(directory, []).append(handle)
    patterns = list(keywords["filter"])
    try:
        if is_latency:
            _engine.latency_start(tracer, 0, 0, handle)
            _engine.latency_set_thresh(tracer, thresh_us * 1000)
        if instance["events"]:
            redact = [one["redact"] for one in settings["instances"] if one["redact"]]
            patterns += _start_events(directory, handle, instance["events"], redact)
    except BaseException:
        stop([handle])
        raise
    _leave_problems(directory, patterns, problems)
    return handle


def stop(handles: "list[int]") -> None:
    """Stop instances, and delete the events that were defined for them. The list is empty then."""
    stopped = list(handles)
    while handles:
        try:
            # An import would be recorded.
            sys.modules["funcgraph._engine"].stop(handles.pop())
        except ValueError:
            pass  # the recorder stopped it: no space left
    _forget(stopped)
    if live := sys.modules.get("funcgraph.events.live"):
        live.stop(stopped)


def _forget(handles: "list[int]") -> None:
    for directory, own in list(_joined.items()):
        own[:] = [handle for handle in own if handle not in handles]
        if not own:
            del _joined[directory]
            _release_native(directory)


def _start_events(directory: str, handle: int, texts: "list[str]", redact: "list[str]") -> list[str]:
    """Have the instance record these events; return the patterns of the native functions that they are on."""
    from functools import partial

    from funcgraph.events import live, recording_events  # only recordings with events import them

    native = recording_events.native_patterns(texts) if any(":" in text for text in texts) else []
    if native:
        from funcgraph.native.hooking import add_folder

        add_folder(directory, directory)  # an attacher may have put their plans there
    for text in texts:
        live.start(handle, text, partial(leave_note, directory), redact)
    return native


def leave_note(directory: str, text: str) -> None:
    """Leave a text about this process for the recorder of a session, behind those that it has left."""
    for folder in (directory, f"{directory}/spare"):
        path = f"{folder}/{os.getpid()}.note"
        try:
            with open(path, "a+", encoding="utf-8", errors="backslashreplace") as file:
                file.seek(0)
                left = file.read()
                if text not in left:
                    file.write(f"; {text}" if left else text)
            return
        except OSError:
            pass  # the directory was removed, or its file system is full
