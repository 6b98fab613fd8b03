"""A recorder that is killed after each of its calls that change files, and in the middle of each write.

A program, preloaded with kill_at.c: it repeats one recording in a child, which kills itself one call later
each time, until a child comes to its end. What was left is then recovered, and each event is looked for.
The rings are written by the child itself, so all runs are the same.

    killed_recorder.py LIBRARY FOLDER SCENE EVERY

EVERY is 1 for each of its calls, N for one in N. It prints what is wrong, a line for each killed child; then
how many children were killed.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import shutil
import signal
import struct
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ringfile import FULL, OWNED, RingFile, leaf

import funcgraph
from funcgraph import cli
from funcgraph.recorder import directory, leftovers, rotation
from funcgraph.recorder.directory import Session
from funcgraph.recorder.limits import Limits
from funcgraph.recorder.recording import Recording
from funcgraph.session import memory_file, options
from funcgraph.tracedata import TraceError

MOMENTS = ("after call", "in write")
OLDER = b"an older trace"
FIRST_US = 1_000_000
STEP_US = 10
ROTATE = Limits(rotate=1 << 20, keep=3)
RING = Limits(ring=8 * 20_000, keep=9)


class Made:
    """What a child has made so far, for the parent."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 4096)

    def get(self) -> tuple[int, int]:
        """Return how many events there are, and how many there were when the latest scan began."""
        events, scanned = struct.unpack_from("<QQ", self._memory)
        return events, scanned

    def set(self, events: int, scanned: int) -> None:
        struct.pack_into("<QQ", self._memory, 0, events, scanned)


class Desk:
    """A recording of rings that this process writes itself. Event N is a call at its own time."""

    def __init__(self, folder: Path, name: str, bounds: Limits, made: Made) -> None:
        self.made = made
        made.set(0, 0)
        self.output = str(folder / name)
        self.session = Session.create()
        self.part = f"{self.output}.part"
        self.recording = Recording(self.session, self.part, output=self.output, limits=bounds)
        given = {"rotate": bounds.rotate, "ring": bounds.ring, "keep": bounds.keep}
        self.recording.describe({"tracer": "function_graph", "options": given})
        settings = options.from_config({}) | given
        self.session.write_config(settings, output=self.output, part=self.part, command=["app.py"])

    def ring(self, number: int) -> RingFile:
        path = Path(self.session.path) / f"{os.getpid()}.{number}.ring"
        ring = RingFile(path, os.getpid(), nr_subbufs=64)
        ring.function(0, f"m.f{number}")
        ring.task(1, os.getpid())
        ring.task(2, os.getpid() + 1)
        return ring

    def call(self, ring: RingFile, count: int = 1, *, task: int = 1, state: int = FULL) -> None:
        for _ in range(count):
            events, scanned = self.made.get()
            ring.put(task, leaf((FIRST_US + events * STEP_US) * 1000, 0, 0, 1000), state=state)
            self.made.set(events + 1, scanned)

    def scan(self) -> None:
        events, _ = self.made.get()
        self.made.set(events, events)
        self.recording.step()

    def end(self) -> None:
        """As `funcgraph record` ends."""
        events, _ = self.made.get()
        self.made.set(events, events)
        self.recording.settle(0.0)
        self.recording.complete(self.output, {})
        self.session.remove()


# ---- the recordings. A scene returns what the child is killed in.


def rotating(folder: Path, made: Made) -> Callable[[], None]:
    """Three files are complete, and all names are used. A ring ends, and a task stays in its sub-buffer."""
    desk = Desk(folder, "trace.fg", ROTATE, made)
    steady, brief = desk.ring(1), desk.ring(2)
    for _ in range(3):
        desk.call(steady, 3)
        desk.scan()
        desk.recording.rotate()
    desk.call(steady, 3)
    desk.scan()

    def run() -> None:
        desk.call(steady, 2)
        desk.recording.rotate()
        desk.call(brief)
        desk.call(steady)
        desk.scan()
        brief.finish()
        desk.scan()
        desk.recording.rotate()
        desk.scan()
        desk.call(steady, 2)
        desk.call(steady, task=2, state=OWNED)
        desk.end()

    return run


def ending(folder: Path, made: Made, name: str = "trace.fg") -> Callable[[], None]:
    """One file, which replaces an older one. Two rings, of which one has ended."""
    (folder / name).write_bytes(OLDER)
    desk = Desk(folder, name, Limits(), made)
    steady, brief = desk.ring(1), desk.ring(2)
    desk.call(steady, 3)
    desk.call(brief, 2)
    desk.scan()

    def run() -> None:
        desk.call(brief)
        brief.finish()
        desk.scan()
        desk.call(steady, 2)
        desk.call(steady, task=2, state=OWNED)
        desk.end()

    return run


def ending_in_trace_dat(folder: Path, made: Made) -> Callable[[], None]:
    return ending(folder, made, "trace.dat")


def beginning(folder: Path, made: Made) -> Callable[[], None]:
    """There is an older trace. The recorder is killed before it has recorded anything."""
    (folder / "trace.fg").write_bytes(OLDER)
    return lambda: Desk(folder, "trace.fg", Limits(), made).end()


def dumping(folder: Path, made: Made) -> Callable[[], None]:
    """One dump is complete. Segments begin between the others."""
    desk = Desk(folder, "trace.fg", RING, made)
    steady, brief = desk.ring(1), desk.ring(2)
    desk.call(steady, 3)
    desk.scan()
    dump(desk)

    def run() -> None:
        desk.call(brief)
        desk.call(steady, 3)
        desk.scan()
        desk.recording.rotate()
        dump(desk)
        desk.call(steady)
        brief.finish()
        desk.scan()
        desk.recording.settle(0.0)
        dump(desk)
        desk.recording.close()
        desk.session.remove()

    return run


def dump(desk: Desk) -> None:
    events, _ = desk.made.get()
    desk.made.set(events, events)
    desk.recording.reasons.append("a test")
    desk.recording.dump()


# ---- what is left


def in_child(run: Callable[[], None], log: Path | None = None) -> int:
    """Run a function in a child; return the child's exit status, -N if it died of a signal."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            if log is not None:
                for number in (1, 2):
                    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
            run()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def numbers_in(path: str) -> list[int]:
    """Return the events of a trace. Whatever ended with the recorder is not open in it."""
    with funcgraph.open(path) as trace:
        times = [event.time_ns for event in trace.events() if event.kind == "entry"]
        assert all(function.name.startswith("m.f") for function in trace.functions), path
        assert (trace.lost, trace.overrun) == (0, 0), path
    return [(time // 1000 - FIRST_US) // STEP_US for time in times]


def files_of(output: str) -> list[str]:
    """Return the complete traces, the oldest first; their names have no gap."""
    names = [name for name in rotation.traces(output, 20) if os.path.exists(name)]
    assert names == rotation.traces(output, len(names)), names
    return names[::-1]


def check_left(folder: Path, output: str) -> None:
    """Each complete file is readable before anything is recovered, and so is the spool from its header on."""
    for name in sorted(folder.iterdir()):
        if ".fg" not in name.name or name.name.endswith(".tmp"):
            continue
        is_spool = ".part" in name.name
        data = name.read_bytes()
        if is_spool and len(data) < 16:
            continue  # it has nothing
        if data == OLDER:
            continue
        with funcgraph.open(name) as trace:
            assert is_spool or trace.is_complete, name


def check_rotated(output: str, made: Made) -> None:
    """Each event is there once, but for those of whole files that are too many."""
    events, _ = made.get()
    files = files_of(output)
    found = [numbers_in(path) for path in files]
    for numbers in found:
        assert numbers == sorted(numbers), found
    counts = Counter(number for numbers in found for number in numbers)
    assert all(count == 1 for count in counts.values()), found
    missing = sorted(set(range(events)) - set(counts))
    # The three files before had three events each, the next one three, then four.
    oldest = [list(range(end)) for end in (0, 3, 6, 9, 12, 16)]
    assert missing in oldest, (missing, found)
    assert missing == [] or len(files) == ROTATE.keep, (missing, found)


def is_older(output: str) -> bool:
    """Return whether this is the trace that was there before the recording."""
    with open(output, "rb") as file:
        return file.read() == OLDER


def check_single(output: str, made: Made) -> None:
    """The recorder has replaced the older trace, or `recover` has left it as it was."""
    events, _ = made.get()
    name, suffix = os.path.splitext(output)
    recovered = f"{name}.recovered{suffix}"
    assert os.path.exists(recovered) == is_older(output)
    numbers = numbers_in(recovered if is_older(output) else output)
    assert sorted(numbers) == list(range(events)), (numbers, events)
    assert files_of(output) == [output]


def check_nothing(output: str, made: Made) -> None:
    """The older trace is as it was, or replaced by one that is whole."""
    assert is_older(output) or numbers_in(output) == []


def check_dumps(output: str, made: Made) -> None:
    """Dumps have all events up to them. What was recovered has those that the recorder had not taken."""
    events, scanned = made.get()
    *dumps, newest = [numbers_in(path) for path in files_of(output)]
    assert dumps == [] or dumps[0] == list(range(3)), dumps
    for numbers in dumps:
        assert sorted(numbers) == list(range(len(numbers))), dumps
    assert len(set(newest)) == len(newest) and max(newest) < events, newest
    assert set(range(scanned, events)) <= set(newest), (newest, scanned, events)


def check_temporaries(folder: Path) -> None:
    assert [path.name for path in folder.iterdir() if ".part" in path.name or ".tmp" in path.name] == []


SCENES: dict[str, tuple[Callable[[Path, Made], Callable[[], None]], Callable[[str, Made], None], str]] = {
    "rotating": (rotating, check_rotated, "trace.fg"),
    "ending": (ending, check_single, "trace.fg"),
    "ending in trace.dat": (ending_in_trace_dat, check_single, "trace.dat"),
    "beginning": (beginning, check_nothing, "trace.fg"),
    "dumping": (dumping, check_dumps, "trace.fg"),
}


class Case:
    """A child of one scene, killed at one call, and what it left."""

    def __init__(self, library: ctypes.CDLL, folder: Path, scene: str, moment: int, call: int) -> None:
        self.library = library
        self.folder = folder
        self.begin, self.check, name = SCENES[scene]
        self.output = str(folder / name)
        self.moment, self.call = moment, call
        self.made = Made()
        self.log = folder.parent / "log"
        shutil.rmtree(folder, ignore_errors=True)
        self.run_folder = folder / "run"
        self.run_folder.mkdir(parents=True)
        os.environ["XDG_RUNTIME_DIR"] = str(self.run_folder)
        self.log.unlink(missing_ok=True)

    def record(self) -> bool:
        """Record; return whether the recorder was killed."""

        def run() -> None:
            body = self.begin(self.folder, self.made)
            self.library.kill_at(self.call, self.moment)
            body()
            self.library.kill_at(0, 0)

        status = in_child(run, self.log)
        assert status in (0, -signal.SIGKILL), (status, self.log.read_text())
        return status != 0

    def sessions(self) -> list[str]:
        return [str(path) for path in sorted(self.run_folder.glob("funcgraph-*"))]

    def funcgraph(self, *words: str, kill_at: int = 0) -> int:
        def run() -> None:
            self.library.kill_at(kill_at, self.moment)
            status = cli.main(words)
            self.library.kill_at(0, 0)
            sys.exit(status)

        return in_child(run, self.log)

    def recover(self) -> None:
        """Make traces of what was left, as a person would whom `funcgraph status` tells of it."""
        check_left(self.folder, self.output)
        assert self.funcgraph("status", "--clean") == 0
        for session in self.sessions():
            before = len(self.log.read_text())
            status = self.funcgraph("recover", session)
            text = self.log.read_text()[before:]
            assert status == 0 or (status == 2 and "removed" in text), (status, text)
        assert self.sessions() == []
        if os.path.exists(f"{self.output}.part"):  # killed before there was a session
            status = self.funcgraph("recover", f"{self.output}.part")
            assert status == 2 and "nothing was recorded; it can be deleted" in self.log.read_text()
            os.unlink(f"{self.output}.part")
        check_temporaries(self.folder)
        self.check(self.output, self.made)


def kill_everywhere(library: ctypes.CDLL, folder: Path, scene: str, every: int) -> tuple[int, list[str]]:
    """Kill the recorder of a scene at one in `every` of its calls; return how often, and what was wrong."""
    killed, wrong = 0, []
    for moment, text in enumerate(MOMENTS):
        for call in itertools.count(1 + moment % every, every):
            case = Case(library, folder, scene, moment, call)
            was_killed = case.record()
            killed += was_killed
            try:
                case.recover()
            except (AssertionError, OSError, ValueError, TraceError) as error:
                wrong.append(f"killed {text} {call}: {error!r}")
            if not was_killed:
                break
    return killed, wrong


def kill_recover_everywhere(
    library: ctypes.CDLL, folder: Path, scene: str, every: int
) -> tuple[int, list[str]]:
    """Also kill `recover` after one in `every` of its calls, after some of the kills of the recorder."""
    killed, wrong = 0, []
    moment, text = 0, MOMENTS[0]
    for call in itertools.count(1, 31):
        for second in itertools.count(1 + call % every, every):
            case = Case(library, folder, scene, moment, call)
            if not case.record():
                return killed, wrong
            sessions = case.sessions()
            status = case.funcgraph("recover", *sessions, kill_at=second) if sessions else 0
            killed += status == -signal.SIGKILL
            try:
                case.recover()
            except (AssertionError, OSError, ValueError, TraceError) as error:
                wrong.append(f"killed {text} {call}, then in recover's {second}: {error!r}")
            if status != -signal.SIGKILL:
                break
    raise AssertionError("not reached")


def only_ours() -> list[str]:
    """Stand for folders(): `status --clean` touches none of this machine's other sessions."""
    return [os.environ["XDG_RUNTIME_DIR"]]


def main() -> None:
    for module in (directory, leftovers, memory_file):
        module.folders = only_ours
    library, folder, scene = ctypes.CDLL(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    is_twice = scene.startswith("recovering ")
    function = kill_recover_everywhere if is_twice else kill_everywhere
    killed, wrong = function(library, folder, scene.removeprefix("recovering "), int(sys.argv[4]))
    for line in wrong:
        print(line)
    print(killed)


if __name__ == "__main__":
    main()
