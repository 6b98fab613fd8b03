"""The kernel's files that hold no value of an instance: what there is to trace, threads, facts of the buffer.

Documentation/trace/ftrace.rst has each, but for README.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from errno import EINVAL, EOVERFLOW
from typing import NamedTuple

from funcgraph import _engine
from funcgraph.events.addresses import SYMBOLS
from funcgraph.instance import lanes
from funcgraph.instance.living import STATES
from funcgraph.instance.numbers import unsigned
from funcgraph.instance.pieces import Pieces, Shown
from funcgraph.instance.state import State
from funcgraph.settings.table import BY_NAME

__all__ = ["access", "exists", "is_of_process", "names", "pipe", "read", "write"]


class _File(NamedTuple):
    """A file.

    Attributes:
        read: returns its text; None: it is write-only.
        write: does what a text asks for; None: it is read-only.
        is_of_process: it is the same in each instance: the kernel's root has it alone.
    """

    read: Callable[[State], str] | None
    write: Callable[[State, str], None] | None = None
    is_of_process: bool = False


def _readme(state: State) -> str:
    from funcgraph.instance.readme import readme

    text: str = _engine.untraced(readme)
    return text


# ---- functions


def _functions(state: State) -> str:
    names: list[str] = _engine.untraced(_names, ["*"])
    return "".join(f"{name}\n" for name in names)


def _addresses(state: State) -> str:
    names: list[str] = _engine.untraced(_names, ["*"])
    return "".join(f"{SYMBOLS.address(name):#x} {name}\n" for name in names)


def _kallsyms(state: State) -> str:
    """Return the addresses as /proc/kallsyms has those of the kernel's functions."""
    names: list[str] = _engine.untraced(_names, ["*"])
    symbols = [name.replace(" ", "_") for name in names]
    return "".join(f"{SYMBOLS.address(symbol):016x} t {symbol}\n" for symbol in symbols)


def _names(patterns: list[str]) -> list[str]:
    from funcgraph.fgraph import available_filter_functions

    return [name for pattern in patterns for name in available_filter_functions(pattern)]


def _enabled_functions(state: State) -> str:
    text: str = _engine.untraced(_enabled_text)
    return text


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
    from funcgraph.events import live
    from funcgraph.events.definition import Definition

    events = live.events()
    for definition in live.dynamic_events:
        event = events.get((definition.group, definition.event))
        if isinstance(definition, Definition) and definition.kind == "f" and event and event.engine.used:
            yield from _engine.function_names([definition.symbol])


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


def _write_cpumask(state: State, text: str) -> None:
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


def _free_buffer(state: State, text: str) -> None:
    """Empty the buffer and make it as small as it can be."""
    with state.lock:
        state.clear()
        state.engine.set_buffer_kb(BY_NAME["buffer_kb"].least)


_FILES: dict[str, _File] = {
    "README": _File(_readme, is_of_process=True),
    "available_filter_functions": _File(_functions, is_of_process=True),
    "available_filter_functions_addrs": _File(_addresses, is_of_process=True),
    "kallsyms": _File(_kallsyms, is_of_process=True),
    "enabled_functions": _File(_enabled_functions, is_of_process=True),
    "printk_formats": _File(lambda state: "", is_of_process=True),  # trace_printk() formats at once
    "saved_cmdlines": _File(_cmdlines, is_of_process=True),
    "saved_cmdlines_size": _File(
        lambda state: f"{_threads.most}\n", lambda state, text: _threads.set_most(text), is_of_process=True
    ),
    "saved_tgids": _File(_tgids, is_of_process=True),
    "tracing_cpumask": _File(_cpumask, _write_cpumask),
    "timestamp_mode": _File(lambda state: "delta [absolute]\n"),
    "buffer_subbuf_size_kb": _File(lambda state: "4\n"),  # of trace_pipe_raw
    "free_buffer": _File(None, _free_buffer),
}


def names(state: State, folder: str | None) -> Iterator[str]:
    """Yield the names of the files, whichever the folder."""
    yield from _FILES


def exists(state: State, name: str) -> bool:
    """Return whether there is a file of this name."""
    return name in _FILES


def access(name: str) -> str:
    """Return how a file can be used: "r", "w" or "rw"."""
    file = _FILES[name]
    return ("r" if file.read else "") + ("w" if file.write else "")


def is_of_process(name: str) -> bool:
    """Return whether a file is the same in each instance."""
    return _FILES[name].is_of_process


def pipe(state: State, name: str) -> None:
    """None of these files is a pipe."""


def read(state: State, name: str) -> str:
    """Return what a file holds."""
    file = _FILES[name]
    assert file.read is not None
    return file.read(state)


def write(state: State, name: str, text: str, append: bool) -> None:
    """Write to a file.

    Raises:
        OSError: with the kernel's number.
    """
    file = _FILES[name]
    assert file.write is not None
    file.write(state, text)
