"""The kernel's files of an instance as text: what `cat` prints of each, and what `echo` may write to it.

The syntax is that of Documentation/trace/ftrace.rst. Which files there are, and what each does, is in
file_table.py. One thing differs from the kernel: a write that fails changes nothing, where the kernel has
emptied a list by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from errno import EBUSY, EISDIR, ENODEV, ENOENT, ENOMEM
from typing import TypeVar

from funcgraph.instance.control_files import file_table
from funcgraph.instance.control_files.control_file import File
from funcgraph.instance.control_files.option_files import OPTION_FOLDER
from funcgraph.instance.state import State
from funcgraph.settings import check

__all__ = ["Files"]

_T = TypeVar("_T")


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
        return self._served(name, lambda file: file.read())

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
        self._served(name, lambda file: file.write(text, append))

    def access(self, name: str) -> str:
        """Return how a file can be used: "r", "w" or "rw"."""
        return self._served(name, lambda file: file.row.access)

    def __getitem__(self, name: str) -> str:
        return self.read(name)

    def __setitem__(self, name: str, text: str) -> None:
        self.write(name, text)

    def __iter__(self) -> Iterator[str]:
        return file_table.names(self._state)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and file_table.find(self._state, name) is not None

    def __repr__(self) -> str:
        return f"<files of instance {self._state.name!r}>"

    def _served(self, name: str, serve: Callable[[File], _T]) -> _T:
        """Return serve(file), with the errors of the engine as errors of a file."""
        if self._state.engine.closed:
            raise OSError(ENODEV, f"the instance {self._state.name!r} is closed", name)
        if name == OPTION_FOLDER.rstrip("/"):
            raise OSError(EISDIR, f"{name!r} is a folder: must be {OPTION_FOLDER}NAME", name)
        file = file_table.find(self._state, name)
        if file is None:
            raise self._no_file(name)
        try:
            return serve(file)
        except OSError:  # those of events are a ValueError, too
            raise
        except RuntimeError as error:  # no hook is free
            raise OSError(EBUSY, str(error), name) from None
        except ValueError as error:  # another thread has closed the instance
            raise OSError(ENODEV, str(error), name) from None
        except MemoryError:
            raise OSError(ENOMEM, "not enough memory", name) from None

    def _no_file(self, name: str) -> OSError:
        own = file_table.own_names(self._state)
        named = [one for one in own if not one.startswith(OPTION_FOLDER)]
        allowed = f"{', '.join(named)}, {OPTION_FOLDER}NAME{check.meant(name, own)}"
        return OSError(ENOENT, f"no file {name!r}: must be one of {allowed}", name)
