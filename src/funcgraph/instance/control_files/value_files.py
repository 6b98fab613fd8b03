"""The rows of the kernel's files that hold a value of an instance: one for each of settings.table.BY_FILE.

The values behind the texts are in access.py, the syntax of each kind of value is in texts.py.
"""

from __future__ import annotations

from errno import ENOSPC, EOPNOTSUPP, ERANGE

from funcgraph.instance.command_words import split_command
from funcgraph.instance.control_files.access import get, put
from funcgraph.instance.control_files.control_file import ControlFile, NamedFiles, WriteKind
from funcgraph.instance.control_files.texts import FORMATS, PARSERS
from funcgraph.instance.state import State
from funcgraph.settings.table import BY_FILE, FLAG, NUMBER, PATTERNS, THREADS, Setting

__all__ = ["VALUE_FILES"]

_WITH_COMMANDS = "set_ftrace_filter"
_WRITES: dict[str, WriteKind] = {PATTERNS: "words", THREADS: "list"}
_KIND_ERRORS: dict[str, tuple[int, ...]] = {FLAG: (ERANGE,), NUMBER: (ERANGE,), THREADS: (ERANGE,)}
_ERRORS: dict[str, tuple[int, ...]] = {
    "current_tracer": (ENOSPC, EOPNOTSUPP),
    "function_profile_enabled": (ENOSPC, ERANGE),
    "trace_options": (EOPNOTSUPP,),
    _WITH_COMMANDS: (ENOSPC,),
}

_LISTED = "lists the functions that [its patterns](#patterns-of-functions) select now"
_TIDS = "thread ids; 0 is none. The option `{}-fork` [follows threads](#threads-that-listed-threads-start)"
_NOTES = {
    "available_tracers": "the tracers of an Instance",
    "current_tracer": "the tracers of an Instance",
    "trace_options": "the options of an Instance: those that every tracer has, and those of the current one",
    _WITH_COMMANDS: _LISTED,
    "set_ftrace_notrace": _LISTED,
    "set_graph_function": f"{_LISTED}. Instances have it, too",
    "set_graph_notrace": f"{_LISTED}. Instances have it, too",
    "set_ftrace_pid": _TIDS.format("function"),
    "set_ftrace_notrace_pid": _TIDS.format("function"),
    "set_event_pid": _TIDS.format("event"),
    "set_event_notrace_pid": _TIDS.format("event"),
    "max_graph_depth": "instances have it, too",
    "tracing_thresh": "instances have it, too",
    "value_depth": "levels of parts of values that are recorded; 0: none",
    "value_string_size": "bytes that are kept of a text; 0: 48, or 256 with parts",
    "value_redact": "words of names whose values are never recorded, as `password|token`",
    "tracing_max_latency": "instances have it, too",
    "buffer_size_kb": "one buffer, which all threads share",
    "buffer_total_size_kb": "one buffer, which all threads share",
    "trace_clock": "the clock applies when the buffer is read",
    "function_profile_enabled": "one table for all threads",
}


def _row(setting: Setting) -> ControlFile[State]:
    """Return the row of a setting's file."""

    def read(state: State) -> str:
        return FORMATS[setting.kind](setting, get(state, setting.file))

    def write(state: State, text: str, append: bool) -> None:
        with state.lock:  # between reading a list and extending it
            former = get(state, setting.file) if append else ()
            put(state, setting.file, PARSERS[setting.kind](setting, text, former))

    return ControlFile(
        setting.file,
        read,
        write if "w" in setting.access else None,
        writes=_WRITES.get(setting.kind, "command"),
        errors=_errors(setting) if "w" in setting.access else (),
        notes=_NOTES.get(setting.file, ""),
    )


def _errors(setting: Setting) -> tuple[int, ...]:
    return _ERRORS.get(setting.file, _KIND_ERRORS.get(setting.kind, ()))


def _with_commands(patterns: ControlFile[State]) -> ControlFile[State]:
    """Return the row of set_ftrace_filter: that of its patterns, with function commands."""
    read_patterns, write_patterns = patterns.read, patterns.write
    assert read_patterns is not None
    assert write_patterns is not None

    def read(state: State) -> str:
        return read_patterns(state) + (state.commands.text() if state.commands else "")

    def write(state: State, text: str, append: bool) -> None:
        """Write patterns and commands. `>` empties the list of patterns alone."""
        words = text.split()
        commands = [word for word in words if _is_command(word)]
        if not commands:
            write_patterns(state, text, append)
            return
        from funcgraph.instance.commands import commands_of  # loaded when a command is used

        with state.lock:
            own = commands_of(state)
            for word in commands:
                own.check(word)
            write_patterns(state, " ".join(word for word in words if not _is_command(word)), append)
            for word in commands:
                change = own.remove if word.startswith("!") else own.add
                change(word.removeprefix("!"))

    return patterns._replace(read=read, write=write)


def _is_command(word: str) -> bool:
    """Return whether a word of set_ftrace_filter is a function command: `a.b:mod:c` is a pattern."""
    return split_command(word.removeprefix("!")) is not None


VALUE_FILES = NamedFiles(
    *(_with_commands(_row(one)) if one.file == _WITH_COMMANDS else _row(one) for one in BY_FILE.values())
)
