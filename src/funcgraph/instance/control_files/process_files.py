"""The rows of the files that hold no value of an instance: what can be traced, threads, facts of the buffer.

Documentation/trace/ftrace.rst has each, but for README.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from errno import EINVAL, EOVERFLOW, ERANGE

from funcgraph import _engine
from funcgraph.buffer.pieces import Pieces, Shown
from funcgraph.definitions.addresses import SYMBOLS
from funcgraph.instance import lanes
from funcgraph.instance.control_files.control_file import ControlFile, NamedFiles
from funcgraph.instance.control_files.numbers import unsigned
from funcgraph.instance.living import STATES
from funcgraph.instance.state import State
from funcgraph.settings.table import BY_NAME

__all__ = ["PROCESS_FILES"]


def _readme(state: State) -> str:
    from funcgraph.instance.control_files.readme import readme

    return _engine.untraced(readme)


# ---- functions


def _functions(state: State) -> str:
    names = _engine.untraced(_names, ["*"])
    return "".join(f"{name}\n" for name in names)


def _addresses(state: State) -> str:
    names = _engine.untraced(_names, ["*"])
    return "".join(f"{SYMBOLS.address(name):#x} {name}\n" for name in names)


def _kallsyms(state: State) -> str:
    """Return the addresses as /proc/kallsyms has those of the kernel's functions."""
    names = _engine.untraced(_names, ["*"])
    symbols = [name.replace(" ", "_") for name in names]
    return "".join(f"{SYMBOLS.address(symbol):016x} t {symbol}\n" for symbol in symbols)


def _names(patterns: list[str]) -> list[str]:
    from funcgraph.fgraph import available_filter_functions

    return [name for pattern in patterns for name in available_filter_functions(pattern)]


def _enabled_functions(state: State) -> str:
    return _engine.untraced(_enabled_text)


def _enabled_text() -> str:
    users: Counter[str] = Counter()
    for user in _engine.users():
        if user.kind != "fprobes":
            found = set(_engine.function_names(list(user.filter) or ["*"]))
            users.update(found - set(_engine.function_names(list(user.notrace))) if user.notrace else found)
    users.update(_probed())
    return "".join(f"{name} ({users[name]})\n" for name in sorted(users))


def _probed() -> Iterator[str]:
    """Yield the functions of the function events that are in use, once for each event."""
    from funcgraph.definitions.definition import Definition
    from funcgraph.events import live

    events = live.events()
    for definition in live.dynamic_events:
        event = events.get((definition.group, definition.event))
        if isinstance(definition, Definition) and definition.kind == "f" and event and event.engine.used:
            yield from _engine.function_names([definition.pattern])


# ---- threads


class _Threads:
    """The names of the threads that have records in a buffer of this process, or had when they were read.

    Attributes:
        most: how many saved_cmdlines lists.
    """

    MOST = Pieces.MOST_THREADS

    def __init__(self) -> None:
        self.most = 4096

    def names(self) -> dict[int, str]:
        """Return thread id -> name, of the threads with the latest records."""
        states = list(STATES.values())
        tasks = [task for state in states for task in lanes.tasks(state)]
        tasks.sort(key=lambda task: task.last_ns)
        read = [one for state in states for one in list(state.pieces.threads.items())]
        names: dict[int, str] = {}
        for tid, name in reversed([*read, *((task.tid, task.name) for task in tasks)]):
            if len(names) < self.most:
                names.setdefault(tid, name)
        return names

    def set_most(self, text: str) -> None:
        """Set `most`, as the kernel's saved_cmdlines_size takes it."""
        right = f"a number from 1 to {self.MOST}"
        number = unsigned("saved_cmdlines_size", text, right)
        if not 1 <= number <= self.MOST:
            raise OSError(EINVAL, f"invalid saved_cmdlines_size {number}: must be {right}")
        self.most = number


_threads = _Threads()


def _cmdlines(state: State) -> str:
    return "".join(f"{tid} {name}\n" for tid, name in sorted(_threads.names().items()))


def _tgids(state: State) -> str:
    return "".join(f"{tid} {os.getpid()}\n" for tid in sorted(_threads.names()))


# ---- lanes


def _cpumask(state: State) -> str:
    """Return a bit for each lane that is shown, in groups of 32 bits."""
    bits = lanes.count(state)
    digits = f"{state.shown.of(bits):0{-(-bits // 4)}x}"
    first = len(digits) % 8
    groups = [digits[:first], *(digits[at : at + 8] for at in range(first, len(digits), 8))]
    return ",".join(group for group in groups if group) + "\n"


def _write_cpumask(state: State, text: str, append: bool) -> None:
    """Show only the lanes of a mask, from the next reading on."""
    groups = (text.strip() or "0").split(",")  # nothing is no lane, as in the kernel
    if not all(
        group and len(group) <= 8 and not set(group.lower()) - set("0123456789abcdef") for group in groups
    ):
        raise OSError(
            EINVAL, f"invalid tracing_cpumask {text.strip()!r}: must be groups of 8 hexadecimal digits"
        )
    mask = int("".join(group.rjust(8, "0") for group in groups), 16)
    bits = lanes.count(state)
    if mask >> bits:
        raise OSError(EOVERFLOW, f"invalid tracing_cpumask {text.strip()!r}: there are {bits} lanes")
    with state.lock:
        state.shown = Shown() if mask == (1 << bits) - 1 else Shown(mask)


def _free_buffer(state: State, text: str, append: bool) -> None:
    """Empty the buffer and make it as small as it can be."""
    with state.lock:
        state.clear()
        state.engine.set_buffer_kb(BY_NAME["buffer_kb"].least)


def _row(
    name: str,
    read: Callable[[State], str],
    write: Callable[[State, str, bool], None] | None = None,
    errors: tuple[int, ...] = (),
    notes: str = "",
) -> ControlFile[State]:
    """Return the row of a file that is the same in each instance."""
    return ControlFile(name, read, write, is_of_process=True, errors=errors, notes=notes)


_THREADS_SHOWN = "the threads that have records in a buffer, or had when they were read"

PROCESS_FILES = NamedFiles(
    _row(
        "README",
        _readme,
        notes="a text of our own. What scripts look for in the kernel's, such as the syntax of definitions, "
        "is there in the same words, if the feature is",
    ),
    _row("available_filter_functions", _functions),
    _row("available_filter_functions_addrs", _addresses),
    _row("kallsyms", _kallsyms, notes="the kernel's `/proc/kallsyms` for these functions"),
    _row(
        "enabled_functions",
        _enabled_functions,
        notes="functions and how many trace them. It leaves out fprobes that the program registered itself",
    ),
    _row("printk_formats", lambda state: "", notes="empty: `trace_printk()` formats its text at once"),
    _row("saved_cmdlines", _cmdlines, notes=_THREADS_SHOWN),
    _row(
        "saved_cmdlines_size",
        lambda state: f"{_threads.most}\n",
        lambda state, text, append: _threads.set_most(text),
        errors=(ERANGE,),
    ),
    _row("saved_tgids", _tgids, notes=_THREADS_SHOWN),
    ControlFile(
        "tracing_cpumask",
        _cpumask,
        _write_cpumask,
        errors=(EOVERFLOW,),
        notes="a bit for each lane. It applies when the buffer is read, as lanes do: texts leave out the "
        "other lanes",
    ),
    ControlFile("timestamp_mode", lambda state: "delta [absolute]\n", notes="records with absolute times"),
    ControlFile(
        "buffer_subbuf_size_kb", lambda state: "4\n", notes="read-only: the pages of `trace_pipe_raw`"
    ),
    ControlFile("free_buffer", write=_free_buffer, writes="close", notes="leaves 32 KiB"),
)
