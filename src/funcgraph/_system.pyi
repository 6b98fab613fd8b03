"""System calls that Python's os module has not, or not in every version: one function each.

Each raises OSError when the kernel refuses; ENOSYS: it has no such call.
"""

from typing import Final

#: A kind of namespace, for setns().
CLONE_NEWUSER: Final[int]
#: How openat2() walks a path.
RESOLVE_NO_XDEV: Final[int]
RESOLVE_NO_MAGICLINKS: Final[int]
RESOLVE_NO_SYMLINKS: Final[int]
RESOLVE_BENEATH: Final[int]

def openat2(path: str, flags: int, mode: int, resolve: int, dir_fd: int, /) -> int:
    """Open a path below a directory's descriptor; return the new descriptor. `mode` is 0 without O_CREAT."""

def memfd_create(name: str, /) -> int:
    """Make a file in memory; return its descriptor, which exec closes."""

def setns(fd: int, kinds: int, /) -> None:
    """Join the namespaces of a pidfd's process that `kinds` has. The process must have one thread."""

def no_new_privs() -> None:
    """No program that this process executes gets rights that the process has not."""

def drop_bounding_set() -> None:
    """Give up that programs which this thread executes get capabilities, as far as it may (CAP_SETPCAP)."""

def drop_capabilities() -> None:
    """Give up all capabilities of this thread, for good."""

def set_dumpable(is_dumpable: bool, /) -> None:
    """Set whether processes of the same user may look into this one (ptrace, /proc/PID/mem)."""

def end_with_parent(signal: int, /) -> None:
    """Get a signal when the thread that started this process ends. A change of user undoes it."""

def file_system(fd: int, /) -> int:
    """Return the type of the file system that a descriptor is in, as statfs(2) has it."""

def device_inode(path: str, /) -> tuple[int, int]:
    """Return device and inode of a file, as the kernel has them: its file system is not asked."""

def read_memory(pid: int, address: int, size: int, /) -> bytes:
    """Return bytes of the memory of a process: fewer where its mapping ends.

    SIGKILL ends the wait for a page that does not come, as of a file system that does not answer. Nothing
    ends that of a read of /proc/PID/mem.
    """
