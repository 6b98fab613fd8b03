"""Functions of program.py that stand for the kernel's of the same names."""

from __future__ import annotations

import asyncio


class File:
    """What vfs_open() makes."""

    def __init__(self, path: str) -> None:
        self.name = path


def kernel_clone(flags: int) -> int:
    return flags + 1


def do_execve(filename: str) -> str:
    return filename


def do_exit(code: int) -> int:
    return code


def schedule() -> int:
    return _raw_spin_lock(0)


def sched_tick() -> int:
    return mutex_lock(0) + mutex_unlock(0)


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
    return 1


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


def kmem_cache_free(call_site: int, ptr: int) -> None:
    """Raise and catch: py:raise stands for the events of kmem."""
    try:
        raise MemoryError("freed")
    except MemoryError:
        pass


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


async def run_task() -> None:
    """A task's life."""
    await asyncio.sleep(0)


def run_child(name: str) -> None:
    """A thread's life."""
    do_execve(name)
    kernel_clone(0)
    read_and_free(name)
    schedule()
    do_exit(0)


def read_and_free(path: str) -> None:
    """Open a file, read from it, close it."""
    file = getname_flags(path, 0)
    vfs_open(path, file)
    vfs_read(file, bytearray(8), 8)
    dput(file)
    kfree(file)
    kmem_cache_free(0, 0)
    mutex_lock(0)
    mutex_unlock(0)
    tracefs_create_dir("test")
