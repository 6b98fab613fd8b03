"""Places in which a command runs: small file systems, limits, another user, a system call filter.

Each function returns the words that stand before the command.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

Words = list[str]

NOBODY = 65534

#: The numbers of userfaultfd, ptrace and perf_event_open.
_FILTERED = {"x86_64": (323, 101, 298), "aarch64": (282, 117, 241)}

# A BPF program that answers EPERM to the system calls named on the command line, and allows all others.
_SECCOMP = """
import ctypes, os, struct, sys
numbers, command = [int(n) for n in sys.argv[1].split(",")], sys.argv[2:]
LOAD, JUMP_IF, RETURN, ALLOW, EPERM = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050001
rows = [(LOAD, 0, 0, 0)]
rows += [(JUMP_IF, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
rows += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, EPERM)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in rows))
program = ctypes.create_string_buffer(struct.pack("=H6xQ", len(rows), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")
os.execv(command[0], command)
"""

_LIMIT = """
import os, resource, sys
for word in sys.argv[1].split(","):
    name, _, value = word.partition("=")
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (int(value), int(value)))
os.execv(sys.argv[2], sys.argv[2:])
"""


def has_mounts() -> bool:
    """Return whether file systems can be mounted here."""
    try:
        probe = subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
        )
    except FileNotFoundError:
        return False
    return probe.returncode == 0


def is_root() -> bool:
    """Return whether other users and root directories can be tried here."""
    return os.geteuid() == 0 and has_mounts()


def has_filters() -> bool:
    """Return whether the numbers of the filtered system calls are known for this machine."""
    return platform.machine() in _FILTERED


def _script(*lines: str) -> Words:
    return ["unshare", "-m", "sh", "-c", " && ".join([*lines, 'exec "$@"']), "sh"]


def small_folders(sizes: Mapping[str, str], folder: str | Path = ".", options: str = "") -> Words:
    """Make each folder of `sizes` a file system of that size; those in another one come after it.

    Args:
        sizes: folder -> size, as mount(8) takes it.
        folder: where the command runs.
        options: more mount options for all of them, such as `,ro`.
    """
    mounts = [
        f"mkdir -p {shlex.quote(str(name))} && mount -t tmpfs -o size={size},mode=1777{options} tmpfs "
        f"{shlex.quote(str(name))}"
        for name, size in sizes.items()
    ]
    return _script(*mounts, f"cd {shlex.quote(str(folder))}")


def limits(**values: int) -> Words:
    """Set limits of resources: NOFILE=40."""
    return [sys.executable, "-c", _LIMIT, ",".join(f"{name}={value}" for name, value in values.items())]


def as_user(user: int, paths: Sequence[str | Path]) -> Words:
    """Run as another user, who can reach `paths` and nothing else in folders that were closed to them."""
    closed = sorted({str(parent) for path in paths for parent in _closed(Path(path))})
    lines = []
    for number, parent in enumerate(closed):
        inside = sorted({_next_part(Path(path), parent) for path in paths if _is_in(Path(path), parent)})
        aside = f"/run/funcgraph-place-{number}"
        lines.append(f"mount -t tmpfs tmpfs /run && mkdir -p {aside}" if number == 0 else f"mkdir -p {aside}")
        lines += [f"mkdir {aside}/{name} && mount --bind {parent}/{name} {aside}/{name}" for name in inside]
        lines.append(f"mount -t tmpfs -o mode=755 tmpfs {parent}")
        lines += [f"mkdir {parent}/{name} && mount --move {aside}/{name} {parent}/{name}" for name in inside]
    command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return [*_script("mount --make-rprivate /", *lines), *command] if lines else command


def _closed(path: Path) -> list[Path]:
    """Return the outermost folder over `path` that others may not search, if there is one."""
    return [parent for parent in reversed(path.resolve().parents) if not parent.stat().st_mode & 1][:1]


def _is_in(path: Path, parent: str) -> bool:
    return path.resolve().is_relative_to(parent)


def _next_part(path: Path, parent: str) -> str:
    return path.resolve().relative_to(parent).parts[0]


def without_system_calls() -> Words:
    """Answer EPERM to userfaultfd, ptrace and perf_event_open, as containers do."""
    numbers = ",".join(map(str, _FILTERED[platform.machine()]))
    return [sys.executable, "-c", _SECCOMP, numbers]
