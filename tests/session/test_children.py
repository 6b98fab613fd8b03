"""The trace has every kind of child process, whatever its environment. With --no-follow it has no child."""

from __future__ import annotations

import os
import resource
import sys
import time

import pytest
from conftest import Funcgraph
from sizes import share

# Each program starts one Python process that calls child(), waits for it, and exits with 0 only if it
# succeeded.
CHILD = "def child(): pass\nchild()"
PRELUDE = f"""
import multiprocessing, os, subprocess, sys
PYTHON, CHILD = sys.executable, {CHILD!r}
LINE = [PYTHON, "-c", CHILD]
SHELL_LINE = f'"{{PYTHON}}" -c "{{CHILD}}"'
def child(): pass
def waited(pid): assert os.waitpid(pid, 0)[1] == 0
def parent():
"""
WAYS = {
    "subprocess": "subprocess.check_call(LINE)",
    "subprocess-empty-env": "subprocess.check_call(LINE, env={})",
    "subprocess-own-env": "subprocess.check_call(LINE, env={**os.environ, 'A': 'b'})",
    "subprocess-os-environ": "subprocess.check_call(LINE, env=os.environ)",
    "subprocess-bytes-env": "subprocess.check_call(LINE, env={b'A': b'b'})",
    "subprocess-new-session": "subprocess.check_call(LINE, start_new_session=True, env={})",
    "subprocess-posix-spawn": "subprocess.check_call(LINE, close_fds=False)",
    "shell": "assert subprocess.run(SHELL_LINE, shell=True, env={'PATH': '/bin'}).returncode == 0",
    "system": "assert os.system(SHELL_LINE) == 0",
    "grandchild": "subprocess.check_call(['sh', '-c', f\"sh -c '{SHELL_LINE}'\"], env={'PATH': '/bin'})",
    "popen": "assert os.popen(SHELL_LINE).close() is None",
    "spawnv": "assert os.spawnv(os.P_WAIT, PYTHON, LINE) == 0",
    "spawnve": "assert os.spawnve(os.P_WAIT, PYTHON, LINE, {}) == 0",
    "spawnlpe": "assert os.spawnlpe(os.P_WAIT, PYTHON, *LINE, {'PATH': '/bin'}) == 0",
    "posix_spawn": "waited(os.posix_spawn(PYTHON, LINE, {}))",
    "posix_spawnp": "waited(os.posix_spawnp(PYTHON, LINE, os.environ))",
    "fork": "pid = os.fork()\n    if not pid:\n        child()\n        os._exit(0)\n    waited(pid)",
    "fork-execve": "pid = os.fork()\n    if not pid:\n        os.execve(PYTHON, LINE, {})\n    waited(pid)",
    "fork-execve-keywords": (
        "pid = os.fork()\n    if not pid:\n        os.execve(path=PYTHON, argv=LINE, env={})\n    waited(pid)"
    ),
    "fork-execvpe": "pid = os.fork()\n    if not pid:\n        os.execvpe(PYTHON, LINE, {})\n    waited(pid)",
    "fork-execv": "pid = os.fork()\n    if not pid:\n        os.execv(PYTHON, LINE)\n    waited(pid)",
    "exec-in-place": "os.execve(PYTHON, LINE, {})",
    "asyncio": (
        "import asyncio\n    async def run():\n"
        "        process = await asyncio.create_subprocess_exec(*LINE, env={})\n"
        "        assert await process.wait() == 0\n    asyncio.run(run())"
    ),
}


@pytest.mark.parametrize("way", share(list(WAYS), of=3))
def test_child_is_in_the_trace(fg: Funcgraph, way: str) -> None:
    script = fg.script(f"{PRELUDE}    {WAYS[way]}\nparent()\n")
    result = fg.record("-l", "__main__.*", script)
    assert result.returncode == 0, result.stderr
    calls = fg.calls()
    assert (calls["__main__.parent"], calls["__main__.child"]) == (1, 1), result.stderr
    assert fg.sessions() == []


@pytest.mark.parametrize("way", share(list(WAYS), of=3))
def test_child_is_not_in_the_trace_with_no_follow(fg: Funcgraph, way: str) -> None:
    script = fg.script(f"{PRELUDE}    {WAYS[way]}\nparent()\n")
    result = fg.record("--no-follow", "-l", "__main__.*", script)
    assert result.returncode == 0, result.stderr
    calls = fg.calls()
    assert calls["__main__.parent"] == 1
    assert calls["__main__.child"] == 0


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("follow", [True, False])
def test_multiprocessing_children(fg: Funcgraph, method: str, follow: bool) -> None:
    script = fg.script(
        f"""
        import multiprocessing

        def work(number):
            return number * number

        def parent():
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                assert pool.map(work, range(40)) == [n * n for n in range(40)]
                pool.close()
                pool.join()

        if __name__ == "__main__":
            parent()
        """
    )
    result = fg.record(*([] if follow else ["--no-follow"]), "-l", "*.work", "-l", "*.parent", script)
    assert result.returncode == 0, result.stderr
    calls = fg.calls()
    assert calls["__main__.parent"] == 1
    work = calls["__main__.work"] + calls["__mp_main__.work"]
    assert work == (40 if follow else 0), result.stderr


def test_each_process_and_thread_is_a_task_of_its_own(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import os, threading

        def work(): pass

        pids = []
        for _ in range(3):
            pid = os.fork()
            if not pid:
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
                work()
                os._exit(0)
            os.waitpid(pid, 0)
            print(pid)
        work()
        """
    )
    result = fg.record("-l", "__main__.work", script)
    summary = fg.summary()
    assert fg.calls()["__main__.work"] == 7
    pids = {task["pid"] for task in summary["tasks"]}
    assert set(map(int, result.stdout.split())) < pids
    assert len(pids) == 4
    assert len(summary["tasks"]) == 7


def test_variable_is_handed_on_though_the_program_clears_its_environment(fg: Funcgraph) -> None:
    script = fg.script(
        f"""
        import os, subprocess, sys
        os.environ.clear()
        subprocess.check_call([sys.executable, "-c", {CHILD!r}])
        os.environ["A"] = "b"
        assert dict(os.environ) == {{"A": "b"}}
        assert subprocess.check_output(["/usr/bin/env"]).startswith(b"FUNCGRAPH_SESSION=")
        """
    )
    assert fg.record("-q", "-l", "__main__.child", script).returncode == 0
    assert fg.calls()["__main__.child"] == 1


def test_process_that_outlives_the_command_is_left_running(fg: Funcgraph) -> None:
    """It runs until it is told to end, which is after the recording: a recorder that waits for it hangs."""
    fg.script(
        """
        import os, time
        ticks = 0
        def tick():
            global ticks
            ticks += 1
        for _ in range(20):
            tick()
        print("up", flush=True)
        while not os.path.exists("stop") and ticks < 20_000:
            tick()
            time.sleep(0.01)
        for _ in range(20):
            tick()
        with open("ticks.part", "w") as file:
            file.write(str(ticks))
        os.rename("ticks.part", "ticks")
        """,
        "daemon.py",
    )
    script = fg.script(
        """
        import subprocess, sys
        child = subprocess.Popen(
            [sys.executable, "daemon.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        child.stdout.readline()
        print(child.pid)
        """
    )
    result = fg.record(script)
    (fg.folder / "stop").touch()
    assert result.returncode == 0
    assert f"1 process still running, no longer traced: {result.stdout.strip()}" in result.stderr
    deadline = time.monotonic() + 60
    while not (fg.folder / "ticks").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert 20 <= fg.calls()["__main__.tick"] <= int((fg.folder / "ticks").read_text()) - 20
    assert fg.sessions() == []


def test_process_started_after_the_session_runs_as_without_us(fg: Funcgraph) -> None:
    fg.env["FUNCGRAPH_SESSION"] = str(fg.runtime / "funcgraph-1-gone")
    result = fg.plain(sys.executable, "-c", "import os; print(os.getenv('FUNCGRAPH_SESSION'))")
    assert (result.returncode, result.stdout, result.stderr) == (0, "None\n", "")


def test_more_processes_than_the_recorder_may_have_descriptors(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import os
        def f(): pass
        pids = []
        read_end, write_end = os.pipe()
        for _ in range(150):
            pid = os.fork()
            if not pid:
                os.close(write_end)
                f()
                os.read(read_end, 1)
                os._exit(0)
            pids.append(pid)
        os.close(write_end)
        for pid in pids:
            os.waitpid(pid, 0)
        """
    )
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))}
    result = fg.record("-b", "64", "-l", "__main__.f", script, **limit)
    assert result.returncode == 0, result.stderr
    assert fg.calls()["__main__.f"] == 150


def test_subinterpreters_and_their_children_are_traced(fg: Funcgraph) -> None:
    fg.script(CHILD, "child.py")
    script = fg.script(
        """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters

        def f(): pass
        f()
        other = interpreters.create()
        interpreters.run_string(other, '''if True:
            import os, posix, sys
            assert "FUNCGRAPH_SESSION" not in os.environ
            assert b"FUNCGRAPH_SESSION" not in posix.environ
            def f(): pass
            f()
            os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "child.py"], {}), 0)
            os.write(1, b"ran")
        ''')
        interpreters.destroy(other)
        f()
        """
    )
    result = fg.record("-l", "__main__.*", script)
    assert (result.returncode, result.stdout) == (0, "ran"), result.stderr
    assert (fg.calls()["__main__.f"], fg.calls()["__main__.child"]) == (3, 1)


def test_recorder_inside_a_recorded_program(fg: Funcgraph) -> None:
    fg.script("def f(): pass\nf()\n", "inner.py")
    script = fg.script(
        """
        import subprocess, sys
        def outer(): pass
        outer()
        command = [sys.executable, "-m", "funcgraph", "record", "-o", "inner.dat", "inner.py"]
        sys.exit(subprocess.call(command))
        """
    )
    result = fg.record("-l", "__main__.*", script)
    assert result.returncode == 0, result.stderr
    assert fg.calls()["__main__.outer"] == 1
    assert fg.calls()["__main__.f"] == 1
    assert fg.calls(fg.folder / "inner.dat")["__main__.f"] == 1


# After each of these a process opens no file of the session any longer.
FALLS = {
    "root": "os.chroot(os.getcwd())",
    "user": "os.setgid(65534); os.setuid(65534)",
    "descriptors": "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))",
}


@pytest.mark.parametrize("daemon", [False, True])
@pytest.mark.parametrize("fall", FALLS)
def test_forked_process_that_cannot_be_traced_is_told(fg: Funcgraph, fall: str, daemon: bool) -> None:
    """Fails if such a process vanishes from the trace without a word; of a daemon's, if the counter goes with
    the ring of the parent that has ended."""
    script = fg.script(
        f"""
        import os, resource

        def leaf(): pass

        read, write = os.pipe()
        leaf()
        for _ in range(3):
            pid = os.fork()
            if pid:
                assert os.waitpid(pid, 0)[1] == 0
                continue
            if {daemon} and os.fork():
                os._exit(0)
            {FALLS[fall]}
            leaf()
            os.write(1, b"%d\\n" % os.getpid())
            os._exit(0)
        os.close(write)
        os.read(read, 1)  # until the last of them has ended
        """
    )
    if fall != "descriptors" and os.getuid() != 0:
        pytest.skip("only root may do that")
    result = fg.record("-l", "*.leaf", "-q", script)
    assert result.returncode == 0
    pids = result.stdout.split()
    (line,) = result.stderr.splitlines()
    assert line.startswith("funcgraph: 3 forked processes could not be traced: ")
    assert sorted(line.partition("(")[2].rstrip(")").split(", ")) == sorted(pids)
    assert fg.calls() == {"__main__.leaf": 1}
    assert fg.sessions() == []


@pytest.mark.parametrize("fall", FALLS)
def test_process_that_no_longer_reaches_the_session_is_recorded_to_its_end(fg: Funcgraph, fall: str) -> None:
    """Fails if it takes its recorder for dead when the ring is full, or if the names of functions that it
    meets later find no room."""
    if fall != "descriptors" and os.getuid() != 0:
        pytest.skip("only root may do that")
    script = fg.script(
        f"""
        import os, resource

        def leaf(): pass

        leaf()
        late = {{}}
        exec("".join(f"def late{{number}}(): pass\\n" for number in range(3000)), late)
        {FALLS[fall]}
        for _ in range(100_000):
            leaf()
        for number in range(3000):
            late[f"late{{number}}"]()
        """
    )
    result = fg.record("-q", "-b", "64", "-l", "__main__.leaf", "-l", "*late*", script)
    assert (result.returncode, result.stderr) == (0, "")
    calls = fg.calls()
    assert calls.pop("__main__.leaf") == 100_001
    assert sorted(calls.values()) == [1] * 3000
