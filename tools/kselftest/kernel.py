"""Functions of program.py that stand for the kernel's of the same names. Its tasks are threads."""

from __future__ import annotations

import os
import threading
import time
from typing import NamedTuple

import tracepoints  # type: ignore[import-not-found]

#: Of a task whose niceness is 0.
_DEFAULT_PRIO = 120
_INTERRUPTIBLE = 1
_SIGCHLD = 17
_GETPID = 39
_OPENAT = 257
_TICK_S = 0.005


class Task(NamedTuple):
    """What the kernel tells of a task in most events."""

    comm: str
    pid: int
    prio: int


def task(thread: threading.Thread) -> Task:
    """Return what there is to tell of a thread that runs."""
    pid = thread.native_id or 0
    try:
        return Task(thread.name, pid, _DEFAULT_PRIO + os.getpriority(os.PRIO_PROCESS, pid))
    except ProcessLookupError:  # it has ended
        return Task(thread.name, pid, _DEFAULT_PRIO)


class File:
    """What vfs_open() makes."""

    def __init__(self, path: str) -> None:
        self.name = path


class Child(threading.Thread):
    """A task that runs a program once its parent has woken it.

    Args:
        name: its name, and the program's.
        niceness: how nice it is to others.
    """

    def __init__(self, name: str, niceness: int = 0) -> None:
        super().__init__(name=name)
        self.parent = threading.current_thread()
        self.woken = threading.Event()
        self._niceness = niceness

    def run(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._niceness)
        self.woken.wait()
        run_child(self.name)


def kernel_clone(flags: int, child: Child | None = None) -> int:
    if child:
        child.start()
        parent = threading.current_thread()
        tracepoints.sched_process_fork(parent.name, parent.native_id, child.name, child.native_id)
        wake_up_process(child)
    return flags + 1


def wake_up_process(thread: threading.Thread) -> int:
    tracepoints.sched_waking(*task(thread))
    tracepoints.sched_wakeup(*task(thread))
    return 1


def do_execve(filename: str) -> str:
    pid = threading.get_native_id()
    tracepoints.sched_process_exec(filename, pid, pid)
    return filename


def do_exit(code: int) -> int:
    tracepoints.sched_process_exit(*task(threading.current_thread()))
    return code


def schedule(next_thread: threading.Thread | None = None) -> int:
    """Give way to another task: the idle one if none is given."""
    following = next_thread or swapper
    tracepoints.sched_switch(*task(threading.current_thread()), _INTERRUPTIBLE, *task(following))
    return _raw_spin_lock(0)


def sched_tick() -> int:
    tracepoints.timer_cancel(id(swapper))
    return mutex_lock(0) + mutex_unlock(0)


def send_signal(thread: threading.Thread) -> None:
    tracepoints.signal_generate(_SIGCHLD, 0, 0, thread.name, thread.native_id)


def _raw_spin_lock(lock: int) -> int:
    return lock


def mutex_lock(lock: int) -> int:
    return mutex_trylock(lock)


def mutex_trylock(lock: int) -> int:
    return lock


def mutex_unlock(lock: int) -> int:
    return lock


def cpus_read_unlock(lock: int) -> int:
    return lock


def rcu_read_lock() -> int:
    return 0


def sys_getpid() -> int:
    tracepoints.sys_exit(_GETPID, os.getpid())
    return 1


def sys_chdir(filename: str) -> None:
    tracepoints.sys_enter_chdir(filename)


def sys_openat(filename: str) -> int:
    tracepoints.sys_enter_openat(-100, filename, 0, 0)
    file = getname_flags(filename, 0)
    result = vfs_open(filename, file)
    tracepoints.sys_exit_openat(result)
    tracepoints.sys_exit(_OPENAT, result)
    return result


def SyS_getppid() -> int:  # noqa: N802 - the selftests look for a name that begins so
    return 0


def vfs_open(path: str, file: File) -> int:
    return len(path)


def vfs_read(file: File, buf: bytearray, count: int) -> int:
    return count


def vfs_symlink(idmap: int, folder: str, path: str) -> int:
    return 0


def dput(dentry: File) -> None:
    return None


def getname_flags(filename: str, flags: int) -> File:
    return File(filename)


def kfree(object: object) -> None:
    return None


def inet_csk_accept(sock: int) -> int:
    return sock


def proc_reg_write(file: str) -> int:
    return -5


def tracefs_create_dir(name: str) -> str:
    """Have instructions of two bytes up to the address of the next function: addresses are 16 apart."""
    parent = mode = owner = group = dentry = name
    return parent and mode and owner and group and dentry


class isra:  # noqa: N801 - gcc's suffix of functions that it has changed
    """Has a function whose name has dots."""

    @staticmethod
    def dot_function() -> int:
        return 0


def run_child(name: str) -> None:
    """A task's life."""
    child = threading.current_thread()
    assert isinstance(child, Child)
    do_execve(f"/bin/{name}")
    sys_getpid()
    sys_openat("/etc/ld.so.cache")
    read_and_free("/dev/null")
    schedule()
    send_signal(child.parent)
    do_exit(0)
    schedule(child.parent)


def read_and_free(path: str) -> None:
    """Open a file, read from it, close it."""
    tracepoints.kmalloc(read_and_free, id(path), len(path), 64)
    file = getname_flags(path, 0)
    tracepoints.kmem_cache_alloc(read_and_free, id(file), "filp", 232, 256)
    vfs_open(path, file)
    vfs_read(file, bytearray(8), 8)
    dput(file)
    kfree(file)
    tracepoints.kfree(read_and_free, id(path))
    tracepoints.kmem_cache_free(read_and_free, id(file), "filp")
    mutex_lock(0)
    mutex_unlock(0)
    tracefs_create_dir("test")


def idle() -> None:
    """The life of the idle task: it wakes the first one and gives way to it all the time."""
    while True:
        wake_up_process(threading.main_thread())
        schedule(threading.main_thread())
        sched_tick()
        kernel_clone(_SIGCHLD)
        rcu_read_lock()
        time.sleep(_TICK_S)


#: The idle task.
swapper = threading.Thread(target=idle, name="swapper", daemon=True)
