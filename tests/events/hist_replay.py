"""The kernel's sessions with histogram triggers, replayed: what was written, and what came of it.

A session is a text of tests/events/data/. `replay()` parses what it wrote, in order and with the triggers
that were there at that moment, and gives for each write what the kernel said and what we say.
"""

from __future__ import annotations

import errno
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from funcgraph.events import hist
from funcgraph.events.hist_error import HistError
from funcgraph.events.hist_spec import Expression, HistSpec, VariableRef, leaves

DATA = Path(__file__).parent / "data"
#: The files of each session, in order: what the first one leaves is there in the next one.
SESSIONS = {
    name: [part for part in (name, f"{name}_part2") if (DATA / f"{part}.txt").exists()]
    for name in sorted(path.stem for path in DATA.glob("hist*.txt"))
    if not name.endswith("_part2")
}


class Field(NamedTuple):
    name: str
    type: str
    count: int = 0


def fields(**types: str) -> list[Field]:
    return [Field(name, type_) for name, type_ in types.items()]


_ANY = fields(
    fd="u32",
    buf="x64",
    count="u64",
    __syscall_nr="s32",
    id="s64",
    comm="string",
    filename="string",
    call_site="x64",
    bytes_req="u64",
    bytes_alloc="u64",
    gfp_flags="u64",
    function="x64",
    pid="s32",
    prio="s32",
)
EVENTS: dict[tuple[str, str], list[Field]] = {
    ("syscalls", "sys_enter_read"): _ANY,
    ("syscalls", "sys_exit_read"): fields(ret="s64", __syscall_nr="s32"),
    ("syscalls", "sys_enter_write"): fields(fd="u32", buf="x64", count="u64"),
    ("syscalls", "sys_enter_pread64"): fields(fd="u32", buf="x64", count="u64", pos="s64"),
    ("syscalls", "sys_exit_pread64"): fields(ret="s64"),
    ("syscalls", "sys_enter_exit_group"): fields(error_code="s32"),
    ("sched", "sched_process_exit"): fields(comm="string", pid="s32", prio="s32"),
    ("sched", "sched_process_fork"): fields(parent_comm="string", parent_pid="s32", child_pid="s32"),
    ("sched", "sched_waking"): fields(comm="string", pid="s32", prio="s32"),
    ("sched", "sched_switch"): fields(
        prev_comm="string",
        prev_pid="s32",
        next_comm="string",
        next_pid="s32",
        next_prio="s32",
    ),
}
_C_TYPES = {
    "int": "s32",
    "pid_t": "s32",
    "long": "s64",
    "s64": "s64",
    "u64": "u64",
    "unsigned int": "u32",
    "char": "string",
    "unsigned long": "u64",
}


def synthetic(definition: str) -> tuple[str, list[Field]]:
    """Return the name and fields of a synthetic event."""
    name, _, rest = definition.strip().partition(" ")
    found = []
    for part in rest.split(";"):
        type_, _, field = part.strip().rpartition(" ")
        is_stack = type_ == "unsigned long" and field.endswith("[]")
        kind, count = ("symbol", 16) if is_stack else (_C_TYPES[type_], 0)
        found.append(Field(field.partition("[")[0], kind, count))
    return name, found


class Answer(NamedTuple):
    """What came of a write: an error number or 0, and entries of error_log: (component, message, caret)."""

    number: int
    entries: tuple[tuple[str, str, int], ...] = ()


class Write(NamedTuple):
    """One write, as the session has it.

    Attributes:
        place: file and line.
        command: the text.
        event: (system, name).
        kernel: what the kernel said.
        info: the trigger's line afterwards; "": not shown.
        has_log: the session shows what was logged; without it, nothing logged means nothing known.
        stays: the trigger stays.
        rows: what the histogram held then.
        truncates: written with `>`.
    """

    place: str
    command: str
    event: tuple[str, str]
    kernel: Answer
    info: str = ""
    has_log: bool = True
    stays: bool = True
    rows: tuple[str, ...] = ()
    truncates: bool = False


class Replayed(NamedTuple):
    write: Write
    ours: Answer
    spec: HistSpec | None


_ENTRY = re.compile(r"^(\[ *[\d.]+\] |-1 \w+  |  and )(hist:\S+|event filter parse error): error: (.*)$")
_ECHO = re.compile(r"^\$ echo '(!?hist.*)' (>>?) (\S*)events/(\w+)/(\w+)/trigger")
_EMPTY = re.compile(r"^\$ : > events/(\w+)/(\w+)/trigger")
_SYNTHETIC = re.compile(r"^\$ echo '(\w+ [^']+)' >>? synthetic_events")


def _entries(lines: Sequence[str]) -> tuple[tuple[str, str, int], ...]:
    """Return the entries of one write, which begin in these lines."""
    found = []
    at = 0
    while at < len(lines):
        entry = _ENTRY.match(lines[at])
        if not entry or (at and entry[1].startswith("-1")):
            break
        at += 2 if lines[at + 1].startswith("  Command: ") else 1
        found.append((entry[2], entry[3], lines[at].index("^") - len("  Command: ")))
        at += 1
    return tuple(found)


def _indented(lines: Sequence[str]) -> list[str]:
    return list(itertools.takewhile(lambda line: line.startswith(("  ", "\t")), lines))


class _File:
    """One file of a session: its writes, in order, and what changes beside them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines = (DATA / f"{name}.txt").read_text().split("\n")

    def steps(self) -> Iterator[Write | tuple[str, str]]:
        """Give writes, and ("synthetic", definition) and ("empty", "system:event") where they were made."""
        for number, line in enumerate(self.lines, 1):
            rest = self.lines[number:]
            place = f"{self.name}:{number}"
            if line.startswith("## "):
                yield ("section", "")
            elif made := _SYNTHETIC.match(line):
                yield ("synthetic", made[1])
            elif emptied := _EMPTY.match(line):
                yield ("empty", f"{emptied[1]}:{emptied[2]}")
            elif echo := _ECHO.match(line):
                if "instances" not in echo[3]:
                    yield self._echo(place, echo, rest)
            elif line.startswith("> hist"):
                yield self._compact(place, line[2:], rest)
            elif line.startswith("-1 ") and (entry := _ENTRY.match(line)):
                yield self._refused(place, line, entry[2], rest)

    def _echo(self, place: str, echo: re.Match[str], rest: list[str]) -> Write:
        number = 0
        if rest[0].startswith("  -1 "):
            number = getattr(errno, rest[0].split()[1])
        # The whole log was printed after EBUSY, for which nothing is logged.
        kernel = Answer(number, _entries(rest[1:]) if number not in (0, errno.EBUSY) else ())
        return Write(place, echo[1], (echo[4], echo[5]), kernel, truncates=echo[2] == ">")

    def _compact(self, place: str, command: str, rest: list[str]) -> Write:
        event = self._event_of(command)
        if rest[0].startswith("  -1 "):
            has_log = self.name.startswith("hist_errors")
            return Write(place, command, event, Answer(errno.EINVAL), has_log=has_log, stays=False)
        answer = rest[0].replace("accepted: ", "= ")
        assert answer.startswith("  = hist"), place
        rows = [line[2:] for line in _indented(rest[1:])]
        return Write(place, command, event, Answer(0), answer[4:], stays=False, rows=tuple(rows))

    def _event_of(self, command: str) -> tuple[str, str]:
        """The compact form does not name the event."""
        is_exit = "_errors" not in self.name and re.search(r"\bret\b|^(?!.*:a=).*\$a\b", command)
        return ("syscalls", "sys_exit_read" if is_exit else "sys_enter_read")

    def _refused(self, place: str, line: str, component: str, rest: list[str]) -> Write:
        command = rest[0].removeprefix("  Command: ")
        system, event = "syscalls", "sys_enter_read"
        if component.startswith("hist:"):
            _, system, event = component.split(":")
        kernel = Answer(getattr(errno, line.split()[1]), _entries([line, *rest]))
        return Write(place, command, (system, event), kernel, stays=False)


class Registry:
    """The events, and the triggers that there are."""

    def __init__(self) -> None:
        self.triggers: dict[tuple[str, str], list[tuple[str, HistSpec]]] = {}
        self.synthetic: dict[str, list[Field]] = {}

    def event_fields(self, system: str, event: str) -> Sequence[Field] | None:
        if system == "synthetic":
            return self.synthetic.get(event)
        return EVENTS.get((system, event))

    def synthetic_fields(self, event: str) -> Sequence[Field] | None:
        return self.synthetic.get(event)

    def variables(self) -> Mapping[tuple[str, str], Mapping[str, Expression]]:
        return {
            event: {variable.name: variable.value for _, spec in specs for variable in spec.variables}
            for event, specs in self.triggers.items()
        }

    def write(self, command: str, event: tuple[str, str]) -> HistSpec:
        """Do what a write to the event's trigger file does; a trigger that comes is added."""
        removes = command.startswith("!")
        text = command.removeprefix("!")
        spec = hist.parse(text, *event, self.event_fields(*event) or (), self)
        there = self.triggers.setdefault(event, [])
        same = [index for index, (_, other) in enumerate(there) if other.is_same(spec)]
        if removes:
            if same and self._is_used(event, there[same[0]][1]):
                raise HistError("a variable of it is used", "", text, number=errno.EBUSY)
            for index in same:
                del there[index]
            return spec
        if spec.control in ("cont", "clear") and not same:
            raise hist.nonexistent(spec, text)
        if same and not spec.control:
            raise hist.already_exists(spec, text)
        named = [other for specs in self.triggers.values() for _, other in specs if spec.name]
        if any(other.name == spec.name and not other.shares_with(spec) for other in named):
            raise hist.named_differs(spec, text)
        if same:
            if spec.control in ("pause", "cont"):
                there[same[0]] = ("paused" if spec.control == "pause" else "active", there[same[0]][1])
        else:
            there.append(("paused" if spec.control == "pause" else "active", spec))
        return spec

    def _is_used(self, event: tuple[str, str], spec: HistSpec) -> bool:
        names = {variable.name for variable in spec.variables}
        users = [user for specs in self.triggers.values() for _, user in specs]
        return any(
            isinstance(leaf, VariableRef) and (leaf.system, leaf.event) == event and leaf.name in names
            for user in users
            for value in (*user.values, *(variable.value for variable in user.variables))
            for leaf in leaves(value)
        )

    def infos(self, event: tuple[str, str]) -> list[str]:
        return [spec.info(state == "paused") for state, spec in self.triggers.get(event, ())]

    def forget(self) -> None:
        """End a section: the sessions take away, without showing it, what the next one does not need."""
        for event, specs in self.triggers.items():
            self.triggers[event] = [
                (state, spec) for state, spec in specs if spec.name or (spec.variables and not spec.actions)
            ]

    def empty(self, event: tuple[str, str]) -> None:
        """Do what opening with truncation does: what is used stays."""
        specs = self.triggers.get(event, [])
        self.triggers[event] = [(state, spec) for state, spec in specs if self._is_used(event, spec)]


def replay(session: str) -> Iterator[Replayed]:
    """Give each write of a session with what we say of it."""
    registry = Registry()
    for step in itertools.chain.from_iterable(_File(name).steps() for name in SESSIONS[session]):
        if not isinstance(step, Write):
            kind, text = step
            if kind == "synthetic":
                event, its_fields = synthetic(text)
                registry.synthetic[event] = its_fields
            elif kind == "section":
                if session != "hist_wakeup":  # one example from its first section to its last
                    registry.forget()
            else:
                system, _, event = text.partition(":")
                registry.empty((system, event))
            continue
        if step.truncates:
            registry.empty(step.event)
        spec = None
        before = list(registry.triggers.get(step.event, ()))
        try:
            spec = registry.write(step.command, step.event)
            ours = Answer(0)
        except HistError as error:
            entries = tuple((error.component, message, caret) for message, caret in error.entries)
            ours = Answer(error.errno, entries)
        if not step.stays or step.kernel.number:
            registry.triggers[step.event] = before
        yield Replayed(step, ours, spec)
