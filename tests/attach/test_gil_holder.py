"""One thread holds the GIL, and nobody asks for it: it gives way to the attacher, or the error names it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from builds import HAS_GIL, needs_gil
from extension import compile_library
from running import Running, code_pages, folders

from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in

#: How the main thread waits, and what the other thread does meanwhile.
WAITS = {
    "join": "thread.join()",
    "lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "queue": "queue.Queue().get()",
    "accept": "server = socket.create_server(('127.0.0.1', 0)); server.accept()",
    "select": "select.select([], [], [])",
}
COMPUTES = {
    "python": "while True: squares(1000)",
    "loop": "while True: pass",
    "c": "while True: sum(numbers)",
}
IMPORTS = "import ctypes, queue, select, socket, threading"
PROGRAM = """
{imports}
numbers = range(3_000_000)
def squares(n):
    return sum(i * i for i in range(n))
def compute():
    {computes}
thread = threading.Thread(target=compute, daemon=True)
thread.start()
ready()
{waits}
"""


def waiting(waits: str, computes: str) -> Running:
    """Start a program whose main thread waits while another thread computes."""
    return Running(PROGRAM.format(imports=IMPORTS, waits=WAITS[waits], computes=COMPUTES[computes]))


@pytest.mark.parametrize("computes", ["python", "loop"])
@pytest.mark.parametrize("waits", WAITS)
def test_a_main_thread_that_waits_while_another_computes_is_attached_to(waits: str, computes: str) -> None:
    """Broken: the computing thread keeps the GIL as long as nobody asks for it, and so was taken to never
    give it up."""
    with waiting(waits, computes) as program:
        threads, code = program.threads(), code_pages(program.pid)
        for turn in range(10):
            assert run_in(program.pid, f"answer = {turn}", 60) == str(turn)
        program.wait_for_threads(threads)
        assert code_pages(program.pid) == code


@pytest.mark.parametrize("waits", ["join", "lock", "queue"])
def test_a_thread_that_is_hardly_ever_in_python_code_gives_way_too(waits: str) -> None:
    """It calls one long C function after another: it is never seen between two of them."""
    with waiting(waits, "c") as program:
        threads, code = program.threads(), code_pages(program.pid)
        assert run_in(program.pid, "answer = 1", 60) == "1"
        program.wait_for_threads(threads)
        assert code_pages(program.pid) == code


@pytest.fixture(scope="module")
def spin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled spin.c."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    return compile_library(tmp_path_factory.mktemp("spin"), Path(__file__).parent / "spin.c")


def spinning(spin: Path, waits: str) -> Running:
    """Start a program whose other thread is in a C function that keeps the GIL until SIGUSR2 comes."""
    return Running(f"""
{IMPORTS}
library = ctypes.PyDLL({str(spin)!r})
def compute():
    library.spin()
    while True:
        sum(range(50))
thread = threading.Thread(target=compute, daemon=True)
thread.start()
{WAITS[waits]}
""")


@needs_gil("such a thread keeps no other one from running")
@pytest.mark.parametrize("waits", ["join", "accept"])
def test_a_thread_that_holds_the_gil_in_c_code_is_named_and_nothing_is_left(spin: Path, waits: str) -> None:
    with spinning(spin, waits) as program:
        threads, code = program.threads(), code_pages(program.pid)
        (other,) = threads - {str(program.pid)}
        with pytest.raises(AttachError) as raised:
            run_in(program.pid, "print('ran')", 0.5)
        name = Path(f"/proc/{program.pid}/task/{other}/comm").read_text().strip()
        where = rf"thread {other} \({re.escape(name)}\) holds the GIL, in C code \(spin of {spin.name}\)$"
        assert re.search(where, str(raised.value))
        assert program.threads() == threads
        assert code_pages(program.pid) == code
        assert not folders_of(program.pid)
        os.kill(program.pid, signal.SIGUSR2)
        assert run_in(program.pid, "answer = 1", 60) == "1"
        program.wait_for_threads(threads)
        assert code_pages(program.pid) == code


@pytest.mark.skipif(HAS_GIL, reason="such a thread holds the GIL")
@pytest.mark.parametrize("waits", ["join", "accept"])
def test_without_the_gil_a_thread_in_c_code_is_not_waited_for(spin: Path, waits: str) -> None:
    with spinning(spin, waits) as program:
        threads, code = program.threads(), code_pages(program.pid)
        for _ in range(2):
            assert run_in(program.pid, "answer = 1", 60) == "1"
            program.wait_for_threads(threads)
            assert code_pages(program.pid) == code
            assert not folders_of(program.pid)
        os.kill(program.pid, signal.SIGUSR2)
        assert run_in(program.pid, "answer = 1", 60) == "1"


@needs_gil("such a thread keeps no other one from running")
@pytest.mark.parametrize("waits", ["join", "accept"])
def test_a_c_function_that_keeps_the_gil_is_waited_for(spin: Path, waits: str) -> None:
    with spinning(spin, waits) as program:
        answers: list[str] = []
        attacher = threading.Thread(target=lambda: answers.append(run_in(program.pid, "answer = 1", 60)))
        attacher.start()
        while not folders_of(program.pid):
            time.sleep(0.001)
        attacher.join(0.3)
        assert not answers
        os.kill(program.pid, signal.SIGUSR2)
        attacher.join()
        assert answers == ["1"]


def folders_of(pid: int) -> list[str]:
    """Return the exchange folders of a process."""
    return [path for path in folders() if f"-{pid}-" in path]


@pytest.mark.parametrize(
    "wait",
    [
        "import fcntl; fcntl.flock(open({path!r}, 'w'), fcntl.LOCK_EX)",
        "import fcntl; fcntl.lockf(open({path!r}, 'w'), fcntl.LOCK_EX)",
        "open({fifo!r}).read()",
        "import os; os.chdir({folder!r}); open('fifo', 'w')",
        "import os; os.open('fifo', os.O_RDONLY, dir_fd=os.open({folder!r}, os.O_RDONLY))",
    ],
)
def test_a_thread_that_waits_for_a_file_lock_or_the_other_end_of_a_fifo_is_attached_to(
    wait: str, tmp_path: Path
) -> None:
    import fcntl

    fifo, path = tmp_path / "fifo", tmp_path / "locked"
    os.mkfifo(fifo)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)
        call = wait.format(path=str(path), fifo=str(fifo), folder=str(tmp_path))
        with Running(f"ready()\n{call}\n") as program:
            for turn in range(3):
                assert run_in(program.pid, f"answer = {turn}", 60) == str(turn)
            assert program.end() == (7, "", "")
