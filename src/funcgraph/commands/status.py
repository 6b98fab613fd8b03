"""`funcgraph status`: how this Python is hooked, the owners of its monitoring ids, and the sessions."""

from __future__ import annotations

import argparse
import os
import platform
import sys

import funcgraph
from funcgraph import _tracedata
from funcgraph.control.processes import running
from funcgraph.recorder.directory import Session, all_sessions, command_text
from funcgraph.recorder.process import ProcessWatch
from funcgraph.session.memory_file import memory_file
from funcgraph.steering.output import print_line
from funcgraph.steering.processes import command_line, has_ended

NAME = "status"
HELP = "show recordings, processes with a socket, this Python, its monitoring ids"
DESCRIPTION = """\
Show how this Python is hooked, what can be reported of a program in it, and the owner of each of its
sys.monitoring ids: a tool that is loaded at start, such as coverage or an agent. Then show this user's
recording sessions on this machine, with their processes, and the processes that can be steered: they were
attached to, or serve a control socket."""

_SHOWN = 100  # characters of a command line

# The conventional use of ids, from CPython's documentation of sys.monitoring.
_CONVENTION = {0: "debugger", 1: "coverage", 2: "profiler", 5: "optimizer"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument(
        "--clean",
        action="store_true",
        help="remove what ended processes left, unless it can be recovered, and show no status",
    )


def run(args: argparse.Namespace) -> int:
    """Print the status, or clean up."""
    if args.clean:
        from funcgraph.recorder.leftovers import clean

        nothing = True
        for line in clean():
            nothing = False
            print_line(line)
        if nothing:
            print_line("nothing is left")
        return 0
    for line in (*_interpreter_lines(), *_session_lines(), *_process_lines()):
        print_line(line)
    return 0


def _interpreter_lines() -> list[str]:
    lines = [
        f"funcgraph {funcgraph.__version__} on {platform.python_implementation()} {platform.python_version()}"
    ]
    try:
        from funcgraph import _engine

        status = _engine.status()
    except ImportError as error:
        return [*lines, f"engine: cannot be loaded: {error}"]
    lines.append(f"engine: {status['arch']}" + (f", killed: {status['killed']}" if status["killed"] else ""))
    lines.append("this Python can tell:")
    meanings = _engine.capability_meanings()
    for name, there in _engine.capabilities().items():
        lines.append(f"  {name}: {'yes' if there else 'no'} ({meanings[name]})")
    lines.append(
        "sys.monitoring ids:"
        if hasattr(sys, "monitoring")
        else "sys.monitoring: not available in this Python"
    )
    if hasattr(sys, "monitoring"):
        for tool_id in range(6):
            use = f" ({_CONVENTION[tool_id]} by convention)" if tool_id in _CONVENTION else ""
            lines.append(f"  {tool_id}{use}: {sys.monitoring.get_tool(tool_id) or 'free'}")
    return lines


def _session_lines() -> list[str]:
    lines = []
    for session in all_sessions():
        alive = session.recorder_alive()
        state = "recording" if alive else "the recorder was killed: 'funcgraph recover' makes a trace of it"
        lines.append(f"{session.path}: {state}")
        lines += [f"  {line}" for line in _describe(session)]
        session.close()
    return ["sessions:", *(f"  {line}" for line in lines)] if lines else ["sessions: none"]


def _process_lines() -> list[str]:
    pids = running()
    lines = [f"{pid}: {command_line(pid)[:_SHOWN]}" for pid in pids if not has_ended(pid)]
    return (
        ["processes with a socket:", *(f"  {line}" for line in lines)]
        if lines
        else ["processes with a socket: none"]
    )


def _describe(session: Session) -> list[str]:
    try:
        values = session.read_config()
        names = session.files.ring_names()
    except (OSError, ValueError) as error:
        return [f"config cannot be read: {error}"]
    lines = [
        f"command: {command_text(values)}",
        f"output: {', '.join(values.get('output', []))}",
        f"recorder: process {', '.join(values.get('pid', []))}",
    ]
    rings: dict[int, list[str]] = {}
    for name in names:
        pid = os.path.basename(name).partition(".")[0]
        if pid.isdecimal():
            rings.setdefault(int(pid), []).append(name)
    return lines + [f"process {pid}: {_state(session, pid, its)}" for pid, its in sorted(rings.items())]


def _state(session: Session, pid: int, rings: list[str]) -> str:
    if ProcessWatch(pid).gone():
        return "gone"
    killed = next(filter(None, (_kill_reason(session, name) for name in rings)), None)
    return "traced" if killed is None else f"not traced any longer, its kill switch tripped: {killed}"


def _kill_reason(session: Session, name: str) -> str | None:
    """Return the message of the kill switch in a ring's header. Looking changes nothing in the ring."""
    try:
        with open(session.files.open_ring(name), "rb") as ring, memory_file() as spool:
            recorder = _tracedata.Recorder(spool, compress=False)
            try:
                reason: str | None = recorder.info(recorder.add_ring(ring.fileno()))["killed"]
            finally:
                recorder.close()
    except (OSError, ValueError):
        return None  # its recorder has removed it just now
    return reason
