"""Filters of system calls: whether a process would survive that funcgraph is started in it.

A filter may end the process at any system call. So a process with a filter is attached to only if the filter
is known to be harmless, or if the user says so.
"""

from __future__ import annotations

import errno
import mmap
import time
from collections.abc import Iterator

from funcgraph.attach.bpf import FilterError, decision
from funcgraph.attach.errors import AttachError
from funcgraph.attach.process import Process
from funcgraph.rights.proc_facts import read_status

__all__ = ["CALLS", "check_seccomp"]

_STRICT, _FILTER = 1, 2  # of `Seccomp` in proc(5)
_MAX_FILTERS = 1024
_PAUSE_S = 0.001

# Actions of linux/seccomp.h. TRAP is a signal that ends a process that does not handle it. The others only
# refuse the call, or ask a supervisor.
_ACTION = 0xFFFF0000
_DEADLY = (0x80000000, 0x00000000, 0x00030000)  # KILL_PROCESS, KILL_THREAD, TRAP

_THREAD_FLAGS = 0x3D0F00  # of pthread_create(): CLONE_VM, CLONE_THREAD ...
_UNIX, _STREAM = 1, 0x80801  # AF_UNIX; SOCK_STREAM, close-on-exec, not blocking
_ANONYMOUS, _PRIVATE = 0x22, 0x02
_RW, _RX = mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ | mmap.PROT_EXEC

#: The system calls (x86-64) of a process that is attached to and recorded, with the arguments that filters
#: look at: name -> number and arguments. tests/security/test_seccomp.py has a process that may make no
#: others.
CALLS: dict[str, tuple[int, ...]] = {
    "read": (0,), "write": (1,), "close": (3,), "stat": (4,), "fstat": (5,), "lseek": (8,),
    "mmap": (9, 0, 4096, _RW, _ANONYMOUS), "mmap of code": (9, 0, 4096, _RX, _PRIVATE),
    "mprotect": (10, 0, 4096, _RW), "munmap": (11,), "rt_sigaction": (13,), "rt_sigprocmask": (14,),
    "ioctl": (16, 3, 0x5401), "pread64": (17,), "access": (21,), "madvise": (28,), "getpid": (39,),
    "socket": (41, _UNIX, _STREAM), "connect": (42,), "sendto": (44,), "recvfrom": (45,),
    "sendmsg": (46,), "recvmsg": (47,), "bind": (49,), "listen": (50,), "getsockopt": (55,),
    "clone": (56, _THREAD_FLAGS), "exit": (60,), "fcntl": (72,), "flock": (73,), "ftruncate": (77,),
    "getcwd": (79,), "rename": (82,), "mkdir": (83,), "rmdir": (84,), "unlink": (87,), "fchmod": (91,),
    "geteuid": (107,), "getppid": (110,), "rt_sigpending": (127,), "fstatfs": (138,), "prctl": (157, 15),
    "gettid": (186,), "futex": (202,), "sched_getaffinity": (204,), "getdents64": (217,),
    "epoll_wait": (232,), "epoll_ctl": (233,), "tgkill": (234,), "openat": (257,), "newfstatat": (262,),
    "unlinkat": (263,), "renameat": (264,), "set_robust_list": (273,), "fallocate": (285,),
    "accept4": (288,), "epoll_create1": (291,), "pipe2": (293,), "prlimit64": (302,), "getrandom": (318,),
    "memfd_create": (319,), "membarrier": (324,), "rseq": (334,), "clone3": (435,),
}  # fmt: skip


def check_seccomp(process: Process, *, ignores_filter: bool) -> None:
    """Make sure that a process's seccomp does not end it.

    Whoever is in the same container has the container's filter too, and a process can only add filters, never
    remove one. So as many filters as ours are the same ones.

    Raises:
        AttachError: it would, or may.
    """
    mode = process.number("Seccomp")
    if mode == _STRICT:
        raise AttachError(process.pid, "strict seccomp lets it make no system call that a new thread needs")
    if mode != _FILTER or ignores_filter or _is_ours(process):
        return
    filters = _filters(process)
    call = _deadly_call(filters)
    if call or not filters:
        raise AttachError(
            process.pid,
            f"its seccomp filter {f'kills it for {call}' if call else 'may kill it'} when funcgraph starts"
            f" there: 'funcgraph attach --ignore-seccomp {process.pid}' tries all the same",
        )


def _is_ours(process: Process) -> bool:
    """Return whether a process has no filter but those that this one has."""
    filters = process.number("Seccomp_filters")  # since Linux 5.11
    return filters > 0 and filters == int(read_status("self").get("Seccomp_filters", "0"))


def _deadly_call(filters: list[bytes]) -> str:
    """Return a call for which one of these filters ends the process; "": there is none."""
    for name, (number, *arguments) in CALLS.items():
        for program in filters:
            try:
                if decision(program, number, arguments) & _ACTION in _DEADLY:
                    return name
            except FilterError:
                return name
    return ""


def _filters(process: Process) -> list[bytes]:
    """Return the filters of a process; []: the kernel does not tell us."""
    try:
        return list(_read_filters(process))
    except (ImportError, OSError):
        return []


def _read_filters(process: Process) -> Iterator[bytes]:
    from funcgraph import _inject

    for index in range(_MAX_FILTERS):
        while True:
            process.check_time()
            try:
                program = _inject.filter(process.handle, index)
                break
            except OSError as error:
                if error.errno == errno.ENOENT:
                    return
                if error.errno not in (errno.EBUSY, errno.EPERM):  # a signal; another attacher, for a moment
                    raise
            time.sleep(_PAUSE_S)
        yield program
    raise AttachError(process.pid, f"it has more than {_MAX_FILTERS} seccomp filters")
