"""Code runs in a process that did not ask for it, and the process is as before."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from builds import needs_gil
from extension import compile_library
from running import PROGRAMS, Running, code_pages, folders

from funcgraph import _inject
from funcgraph.attach import inject
from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in

_NEEDS = ("gevent", "uvloop")
PEP_768 = sys.version_info >= (3, 14)


def _is_missing(program: str) -> bool:
    return program in _NEEDS and importlib.util.find_spec(program) is None


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(_is_missing(name), reason="not there"))
        for name in PROGRAMS
    ],
)
def test_code_runs_in_a_program_and_nothing_is_left(name: str) -> None:
    """Threads, code and files are as before; results, signals and exit status are its own."""
    with Running(PROGRAMS[name]) as program:
        threads, code = program.threads(), code_pages(program.pid)
        source = "import os, threading; answer = os.getpid(), threading.main_thread().ident"
        answers = {run_in(program.pid, source, 30) for _ in range(3)}
        assert len(answers) == 1
        assert answers.pop().startswith(f"({program.pid}, ")
        program.wait_for_threads(threads)
        assert code_pages(program.pid) == code
        assert program.end() == (7, "", "")


def test_forks_wait_for_code_that_runs_in_a_program_that_was_attached_to_before() -> None:
    """Broken: they waited only from the moment on at which funcgraph was loaded once more."""
    forking = """
import os, funcgraph
funcgraph.serve()
funcgraph.serve(False)
forks = 0
ready()
while True:
    child = os.fork()
    if not child:
        os._exit(0)
    forks += 1
    os.waitpid(child, 0)
"""
    source = """
import __main__, time
before = __main__.forks
time.sleep(0.3)
answer = __main__.forks - before
"""
    with Running(forking) as program:
        assert int(run_in(program.pid, source, 60)) <= 1  # one that was on its way


@pytest.mark.skipif(PEP_768, reason="no thread is stopped")
def test_the_program_is_not_stopped_while_the_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are stopped before the code begins, and after its end."""
    stops: list[str] = []
    is_inside, wait_for_end = _inject.is_inside, inject._wait_for_end

    def noted(*words: Any) -> bool:
        stops.append("stop")
        return is_inside(*words)

    def wait(*words: Any) -> bytes:
        stops.append("wait")
        try:
            return wait_for_end(*words)
        finally:
            stops.append("end")

    monkeypatch.setattr(_inject, "is_inside", noted)
    monkeypatch.setattr(inject, "_wait_for_end", wait)
    with Running(PROGRAMS["busy"]) as program:
        assert run_in(program.pid, "import time; time.sleep(0.2); answer = 1", 30) == "1"
        assert program.end() == (7, "", "")
    begin, end = stops.index("wait"), stops.index("end")
    assert end == begin + 1
    assert "stop" in stops[end:]


def test_two_attachers_at_once_both_succeed() -> None:
    with Running(PROGRAMS["busy"]) as program:
        answers: list[str] = []

        def attach() -> None:
            answers.extend(run_in(program.pid, "answer = 'here'", 60) for _ in range(3))

        attachers = [threading.Thread(target=attach) for _ in range(2)]
        for attacher in attachers:
            attacher.start()
        for attacher in attachers:
            attacher.join()
        assert answers == ["here"] * 6
        assert program.end() == (7, "", "")


@pytest.mark.parametrize("code", ["1 / 0", "raise SystemExit(3)", "raise KeyboardInterrupt", "1 +"])
def test_an_exception_is_one_error_here_and_none_there(code: str) -> None:
    with Running(PROGRAMS["sleeping"]) as program:
        with pytest.raises(
            AttachError, match=r"the code raised (Zero|SystemExit|Keyboard|SyntaxError)"
        ) as raised:
            run_in(program.pid, code, 30)
        assert "\n" not in str(raised.value)
        assert program.end() == (7, "", "")


def test_the_program_keeps_its_names_and_its_main_thread() -> None:
    """The first import of `threading` by another thread must not make that the main thread."""
    program = """
import sys, time
assert "threading" not in sys.modules
def look():
    import threading
    return threading.main_thread() is threading.current_thread(), sorted(globals()) == names
names = sorted([*globals(), "names"])
def exec(*_): raise AssertionError("the program's own")
names.append("exec"); names.sort()
sys.stdout.write("ready\\n"); sys.stdout.flush()
sys.stdin.readline()
print(*look())
"""
    with Running(program, bare=True) as running:
        assert running.process.stdout is not None
        assert running.process.stdout.readline() == "ready\n"
        assert run_in(running.pid, "import threading; secret = 1; answer = 'ran'", 30) == "ran"
        assert running.process.communicate("go\n", timeout=60) == ("True True\n", "")
        assert running.process.returncode == 0


def test_trace_functions_of_the_program_see_nothing() -> None:
    program = """
import time
seen = set()
def tracer(frame, event, arg):
    seen.add(frame.f_code.co_filename)
    return tracer
def end(number, frame):
    sys.settrace(None)
    sys.exit(7 if seen <= {"<string>"} else str(seen))
signal.signal(signal.SIGUSR1, end)
sys.settrace(tracer)
sys.setprofile(tracer)
def work():
    return sum(range(50))
ready()
while True:
    work()
"""
    with Running(program) as running:
        assert run_in(running.pid, "import json; answer = json.dumps([])", 30) == "[]"
        assert running.end() == (7, "", "")


@needs_gil("a new thread runs, and stays until the thread in C code lets CPython stop all threads")
def test_a_process_that_never_runs_python_again_is_given_up_and_as_before() -> None:
    """It waits in C code and keeps the GIL. A new thread would wait for ever, so none is started."""
    program = """
import ctypes
ready()
ctypes.PyDLL(None).pause()
"""
    with Running(program) as running:
        time.sleep(0.1)
        threads, code = running.threads(), code_pages(running.pid)
        with pytest.raises(AttachError, match="nothing was run in it"):
            run_in(running.pid, "print('ran')", 1.0)
        assert running.threads() == threads
        assert code_pages(running.pid) == code
        assert running.end() == (7, "", "")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_call_that_was_queued_in_vain_is_taken_back(tmp_path: Path) -> None:
    """The main thread is in C code for so long that the call is given up; later it finds nothing to do."""
    library = compile_library(tmp_path, Path(__file__).parent / "spin.c")
    program = f"""
import ctypes
ctypes.PyDLL({str(library)!r}).spin()
ready()
while True:
    sum(range(50))
"""
    with Running(program) as running:
        assert running.process.stdout is not None
        code = code_pages(running.pid)
        with pytest.raises(AttachError, match="nothing was run in it"):
            run_in(running.pid, "print('ran')", 1.0)
        assert code_pages(running.pid) == code
        running.process.send_signal(signal.SIGUSR2)
        assert running.process.stdout.readline() == "ready\n"
        assert run_in(running.pid, "answer = 1", 30) == "1"
        assert running.end() == (7, "", "")


def test_a_process_under_a_debugger_is_named() -> None:
    with Running(PROGRAMS["sleeping"]) as program:
        code = f"""
import ctypes, sys
seize = 0x4206
assert ctypes.CDLL(None).ptrace(seize, {program.pid}, None, None) == 0
print("traced", flush=True)
sys.stdin.read()
"""
        debugger = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert debugger.stdout is not None
        assert debugger.stdout.readline() == "traced\n"
        with pytest.raises(AttachError, match=f"traced by process {debugger.pid}"):
            run_in(program.pid, "print('ran')", 0.3)
        debugger.communicate("")
        assert run_in(program.pid, "answer = 1", 30) == "1"
        assert program.end() == (7, "", "")


def test_the_parent_that_waits_for_it_meanwhile_does_not_stop_it_for_good() -> None:
    """Another thread of the attacher takes the kernel's word that the program is stopped."""
    with Running(PROGRAMS["busy"]) as program:
        is_over = threading.Event()

        def wait() -> None:
            while not is_over.is_set():
                os.waitpid(program.pid, os.WNOHANG)

        parent = threading.Thread(target=wait)
        parent.start()
        try:
            answers = [run_in(program.pid, f"answer = {turn}", 60) for turn in range(10)]
        finally:
            is_over.set()
            parent.join()
        assert answers == [str(turn) for turn in range(10)]
        assert program.end() == (7, "", "")


def test_no_process_no_python_and_an_old_python_are_named() -> None:
    with pytest.raises(AttachError, match="no such process"):
        run_in(2**22 + 1, "")
    sleep = subprocess.Popen(["sleep", "1000"])
    try:
        time.sleep(0.05)
        with pytest.raises(AttachError, match=r"no CPython is loaded in it \(sleep\)"):
            run_in(sleep.pid, "")
    finally:
        sleep.kill()
        sleep.wait()


def test_the_process_of_another_user_is_refused_and_named() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to be another user")
    with Running(PROGRAMS["sleeping"]) as program:
        code = f"""
import os
from funcgraph import _inject
from funcgraph.attach import inject
from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in
os.setgid(65534); os.setuid(65534)
try:
    run_in({program.pid}, "")
except AttachError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        message = f"process {program.pid}: it belongs to user 0: attach as that user, or with CAP_SYS_PTRACE"
        assert done.stdout.startswith(message), done.stderr
        assert program.end() == (7, "", "")


def test_the_folder_is_nobody_elses_and_goes() -> None:
    before = folders()
    with Running(PROGRAMS["sleeping"]) as program:
        source = """
import glob, os
(folder,) = [p for p in glob.glob("/dev/shm/funcgraph-attach-*") if os.path.exists(p + "/run")]
answer = oct(os.stat(folder).st_mode & 0o777), oct(os.stat(folder + "/run").st_mode & 0o777)
"""
        assert run_in(program.pid, source, 30) == "('0o700', '0o600')"
        assert folders() == before
        assert program.end() == (7, "", "")


@pytest.mark.skipif(not PEP_768, reason="before 3.14 Python has no such switch")
def test_remote_debugging_that_is_off_is_named() -> None:
    with Running(PROGRAMS["sleeping"], command=(sys.executable, "-X", "disable-remote-debug")) as program:
        with pytest.raises(AttachError, match="-X disable-remote-debug"):
            run_in(program.pid, "")
        assert program.end() == (7, "", "")


@pytest.mark.skipif(PEP_768, reason="from 3.14 on Python has the switch itself")
def test_the_switch_of_later_versions_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_DISABLE_REMOTE_DEBUG", "1")
    with Running(PROGRAMS["sleeping"]) as program:
        with pytest.raises(AttachError, match=r"started with PYTHON_DISABLE_REMOTE_DEBUG$"):
            run_in(program.pid, "")
        assert program.end() == (7, "", "")


@pytest.mark.one_python
@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no python3 of the distribution")
def test_a_stripped_static_python_of_a_distribution() -> None:
    command = ["/usr/bin/python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if subprocess.run(command).returncode:
        pytest.skip("older than 3.11")
    with Running(PROGRAMS["busy"], command=("/usr/bin/python3",)) as program:
        assert run_in(program.pid, "answer = 1", 30) == "1"
        assert program.end() == (7, "", "")


@pytest.mark.one_python
def test_a_process_in_another_root_and_namespace_is_reached(tmp_path: Path) -> None:
    """As a container is, seen from the host: its own mounts, its own /tmp and /dev/shm."""
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare")
    script = tmp_path / "inner.sh"
    hidden = [place for place in ("/dev/shm", "/tmp") if place not in map(str, Path(sys.prefix).parents)]
    script.write_text("".join(f"mount -t tmpfs none {place}\n" for place in hidden) + 'exec "$@"\n')
    command = (unshare, "--mount", "--propagation", "private", "sh", str(script), sys.executable)
    with Running(PROGRAMS["busy"], command=command) as program:
        seen = folders()
        assert run_in(program.pid, "import glob; answer = len(glob.glob('/dev/shm/*'))", 30) == "1"
        assert folders() == seen
        assert program.end() == (7, "", "")


def test_a_stopped_process_is_left_stopped() -> None:
    with Running(PROGRAMS["sleeping"]) as program:
        os.kill(program.pid, signal.SIGSTOP)
        with pytest.raises(AttachError, match="nothing was run"):
            run_in(program.pid, "print('ran')", 0.3)
        assert Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        os.kill(program.pid, signal.SIGCONT)
        assert run_in(program.pid, "answer = 1", 30) == "1"
        assert program.end() == (7, "", "")
