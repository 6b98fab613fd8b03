"""Functions that wait: which C and native functions wait for a lock, sleep, or read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from funcgraph.tracedata.call_parts import PartKind
from funcgraph.tracedata.description import NATIVE, Function
from funcgraph.tracedata.imports import is_import_machinery

# By type or module: the names of its functions. A C function's name in a trace is MODULE.QUALNAME.
_C_FUNCTIONS: Mapping[PartKind, Mapping[str, str]] = {
    "lock": {
        "_thread.lock": "acquire acquire_lock __enter__",
        "_thread.RLock": "acquire __enter__ _acquire_restore",
        "_thread.LockType": "acquire acquire_lock __enter__",
        "_thread._ThreadHandle": "join",
        "_thread": "start_joinable_thread",
        "_queue.SimpleQueue": "get",
        "_multiprocessing.SemLock": "acquire __enter__",
        "fcntl": "flock lockf",
    },
    "sleep": {"time": "sleep", "signal": "pause sigwait sigwaitinfo sigtimedwait"},
    "io": {
        "select": "select",
        "select.poll": "poll",
        "select.epoll": "poll",
        "select.devpoll": "poll",
        "_socket.socket": "accept _accept connect connect_ex recv recv_into recvfrom recvfrom_into recvmsg "
        "recvmsg_into send sendall sendto sendmsg sendmsg_afalg close",
        "_socket": "getaddrinfo gethostbyname gethostbyaddr getnameinfo gethostbyname_ex",
        "_ssl._SSLSocket": "read write do_handshake shutdown",
        "_io": "open open_code",
        "_io.FileIO": "read readall readinto write close flush truncate",
        "_io.BufferedReader": "read read1 readinto readinto1 readline readlines peek close",
        "_io.BufferedWriter": "write flush close",
        "_io.BufferedRandom": "read read1 readinto readline write flush close",
        "_io.TextIOWrapper": "read readline readlines write flush close",
        "_io._IOBase": "readlines writelines __exit__",
        "posix": "open read readv pread preadv write writev pwrite pwritev sendfile copy_file_range splice "
        "fsync fdatasync sync close stat lstat fstat listdir scandir wait wait3 wait4 waitid waitpid "
        "posix_spawn posix_spawnp",
        "_posixsubprocess": "fork_exec",
        "builtins": "input",
    },
}
_NATIVE_FUNCTIONS: Mapping[PartKind, str] = {
    "lock": "pthread_mutex_lock pthread_mutex_timedlock pthread_cond_wait pthread_cond_timedwait "
    "pthread_cond_clockwait sem_wait sem_timedwait sem_clockwait pthread_join pthread_rwlock_rdlock "
    "pthread_rwlock_wrlock flock",
    "sleep": "sleep usleep nanosleep clock_nanosleep pause sigwait sigtimedwait sigwaitinfo",
    "io": "select pselect poll ppoll epoll_wait epoll_pwait epoll_pwait2 accept accept4 connect recv "
    "recvfrom recvmsg recvmmsg send sendto sendmsg sendmmsg read readv pread pread64 preadv write "
    "writev pwrite pwrite64 pwritev open open64 openat openat64 fsync fdatasync sync sendfile "
    "sendfile64 splice wait waitpid wait3 wait4 waitid getaddrinfo",
}

C_KINDS = {
    f"{owner}.{name}": kind
    for kind, owners in _C_FUNCTIONS.items()
    for owner, names in owners.items()
    for name in names.split()
}
_NATIVE_KINDS = {name: kind for kind, names in _NATIVE_FUNCTIONS.items() for name in names.split()}


def kinds_of(functions: Sequence[Function]) -> dict[int, PartKind]:
    """Return what functions do, by their numbers: those that do nothing special have no item."""
    kinds = ((number, _kind(function)) for number, function in enumerate(functions))
    return {number: kind for number, kind in kinds if kind}


def _kind(function: Function) -> PartKind | None:
    if function.flags & NATIVE:
        return _NATIVE_KINDS.get(function.qualname.removeprefix("__libc_").partition("@")[0], "native")
    if not function.file:
        return C_KINDS.get(function.name)
    return "import" if is_import_machinery(function) else None
