"""Traces: writing them while a program runs, and reading them."""

from os import PathLike
from typing import Any, Final, Literal, Self, final

# Reading (tracedata_reader.c)

REPORT_OPTIONS: Final[
    tuple[tuple[str, int, Literal["on", "off", "auto"], str], ...]
]  # name, bit, initially, help

@final
class Reader:
    """An opened trace.dat.

    Raises OSError, and ValueError (why) for a file that is no whole trace of funcgraph's.
    """

    def __new__(cls, path: str | bytes | PathLike[str]) -> Reader: ...
    @property
    def meta(self) -> bytes:
        """The trace's own JSON, undecoded."""
    @property
    def nr_lanes(self) -> int:
        """How many lanes the trace has, of all buffers."""
    def set_names(
        self,
        functions: list[tuple[str, str, int]],
        tasks: list[tuple[int, int, int, str, int, int, bool]],
        select_unknown: bool,
        /,
    ) -> None:
        """Hand in what the trace's JSON says, once, before anything is read.

        functions: (name, argument names joined by ',', size in bytes if it is native code, else 0) by index.
        tasks: (lane, tid, pid, name, first_ns, last_ns, selected); only the events of selected tasks are
        read. select_unknown: so are those of tasks not listed.
        """
    def report(
        self, buffers: list[tuple[str, int, int, int, str | None]], header: int, color: bool, /
    ) -> ReportIterator:
        """Return an iterator over the report's text: bytes, whole lines, a piece at a time.

        buffers: for each of the trace's buffers (layout, options, nr_events, nr_lost, prefix):
        'function_graph' or 'function'; bits of REPORT_OPTIONS; two numbers for the header; what stands before
        each line, or None. header: number of the buffer whose header is printed. Iterating raises ValueError
        where the file is damaged or has another number of buffers, and OSError.
        """
    def summary(self) -> list[tuple[int, int, int, int, int, int, int, int, int, int]]:
        """Read the whole trace; return a row for each function that was seen in it.

        (index, calls, resumes, exceptions, total_ns, self_ns, min_ns, max_ns, ended, ended_ns). An index
        beyond the last function stands for functions the trace does not name. Raises ValueError where the
        file is damaged, and OSError.
        """

@final
class ReportIterator:
    """The text of a report, a piece at a time. Made by Reader.report()."""

    def __iter__(self) -> ReportIterator: ...
    def __next__(self) -> bytes: ...

# Writing (tracedata_recorder.c)

CLOCKS: Final[tuple[str, ...]]  # the kernel's names (trace_clock) of those that a trace can have

@final
class Recorder:
    """Empties ring-buffer files into a spool while programs run, and makes a trace.dat of it at the end.

    The spool is a self-contained file that only grows: what is in it survives this process. It is locked
    while it is open, so no two recorders append to one spool. Rings are numbered from 0 as they are
    added. A method that moves data releases the GIL meanwhile; another thread's call then raises
    RuntimeError.

    An error of the spool (no space left) loses nothing: what could not be appended stays in the ring, and the
    call may be repeated.

    Args:
        part: path of the spool.
        clock: one of CLOCKS: what the trace's times are on. A resumed spool has its own.
        resume: take in the spool that a recorder left at `part`, and go on with it. A tail that was cut off,
            or a damaged place, is passed over. Without it the spool is made, and must not be there yet.

    Raises:
        FileExistsError: without `resume`, `part` is there already.
        BlockingIOError: another recorder has the spool open.
        ValueError: an unknown clock; with `resume`, the file is not a spool. From any method: the recorder is
            closed.
        OSError: the file cannot be made or read.

    Example:
        >>> recorder = Recorder("trace.dat.part")
        >>> ring = recorder.add_ring("/run/user/1000/funcgraph-1/4711.0.ring")
        >>> while not recorder.info(ring)["finished"]:
        ...     recorder.drain(ring)
        >>> recorder.finish(ring)
        >>> recorder.assemble("trace.dat", "{}")
        >>> recorder.close()
    """

    def __new__(cls, part: str | PathLike[str], *, clock: str = "mono", resume: bool = False) -> Self: ...
    def add_ring(self, path: str | PathLike[str], /) -> int:
        """Map a ring-buffer file and return the number by which the other methods know it.

        A file that the resumed spool knows gets its number again, and what the spool has of it is not taken
        twice.

        Raises:
            ValueError: the file is not a ring buffer, or is damaged.
            FileExistsError: this recorder has it mapped already.
            OSError: the file cannot be opened, or the spool not written.
        """

    def drain(self, ring: int, /) -> int:
        """Take the sub-buffers that are full now, and new symbols, into the spool; wake a waiting writer.

        Returns:
            How many records that were.

        Raises:
            ValueError: no such ring is mapped.
            OSError: the spool cannot be written (ENOSPC, EIO ...).
        """

    def finish(self, ring: int, /) -> None:
        """Take all that is left in a ring, and let go of its file; the file itself stays.

        Only for a ring whose writer has finished, was stopped, or is gone: sub-buffers that are not full, and
        those that a recorder which died had claimed, are taken too.

        Raises:
            ValueError: no such ring is mapped.
            OSError: the spool cannot be written; the ring stays mapped.
        """

    def stop_writer(self, ring: int, /) -> None:
        """Ask the ring's writer to stop recording. Its program goes on, untraced.

        Raises:
            ValueError: no such ring is mapped.
        """

    def info(self, ring: int, /) -> dict[str, Any]:
        """Return what is known of a ring now, also after finish().

        Returns:
            "pid"; "instance": its name, "" of the top one; "finished": the writer closed it in good order;
            "killed": why a broken invariant stopped the tracing of the process, or None; "records" and
            "bytes" taken so far; "lost": records dropped, overwritten or damaged; "overrun": calls not traced
            because a shadow stack was full; "waits" and "wait_ns": how often and how long its threads waited
            for the recorder; "tasks" that wrote; "functions": those that may be recorded; "seen": all that
            ran; "processes": 1.

        Raises:
            ValueError: no such ring.
        """

    def totals(self) -> dict[str, int]:
        """Return "records", "bytes", "lost", "overrun", "waits", "wait_ns" and "tasks" of all rings together
        (a thread counts once, however many instances recorded it), "processes" that were traced, and
        "functions": how many functions have a record (the same function in several processes counts once)."""

    def seen_names(self) -> list[str]:
        """Return `module.qualname` of every function that ran, whether it may be recorded or not."""

    def matched(self) -> int:
        """Return how many functions may be recorded, of those that ran so far."""

    def assemble(self, output: str | PathLike[str], meta: str, /) -> None:
        """Write the trace of what the spool holds.

        The trace is written to a temporary file beside `output` and renamed: there is a whole one or none.
        The spool stays as it is, so a failure can be retried.

        Args:
            output: path of the trace.dat; a regular file that is there is replaced, a link to one followed.
            meta: a JSON object; its members join the trace's own JSON, whose own names win.

        Raises:
            ValueError: `meta` is not a JSON object.
            IsADirectoryError: `output` is a folder.
            OSError: no space, no permission, or `output` is a device or another thing not to be replaced.
        """

    def close(self) -> None:
        """Let go of the spool and all rings; what they hold stays where it is. May be called twice."""
