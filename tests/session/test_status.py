"""`funcgraph status` shows how this Python is hooked, by which tools, and the existing sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import Funcgraph
from kill_switch import TRIP


def test_status_without_sessions(fg: Funcgraph) -> None:
    result = fg.run("status")
    assert result.returncode == 0
    assert f"CPython {sys.version_info.major}.{sys.version_info.minor}" in result.stdout
    assert "engine: " in result.stdout
    assert str(fg.runtime) not in result.stdout


def test_status_lists_the_processes_that_have_a_socket(fg: Funcgraph) -> None:
    """Broken: nothing told which processes had been attached to."""
    code = "import funcgraph; funcgraph.serve(); print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=fg.env
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        lines = fg.run("status").stdout.splitlines()
        (line,) = [line for line in lines if line.startswith(f"  {process.pid}: ")]
        assert line == f"  {process.pid}: {f'{sys.executable} -c {code}'[:100]}"
        assert lines.index("processes with a socket:") < lines.index(line)
        process.communicate("\n", timeout=60)
    assert line not in fg.run("status").stdout.splitlines()


def test_status_is_the_same_for_programs(fg: Funcgraph) -> None:
    """A report of a fault has it: versions, abilities, owners of ids, sessions, processes."""
    script = fg.script("input()\n")
    process = fg.start("record", script)
    while not fg.sessions():
        assert process.poll() is None
    facts = json.loads(fg.run("status", "--json").stdout)
    process.communicate("\n")
    text = fg.run("status").stdout
    assert f"funcgraph {facts['funcgraph']} on {facts['python']}" in text
    assert f"engine: {facts['engine']['arch']}" in text
    for name, there in facts["capabilities"].items():
        assert f"  {name}: {'yes' if there else 'no'} (" in text
    ids = facts["monitoring_ids"]
    assert ids is None if sys.version_info < (3, 12) else len(ids) == 6
    (session,) = facts["sessions"]
    assert session["recording"] is True
    assert "error" in session or session["command"] == str(script)


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring came with CPython 3.12")
def test_status_says_who_holds_the_monitoring_ids(fg: Funcgraph) -> None:
    code = (
        "import sys; from funcgraph.cli import main\n"
        "sys.monitoring.use_tool_id(1, 'some coverage'); sys.monitoring.use_tool_id(4, 'an agent')\n"
        "main(['status'])"
    )
    lines = fg.plain(sys.executable, "-c", code).stdout.splitlines()
    assert "  0 (debugger by convention): free" in lines
    assert "  1 (coverage by convention): some coverage" in lines
    assert "  4: an agent" in lines


def test_status_of_a_session_that_is_recording(fg: Funcgraph) -> None:
    script = fg.script("import os\ndef f(): pass\nf()\nprint(os.getpid(), flush=True)\ninput()\n")
    process = fg.start("record", script, "an argument")
    assert process.stdout is not None
    pid = process.stdout.readline().strip()
    (session,) = fg.sessions()
    assert session.stat().st_mode & 0o777 == 0o700
    text = fg.run("status").stdout
    assert f"{session}: recording" in text
    assert f"command: {script} 'an argument'" in text
    assert f"output: {fg.trace}" in text
    assert f"recorder: process {process.pid}" in text
    assert f"process {pid}: traced" in text
    process.communicate("\n", timeout=30)
    assert process.returncode == 0


def test_looking_at_a_session_does_not_take_its_lock_away(fg: Funcgraph) -> None:
    script = fg.script("def f(): pass\nf()\nprint('ready', flush=True)\ninput()\n")
    process = fg.start("record", script)
    assert process.stdout is not None
    process.stdout.readline()
    for _ in range(3):
        assert ": recording" in fg.run("status").stdout
    process.communicate("\n", timeout=30)
    assert process.returncode == 0
    assert fg.sessions() == []


def test_status_tells_of_a_living_process_whose_kill_switch_tripped(fg: Funcgraph) -> None:
    script = fg.script(TRIP + "trip_kill_switch()\nprint(funcgraph.killed(), flush=True)\ninput()\n")
    process = fg.start("record", "-q", script)
    assert process.stdout is not None
    reason = process.stdout.readline().strip()
    assert "of its shadow stack leads nowhere" in reason
    assert f": not traced any longer, its kill switch tripped: {reason}\n" in fg.run("status").stdout
    _, errors = process.communicate("\n", timeout=30)
    assert process.returncode == 0
    assert reason in errors
    report = fg.run("report").stdout.splitlines()
    assert report[-1].endswith(f": tracing ended for good: {reason}")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives a folder to another user")
@pytest.mark.parametrize("command", [("status",), ("recover",)])
def test_sessions_of_other_users_are_not_listed(fg: Funcgraph, command: tuple[str, ...]) -> None:
    others = fg.runtime / "funcgraph-4711-abcdefgh"
    others.mkdir(mode=0o755)
    (others / "lock").touch()
    os.chown(others, 65534, 65534)
    done = fg.run(*command)
    assert others.name not in done.stdout + done.stderr
