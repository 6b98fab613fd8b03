"""Threads of other processes, stopped and sent into a stub (x86-64).

A process is its number, and a descriptor of its /proc/PID/mem, opened for writing when it was first looked
at: that stays its memory when it executes another program.

Each function but `span` and `stub_bytes` stops one thread for a moment. OSError says why it could not: ESRCH
(the thread has ended, or is of another process), EPERM (not allowed, or somebody else traces it), EBUSY (it
was about to get a signal, or its process is stopped), ETIMEDOUT (it is in the kernel and does not stop).
"""

from collections.abc import Callable
from typing import Final

#: Offsets in a stub: of the function that is queued as a pending call, of the text, of `MAGIC`.
SPAWN_OFFSET: Final[int]
TEXT_OFFSET: Final[int]
MAGIC_OFFSET: Final[int]
#: A word by which a stub is known.
MAGIC: Final[int]

def enter(
    process: tuple[int, int],
    tid: int,
    is_same: Callable[[], bool],
    cave: tuple[int, int],
    content: bytes,
    text: bytes,
    functions: tuple[int, int, int, int, int, int, int, int],
    places: tuple[int, int, bytes, int, bytes, bytes, bytes, bytes, int, int],
    may_spawn: bool,
    may_queue: bool,
    /,
) -> tuple[bool, str]:
    """Send a thread into a stub that starts a new thread there, if it is where that is safe.

    Args:
        process: its process.
        tid: the thread.
        is_same: called when the thread is stopped: whether the process still is the one that is meant.
        cave: start and end of executable memory that nobody executes: the stub is put there.
        content: what is there now: as many bytes as the stub has.
        text: Python code for PyRun_SimpleString(), without a NUL.
        functions: addresses of pthread_create, pthread_detach, Py_AddPendingCall, Py_IsInitialized,
            Py_IsFinalizing, PyGILState_Ensure, PyGILState_Release, PyRun_SimpleString.
        places: start and end of the interpreter's code; a table of native 64-bit words: start and end of
            each part of its loop; the address that signal handlers return to (0: not known); more tables: the
            executable segments in the order of their addresses (start and end of each, of its image, and
            address and size of the image's .eh_frame_hdr), and start and end of functions of the loader, of
            the allocator, and of those of the interpreter that take and release locks; and the lock of the
            pending calls: its kind (0: not known, 1: semaphore, 2: PyMutex) and its address.
        may_spawn: whether the new thread would get the GIL.
        may_queue: whether it is the main thread, which runs pending calls.

    Returns:
        Whether it was sent there; and where it was: "waits", "lock" (of Python's: it waits), "queues" (the
        main thread can queue a call there), "handler" (of a signal), "loader", "allocator", "foreign" (it
        waits for other code than the interpreter), "kernel", "code", "no room" (on its stack) or "taken"
        (other content is in the cave). A main thread that waits for a lock of Python's while `may_spawn` is
        false queues a call and goes on as after a signal: then that is "queues".

    Raises:
        OSError: ENOSPC: the stub does not fit into the cave; ENOSYS: the processor has no XSAVE; ESTALE:
            the process is not the same any longer; and as above.
    """

def pc(process: tuple[int, int], tid: int, /) -> int:
    """Return the address of the instruction that a thread executes next."""

def span(process: tuple[int, int], segments: bytes, address: int, /) -> tuple[int, int, bool] | None:
    """Return the code that the call frame information describes together with an instruction.

    No thread is stopped.

    Args:
        process: the process.
        segments: the table of executable segments that `enter()` takes.
        address: the instruction's.

    Returns:
        Start and end of a function or of a part of one, and whether a jump leads there: then its frame is
        there at the first instruction, and it is a part of the function that jumps. None: nothing describes
        it.
    """

def is_inside(process: tuple[int, int], tid: int, low: int, high: int, entry: int, /) -> bool:
    """Return whether a thread executes code in [low, high), or will return there.

    `entry` is an address that may be on a stack for another reason: where a function begins.
    """

def replace(process: tuple[int, int], address: int, old: bytes, new: bytes, /) -> bool:
    """Replace bytes while the main thread is stopped, if they are still `old`.

    Returns:
        Whether they were.
    """

def filter(process: tuple[int, int], index: int, /) -> bytes:
    """Return a filter of system calls that the main thread has: its instructions (linux/filter.h).

    Args:
        process: the process.
        index: which; the newest is 0.

    Raises:
        OSError: ENOENT: there are not so many; EACCES: only CAP_SYS_ADMIN may, and who has no filter itself;
            EINVAL: the kernel does not tell; and as above.
    """

def stub_bytes(text_bytes: int, /) -> int:
    """Return the size of a stub with a text of so many bytes."""
