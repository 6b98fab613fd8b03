"""The recorder's work: it finds rings, drains them into the spool, and notices processes that end.

Used by `funcgraph record` (foreground), by the recorder behind `with funcgraph.record(...)` and by
`funcgraph recover`.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from funcgraph import _tracedata, output_file
from funcgraph.recorder import rotation
from funcgraph.recorder.directory import Session
from funcgraph.recorder.host import HostFacts
from funcgraph.recorder.limits import Limits, Segments
from funcgraph.recorder.process import ProcessWatch
from funcgraph.recorder.spool_owner import SESSION_KEY
from funcgraph.session.output import is_trace_dat
from funcgraph.tracedata.codecs import provide
from funcgraph.tracedata.dat_format import DatFormat

__all__ = ["Recording", "complete_spool", "copied"]

# The figures of totals() that are sums: those of files that follow one another add up.
SUMS = ("records", "bytes", "lost", "damaged", "overrun", "waits", "wait_ns")

NO_LIMITS = Limits()
DEFAULT_DAT_FORMAT = DatFormat()

# The time between two scans of the rings. A writer whose buffer is full waits about the longest one at
# most.
SHORTEST_PAUSE_S = 0.0005
LONGEST_PAUSE_S = 0.01
# Of rings that cannot be read, so many are named.
MOST_DAMAGED = 100
# How long a process that was asked to stop may take to finish the record it is writing.
STOP_S = 0.1
_COPY_BYTES = 1 << 20


def complete_spool(
    writer: _tracedata.Recorder,
    part: str,
    output: str,
    meta: dict[str, Any],
    keep: int = 1,
    dat_format: DatFormat = DEFAULT_DAT_FORMAT,
) -> None:
    """Complete the spool at `part`, and make the trace at `output` of it, as Recording.complete() does."""
    if is_trace_dat(output):
        writer.complete(json.dumps(meta))
        dat_format.convert(part, output)
        output_file.unlink(part)
    elif os.stat(part).st_dev == os.stat(os.path.dirname(output)).st_dev:
        writer.complete(json.dumps(meta))
        rotation.place(part, output, keep)
    else:
        # The trace is made in another file system, which may have the room that the spool's has not.
        with copied(part, output) as copy:
            writer = _tracedata.Recorder(copy, resume=True)
            try:
                writer.complete(json.dumps(meta))
            finally:
                writer.close()
            rotation.place(copy, output, keep)
        output_file.unlink(part)


@contextmanager
def copied(part: str, output: str) -> Iterator[str]:
    """Copy a spool beside `output`, and delete the copy in the end if it still has its name.

    leftovers.remove_temporaries() knows the names of copies.
    """
    copy = f"{output}.{os.getpid()}.tmp"
    try:
        with (
            open(output_file.open_there(part, os.O_RDONLY), "rb") as source,
            open(output_file.create(copy), "wb") as target,
        ):
            shutil.copyfileobj(source, target, _COPY_BYTES)
        yield copy
    finally:
        with suppress(FileNotFoundError):
            output_file.unlink(copy)


class Ring:
    """The ring-buffer file of a traced process, while the recorder reads it.

    Args:
        index: its number in the spool.
        process: the process.
    """

    __slots__ = ("index", "process")

    def __init__(self, index: int, process: ProcessWatch) -> None:
        self.index = index
        self.process = process


class Recording:
    """Drains a session's rings into a spool, which is the trace.

    Args:
        session: its directory.
        part: path of the spool file: FILE.part until the trace is complete.
        clock: the trace's clock (_tracedata.CLOCKS). A spool that is resumed has its own.
        resume: continue an existing spool, for `funcgraph recover`.
        output: path of the trace, for files that follow one another.
        limits: when another file begins, and how many are kept; or how much is kept in memory.
        dat_format: which trace.dat is made at the end, if the trace's name asks for one.
        buffer_kb: the largest ring buffer that the processes were asked for, in KiB; 0: it is not known. A
            larger one is damaged.

    Raises:
        OSError: the spool cannot be made or read.
        ValueError: this system does not have the compression of `dat_format`; or what is to be resumed is
            no spool.
    """

    def __init__(
        self,
        session: Session,
        part: str,
        *,
        clock: str = "mono",
        resume: bool = False,
        output: str = "",
        limits: Limits = NO_LIMITS,
        dat_format: DatFormat = DEFAULT_DAT_FORMAT,
        buffer_kb: int = 0,
    ) -> None:
        self.session = session
        self._files = session.files
        self.part = part
        self.limits = limits
        self.is_resumed = resume
        self.files = 0  # complete ones so far
        # Why what is kept in memory is to be written: a person or the program asks, or a process crashed.
        self.reasons: list[str] = []
        self._dead: set[int] = set()  # the processes whose deaths were noted
        # Why the spool takes no more (no space left, ...), or the recorder cannot go on (out of memory).
        self.failure: OSError | MemoryError | None = None
        # From a process's id in its own namespace, which its ring has, to the one that we have for it.
        self.outer_pid: Callable[[int], int] = lambda inner: inner
        self.damaged: list[str] = []  # "FILE: reason" for each ring that cannot be read, or not all of it
        self.attached = 0  # number of rings found so far
        self.records: Counter[str] = Counter()  # instance -> records of rings that are finished
        provide()
        dat_format.check_codec()
        self._dat_format = dat_format
        self._buffer_kb = buffer_kb
        self._output = output
        self._meta: dict[str, Any] = {}
        # What is recovered was recorded before: its own description says where.
        self._host = None if resume else HostFacts()
        self.dumped: dict[str, int] = {}  # figures of the latest dump()
        self._before: Counter[str] = Counter()  # SUMS of complete files
        self._written_before = 0  # bytes of complete files
        self._is_changing = False  # the spool is still rotation.following(part)
        self._segments = Segments(limits.ring) if limits.ring else None
        self._writer = self._open(clock, resume)
        if not resume:
            self._writer.describe(json.dumps(self._facts({})))
        self._begin_bytes = self._writer.size()  # what a file begins with
        self._rings: dict[str, Ring] = {}  # by file name
        self._ignored: set[str] = set()  # file names of rings that are damaged
        self._killed: list[str] = []
        self._pause_s = SHORTEST_PAUSE_S

    def _open(self, clock: str, resume: bool) -> _tracedata.Recorder:
        """Begin the spool. What a killed recorder left under our names stays for `funcgraph recover`."""
        if self._segments is None:
            if not resume and os.path.lexists(after := rotation.following(self.part)):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), after)
            return _tracedata.Recorder(self.part, clock=clock, resume=resume, buffer_kb=self._buffer_kb)
        if os.path.lexists(self.part):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.part)
        return _tracedata.Recorder(self._segments.newest, clock=clock, buffer_kb=self._buffer_kb)

    # ---- one scan

    def step(self) -> float:
        """Find new rings, drain all, finish those whose process has ended; return the seconds to pause."""
        try:
            moved = self._scan()
            self._rotate_if_due()
        except (OSError, MemoryError) as error:
            self._fail(error)
            moved = 0
        self._pause_s = 0.0 if moved else min(max(2 * self._pause_s, SHORTEST_PAUSE_S), LONGEST_PAUSE_S)
        return self._pause_s

    def _scan(self) -> int:
        self._discover()
        moved = 0
        for name, ring in list(self._rings.items()):
            # First ask whether the process has ended, then drain: all that it wrote is then drained.
            gone = ring.process.gone()
            moved += self._drain(name)
            if gone and ring.process.status is not None:
                self.note_death(ring.process.pid, ring.process.status)
            if name in self._rings and (gone or self._finished(ring)):
                self._finish(name)
        if self._segments is not None:
            self.reasons += self._files.take_requests()
        return moved

    def note_death(self, pid: int, status: int) -> None:
        """Note that a process died of a signal as a reason for a dump, once for each process.

        Args:
            pid: The process.
            status: Its exit status; -N if signal N killed it. Others are not noted.
        """
        if status < 0 and pid not in self._dead:
            self._dead.add(pid)
            self.reasons.append(f"process {pid} died of {_signal_name(-status)}")

    def running(self) -> list[int]:
        """Return the ids of the processes that still write."""
        return sorted({ring.process.pid for ring in self._rings.values()})

    def killed(self) -> list[str]:
        """Return a message for each process whose kill switch was tripped."""
        return self._killed

    def _discover(self) -> None:
        for name in self._files.ring_names():
            if name in self._rings or name in self._ignored:
                continue
            try:
                index = self._add_ring(name)
            except ValueError as error:
                self._ignore(name, str(error))
                continue
            except FileNotFoundError:
                continue  # the directory was removed under us
            except (OSError, MemoryError) as error:
                if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                    return  # once another ring is finished, a later scan finds this one again
                self._ignored.add(name)
                self._fail(error)
                continue
            pid = self.outer_pid(self._info(index, "pid"))
            self._rings[name] = Ring(index, ProcessWatch(pid))
            self.attached += 1
            if self.failure is not None:
                self._writer.stop_writer(index)

    def _add_ring(self, name: str) -> int:
        """Have the spool's writer map a ring; return its number there. Nothing opens the file again."""
        fd = self._files.open_ring(name)
        try:
            return self._writer.add_ring(fd, os.path.basename(name))
        finally:
            os.close(fd)

    def _ignore(self, name: str, reason: str) -> None:
        self._ignored.add(name)
        if len(self.damaged) < MOST_DAMAGED:
            self.damaged.append(f"{self.session.path}/{name}: {reason}")
        elif len(self.damaged) == MOST_DAMAGED:
            self.damaged.append("further ring buffers cannot be read")

    def _drain(self, name: str) -> int:
        if self.failure is not None:
            return 0
        try:
            return self._writer.drain(self._rings[name].index)
        except ValueError as error:
            self._give_up(name, error)
        except (OSError, MemoryError) as error:
            self._fail(error)
        return 0

    def _give_up(self, name: str, reason: ValueError) -> None:
        """Leave a ring that its process has damaged. The spool has what was drained before."""
        ring = self._rings.pop(name)
        ring.process.close()
        self._ignore(name, str(reason))
        self._count(ring)

    def _finished(self, ring: Ring) -> bool:
        return bool(self._writer.info(ring.index)["finished"])

    def _info(self, index: int, key: str) -> int:
        value = self._writer.info(index)[key]
        assert isinstance(value, int)
        return value

    def _finish(self, name: str) -> None:
        """Take the rest of a ring that no process writes any longer, and delete its file."""
        ring = self._rings[name]
        try:
            self._writer.finish(ring.index)
        except ValueError as error:
            self._give_up(name, error)
            return
        except (OSError, MemoryError) as error:
            self._fail(error)
        del self._rings[name]
        ring.process.close()
        self._count(ring)
        if self.failure is not None:
            self._ignored.add(name)  # its last records may still be recovered
            return
        try:
            self._files.unlink_ring(name)
        except FileNotFoundError:
            pass  # the whole directory was removed under us (a logout empties XDG_RUNTIME_DIR)
        except OSError:
            self._ignored.add(name)  # another user's directory, of which nothing may be left

    def _count(self, ring: Ring) -> None:
        """Take the figures of a ring that is read no further."""
        info = self._writer.info(ring.index)
        self.records[info["instance"]] += info["records"]
        if info["killed"]:
            self._killed.append(f"process {ring.process.pid}: {info['killed']}")

    def _stop_writers(self) -> None:
        for ring in self._rings.values():
            with suppress(ValueError):  # it was given up: the next scan says so
                self._writer.stop_writer(ring.index)

    def _fail(self, error: OSError | MemoryError) -> None:
        """Keep what is in the spool, which takes no more, and ask all writers to stop. The programs go
        on."""
        if self.failure is None:
            self.failure = error
        self._stop_writers()

    # ---- files that follow one another

    def written(self) -> int:
        """Return how many bytes were written to the disk so far, in all files."""
        return 0 if self._segments is not None else self._written_before + self._writer.size()

    def _rotate_if_due(self) -> None:
        limit = self.limits.rotate if self._segments is None else self._segments.segment_bytes
        # At least half of a file are events, however many symbols there are.
        if limit and self.failure is None and self._writer.size() >= max(limit, 2 * self._begin_bytes):
            self.rotate()

    def rotate(self) -> None:
        """Begin another file, or with `limits.ring` another segment.

        Raises:
            OSError: no space left, no permission. Either nothing has changed, or the new file has not yet
                its name: complete() tries again.
        """
        if self._segments is not None:
            self._segments.begin(self._turn)
            return
        self._turn(rotation.following(self.part))
        self.files += 1
        self._is_changing = True
        self._change()

    def _turn(self, part: str | int) -> None:
        infos = {ring.index: self._writer.info(ring.index) for ring in self._rings.values()}
        size = self._writer.size()
        former, counts = self._writer.rotate(part)
        self._begin_bytes = self._writer.size()
        self._written_before += size
        self._before.update({name: counts[name] for name in SUMS})
        for info in infos.values():
            self.records[info["instance"]] += info["records"]
        numbers = {old: new for new, old in enumerate(former)}
        for ring in self._rings.values():
            ring.index = numbers[ring.index]

    def _change(self) -> None:
        """Give the complete file and the new one their names."""
        rotation.change(self.part, self._output, self.limits.keep)
        self._is_changing = False

    # ---- what is kept in memory

    def dump(self) -> str | None:
        """Write what is kept in memory if there are reasons to; return the trace's path, or None.

        Raises:
            OSError: no space left or no permission: there is no trace, what is kept stays, and the reasons
                are forgotten.
        """
        reasons, self.reasons = self.reasons, []
        if self._segments is None or not reasons:
            return None
        if os.path.lexists(self.part):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.part)
        meta = self._facts({**self._meta, "dump": reasons})
        self.dumped = self._writer.dump(self.part, self._segments.older, json.dumps(meta))
        rotation.place(self.part, self._output, self.limits.keep)
        self.files += 1
        return self._output

    # ---- the end

    def settle(self, grace_s: float, stop: Callable[[], object] | None = None) -> list[int]:
        """Drain what is left when the recording ends.

        Args:
            grace_s: how long processes that still run may take to end by themselves, in seconds.
            stop: asks them to stop at once, in a thread, and raises nothing. Others stop at their next call.

        Returns:
            The ids of processes that still run, and are no longer traced.
        """
        self.session.close_to_newcomers()
        self._step_until(time.monotonic() + grace_s)
        left = self.running()
        self._stop_writers()
        if stop is not None:
            self._step_during(stop)
        self._step_until(time.monotonic() + STOP_S)
        # A process that has not finished is asleep: it lets go of the file at its next call.
        for name in list(self._rings):
            self._finish(name)
        return [pid for pid in left if not ProcessWatch(pid).gone()]

    def _step_until(self, deadline: float) -> None:
        pause_s = self.step()
        while self._rings and time.monotonic() < deadline:
            time.sleep(pause_s)
            pause_s = self.step()

    def _step_during(self, action: Callable[[], object]) -> None:
        thread = threading.Thread(target=action)
        thread.start()
        while thread.is_alive():
            time.sleep(self.step())
        thread.join()

    def totals(self) -> dict[str, int]:
        """Return the figures so far, as _tracedata.Recorder.totals does.

        Sums are of all files. "tasks", "processes" and "functions" are those of the newest.
        """
        totals = self._writer.totals()
        return totals | {name: totals[name] + self._before[name] for name in SUMS}

    def matched(self) -> int:
        """Return how many of the functions that ran so far match the filters."""
        return self._writer.matched()

    def seen_functions(self) -> list[tuple[str, str]]:
        """Return name and module of each function that ran so far, whether it matches or not."""
        return self._writer.seen_functions()

    def heaviest(self, count: int) -> list[tuple[str, float]]:
        """Return the functions with the most bytes so far, each with its share of all."""
        return self._writer.heaviest(count)

    def describe(self, meta: dict[str, Any]) -> None:
        """Note in the spool what is recorded, for who reads it before it is complete."""
        self._meta = meta
        self._writer.describe(json.dumps(self._facts(meta)))

    def _facts(self, meta: dict[str, Any]) -> dict[str, Any]:
        """Return a description with what names the recording: its session, and where it was made."""
        facts = self._host.facts() if self._host else {}
        return {**meta, SESSION_KEY: self.session.name, **facts}

    def complete(self, output: str, meta: dict[str, Any], keep: int | None = None) -> None:
        """Complete the trace: the spool becomes `output`, or a trace.dat is made of it and it is deleted.

        Args:
            output: path of the trace; an existing file is replaced when the trace is complete.
            meta: entries of the trace's JSON, in addition to those from the spool.
            keep: how many traces of that name are kept, if not as the recording's limits say.

        Raises:
            OSError: no space left or no permission; the spool is kept.
        """
        if self._is_changing:
            self._change()
        meta = self._facts(meta)
        complete_spool(self._writer, self.part, output, meta, keep or self.limits.keep, self._dat_format)
        self.files += 1
        self.close()

    def discard(self) -> None:
        """Delete the spool: nothing was recorded."""
        in_memory = self._segments is not None
        self.close()
        if not in_memory:
            output_file.unlink(self.part)

    def close(self) -> None:
        """Close the spool and the rings; their files stay for `funcgraph recover`."""
        for ring in self._rings.values():
            ring.process.close()
        self._rings.clear()
        self._writer.close()
        if self._segments is not None:
            self._segments.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
