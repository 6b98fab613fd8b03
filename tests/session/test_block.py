"""`with funcgraph.record(...)` records a block of a running program."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Funcgraph

import funcgraph

pytestmark = pytest.mark.one_python


@pytest.fixture(autouse=True)
def here(fg: Funcgraph, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let blocks of this process use the test's folders for sessions and traces."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(fg.runtime))
    monkeypatch.chdir(fg.folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield
    assert fg.sessions() == []
    assert not list(fg.folder.glob("*.part"))


def work(times: int = 1) -> int:
    for _ in range(times):
        step()
    return times


def step() -> None:
    pass


MINE = [f"{__name__}.*"]


def name(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def test_block_records_its_calls_and_no_others(fg: Funcgraph) -> None:
    work(3)
    with funcgraph.record("t.dat", filter=MINE) as recording:
        work(5)
    work(7)
    calls = fg.calls("t.dat")
    assert (calls[name(work)], calls[name(step)]) == (1, 5)
    assert recording.output == str(fg.folder / "t.dat")
    assert recording.totals["records"] == 12
    assert recording.totals["lost"] == 0
    assert recording.totals["processes"] == 1


def test_block_without_a_filter_has_none_of_our_own_calls(fg: Funcgraph) -> None:
    with funcgraph.record("t.dat"):
        work()
    assert fg.calls("t.dat") == {name(work): 1, name(step): 1}


def test_default_output_is_trace_dat(fg: Funcgraph) -> None:
    with funcgraph.record(filter=MINE):
        work()
    assert fg.calls()[name(work)] == 1


def test_path_objects_are_outputs(fg: Funcgraph) -> None:
    with funcgraph.record(fg.folder / "p.dat", filter=MINE):
        work()
    assert fg.calls("p.dat")[name(work)] == 1


def test_all_threads_are_recorded(fg: Funcgraph) -> None:
    with funcgraph.record("t.dat", filter=[name(step)]):
        threads = [threading.Thread(target=work, args=(10,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert fg.calls("t.dat")[name(step)] == 40
    assert len(fg.summary("t.dat")["tasks"]) == 4


def test_exception_goes_on_its_way_and_the_trace_is_complete(fg: Funcgraph) -> None:
    def fails() -> None:
        with funcgraph.record("t.dat", filter=MINE):
            work()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fails()
    assert fg.calls("t.dat")[name(work)] == 1


def test_blocks_one_after_the_other(fg: Funcgraph) -> None:
    for number in range(3):
        with funcgraph.record(f"{number}.dat", filter=MINE):
            work(number)
    assert [fg.calls(f"{number}.dat")[name(step)] for number in range(3)] == [0, 1, 2]


def test_blocks_within_blocks_each_have_their_own(fg: Funcgraph) -> None:
    with funcgraph.record("outer.dat", filter=[name(step)]):
        work(1)
        with funcgraph.record("inner.dat", filter=MINE):
            work(2)
        work(4)
    assert fg.calls("outer.dat") == {name(step): 7}
    assert fg.calls("inner.dat") == {name(work): 1, name(step): 2}


def test_blocks_that_overlap_in_threads(fg: Funcgraph) -> None:
    both = threading.Barrier(2, timeout=30)

    def block(output: str, times: int) -> None:
        with funcgraph.record(output, filter=[name(step)]):
            both.wait()
            work(times)
            both.wait()

    threads = [threading.Thread(target=block, args=(f"{times}.dat", times)) for times in (10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fg.calls("10.dat")[name(step)] == fg.calls("20.dat")[name(step)] == 30


def test_one_recording_does_not_run_twice_at_once(fg: Funcgraph) -> None:
    recording = funcgraph.record("t.dat", filter=MINE)
    with recording:
        with pytest.raises(RuntimeError, match="is in progress"), recording:
            pass
        work()
    with recording:  # after the first block has ended it works again
        work(2)
    assert fg.calls("t.dat")[name(step)] == 2


def test_children_are_recorded_during_the_block_and_not_after(fg: Funcgraph) -> None:
    line = [sys.executable, "-c", "def child(): pass\nchild()"]
    with funcgraph.record("t.dat", filter=["__main__.child", *MINE]):
        subprocess.check_call(line)
        subprocess.check_call(line, env={})
        pid = os.fork()
        if not pid:
            work()
            os._exit(0)
        os.waitpid(pid, 0)
    calls = fg.calls("t.dat")
    assert (calls["__main__.child"], calls[name(work)]) == (2, 1)
    assert b"FUNCGRAPH_SESSION" not in subprocess.check_output(["/usr/bin/env"])
    assert os.execve.__self__.__name__ == "posix"


def test_children_are_not_recorded_without_follow(fg: Funcgraph) -> None:
    with funcgraph.record("t.dat", filter=["__main__.child", *MINE], follow_fork=False):
        subprocess.check_call([sys.executable, "-c", "def child(): pass\nchild()"])
        pid = os.fork()
        if not pid:
            work()
            os._exit(0)
        os.waitpid(pid, 0)
        step()
    assert fg.calls("t.dat") == {name(step): 1}


def test_child_of_a_fork_may_leave_the_block_too(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import funcgraph, os
        def step(): pass
        with funcgraph.record("t.dat", filter=["__main__.step"]):
            pid = os.fork()
            step()
            if pid:
                assert os.waitpid(pid, 0)[1] == 0
        step()
        """
    )
    assert fg.plain(sys.executable, script).returncode == 0
    assert fg.calls("t.dat")["__main__.step"] == 2


def test_calls_of_nothing_that_matches_are_a_warning(fg: Funcgraph) -> None:
    work()
    with pytest.warns(RuntimeWarning, match="nothing matched|no function that matches"):
        with funcgraph.record("t.dat", filter=MINE):
            pass


def test_forked_process_that_cannot_be_traced_is_a_warning(fg: Funcgraph) -> None:
    def fork_without_descriptors() -> None:
        pid = os.fork()
        if pid == 0:
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
            work()
            os._exit(0)
        os.waitpid(pid, 0)

    recording = funcgraph.record("t.dat", filter=MINE)
    recording.__enter__()
    work()
    fork_without_descriptors()
    with pytest.warns(RuntimeWarning, match="1 forked process could not be traced: no file descriptor"):
        recording.__exit__(None, None, None)
    assert fg.calls("t.dat")[name(work)] == 1


def test_recorder_process_is_no_child_of_the_program(fg: Funcgraph) -> None:
    with funcgraph.record("t.dat", filter=MINE):
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        work()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_descriptors_are_given_back(fg: Funcgraph) -> None:
    with funcgraph.record("t.dat", filter=MINE):
        work()
    before = os.listdir("/proc/self/fd")
    with funcgraph.record("t.dat", filter=MINE):
        work()
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)", "os.abort()"])
def test_trace_is_finished_when_the_program_dies_in_the_block(fg: Funcgraph, end: str) -> None:
    script = fg.script(
        f"""
        import funcgraph, os, resource, signal
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        def step(): pass
        with funcgraph.record("t.dat", filter=["__main__.step"]):
            for _ in range(1000):
                step()
            {end}
        """
    )
    fg.plain(sys.executable, script)
    deadline = time.monotonic() + 20
    while fg.sessions():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert fg.calls("t.dat")["__main__.step"] == 1000


def test_block_in_a_program_that_is_recorded(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import funcgraph, subprocess, sys
        def step(): pass
        step()
        with funcgraph.record("inner.dat", filter=["__main__.*"]):
            step()
            subprocess.check_call([sys.executable, "-c", "def child(): pass\\nchild()"])
        step()
        """
    )
    result = fg.record("-l", "__main__.*", script)
    assert result.returncode == 0, result.stderr
    assert fg.calls()["__main__.step"] == 3
    assert fg.calls()["__main__.child"] == 1
    inner = fg.calls("inner.dat")
    assert (inner["__main__.step"], inner["__main__.child"]) == (1, 1)


def test_recorder_that_is_killed_is_an_error_and_the_rest_can_be_recovered(fg: Funcgraph) -> None:
    def loses_its_recorder() -> None:
        with funcgraph.record("t.dat", filter=MINE):
            work(10)
            (config,) = [session / "config" for session in fg.sessions()]
            lines = config.read_text().splitlines()
            (pid,) = (line.removeprefix("pid=") for line in lines if line.startswith("pid="))
            os.kill(int(pid), signal.SIGKILL)
            work(20)

    with pytest.raises(RuntimeError, match="funcgraph recover"):
        loses_its_recorder()
    assert fg.run("recover", *fg.sessions()).returncode == 0
    assert fg.calls("t.dat")[name(step)] >= 10


def test_nothing_matched_is_a_warning_with_the_nearest_names(fg: Funcgraph) -> None:
    with pytest.warns(RuntimeWarning, match=r"nothing matched .*\.stepp; the nearest names that ran: .*step"):
        with funcgraph.record("t.dat", filter=[f"{__name__}.stepp"]):
            work()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"filter": ["json.["]}, ValueError, "filter: 'json.\\['"),
        ({"graph": ["["]}, ValueError, "graph"),
        ({"notrace": ["["]}, ValueError, "notrace"),
        ({"filter": "json.*"}, TypeError, "list of patterns"),
        ({"tracer": "latency"}, ValueError, "latency"),
        ({"mode": "lose"}, ValueError, "lose"),
        ({"depth": 3}, TypeError, "depth"),
        ({"buffer_kb": 31}, ValueError, "buffer_kb: 31: must be a whole number from 32 to"),
        ({"thresh_us": -1}, ValueError, "thresh_us"),
        ({"max_graph_depth": 1 << 18}, ValueError, "max_graph_depth"),
    ],
)
def test_bad_arguments_are_refused_at_once(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        funcgraph.record("t.dat", **arguments)


def test_output_that_cannot_be_is_refused_at_the_blocks_begin(fg: Funcgraph) -> None:
    ran = False
    with pytest.raises(FileNotFoundError, match=r"missing/t\.dat"), funcgraph.record("missing/t.dat"):
        ran = True
    (fg.folder / "folder").mkdir()
    with pytest.raises(IsADirectoryError), funcgraph.record("folder"):
        ran = True
    (fg.folder / "file").touch()
    with pytest.raises(NotADirectoryError), funcgraph.record("file/t.dat"):
        ran = True
    assert not ran
    assert not Path("t.dat").exists()


def test_importing_the_package_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import funcgraph; print(*sorted(set(sys.modules) - before))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "funcgraph\n"
    assert {"record", "__version__"} <= set(dir(funcgraph))
    with pytest.raises(AttributeError, match="no attribute 'recrod'"):
        funcgraph.recrod  # type: ignore[attr-defined]
