"""The kernel's files of an instance as text: what `cat` prints of each, and what `echo` may write to it.

The syntax is that of Documentation/trace/ftrace.rst. Which files there are, and what each holds, is in
funcgraph.settings.table; the values behind the texts are in access.py. One thing differs from the
kernel: a write that fails changes nothing, where the kernel has emptied a list by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from errno import EBADF, EBUSY, EINVAL, EISDIR, ENODEV, ENOENT, ENOMEM, ERANGE
from types import ModuleType
from typing import Any

from funcgraph import _engine
from funcgraph.instance import profiling, snapshot_file
from funcgraph.instance.access import available_clocks, get, put
from funcgraph.instance.options import set_options
from funcgraph.instance.state import State
from funcgraph.settings import check
from funcgraph.settings.table import (
    BY_FILE,
    CHOICE,
    FLAG,
    NAMES,
    NUMBER,
    OPTIONS,
    PATTERNS,
    TEXT,
    THREADS,
    WORDS,
    Setting,
)

__all__ = ["Files"]

_FOLDER = "options/"
_ULONG_MAX = 2**64 - 1
_WITH_COMMANDS = "set_ftrace_filter"


class Files:
    """The files of an instance, as text in the kernel's syntax: what a mount of tracefs would show.

        i.files["set_ftrace_filter"] = "shop.* cart.Cart.add"        # echo ... > set_ftrace_filter
        i.files.write("set_ftrace_filter", "!cart.*", append=True)   # echo '!cart.*' >> set_ftrace_filter
        print(i.files["set_ftrace_filter"], end="")                  # cat set_ftrace_filter

    Iterating gives the names of the files: "current_tracer", "options/funcgraph-args" and so on.

    Raises:
        OSError: with the kernel's number. ENOENT: no file has that name. EINVAL: the file does not take the
            text; the message says what it takes. ERANGE: a number that needs more than 64 bits. EBADF: a
            text for trace_marker while tracing_on is 0. ENODEV: the instance is closed, or a function command
            to remove is not set. EBUSY, ENOSPC, ENOMEM and others: as the attribute of that name.
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

    def __getitem__(self, name: str) -> str:
        return self.read(name)

    def __setitem__(self, name: str, text: str) -> None:
        self.write(name, text)

    def __iter__(self) -> Iterator[str]:
        yield from BY_FILE
        for option in OPTIONS:
            yield _FOLDER + option
        yield from _event_files().names(self._state)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        if name in BY_FILE:
            return True
        return isinstance(name, str) and (
            _option_of(name) in OPTIONS or _event_files().exists(self._state, name)
        )

    def __repr__(self) -> str:
        return f"<files of instance {self._state.name!r}>"

    def _served(self, name: str, serve: Callable[[str], Any]) -> Any:
        """Return serve(name), with the errors of the engine as errors of a file."""
        if self._state.engine.closed:
            raise OSError(ENODEV, f"the instance {self._state.name!r} is closed", name)
        if name == _FOLDER.rstrip("/"):
            raise OSError(EISDIR, f"{name!r} is a folder: must be {_FOLDER}NAME", name)
        if name not in self:
            allowed = f"{', '.join(BY_FILE)}, {_FOLDER}NAME"
            names = (*BY_FILE, *(f"{_FOLDER}{option}" for option in OPTIONS))
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
        if name not in BY_FILE:
            text: str = _event_files().read(state, name)
            return text
        setting = BY_FILE[name]
        if setting.access == "w":
            raise OSError(EINVAL, f"invalid read of {name}: it is write-only")
        if setting.kind == TEXT:
            return _TEXTS[name](state)
        text = _FORMATS[setting.kind](setting, get(state, name))
        return text + state.commands.text() if name == _WITH_COMMANDS and state.commands else text

    def _write(self, name: str, text: str, append: bool) -> None:
        state, option = self._state, _option_of(name)
        if option:
            number = _unsigned(name, text, "0 or 1")
            if number > 1:
                raise _invalid(name, text, "must be 0 or 1")
            set_options(state, {option: bool(number)})
            return
        if name not in BY_FILE:
            _event_files().write(state, name, text, append)
            return
        setting = BY_FILE[name]
        if setting.access == "r":
            raise OSError(EINVAL, f"invalid write to {name}: it is read-only")
        if setting.kind == TEXT:
            self._write_text(name, text, append)
        elif name == _WITH_COMMANDS and any(_is_command(word) for word in text.split()):
            self._write_commands(text, append)
        else:
            with state.lock:  # between reading a list and extending it
                put(state, name, _PARSERS[setting.kind](setting, text, get(state, name) if append else ()))

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
            number = _unsigned(name, text, "a number: 0, 1, or any other")
            with state.lock:
                snapshot_file.write(state, number)
        elif state.engine.tracing_on:
            state.engine.mark(text.removesuffix("\n"))
        else:
            raise OSError(EBADF, f"invalid write to {name}: tracing_on is 0")


def _event_files() -> ModuleType:
    """Return the module for the files of events, which is loaded when one is used."""
    from funcgraph.instance import event_files

    return event_files


def _commands() -> ModuleType:
    """Return the module for function commands, which is loaded when one is used."""
    from funcgraph.instance import commands

    return commands


def _is_command(word: str) -> bool:
    """Return whether a word of set_ftrace_filter is a function command: `a.b:mod:c` is a pattern."""
    _, colon, rest = word.partition(":")
    return bool(colon) and rest.partition(":")[0] != "mod"


def _option_of(name: str) -> str:
    """Return the option that a file of the folder is for, "" for another file."""
    return name[len(_FOLDER) :] if name.startswith(_FOLDER) else ""


def _invalid(name: str, text: str, reason: object) -> OSError:
    return OSError(EINVAL, f"invalid {name} {text.strip()!r}: {reason}")


# ---- from values to text

# File -> its text, where that is no value of a setting.
_TEXTS: dict[str, Callable[[State], str]] = {
    "trace": State.trace,
    "snapshot": snapshot_file.read,
    "trace_stat/function": lambda state: profiling.trace_stat(state, get(state, "tracing_thresh"), None),
}


def _format_list(setting: Setting, items: Sequence[object]) -> str:
    if not items and setting.empty:
        return f"{setting.empty}\n"
    return "".join(f"{item}\n" for item in items)


def _format_choice(setting: Setting, value: str) -> str:
    if setting.name != "clock":
        return f"{value}\n"
    return " ".join(f"[{clock}]" if clock == value else clock for clock in available_clocks()) + "\n"


# Kind -> the text of a value.
_FORMATS: dict[str, Callable[[Setting, Any], str]] = {
    FLAG: lambda setting, value: f"{value:d}\n",
    NUMBER: lambda setting, value: f"{value}\n",
    CHOICE: _format_choice,
    PATTERNS: _format_list,
    THREADS: lambda setting, tids: _format_list(setting, sorted(set(tids))),
    WORDS: _format_list,
    NAMES: lambda setting, names: " ".join(names) + "\n",
}


# ---- from text to values


def _unsigned(name: str, text: str, right: str) -> int:
    """Return the number in a text, as the kernel's kstrtoul(text, 10) reads it.

    Raises:
        OSError: EINVAL: no number in base 10, or one below 0. ERANGE: more than 64 bits.
    """
    digits = text.removesuffix("\n").removeprefix("+")
    if not (digits.isascii() and digits.isdecimal()):
        raise _invalid(name, text, f"must be {right}, in base 10")
    digits = digits.lstrip("0") or "0"
    if len(digits) > len(str(_ULONG_MAX)) or int(digits) > _ULONG_MAX:
        raise OSError(ERANGE, f"invalid {name} {text.strip()!r}: must be {right}")
    return int(digits)


def _parse_flag(setting: Setting, text: str, kept: object) -> bool:
    """Any number but 0 is on, as in the kernel."""
    return _unsigned(setting.file, text, "0 or 1") != 0


def _parse_number(setting: Setting, text: str, kept: object) -> int:
    number = _unsigned(setting.file, text, check.range_text(setting))
    return max(number, setting.least) if number else number


def _parse_choice(setting: Setting, text: str, kept: object) -> str:
    return text.strip()


def _parse_words(setting: Setting, text: str, kept: object) -> list[str]:
    """One option at a time, as in the kernel."""
    return [text.strip()]


def _parse_threads(setting: Setting, text: str, kept: Sequence[int]) -> list[int]:
    right = f"thread ids, each {check.range_text(setting)}"
    return list(dict.fromkeys([*kept, *(_unsigned(setting.file, word, right) for word in text.split())]))


def _parse_patterns(setting: Setting, text: str, kept: Sequence[str]) -> list[str]:
    patterns = list(kept)
    for word in text.split():
        if word.startswith("!"):
            _remove(setting, patterns, word)
        elif word.startswith("#"):
            raise _invalid(setting.file, word, "a pattern must not begin with '#'")
        else:
            pattern = _function_at(setting, word) if word.isdecimal() else word
            if pattern not in patterns:
                patterns.append(pattern)
    return patterns


def _remove(setting: Setting, patterns: list[str], word: str) -> None:
    """Remove from the patterns those that `word`, after its "!", is or matches."""
    wanted = word[1:]
    colon = ":" in wanted
    if wanted.isdecimal():
        wanted = _function_at(setting, wanted)
    kept = [
        one for one in patterns if one != wanted and (colon or not _engine.untraced(_matches, one, wanted))
    ]
    if len(kept) == len(patterns) and wanted != "*":
        listed = ", ".join(patterns) or "none"
        raise _invalid(setting.file, word, f"must be or match a pattern in the list, which has {listed}")
    patterns[:] = kept


def _matches(text: str, glob: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(text, glob)


def _function_at(setting: Setting, word: str) -> str:
    """Return the function in line `word`, counted from 1, of available_filter_functions."""
    names: list[str] = _engine.untraced(_functions)
    number = _unsigned(setting.file, word, "a number of a line")
    if not 1 <= number <= len(names):
        raise _invalid(
            setting.file, word, f"must be a line of available_filter_functions, from 1 to {len(names)}"
        )
    return names[number - 1]


def _functions() -> list[str]:
    from funcgraph.fgraph import available_filter_functions

    return available_filter_functions()


# Kind -> the value in a text; the last argument is what the file holds already, if the text is appended.
_PARSERS: dict[str, Callable[[Setting, str, Any], Any]] = {
    FLAG: _parse_flag,
    NUMBER: _parse_number,
    CHOICE: _parse_choice,
    PATTERNS: _parse_patterns,
    THREADS: _parse_threads,
    WORDS: _parse_words,
}
