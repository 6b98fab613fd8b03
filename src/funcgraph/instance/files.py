"""The kernel's files of an instance as text: what `cat` prints of each, and what `echo` may write to it.

The syntax is that of Documentation/trace/ftrace.rst. Which files hold a value of an instance, and what each
holds, is in funcgraph.settings.table; the values behind the texts are in access.py. The other files are in
process_files.py, lane_files.py and event_files.py. One thing differs from the kernel: a write that fails
changes nothing, where the kernel has emptied a list by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from errno import EBADF, EBUSY, EINVAL, EISDIR, ENODEV, ENOENT, ENOMEM
from types import ModuleType
from typing import Any

from funcgraph.instance import profiling, snapshot_file
from funcgraph.instance.access import get, put
from funcgraph.instance.numbers import unsigned
from funcgraph.instance.options import set_options
from funcgraph.instance.pipe import Pipe
from funcgraph.instance.state import State
from funcgraph.instance.texts import FORMATS, PARSERS, invalid
from funcgraph.settings import check
from funcgraph.settings.table import BY_FILE, OPTIONS, TEXT

__all__ = ["OPTION_FOLDER", "PIPE", "Files", "module_of", "modules"]

OPTION_FOLDER = "options/"
_WITH_COMMANDS = "set_ftrace_filter"
PIPE = "trace_pipe"


class Files:
    """The files of an instance, as text in the kernel's syntax: what a mount of tracefs would show.

        i.files["set_ftrace_filter"] = "shop.* cart.Cart.add"        # echo ... > set_ftrace_filter
        i.files.write("set_ftrace_filter", "!cart.*", append=True)   # echo '!cart.*' >> set_ftrace_filter
        print(i.files["set_ftrace_filter"], end="")                  # cat set_ftrace_filter

    Iterating gives the names of the files: "current_tracer", "options/funcgraph-args" and so on.

    Raises:
        OSError: with the kernel's number. ENOENT: no file has that name. EINVAL: the file does not take the
            text; the message says what it takes. ERANGE: a number that needs more than 64 bits. EBADF: a
            text for trace_marker or trace_marker_raw while tracing_on is 0. ENODEV: the instance is closed,
            or a function command to remove is not set. EBUSY, ENOSPC, ENOMEM and others: as the attribute of
            that name.
        TypeError: a text that is no str.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def read(self, name: str) -> str:
        """Return what the file holds, each line with its end: `cat NAME`.

        An empty list reads as the kernel's line for it: "#### all functions enabled ####", "no pid".
        A filter holds the patterns as they were written, where the kernel lists the functions that match.

        Args:
            name: the file's name; that of an option is "options/NAME".
        """
        text: str = self._served(name, self._read)
        return text

    def write(self, name: str, text: str, append: bool = False) -> None:
        """Write a text to the file: `echo TEXT > NAME`. If it fails, nothing has changed.

        - Filters take patterns with white space between them: "a.* b.f" sets both, "" empties the list.
          ":mod:x" and "a.*:mod:x" select by module, a number selects that line of
          available_filter_functions. "!a.*" removes the patterns in the list that are or match a.*.
        - set_ftrace_pid, set_event_pid and set_event_notrace_pid take thread ids with white space between
          them, trace_options one option, with "no" before it to turn it off.
        - set_event takes events with white space between them, GROUP:EVENT; "!" before one turns it off.
        - set_ftrace_filter takes function commands, too: "a.f:traceoff:3", "!a.f:traceoff:0"
          (Instance.function_commands).
        - trace_marker puts the text into the trace; any text written to trace empties the buffer.
        - trace_marker_raw takes an id of 4 bytes, and data. Its text has a character for each byte, up to
          U+00FF: bytes.decode("latin-1").
        - snapshot takes a snapshot at "1", frees it at "0", and empties it at any other number.
        - Numbers are in base 10. A buffer size under the least is rounded up, as in the kernel.

        Args:
            name: the file's name; that of an option is "options/NAME".
            text: the text, with or without a newline at its end.
            append: keep what the list holds: `echo TEXT >> NAME`.
        """
        if not isinstance(text, str):
            raise TypeError(f"a file's text must be a str, not {type(text).__name__}")
        self._served(name, lambda name: self._write(name, text, append))

    def access(self, name: str) -> str:
        """Return how a file can be used: "r", "w" or "rw"."""
        access: str = self._served(name, self._access)
        return access

    def _access(self, name: str) -> str:
        if _option_of(name):
            return "rw"
        module = module_of(self._state, name)
        return str(module.access(name)) if module else BY_FILE[name].access

    def __getitem__(self, name: str) -> str:
        return self.read(name)

    def __setitem__(self, name: str, text: str) -> None:
        self.write(name, text)

    def __iter__(self) -> Iterator[str]:
        yield from BY_FILE
        for option in OPTIONS:
            yield OPTION_FOLDER + option
        for module in modules():
            yield from module.names(self._state, None)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        if name in BY_FILE:
            return True
        return isinstance(name, str) and (
            _option_of(name) in OPTIONS or module_of(self._state, name) is not None
        )

    def __repr__(self) -> str:
        return f"<files of instance {self._state.name!r}>"

    def _served(self, name: str, serve: Callable[[str], Any]) -> Any:
        """Return serve(name), with the errors of the engine as errors of a file."""
        if self._state.engine.closed:
            raise OSError(ENODEV, f"the instance {self._state.name!r} is closed", name)
        if name == OPTION_FOLDER.rstrip("/"):
            raise OSError(EISDIR, f"{name!r} is a folder: must be {OPTION_FOLDER}NAME", name)
        if name not in self:
            allowed = f"{', '.join(BY_FILE)}, {OPTION_FOLDER}NAME"
            names = (*BY_FILE, *(f"{OPTION_FOLDER}{option}" for option in OPTIONS))
            text = f"no file {name!r}: must be one of {allowed}{check.meant(name, names)}"
            raise OSError(ENOENT, text, name)
        try:
            return serve(name)
        except OSError:  # those of events are a ValueError, too
            raise
        except RuntimeError as error:  # no hook is free
            raise OSError(EBUSY, str(error), name) from None
        except ValueError as error:  # another thread has closed the instance
            raise OSError(ENODEV, str(error), name) from None
        except MemoryError:
            raise OSError(ENOMEM, "not enough memory", name) from None

    def _read(self, name: str) -> str:
        state, option = self._state, _option_of(name)
        if option:
            return f"{state.options[option]:d}\n"
        if "r" not in self._access(name):
            raise OSError(EINVAL, f"invalid read of {name}: it is write-only")
        if module := module_of(state, name):
            text: str = module.read(state, name)
            return text
        setting = BY_FILE[name]
        if setting.kind == TEXT:
            return _TEXTS[name](state)
        text = FORMATS[setting.kind](setting, get(state, name))
        return text + state.commands.text() if name == _WITH_COMMANDS and state.commands else text

    def _write(self, name: str, text: str, append: bool) -> None:
        state, option = self._state, _option_of(name)
        if option:
            number = unsigned(name, text, "0 or 1")
            if number > 1:
                raise invalid(name, text, "must be 0 or 1")
            set_options(state, {option: bool(number)})
            return
        if "w" not in self._access(name):
            raise OSError(EINVAL, f"invalid write to {name}: it is read-only")
        if module := module_of(state, name):
            module.write(state, name, text, append)
            return
        setting = BY_FILE[name]
        if setting.kind == TEXT:
            self._write_text(name, text, append)
        elif name == _WITH_COMMANDS and any(_is_command(word) for word in text.split()):
            self._write_commands(text, append)
        else:
            with state.lock:  # between reading a list and extending it
                put(state, name, PARSERS[setting.kind](setting, text, get(state, name) if append else ()))

    def _write_commands(self, text: str, append: bool) -> None:
        """Write patterns and commands to set_ftrace_filter. `>` empties the list of patterns alone."""
        state = self._state
        words = text.split()
        with state.lock:
            commands = _commands().commands_of(state)
            for word in words:
                if _is_command(word):
                    commands.check(word)
            self._write(_WITH_COMMANDS, " ".join(word for word in words if not _is_command(word)), append)
            for word in words:
                if _is_command(word):
                    change = commands.remove if word.startswith("!") else commands.add
                    change(word.removeprefix("!"))

    def _write_text(self, name: str, text: str, append: bool) -> None:
        state = self._state
        if name == "trace":
            if not append:
                state.clear()
        elif name == "snapshot":
            number = unsigned(name, text, "a number: 0, 1, or any other")
            with state.lock:
                snapshot_file.write(state, number)
        elif not state.engine.tracing_on:
            raise OSError(EBADF, f"invalid write to {name}: tracing_on is 0")
        elif name == "trace_marker_raw":
            state.engine.mark_raw(_raw(name, text))
        else:
            state.engine.mark(text.removesuffix("\n"))


def modules() -> Iterator[ModuleType]:
    """Yield the modules for files that hold no value of the table. They are loaded when one is used."""
    from funcgraph.instance import process_files

    yield process_files
    from funcgraph.instance import lane_files

    yield lane_files
    from funcgraph.instance import event_files

    yield event_files


def module_of(state: State, name: str) -> ModuleType | None:
    """Return the module of a file; None: the table has it, or there is none of that name."""
    if name in BY_FILE or name.startswith(OPTION_FOLDER):
        return None
    return next((module for module in modules() if module.exists(state, name)), None)


def _commands() -> ModuleType:
    """Return the module for function commands, which is loaded when one is used."""
    from funcgraph.instance import commands

    return commands


def _is_command(word: str) -> bool:
    """Return whether a word of set_ftrace_filter is a function command: `a.b:mod:c` is a pattern."""
    _, colon, rest = word.partition(":")
    return bool(colon) and rest.partition(":")[0] != "mod"


def _raw(name: str, text: str) -> bytes:
    """Return the bytes that a text for trace_marker_raw stands for."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise invalid(name, text, "must have a character up to U+00FF for each byte") from None


def _option_of(name: str) -> str:
    """Return the option that a file of the folder is for, "" for another file."""
    return name[len(OPTION_FOLDER) :] if name.startswith(OPTION_FOLDER) else ""


# ---- texts that are no value of a setting

# File -> its text, where that is no value of a setting.
_TEXTS: dict[str, Callable[[State], str]] = {
    "trace": State.trace,
    PIPE: lambda state: Pipe(state).read().decode("utf-8", "replace"),
    "snapshot": snapshot_file.read,
    "trace_stat/function": lambda state: profiling.trace_stat(state, get(state, "tracing_thresh"), None),
}
