"""`funcgraph status`: how this Python is hooked, the owners of its monitoring ids, and the sessions."""

from __future__ import annotations

import argparse
import platform
import sys

import funcgraph
from funcgraph.session.directory import Session, all_sessions, command_text
from funcgraph.session.process import ProcessWatch

NAME = "status"
HELP = "show sessions, and the owners of this Python's monitoring ids"
DESCRIPTION = """\
Show how this Python is hooked, and the owner of each of its sys.monitoring ids: a tool that is loaded at
start, such as coverage or an agent. Then show this user's recording sessions on this machine, with their
processes."""

# The conventional use of ids, from CPython's documentation of sys.monitoring.
_CONVENTION = {0: "debugger", 1: "coverage", 2: "profiler", 5: "optimizer"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command has no flags."""


def run(args: argparse.Namespace) -> int:
    """Print the status."""
    for line in (*_interpreter_lines(), *_session_lines()):
        print(line)
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
    return ["sessions:", *(f"  {line}" for line in lines)] if lines else ["sessions: none"]


def _describe(session: Session) -> list[str]:
    try:
        values = session.read_config()
        names = session.ring_names()
    except (OSError, ValueError) as error:
        return [f"config cannot be read: {error}"]
    lines = [
        f"command: {command_text(values)}",
        f"output: {', '.join(values.get('output', []))}",
        f"recorder: process {', '.join(values.get('pid', []))}",
    ]
    pids = sorted({int(pid) for pid in (name.partition(".")[0] for name in names) if pid.isdecimal()})
    return lines + [f"process {pid}: {'gone' if ProcessWatch(pid).gone() else 'traced'}" for pid in pids]
