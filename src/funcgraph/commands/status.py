"""`funcgraph status`: how this Python is hooked, the owners of its monitoring ids, and the sessions."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import Any

from funcgraph import _tracedata
from funcgraph.control.processes import running
from funcgraph.recorder.directory import Session, all_sessions, command_text
from funcgraph.recorder.process import ProcessWatch
from funcgraph.session.memory_file import memory_file
from funcgraph.steering.output import print_line
from funcgraph.steering.processes import command_line, has_ended
from funcgraph.version import installed_commit, installed_version

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
    parser.add_argument("--json", action="store_true", help="print JSON, for reports of faults")
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
    facts = _facts()
    if args.json:
        for line in json.dumps(facts, indent=1).splitlines():
            print_line(line)
        return 0
    for line in (*_interpreter_lines(facts), *_session_lines(facts), *_process_lines(facts)):
        print_line(line)
    return 0


def _facts() -> dict[str, Any]:
    """Return all that is shown, as --json prints it."""
    return {
        "funcgraph": installed_version(),
        "commit": installed_commit() or None,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        **_engine_facts(),
        "monitoring_ids": _monitoring_ids(),
        "sessions": [_session_facts(session) for session in all_sessions()],
        "processes": [
            {"pid": pid, "command": command_line(pid)[:_SHOWN]} for pid in running() if not has_ended(pid)
        ],
    }


def _engine_facts() -> dict[str, Any]:
    try:
        from funcgraph import _engine
    except ImportError as error:
        return {"engine": {"error": str(error)}, "capabilities": {}}
    status = _engine.status()
    return {
        "engine": {"arch": status["arch"], "killed": status["killed"]},
        "capabilities": dict(_engine.capabilities()),
    }


def _monitoring_ids() -> list[str | None] | None:
    """Return the owner of each id; None: this Python has none."""
    if not hasattr(sys, "monitoring"):
        return None
    return [sys.monitoring.get_tool(tool_id) for tool_id in range(6)]


def _session_facts(session: Session) -> dict[str, Any]:
    facts: dict[str, Any] = {"path": session.path, "recording": session.recorder_alive()}
    try:
        values = session.read_config()
        names = session.files.ring_names()
    except (OSError, ValueError) as error:
        return {**facts, "error": f"config cannot be read: {error}"}
    else:
        rings: dict[int, list[str]] = {}
        for name in names:
            pid = os.path.basename(name).partition(".")[0]
            if pid.isdecimal():
                rings.setdefault(int(pid), []).append(name)
        return {
            **facts,
            "command": command_text(values),
            "output": values.get("output", []),
            "recorder": values.get("pid", []),
            "processes": [
                {"pid": pid, "state": _state(session, pid, its)} for pid, its in sorted(rings.items())
            ],
        }
    finally:
        session.close()


def _interpreter_lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"funcgraph {facts['funcgraph']} on {facts['python']}"]
    engine = facts["engine"]
    if "error" in engine:
        return [*lines, f"engine: cannot be loaded: {engine['error']}"]
    from funcgraph import _engine

    meanings = _engine.capability_meanings()
    lines.append(f"engine: {engine['arch']}" + (f", killed: {engine['killed']}" if engine["killed"] else ""))
    lines.append("this Python can tell:")
    for name, there in facts["capabilities"].items():
        lines.append(f"  {name}: {'yes' if there else 'no'} ({meanings[name]})")
    ids = facts["monitoring_ids"]
    if ids is None:
        return [*lines, "sys.monitoring: not available in this Python"]
    lines.append("sys.monitoring ids:")
    for tool_id, owner in enumerate(ids):
        use = f" ({_CONVENTION[tool_id]} by convention)" if tool_id in _CONVENTION else ""
        lines.append(f"  {tool_id}{use}: {owner or 'free'}")
    return lines


def _session_lines(facts: dict[str, Any]) -> list[str]:
    lines = []
    for session in facts["sessions"]:
        state = (
            "recording"
            if session["recording"]
            else "the recorder was killed: 'funcgraph recover' makes a trace of it"
        )
        lines.append(f"{session['path']}: {state}")
        if "error" in session:
            lines.append(f"  {session['error']}")
            continue
        lines.append(f"  command: {session['command']}")
        lines.append(f"  output: {', '.join(session['output'])}")
        lines.append(f"  recorder: process {', '.join(session['recorder'])}")
        lines += [f"  process {process['pid']}: {process['state']}" for process in session["processes"]]
    return ["sessions:", *(f"  {line}" for line in lines)] if lines else ["sessions: none"]


def _process_lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"  {process['pid']}: {process['command']}" for process in facts["processes"]]
    return ["processes with a socket:", *lines] if lines else ["processes with a socket: none"]


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
