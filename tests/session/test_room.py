"""A recording in little room: small and full folders, little memory. The program never notices."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from builds import HAS_GIL
from conftest import Funcgraph

from tools.real import places

# What a process of 3.11 to 3.15 does to reach its ring buffer is the same.
pytestmark = pytest.mark.one_python

POOL = """
from concurrent.futures import ProcessPoolExecutor

def inner(i):
    return i

def work(calls):
    return sum(inner(i) for i in range(calls))

if __name__ == "__main__":
    with ProcessPoolExecutor(WORKERS) as pool:
        print(sum(pool.map(work, [CALLS] * WORKERS)))
    raise SystemExit(7)
"""


needs_mounts = pytest.mark.skipif(not places.has_mounts(), reason="file systems cannot be mounted here")


def in_small_folders(
    fg: Funcgraph, sizes: dict[str, str], *words: str | Path
) -> subprocess.CompletedProcess[str]:
    """Run `funcgraph WORDS...` where each folder of `sizes` is a file system of that size.

    Those in another one come after it.
    """
    return fg.plain(*places.small_folders(sizes, fg.folder), *fg.command, *words)


def pool(fg: Funcgraph, workers: int, calls: int) -> Path:
    return fg.script(POOL.replace("WORKERS", str(workers)).replace("CALLS", str(calls)))


@needs_mounts
@pytest.mark.parametrize("size", ["64m", "9m"])
def test_many_processes_share_a_small_folder_and_lose_nothing(fg: Funcgraph, size: str) -> None:
    """Fails if the reader touches memory that was never allocated (SIGBUS), or if one process leaves nothing
    for the others."""
    script = pool(fg, 16, 3000)
    result = in_small_folders(
        fg, {"/dev/shm": "1m", str(fg.runtime): size}, "record", "-l", "*.inner", script
    )
    assert result.returncode == 7, result.stderr
    assert result.stdout.strip() == str(16 * 3000 * 2999 // 2)
    assert fg.calls() == {"__main__.inner": 16 * 3000}
    assert "lost" not in result.stderr


@needs_mounts
def test_a_folder_that_is_too_small_is_not_chosen(fg: Funcgraph) -> None:
    result = in_small_folders(fg, {str(fg.runtime): "4m"}, "record", "-c", "(lambda: 0)()")
    assert result.returncode == 0
    reported, figures = result.stderr.splitlines()
    assert reported == f"funcgraph: {fg.runtime} has 4.0 MiB free: the ring buffers lie in /dev/shm"
    assert " events of " in figures


FILLS = """
import os

def leaf():
    pass

def fill(folder):
    with open(os.path.join(folder, "big"), "wb") as file:
        try:
            while True:
                os.write(file.fileno(), bytes(1 << 16))
        except OSError as error:
            print(error.errno)

leaf()
fill(os.environ["XDG_RUNTIME_DIR"])
for _ in range(100_000):
    leaf()
if os.fork() == 0:
    leaf()
    os._exit(0)
print(os.wait()[1])
"""


@needs_mounts
def test_a_folder_that_fills_up_meanwhile_loses_nothing(fg: Funcgraph) -> None:
    """A ring that has a sub-buffer goes on with it; a new process's ring lies in the spare folder."""
    script = fg.script(FILLS)
    result = in_small_folders(fg, {str(fg.runtime): "64m"}, "record", "-l", "*.leaf", script)
    assert (result.returncode, result.stdout.split()) == (0, ["28", "0"]), result.stderr
    assert fg.calls() == {"__main__.leaf": 100_002}
    assert "lost" not in result.stderr


@needs_mounts
@pytest.mark.parametrize("or_untraced", [False, True])
def test_without_room_anywhere_the_program_runs_if_it_may(
    fg: Funcgraph, tmp_path: Path, or_untraced: bool
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    fg.env["TMPDIR"] = str(temporary)
    small = {"/dev/shm": "16k", str(fg.runtime): "64k", str(temporary): "512k"}
    options = ["--or-untraced"] if or_untraced else []
    result = in_small_folders(fg, small, "record", *options, "-c", "print('ran'); raise SystemExit(9)")
    (line,) = result.stderr.splitlines()
    assert f"{fg.runtime}: 64.0 KiB free; /dev/shm: " in line
    assert f"{temporary}: 512.0 KiB free" in line
    assert not fg.trace.exists()
    assert not list(fg.folder.glob("*.part"))
    if or_untraced:
        assert (result.returncode, result.stdout) == (9, "ran\n")
        assert line.endswith("; the program runs untraced")
    else:
        assert (result.returncode, result.stdout) == (2, "")


def test_a_trace_that_cannot_be_written_does_not_stop_a_program_that_may_run_untraced(fg: Funcgraph) -> None:
    result = fg.record("--or-untraced", "-o", "/no/such/folder/t.dat", "-c", "raise SystemExit(4)")
    assert result.returncode == 4
    assert "/no/such/folder/t.dat" in result.stderr


OUTLIVES = """
import os
if os.fork() == 0:
    for _ in range(300_000):
        (lambda: 0)()
    os._exit(0)
raise SystemExit(5)
"""


def limited(mebibytes: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))

    return limit


def test_a_recorder_with_little_address_space_records_a_child_that_outlives_its_parent(fg: Funcgraph) -> None:
    """Fails if the recorder maps whole rings: MemoryError, and the program's status was lost."""
    result = fg.record(fg.script(OUTLIVES), preexec_fn=limited(156))
    assert result.returncode == 5, result.stderr
    assert "Traceback" not in result.stderr
    assert fg.summary()["functions"]


#: Without the GIL CPython's allocator (mimalloc) has reserved 1 GiB before.
_ADDRESS_SPACE = (160 << 20) + (0 if HAS_GIL else 1 << 30)
THREADS = f"""
import resource, threading
resource.setrlimit(resource.RLIMIT_AS, ({_ADDRESS_SPACE}, {_ADDRESS_SPACE}))
event = threading.Event()
threads = [threading.Thread(target=event.wait) for _ in range(12)]
for thread in threads:
    thread.start()
event.set()
for thread in threads:
    thread.join()
print(len(threads))
"""


def test_a_program_that_limits_its_address_space_starts_as_many_threads(fg: Funcgraph) -> None:
    """Fails if each thread's shadow stack reserves as much as the thread's own stack."""
    # glibc gives a thread an arena of 64 MiB of address space if it can: what is left is a matter of luck.
    fg.env["MALLOC_ARENA_MAX"] = "1"
    script = fg.script(THREADS)
    assert fg.plain(sys.executable, script).stdout == "12\n"
    result = fg.record(script)
    assert (result.returncode, result.stdout) == (0, "12\n"), result.stderr


BREAKS = """
import sys
from funcgraph import _tracedata
from funcgraph.recorder import recording

class Broken:
    def __init__(self, *args, **keywords):
        self._real = _tracedata.Recorder(*args, **keywords)
    def __getattr__(self, name):
        if name == sys.argv[1]:
            raise {error}
        return getattr(self._real, name)

class Module:
    Recorder = Broken

recording._tracedata = Module
from funcgraph.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("error", ["MemoryError", "RuntimeError('a bug')"])
@pytest.mark.parametrize("method", ["add_ring", "drain", "info", "totals", "finish", "assemble"])
def test_whatever_fails_in_the_recorder_the_program_ends_as_it_would(
    fg: Funcgraph, method: str, error: str
) -> None:
    breaks = fg.script(BREAKS.replace("{error}", error), "breaks.py")
    program = "(lambda: 0)(); print('ran'); raise SystemExit(3)"
    result = fg.plain(sys.executable, breaks, method, "record", "-c", program)
    assert (result.returncode, result.stdout) == (3, "ran\n"), result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("funcgraph: ")
    left = [*fg.sessions(), *fg.folder.glob("*.part")]
    if not left:
        assert fg.summary()  # a trace of what there is
        return
    assert "funcgraph recover" in result.stderr
    recovered = fg.run("recover", left[0])
    assert recovered.returncode == 0 or "nothing was recorded" in recovered.stderr


FORKS = """
import os
read, write = os.pipe()

def leaf():
    pass

for _ in range(30):
    if os.fork() == 0:
        leaf()
        os.close(write)
        os.read(read, 1)  # all of them are alive at once
        os._exit(0)
os.close(write)
print(sum(os.wait()[1] for _ in range(30)))
"""


def test_with_few_descriptors_all_processes_are_recorded(fg: Funcgraph) -> None:
    """Fails if the recorder keeps a descriptor for each ring, or gives up when it has none left."""
    few = (40, 40)
    result = fg.record(
        "-l", "*.leaf", fg.script(FORKS), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few)
    )
    assert (result.returncode, result.stdout) == (0, "0\n"), result.stderr
    assert fg.calls() == {"__main__.leaf": 30}
