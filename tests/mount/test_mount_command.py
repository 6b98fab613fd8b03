"""funcgraph mount: processes as folders, in the background, until they end; no dead mount stays."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mount.mounted import TIMEOUT_S
from mount.shop_program import BUSY, FORKING, IDLE, UNAWARE, end_program, start_program

pytestmark = pytest.mark.one_python


@pytest.fixture
def program(fuse: None, tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts programs that serve their control socket."""
    started: list[subprocess.Popen[str]] = []

    def start(text: str) -> subprocess.Popen[str]:
        started.append(start_program(tmp_path, text))
        return started[-1]

    yield start
    for process in started:
        end_program(process)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder to mount at. Nothing is mounted there after the test."""
    path = tmp_path / "tracing"
    path.mkdir()
    yield path
    subprocess.run(["umount", "--lazy", path], stderr=subprocess.DEVNULL)


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    while not condition():
        time.sleep(0.01)


def dead(folder: Path) -> bool:
    try:
        folder.stat()
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return False


def test_one_process_is_the_tree_itself(fg: Any, program: Any, folder: Path) -> None:
    process = program(BUSY)
    assert fg.run("mount", folder, "-P", process.pid).returncode == 0
    (folder / "set_ftrace_filter").write_text("shop.*")
    (folder / "current_tracer").write_text("function_graph")
    with (folder / "trace_pipe").open() as pipe:
        lines = [pipe.readline() for _ in range(50)]
    assert any("shop.pay() {" in line for line in lines)
    assert any("shop.tax();" in line for line in lines)
    (folder / "current_tracer").write_text("nop")
    subprocess.run(["umount", folder], check=True)
    assert not os.path.ismount(folder)
    assert process.poll() is None


def test_a_process_without_a_socket_is_attached_to(fg: Any, program: Any, folder: Path) -> None:
    process = program(UNAWARE)
    done = fg.run("mount", folder, "-P", process.pid)
    if "ptrace" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "current_tracer").write_text("function")
    with (folder / "trace_pipe").open() as pipe:
        assert "shop.tax <-shop.pay" in "".join(pipe.readline() for _ in range(30))
    (folder / "current_tracer").write_text("nop")


def test_processes_come_and_go_as_folders(fg: Any, program: Any, folder: Path) -> None:
    first = program(IDLE)
    assert fg.run("mount", folder).returncode == 0
    assert str(first.pid) in os.listdir(folder)
    second = program(IDLE)
    assert {str(first.pid), str(second.pid)} <= set(os.listdir(folder))
    assert (folder / str(second.pid) / "current_tracer").read_text() == "nop\n"
    with (folder / str(second.pid) / "trace").open("rb", buffering=0) as file:
        end_program(second)
        until(lambda: str(second.pid) not in os.listdir(folder))
        with pytest.raises(OSError) as caught:
            file.read()
        assert caught.value.errno == errno.ESRCH
    assert not (folder / str(second.pid)).exists()
    assert (folder / str(first.pid) / "current_tracer").read_text() == "nop\n"
    for refused in ((folder / "1").mkdir, (folder / str(first.pid)).rmdir):
        with pytest.raises(PermissionError):
            refused()
    assert not any((folder / name).exists() for name in ("0", "01", "x", str(os.getpid())))


def test_several_processes_are_folders_until_all_have_ended(fg: Any, program: Any, folder: Path) -> None:
    processes = [program(IDLE), program(IDLE)]
    words = [word for process in processes for word in ("-P", process.pid)]
    assert fg.run("mount", folder, *words).returncode == 0
    assert sorted(os.listdir(folder)) == sorted(str(process.pid) for process in processes)
    end_program(processes[0])
    until(lambda: os.listdir(folder) == [str(processes[1].pid)])
    end_program(processes[1])
    until(lambda: not os.path.ismount(folder))


def test_processes_are_found_by_their_command_line_and_their_parent(
    fg: Any, program: Any, folder: Path
) -> None:
    mark = folder.parent.name  # in no other command line
    parent = program(f"MARK = {mark!r}\n{FORKING}")
    child = int(parent.stdout.readline())
    other = program(IDLE)
    assert fg.run("mount", folder, "-P", f"MARK = '{mark}'", "-P", other.pid).returncode == 0
    assert sorted(os.listdir(folder)) == sorted(map(str, (parent.pid, child, other.pid)))
    subprocess.run(["umount", folder], check=True)
    assert fg.run("mount", folder, "-P", parent.pid, "--children").returncode == 0
    assert sorted(os.listdir(folder)) == sorted(map(str, (parent.pid, child)))
    assert (folder / str(child) / "current_tracer").read_text() == "nop\n"


def test_what_was_found_and_has_no_tree_is_named_and_left_out(fg: Any, program: Any, folder: Path) -> None:
    """Broken: a child that executed another program meanwhile ended the command for all."""
    mark = str(time.monotonic_ns())
    process = program(f"MARK = '{mark}'\n{IDLE}")
    other = shutil.copy(shutil.which("sleep") or "", folder.parent / "python-to-be")
    with subprocess.Popen([other, "1000"]) as sleep:
        alone = fg.run("mount", folder, "-P", str(other))
        named = fg.run("mount", folder, "-P", f"{process.pid},{sleep.pid}")
        found = fg.run("mount", folder, "-P", f"MARK = '{mark}'|{other}")
        sleep.kill()
    why = f"funcgraph: process {sleep.pid}: no CPython is loaded in it ({other})"
    assert (found.returncode, found.stderr) == (0, f"{why}; it is not in the mount\n")
    assert (folder / "current_tracer").read_text() == "nop\n"
    assert [(done.returncode, done.stderr) for done in (alone, named)] == [(2, f"{why}\n")] * 2


def test_the_mount_ends_with_its_process_in_spite_of_a_reader_that_waits(
    fg: Any, program: Any, folder: Path
) -> None:
    process = program(IDLE)
    with fg.start("mount", "-f", folder, "-P", process.pid) as mount:
        until(lambda: os.path.ismount(folder))
        with subprocess.Popen(["cat", folder / "trace_pipe"], stderr=subprocess.PIPE, text=True) as reader:
            end_program(process)
            assert reader.communicate(timeout=TIMEOUT_S)[1].startswith("cat: ")
        assert mount.wait(TIMEOUT_S) == 0
    assert not os.path.ismount(folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_unmounts(fg: Any, program: Any, folder: Path, number: int) -> None:
    with fg.start("mount", "-f", folder, "-P", program(IDLE).pid) as mount:
        until(lambda: os.path.ismount(folder))
        mount.send_signal(number)
        assert mount.wait(TIMEOUT_S) == 0
    assert not os.path.ismount(folder)


def test_the_next_mount_takes_a_dead_one_away(fg: Any, program: Any, folder: Path) -> None:
    process = program(IDLE)
    with fg.start("mount", "-f", folder, "-P", process.pid) as mount:
        until(lambda: os.path.ismount(folder))
        mount.kill()
        mount.wait(TIMEOUT_S)
    until(lambda: dead(folder))
    assert fg.run("mount", folder, "-P", process.pid).returncode == 0
    assert (folder / "current_tracer").read_text() == "nop\n"
    subprocess.run(["umount", folder], check=True)
    assert not os.path.ismount(folder)
    assert not dead(folder)


def test_what_is_wrong_is_one_line_and_nothing_is_mounted(fg: Any, program: Any, folder: Path) -> None:
    process = program(IDLE)
    assert fg.run("mount", folder, "-P", process.pid).returncode == 0
    again = fg.run("mount", folder, "-P", process.pid)
    assert again.stderr == f"funcgraph: {folder}: is mounted already; 'umount {folder}' ends that\n"
    subprocess.run(["umount", folder], check=True)
    file = folder.parent / "file"
    file.write_text("")
    end_program(process)
    for words, text in [
        ((file,), f"{file}: Not a directory"),
        (("-f", folder / "none"), f"{folder}/none: No such file or directory"),
        ((folder, "-P", process.pid), f"process {process.pid}: there is no such process"),
        ((folder, "-P", "no such [program]"), "-P no such [program]: no Python process has that"),
        ((folder, "-P", "("), "-P (: neither a process id nor an expression"),
        ((folder, "--children"), "--children: of which processes? Give them with -P"),
        ((folder, "-o", "suid"), "argument -o: invalid choice 'suid'"),
    ]:
        done = fg.run("mount", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr
        assert done.stderr.count("\n") == 1
    assert not os.path.ismount(folder)


def test_a_missing_package_says_how_to_get_it(fg: Any, folder: Path) -> None:
    (folder / "mfusepy.py").write_text("raise ImportError")
    done = fg.run("mount", folder, env={**fg.env, "PYTHONPATH": str(folder)})
    assert (done.returncode, done.stderr) == (
        2,
        "funcgraph: a mount needs mfusepy: pip install 'funcgraph[mount]'\n",
    )


def test_a_traced_process_never_loads_the_binding(tmp_path: Path) -> None:
    text = (
        "import funcgraph, sys; funcgraph.serve(); print([name for name in sys.modules if 'mount' in name])"
    )
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[]\n"
