"""The variable that names a process's sessions: hidden from the program, passed to its children.

A process heeds none of our variables if its user gave -I or -E, or if it got more rights at its exec than
who started it (AT_SECURE): the environment is then somebody else's. docs/guides/boot.md lists the variables.
A Python with -I or -E gets its sessions from `funcgraph record --isolated` alone, in a sealed memfd that
processes inherit under a fixed number: who can only set variables cannot make one. With AT_SECURE nothing
tells.

The variable stays in the C environment, so children that inherit that are traced. Python's copies of the
environment do not show it. Children with an environment of their own (subprocess with env=..., os.execve,
os.posix_spawn) get the variable from builtin functions of funcgraph._environ that replace the originals.

Every traced process imports this module, so it imports only modules that Python has loaded already.
"""

import _thread
import os
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "BOOT_CONTROL",
    "BOOT_VARIABLE",
    "DESCRIPTOR",
    "VARIABLE",
    "is_secure",
    "join",
    "leave",
    "publish_none",
    "sessions",
    "take",
    "value_of",
]

# Session directories, joined by os.pathsep; empty: none.
VARIABLE = "FUNCGRAPH_SESSION"
# Boot parameters (instance/boot.py). The program sees this variable, which a person has set.
BOOT_VARIABLE = "FUNCGRAPH"
BOOT_CONTROL = "control"  # the one of them that has no value: serve the control socket

# The memfd of `record --isolated`: the variable with its value, as in an environment. funcgraph.pth has the
# number, too.
DESCRIPTOR = 198

# (module, attribute, other modules that may hold the same function, each with its name there)
_CARRIERS = (
    ("posix", "execve", (("os", "execve"),)),
    ("posix", "posix_spawn", (("os", "posix_spawn"),)),
    ("posix", "posix_spawnp", (("os", "posix_spawnp"),)),
    ("posix", "_create_environ", (("os", "_create_environ"),)),  # 3.14: os.reload_environ
    ("posix", "_clearenv", (("os", "_clearenv"),)),  # 3.15: os.environ.clear
    ("_posixsubprocess", "fork_exec", (("subprocess", "_fork_exec"),)),
)

_active: list[str] = []  # directories of the sessions that children of this process join, oldest first
_lock = _thread.allocate_lock()  # protects _active, the variable and the replaced functions
# Another thread may hold the lock at a fork.
os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]


def sessions() -> list[str]:
    """Return the directories of the sessions that children of this process will join."""
    return list(_active)


def is_secure() -> bool:
    """Return whether this process got more rights at its exec than who started it: setuid, setgid, file
    capabilities."""
    from funcgraph import _environ

    return _environ.is_secure()


def value_of(name: str) -> str:
    """Return the value of one of our variables; "": there is none, or this process heeds none."""
    return "" if sys.flags.ignore_environment or is_secure() else os.environ.get(name, "")


def take() -> list[str]:
    """Hide the sessions from the program and return their directories.

    Only Python's copies are changed: os.environ.pop() would remove the variable from the C environment as
    well.
    """
    if is_secure():
        return []
    name = os.fsencode(VARIABLE)
    value = posix.environ.pop(name, b"")
    os.environ._data.pop(name, None)  # type: ignore[attr-defined]
    descriptor_value = _take_descriptor()
    if sys.flags.ignore_environment:
        value = descriptor_value
    return [directory for directory in os.fsdecode(value).split(os.pathsep) if directory]


def _take_descriptor() -> bytes:
    """Return the value that the descriptor has, and keep it open for children; b"": there is none."""
    from funcgraph import _environ

    name, _, value = (_environ.read_sealed(DESCRIPTOR) or b"").partition(b"=")
    if name != os.fsencode(VARIABLE):
        return b""
    _environ.set_descriptor(DESCRIPTOR)
    return value


def _close_descriptor() -> None:
    """Have isolated children no longer get them. The program may have given the number to another file."""
    from funcgraph import _environ

    if _take_descriptor():
        os.close(DESCRIPTOR)
    _environ.set_descriptor(-1)


def join(directory: str) -> None:
    """Have children of this process join the session in `directory`."""
    with _lock:
        _active.append(directory)
        _publish()


def leave(directory: str) -> None:
    """Undo one join(). Does nothing if there was none."""
    with _lock:
        if directory in _active:
            _active.remove(directory)
            _publish()


def publish_none() -> None:
    """Have no child of this process traced, whatever the process itself has joined."""
    with _lock:
        _active.clear()
        _publish()


def _publish() -> None:
    from funcgraph import _environ

    value = os.pathsep.join(_active)
    if value:
        # putenv and not os.environ: the program's own view of its environment must not change.
        posix.putenv(VARIABLE, value)
        _environ.set_variable(os.fsencode(VARIABLE), os.fsencode(value))
        _replace(_environ.wrap)
    else:
        posix.unsetenv(VARIABLE)
        _close_descriptor()
        _environ.set_variable(os.fsencode(VARIABLE), None)
        _replace(_environ.original)


def _replace(change: "Callable[[Any], Any]") -> None:
    """Replace each function that starts a program by change(function), in each module that holds it."""
    import _posixsubprocess  # noqa: F401  (so that subprocess, imported later, takes the replacement)

    for module_name, attribute, aliases in _CARRIERS:
        module = sys.modules[module_name]
        before = getattr(module, attribute, None)
        if before is None:
            continue
        after = change(before)
        setattr(module, attribute, after)
        for alias_module, alias in aliases:
            holder = sys.modules.get(alias_module)
            if holder is not None and getattr(holder, alias, None) is before:
                setattr(holder, alias, after)
        if before in os.supports_fd:  # a set of functions, of ours only execve
            os.supports_fd.discard(before)
            os.supports_fd.add(after)
