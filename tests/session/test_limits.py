"""What bounds a recording that runs for months: --max-size, --max-time, --rotate, --ring."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import re
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Funcgraph
from ringfile import RingFile, leaf

import funcgraph
from funcgraph import _tracedata
from funcgraph.recorder import limits, rotation
from funcgraph.recorder.directory import Session
from funcgraph.recorder.recording import Recording, complete_spool
from funcgraph.session import options
from funcgraph.session.check import OptionError
from funcgraph.settings import check as valid
from funcgraph.settings.table import BY_NAME

pytestmark = pytest.mark.one_python

# A program whose step() is called in lines that the test sends: `N` calls it so often, "end N" exits.
SERVICE = """
import sys, os, signal, threading
import funcgraph

def step():
    pass

def other():
    pass

def calls(count):
    for _ in range(count):
        step()

def in_a_thread(count):
    thread = threading.Thread(target=calls, args=(count,))
    thread.start()
    thread.join()

def is_watched(recorder):
    for name in os.listdir(f"/proc/{recorder}/fdinfo"):
        try:
            with open(f"/proc/{recorder}/fdinfo/{name}") as file:
                if f"Pid:\\t{os.getpid()}\\n" in file.read():
                    return True
        except OSError:
            pass
    return False

def answer(*words):
    print(*words, flush=True)

while True:
    word, *rest = input().split()
    if word == "calls": calls(int(rest[0]))
    elif word == "thread": in_a_thread(int(rest[0]))
    elif word == "dump": answer(funcgraph.ftrace_dump(" ".join(rest)))
    elif word == "users":
        from funcgraph import _engine
        answer(len(_engine.status()["users"]))
    elif word == "fork":
        recorder = os.getppid()
        if os.fork() == 0:
            calls(int(rest[0]))
            while not is_watched(recorder): pass
            os.kill(os.getpid(), int(rest[1])) if int(rest[1]) else os._exit(3)
        os.wait()
    elif word == "signal": os.kill(os.getppid(), signal.SIGUSR2)
    elif word == "abort": os.abort()
    elif word == "end": sys.exit(int(rest[0]))
    answer("done", word)
"""


class Service:
    """A recorded program that does what it is told, one thing after the other."""

    def __init__(self, fg: Funcgraph, *flags: str | Path) -> None:
        self.fg = fg
        script = fg.script(SERVICE, "service.py")
        self.process = fg.start("record", "-l", "*.step", *flags, script)

    def tell(self, line: str) -> list[str]:
        """Send a line; return the lines that the program answers before it is done."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        lines: list[str] = []
        while not lines or not lines[-1].startswith("done"):
            answer = self.process.stdout.readline().strip()
            assert answer, self.process.communicate()[1]
            lines.append(answer)
        return lines[:-1]

    def received(self, text: str) -> str:
        """Return the recorder's next line, but for one about waits, which must have that text."""
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        while "waited" in line:
            line = self.process.stderr.readline()
        assert text in line, line
        return line

    def end(self, line: str = "end 0") -> str:
        """Send the last line; return what the recorder says until it ends."""
        _, errors = self.process.communicate(line + "\n", timeout=120)
        return errors

    @property
    def status(self) -> int:
        return self.process.returncode


def steps(fg: Funcgraph, *traces: str | Path) -> int:
    """Return how often step() is called in all of these traces together, and check that it returns as often.

    A call may begin in one file and end in the next.
    """
    begun = ended = 0
    for trace in traces:
        report = fg.run("report", "-i", trace)
        assert report.returncode == 0, report.stderr
        whole = report.stdout.count("__main__.step();")
        begun += whole + report.stdout.count("__main__.step() {")
        ended += whole + report.stdout.count("}")
    assert begun == ended
    return begun


def calls_of_steps(fg: Funcgraph) -> int:
    """Return the calls of step() in FILE, of which the last one may have no end."""
    return fg.calls()["__main__.step"]


def traces_of(fg: Funcgraph) -> list[Path]:
    """Return the complete traces, the newest first."""
    return sorted(
        (path for path in fg.folder.glob("trace.fg*") if path.suffix != ".part"),
        key=lambda path: int(path.suffix[1:]) if path.suffix[1:].isdecimal() else 0,
    )


# ---- values


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("65536", 65536),
        ("512K", 512 << 10),
        ("100M", 100 << 20),
        ("2G", 2 << 30),
        ("100k", 100 << 10),
        ("0", 0),
        (70000, 70000),
    ],
)
def test_sizes_are_bytes_or_have_a_unit(text: str | int, count: int) -> None:
    assert valid.size(BY_NAME["rotate"], text) == count


@pytest.mark.parametrize(("text", "count"), [("30s", 30), ("5m", 300), ("2h", 7200), ("7", 7), (1, 1)])
def test_times_are_seconds_or_have_a_unit(text: str | int, count: int) -> None:
    assert valid.seconds(BY_NAME["max_time"], text) == count


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-size", "10X"], "--max-size 10X: must be a size such as 512K, 100M or 2G, from 64K to 1024T"),
        (["--max-size", "-1"], "--max-size -1: must be a size"),
        (["--rotate", "M"], "--rotate M: must be a size"),
        (["--rotate", "1K"], "--rotate 1K: must be a size"),
        (["--ring", "1.5G"], "--ring 1.5G: must be a size"),
        (["--ring", "٣M"], "--ring '٣M': must be a size"),
        (["--max-time", "soon"], "--max-time soon: must be a time such as 30s, 5m or 2h, at least 1s"),
        (["--ring", "1M", "--rotate", "1M"], "--ring 1M: cannot be given together with --rotate"),
        (["--ring", "1M", "--max-size", "1M"], "--ring 1M: cannot be given together with --max-size"),
        (["--keep", "3"], "--keep 3: only with --rotate or --ring"),
        (["--keep", "0", "--rotate", "1M"], "--keep 0: must be a whole number from 1 to 100000"),
        (["--rotate", "1M", "-o", "x.dat"], "--rotate x.dat: cannot write a trace.dat"),
        (["--ring", "1M", "-o", "x.dat"], "--ring x.dat: cannot write a trace.dat"),
    ],
)
def test_a_wrong_value_is_one_clear_error(fg: Funcgraph, words: list[str], message: str) -> None:
    result = fg.record(*words, "-c", "print('ran')")
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert fg.sessions() == [] and not list(fg.folder.glob("*.part*"))


def test_the_keywords_are_checked_as_the_options() -> None:
    for keywords in ({"rotate": "1X"}, {"ring": True}, {"max_time": 0.5}, {"keep": 2}):
        with pytest.raises(OptionError):
            funcgraph.record("trace.fg", **keywords)
    with pytest.raises(OptionError, match="export trace-dat"):
        funcgraph.record("trace.dat", rotate="1M")


# ---- bounds


def test_max_size_ends_the_recording_and_not_the_program(fg: Funcgraph) -> None:
    """The trace has its name while the program still runs, which then has no user and no hook."""
    service = Service(fg, "--max-size", "64K", "-b", "256")
    while not fg.trace.exists():
        service.tell("calls 2000")
    service.received("64.0 KiB are recorded (--max-size): the recording ends, the program goes on untraced")
    service.received(f"{fg.trace} (")
    recorded = calls_of_steps(fg)
    assert recorded > 0
    assert service.process.poll() is None
    assert fg.sessions() == [] and not Path(f"{fg.trace}.part").exists()
    service.tell("calls 20000")
    assert service.tell("users") == ["0"]
    assert service.end("end 7") == ""
    assert service.status == 7
    assert calls_of_steps(fg) == recorded


def test_max_time_ends_the_recording_and_not_the_program(fg: Funcgraph) -> None:
    service = Service(fg, "--max-time", "12")  # a busy machine must have called step() by then
    count = 0
    while not fg.trace.exists():
        service.tell("calls 100")
        count += 100
        time.sleep(0.1)  # others need the processor
    service.received("12 s have passed (--max-time): the recording ends, the program goes on untraced")
    service.received(f"{fg.trace} (")
    recorded = calls_of_steps(fg)
    assert 0 < recorded <= count
    service.tell("calls 20000")
    assert service.tell("users") == ["0"]
    assert service.end() == ""
    assert service.status == 0
    assert calls_of_steps(fg) == recorded


def test_a_trace_in_another_file_system_replaces_none_that_is_kept(fg: Funcgraph) -> None:
    part = fg.runtime / "spool"
    if part.parent.stat().st_dev == fg.folder.stat().st_dev:
        pytest.skip("both folders are in one file system")
    fg.trace.write_text("older")
    writer = _tracedata.Recorder(part)
    complete_spool(writer, str(part), str(fg.trace), {}, keep=2)
    writer.close()
    assert (fg.folder / "trace.fg.1").read_text() == "older"
    assert fg.calls() == {}
    assert not part.exists()


def test_the_bounds_are_exact() -> None:
    now = 100.0
    watch = limits.LimitWatch(limits.Limits(max_size=1000, max_time=60), lambda: now)
    assert watch.reached(999) is None
    assert "max-size" in str(watch.reached(1000))
    now = 159.99
    assert watch.reached(0) is None
    now = 160.0
    assert "max-time" in str(watch.reached(0))
    assert limits.LimitWatch(limits.Limits(), lambda: now).reached(1 << 60) is None


def test_a_block_goes_on_untraced_after_its_bound(fg: Funcgraph) -> None:
    script = fg.script("""
        import funcgraph, os, warnings
        warnings.simplefilter("always")
        def step(): pass
        with funcgraph.record("trace.fg", filter=["*.step"], max_size="64K", buffer_kb=256) as recording:
            while not os.path.exists("trace.fg"):
                for _ in range(1000): step()
            before = os.path.getsize("trace.fg")
            for _ in range(1000): step()
        print(recording.totals["records"], before == os.path.getsize("trace.fg"))
    """)
    result = fg.plain(sys.executable, script)
    assert result.returncode == 0, result.stderr
    records, is_same = result.stdout.split()
    assert int(records) > 0 and is_same == "True"
    assert "64.0 KiB are recorded (--max-size): the recording ended before the block" in result.stderr
    assert fg.sessions() == []


# ---- rotation


class Desk:
    """A session with rings that the test writes, and a recording of it."""

    def __init__(self, fg: Funcgraph, bounds: limits.Limits, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(fg.runtime))
        self.output = str(fg.trace)
        self.session = Session.create()
        self.part = f"{self.output}.part"
        self.recording = Recording(self.session, self.part, output=self.output, limits=bounds)
        given = {"rotate": bounds.rotate, "ring": bounds.ring, "keep": bounds.keep}
        self.recording.describe({"tracer": "function_graph", "options": given})
        settings = options.from_config({}) | given
        self.session.write_config(settings, output=self.output, part=self.part, command=["app.py"])
        self.time = 1_000_000
        self.rings = 0
        self.called: list[str] = []

    def ring(self, nr_subbufs: int = 64) -> RingFile:
        """Begin a ring of a process that lives on: this one."""
        self.rings += 1
        pid = os.getpid()
        path = Path(self.session.path) / f"{pid}.{self.rings}.ring"
        ring = RingFile(path, pid, nr_subbufs=nr_subbufs)
        ring.function(0, f"m.f{self.rings}")
        ring.task(1, pid)
        return ring

    def call(self, ring: RingFile, count: int = 1) -> None:
        """Have the ring's function called so often, each call in a sub-buffer of its own."""
        for _ in range(count):
            ring.put(1, leaf(self.time * 1000, 0, 0, 1000))
            number = int(ring.path.name.split(".")[1])
            self.called.append(f"{self.time // 1_000_000}.{self.time % 1_000_000:06} m.f{number}")
            self.time += 10


def calls_in(fg: Funcgraph, *traces: str | Path) -> list[str]:
    """Return time and name of each call in these traces together."""
    calls = []
    for trace in traces:
        report = fg.run("report", "-i", trace, "-O", "funcgraph-abstime")
        assert report.returncode == 0, report.stderr
        calls += re.findall(r"^ *(\d+\.\d{6}) .*\| +(\S+)\(\);", report.stdout, re.MULTILINE)
    return [f"{time} {name}" for time, name in calls]


def test_the_files_together_have_each_event_once(fg: Funcgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rings begin and end, threads and functions are met, all between and across changes of files."""
    desk = Desk(fg, limits.Limits(rotate=1 << 20, keep=100), monkeypatch)
    steady = desk.ring()
    for turn in range(12):
        brief = desk.ring()
        desk.call(steady, turn % 3)
        desk.call(brief)
        desk.recording.step()
        if turn % 2:
            desk.recording.rotate()
        desk.call(steady)  # drained after the change
        desk.call(brief)
        if turn % 3:
            brief.finish()
            desk.recording.step()
        if turn == 7:
            desk.recording.rotate()
            desk.recording.rotate()  # a file without events
    desk.recording.settle(0.0)
    assert desk.recording.totals()["records"] == 2 * len(desk.called)
    desk.recording.complete(desk.output, {})
    files = rotation.traces(desk.output, desk.recording.files)
    assert len(files) == 9
    assert [os.path.exists(path) for path in files] == [True] * 9
    assert Counter(calls_in(fg, *files)) == Counter(desk.called)
    assert calls_in(fg, *reversed(files)) == sorted(desk.called)  # and FILE is the newest


def test_each_file_tells_its_own_losses(fg: Funcgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(fg, limits.Limits(rotate=1 << 20, keep=9), monkeypatch)
    ring = desk.ring()
    for lost in (5, 0, 3):
        ring.header.records_lost += lost
        ring.header.overrun += 10 * lost
        ring.header.wait_count += 100 * lost
        desk.call(ring)
        desk.recording.step()
        desk.recording.rotate()
    ring.header.records_lost += 1
    desk.recording.settle(0.0)
    totals = desk.recording.totals()
    assert (totals["lost"], totals["overrun"], totals["waits"]) == (9, 80, 800)
    desk.recording.complete(desk.output, {})
    reported = []
    for path in reversed(rotation.traces(desk.output, 4)):
        meta = json.loads(_tracedata.Reader(path).meta)
        reported.append((meta["lost"], meta["overrun"], meta["waits"]))
    assert reported == [(5, 50, 500), (0, 0, 0), (3, 30, 300), (1, 0, 0)]


def heap_bytes() -> int:
    """Return what the C library's malloc() has handed out: the recorder's memory, and not Python's."""

    class Facts(ctypes.Structure):
        _fields_ = [(f"f{number}", ctypes.c_size_t) for number in range(10)]

    function = ctypes.CDLL(None).mallinfo2
    function.restype = Facts
    return int(function().f7)  # uordblks


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs mallinfo2() of glibc 2.33")
def test_fifty_changes_of_files_leave_the_recorders_memory_as_it_is(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leak of one file's rings, pieces or symbols would be 50 times those of one file."""
    desk = Desk(fg, limits.Limits(rotate=1 << 20, keep=2), monkeypatch)
    steady = desk.ring(256)

    def turn() -> int:
        for _ in range(4):  # short-lived processes
            brief = desk.ring(8)
            desk.call(brief, 4)
            brief.finish()
            desk.recording.step()
        desk.call(steady, 200)
        desk.recording.step()
        desk.called.clear()  # the test's own memory
        full = heap_bytes()
        desk.recording.rotate()
        return full

    first = heap_bytes()
    full = turn()
    turn()
    settled = heap_bytes()
    for _ in range(50):
        turn()
    growth = heap_bytes() - settled
    assert full - first > 10_000  # what the recorder keeps of one file
    assert growth < (full - first) * 10
    assert len(desk.recording._rings) == 1
    with pytest.raises(ValueError, match="ring 1 does not exist"):  # no ring of a former file
        desk.recording._writer.info(1)
    desk.recording.settle(0.0)
    desk.recording.discard()


def test_a_service_that_begins_twenty_files_loses_nothing(fg: Funcgraph) -> None:
    service = Service(fg, "--rotate", "64K", "--keep", "1000", "-b", "256")
    count, turns = 0, 0
    while len(traces_of(fg)) < 20:
        service.tell("calls 20000")
        service.tell("thread 100")
        count, turns = count + 20100, turns + 1
        assert turns < 1000
    errors = service.end("end 5")
    assert service.status == 5
    files = traces_of(fg)
    assert f" in {len(files)} files, the newest: {fg.trace} (" in errors
    assert steps(fg, *files) == count
    assert [path.name for path in files[:3]] == ["trace.fg", "trace.fg.1", "trace.fg.2"]
    assert not list(fg.folder.glob("*.part*")) and fg.sessions() == []


def test_the_oldest_file_is_removed(fg: Funcgraph) -> None:
    """Also one of an earlier recording of that name: it is an older file, as any."""
    fg.trace.write_text("before")
    service = Service(fg, "--rotate", "64K", "--keep", "3", "-b", "256")
    first = fg.folder / "trace.fg.1"
    while not first.exists():
        service.tell("calls 5000")
    assert first.read_text() == "before"
    oldest = fg.folder / "trace.fg.2"
    while not oldest.exists() or oldest.read_bytes()[:6] == b"before":
        service.tell("calls 5000")
    assert " files, of which 3 are kept, the newest: " in service.end()
    assert [path.name for path in traces_of(fg)] == ["trace.fg", "trace.fg.1", "trace.fg.2"]


def test_a_file_has_more_events_than_names(fg: Funcgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more names than --rotate has bytes, not each scan begins a file."""
    desk = Desk(fg, limits.Limits(rotate=1 << 16, keep=9), monkeypatch)
    ring = desk.ring()
    for number in range(1, 3000):
        ring.function(number, f"module_{number * 7919 % 1000003:x}.function_{number * 104729 % 999983:x}")
    desk.recording.step()
    for _ in range(5):
        desk.call(ring)
        desk.recording.step()
    assert desk.recording.files <= 1
    desk.recording.settle(0.0)
    desk.recording.discard()


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the recorder runs any longer."""


def left_by_a_kill(fg: Funcgraph, monkeypatch: pytest.MonkeyPatch, at: int) -> tuple[Desk, bool]:
    """Return what a recorder leaves that is killed before the at-th step of a change of files.

    Returns:
        Also whether there was such a step.
    """
    desk = Desk(fg, limits.Limits(rotate=1 << 20, keep=9), monkeypatch)
    ring = desk.ring()
    for _ in range(2):
        desk.call(ring, 3)
        desk.recording.step()
        desk.recording.rotate()
    desk.call(ring, 3)
    desk.recording.step()
    desk.call(ring, 2)  # in the ring
    number = 0

    def step(function: Callable[..., Any]) -> Callable[..., Any]:
        def either(*args: Any, **keywords: Any) -> Any:
            nonlocal number
            number += 1
            if number == at:
                raise Killed
            return function(*args, **keywords)

        return either

    class Writer:
        def __init__(self, own: Any) -> None:
            self.own = own
            self.rotate = step(own.rotate)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.own, name)

    writer = desk.recording._writer
    desk.recording._writer = Writer(writer)  # type: ignore[assignment]
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", step(os.replace))
        try:
            desk.recording.rotate()
        except Killed:
            was_killed = True
        else:
            was_killed = False
    writer.close()  # as the kernel does: the spool's lock is free
    desk.session.unlock()
    return desk, was_killed


@pytest.mark.parametrize("at", range(1, 8))
def test_a_recorder_killed_while_it_changes_files_loses_nothing(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    desk, was_killed = left_by_a_kill(fg, monkeypatch, at)
    assert was_killed == (at < 6)  # the new spool; FILE.1, FILE; FILE.part; FILE.part.next; then it is done
    before = fg.record("-o", fg.trace, "-c", "")
    assert before.returncode == 2 and "funcgraph recover" in before.stderr
    clean = fg.run("status", "--clean").stdout
    assert "kept: " in clean and "recover" in clean
    recovered = fg.run("recover", desk.session.path)
    assert recovered.returncode == 0, recovered.stderr
    files = traces_of(fg)
    assert calls_in(fg, *reversed(files)) == desk.called
    assert [path.name for path in files] == rotation_names(len(files))
    assert not list(fg.folder.glob("*.part*")) and fg.sessions() == []


def rotation_names(count: int) -> list[str]:
    return [os.path.basename(path) for path in rotation.traces("trace.fg", count)]


@pytest.mark.parametrize("has_footer", [True, False])
def test_a_recorder_killed_while_it_begins_the_new_spool_loses_nothing(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch, has_footer: bool
) -> None:
    """Whatever of FILE.part.next was written. Its session is gone, as after a restart of the machine."""
    desk, _ = left_by_a_kill(fg, monkeypatch, 2)
    desk.session.remove()
    part, after = Path(desk.part), Path(rotation.following(desk.part))
    whole, begun = part.read_bytes(), after.read_bytes()
    if not has_footer:
        whole = whole[: struct.unpack_from("<Q", whole, len(whole) - 16)[0]]
    drained = desk.called[:-2]
    older = {path: path.read_bytes() for path in traces_of(fg)}
    for length in (0, 7, 16, 60, 88, 200, len(begun) // 2, len(begun) - 1, len(begun)):
        for path in traces_of(fg):
            path.unlink()
        for path, data in older.items():
            path.write_bytes(data)
        part.write_bytes(whole)
        after.write_bytes(begun[:length])
        recovered = fg.run("recover", part)
        assert recovered.returncode == 0, (length, recovered.stderr)
        assert calls_in(fg, *reversed(traces_of(fg))) == drained, length
        assert not list(fg.folder.glob("*.part*"))


def test_a_rotation_that_fails_goes_on_with_the_old_file(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then no event is lost, and what was read from the rings is not read twice."""
    desk = Desk(fg, limits.Limits(rotate=1 << 20, keep=9), monkeypatch)
    ring = desk.ring()
    desk.call(ring, 3)
    desk.recording.step()
    (fg.folder / "exists").touch()
    for name in ("exists", "missing/folder"):
        with pytest.raises(OSError, match=r"exist|No such"):
            desk.recording._writer.rotate(fg.folder / name)
    for room in range(16, 600, 50):  # no room for this or that chunk
        small = os.memfd_create("small", os.MFD_ALLOW_SEALING)
        os.ftruncate(small, room)
        fcntl.fcntl(small, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
        with pytest.raises(PermissionError):
            desk.recording._writer.rotate(small)
        os.close(small)
    ring.function(1, "m.late")
    desk.call(ring, 2)
    desk.recording.step()
    desk.recording.settle(0.0)
    assert desk.recording._writer.info(0)["functions"] == 2
    desk.recording.complete(desk.output, {})
    assert calls_in(fg, desk.output) == desk.called


def test_names_that_cannot_be_changed_end_the_recording_and_lose_nothing(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(fg, limits.Limits(rotate=1 << 16, keep=9), monkeypatch)
    ring = desk.ring(256)
    desk.call(ring, 3)
    desk.recording.step()

    def refuse(*args: Any, **keywords: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), desk.output)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(PermissionError):
            desk.recording.rotate()
        with pytest.raises(PermissionError):
            desk.recording.complete(desk.output, {})
    desk.recording.complete(desk.output, {})
    assert calls_in(fg, *reversed(traces_of(fg))) == desk.called


# ---- what is kept in memory


def test_sigusr2_to_the_recorder_writes_all_events_up_to_it(fg: Funcgraph) -> None:
    """Those in sub-buffers that their threads still write, too. The program does not get the signal."""
    service = Service(fg, "--ring", "1M")
    service.tell("calls 10")
    service.process.send_signal(signal.SIGUSR2)
    service.received("SIGUSR2: the latest ")
    assert steps(fg, fg.trace) == 10
    service.tell("calls 5")
    service.tell("thread 7")
    service.tell("signal")  # as a child sends it to its parent
    service.received("SIGUSR2: the latest ")
    assert [steps(fg, path) for path in traces_of(fg)] == [22, 10]
    assert service.end() == ""
    assert service.status == 0
    assert [path.name for path in traces_of(fg)] == ["trace.fg", "trace.fg.1"]
    assert not list(fg.folder.glob("*.part*")) and fg.sessions() == []


def test_the_program_asks_for_a_dump_with_a_reason(fg: Funcgraph) -> None:
    service = Service(fg, "--ring", "1M", "-q")
    service.tell("calls 3")
    assert service.tell("dump it was slow") == ["1"]
    service.received(f"it was slow: the latest 6 events: {fg.trace} (")
    assert json.loads(_tracedata.Reader(str(fg.trace)).meta)["dump"] == ["it was slow"]
    service.end()
    assert funcgraph.ftrace_dump("nobody listens") == 0
    with pytest.raises(TypeError, match="reason must be a str, not int"):
        funcgraph.ftrace_dump(3)  # type: ignore[arg-type]


def test_a_program_recorded_without_ring_asks_nobody(fg: Funcgraph) -> None:
    service = Service(fg)
    service.tell("calls 1")
    assert service.tell("dump") == ["0"]
    service.end()
    assert service.status == 0


def test_without_a_reason_nothing_is_written(fg: Funcgraph) -> None:
    service = Service(fg, "--ring", "1M")
    service.tell("calls 1000")
    assert service.end() == "funcgraph: there was no reason to write a trace (--ring)\n"
    assert service.status == 0
    assert list(fg.folder.glob("trace*")) == [] and fg.sessions() == []


@pytest.mark.parametrize(
    ("last", "status", "text"),
    [("end 3", 3, "exit status 3: the latest "), ("abort", -signal.SIGABRT, " died of SIGABRT: the latest ")],
)
def test_a_program_that_fails_leaves_its_latest_events(
    fg: Funcgraph, last: str, status: int, text: str
) -> None:
    service = Service(fg, "--ring", "1M")
    service.tell("calls 40")
    errors = service.end(last)
    assert service.status == status
    assert errors.count("the latest") == 1 and text in errors
    assert steps(fg, fg.trace) == 40
    assert len(traces_of(fg)) == 1


def test_a_command_that_was_reaped_before_the_scan_died_of_the_same(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes first, the scan or the command's end, tells of the death; only one of them does."""
    desk = Desk(fg, limits.Limits(ring=8 * 20_000), monkeypatch)
    desk.recording.note_death(7, 3)
    assert desk.recording.reasons == []
    desk.recording.note_death(7, -signal.SIGABRT)
    desk.recording.note_death(7, -signal.SIGABRT)
    assert desk.recording.reasons == ["process 7 died of SIGABRT"]


def kernel_tells_of_reaped_processes() -> bool:
    major, minor = map(int, re.findall(r"\d+", os.uname().release)[:2])
    return (major, minor) >= (6, 15)


@pytest.mark.skipif(not kernel_tells_of_reaped_processes(), reason="needs PIDFD_INFO_EXIT of Linux 6.15")
def test_a_child_that_dies_of_a_signal_leaves_the_latest_events(fg: Funcgraph) -> None:
    service = Service(fg, "--ring", "1M")
    service.tell("calls 4")
    service.tell("fork 5 0")  # os._exit(3) is no signal
    service.tell(f"fork 6 {int(signal.SIGKILL)}")
    service.received(" died of SIGKILL: the latest ")
    assert steps(fg, fg.trace) == 4 + 5 + 6
    assert service.end().count("\n") == 0
    assert len(traces_of(fg)) == 1


def test_the_memory_has_the_latest_events_without_a_gap(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rings that began in a segment that is gone are in the trace with their names, each once."""
    desk = Desk(fg, limits.Limits(ring=8 * 20_000, keep=5), monkeypatch)
    steady, turns = desk.ring(), 0
    assert desk.recording._segments is not None
    segments: set[int] = set()
    while len(segments) < 30:
        brief = desk.ring(8)
        for _ in range(8):
            desk.call(steady, 4)
            desk.call(brief)
            desk.recording.step()
            brief_is_full = brief.fresh == 8
            segments.add(desk.recording._written_before)
            if brief_is_full:
                break
        brief.finish()
        turns += 1
    desk.recording.reasons.append("a test")
    assert desk.recording.dump() == desk.output
    found = calls_in(fg, desk.output)
    assert 100 < len(found) < len(desk.called)
    assert found == desk.called[-len(found) :]
    assert 4 * 20_000 < os.path.getsize(desk.output) < 10 * 20_000
    recorder = _tracedata.Recorder(desk.output, resume=True)
    counts = recorder.info(0)
    assert counts["functions"] == 1  # repeated symbols would count again
    recorder.close()
    desk.call(steady, 3)
    desk.recording.step()
    desk.recording.reasons.append("another")
    desk.recording.dump()
    assert calls_in(fg, desk.output)[-3:] == desk.called[-3:]
    assert calls_in(fg, f"{desk.output}.1") == found
    desk.recording.discard()
    desk.session.remove()


def test_a_dump_that_cannot_be_written_is_told_and_recording_goes_on(fg: Funcgraph) -> None:
    service = Service(fg, "--ring", "1M")
    service.tell("calls 3")
    part = Path(f"{fg.trace}.part")
    part.write_text("somebody's")
    service.tell("dump now")
    service.received(f"now: {part}: File exists; what is kept was not written")
    assert part.read_text() == "somebody's"
    part.unlink()
    service.tell("dump again")
    service.received("again: the latest ")
    assert steps(fg, fg.trace) == 3
    service.end()


def test_recover_makes_a_trace_of_the_rings_if_the_memory_is_gone(fg: Funcgraph) -> None:
    service = Service(fg, "--ring", "1M")
    service.tell("calls 3")
    service.tell("dump kept")
    service.received("kept: ")
    service.tell("calls 9")
    service.process.kill()
    service.process.wait(timeout=30)
    recovered = fg.run("recover", *fg.sessions())
    assert recovered.returncode == 0, recovered.stderr
    assert [steps(fg, path) for path in traces_of(fg)] == [12, 3]
    assert service.process.stdin is not None
    service.process.stdin.close()


def test_a_block_that_raises_leaves_its_latest_events(fg: Funcgraph) -> None:
    script = fg.script("""
        import funcgraph, os, sys
        def step(): pass
        def block(error):
            try:
                with funcgraph.record("trace.fg", filter=["*.step"], ring="1M"):
                    for _ in range(11): step()
                    if error: raise error
            except BaseException as raised:
                print(type(raised).__name__)
        block(None)
        block(SystemExit(0))
        print(os.path.exists("trace.fg"))
        block(ValueError("wrong"))
    """)
    result = fg.plain(sys.executable, script)
    assert (result.stdout.split(), result.stderr) == (["SystemExit", "False", "ValueError"], "")
    assert steps(fg, fg.trace) == 11
    meta = json.loads(_tracedata.Reader(str(fg.trace)).meta)
    assert meta["dump"] == ["the block raised ValueError"]
    assert fg.sessions() == []


def test_a_block_rotates(fg: Funcgraph) -> None:
    script = fg.script("""
        import funcgraph, os
        def step(): pass
        count = 0
        options = {"rotate": "64K", "keep": 500, "buffer_kb": 256}
        with funcgraph.record("trace.fg", filter=["*.step"], **options) as recording:
            while not os.path.exists("trace.fg.2"):
                for _ in range(1000): step()
                count += 1000
        print(count, recording.totals["records"])
    """)
    result = fg.plain(sys.executable, script)
    assert result.returncode == 0, result.stderr
    count, records = map(int, result.stdout.split())
    assert records >= 2 * count
    assert steps(fg, *traces_of(fg)) == count
