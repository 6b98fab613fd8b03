"""Parses the text of a Linux kernel's function_graph trace, and converts it for a replay.

That is a script for the engine (replay.c) or, for several tasks on a CPU and for losses, a trace file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracefile import Task, Trace

LINE = re.compile(
    r"""
    (?:\ *(?P<seconds>\d+)\.(?P<micros>\d{6})\ \|\ \ )?
    (?:\ +(?P<cpu>\d+)\)\ )?
    (?:\ *(?P<name>\S{1,7})-(?P<tid>\d+)\ +\|\ )?
    (?:(?P<mark>[$@*\#!+\ ])\ (?:(?P<us>\d+)(?:\.(?P<ns>\d{1,3}))?\ us\ |\ {7,12})\ *\|\ \ )?
    (?P<indent>\ *)
    (?:(?P<function>\w[\w.]*(?:\ \[\w+\])?)\((?P<args>[^)]*)\)(?P<how>;|\ \{)|\})
    (?:\ /\*
        (?:\ <-(?P<caller>[\w.]+)
            \+0x(?P<offset>[0-9a-f]+)/0x(?P<size>[0-9a-f]+)(?P<caller_module>\ \[\w+\])?)?
        (?:\ (?P<tail>[A-Za-z_][\w.]*(?:\ \[\w+\])?))??
        (?:\ ret=(?P<ret>\S+))?
    \ \*/)?
    """,
    re.VERBOSE,
)
# Lines that are not calls, but have the same columns.
ARROW = re.compile(
    r"(?: *\d+\.\d{6} \|  )?(?: +\d+\) )?(?: *\S{1,7}-\d+ +\| )?"
    r"(?:  (?=.* \|$))?(==========>|<==========)(?: \|)?"
)
SWITCH = re.compile(r" +(\d+)\) +(\S+)-(\d+) +=> +(\S+)-(\d+) *")
LOST = re.compile(r"CPU:(\d+) \[LOST (\d+) EVENTS\]")
PASSED_OVER = re.compile(r"#.*| -+| \(Overruns: 0\)|")


@dataclass(frozen=True, slots=True)
class Enter:
    """A call begins. `args`: the text of its arguments; `caller`: function and offset of the call; `irq`: an
    interrupt makes the call."""

    time_ns: int
    function: str
    depth: int
    args: str = ""
    caller: tuple[str, int] | None = None
    irq: bool = False


@dataclass(frozen=True, slots=True)
class Leave:
    """A call ends; `ret` is the text of the result."""

    time_ns: int
    function: str
    depth: int
    duration_ns: int
    ret: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """The CPU switches to this task: the CPU's further events belong to it."""

    cpu: int
    task: str


class Capture:
    """The events of a kernel's text.

    Attributes:
        events: (CPU, number of events lost just before it, event).
        sizes: name of a caller -> its size in bytes.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.sizes: dict[str, int] = {}
        self.irq = False  # the text has an arrow before the next call
        self.events = [event for line in self.lines for event in self.read(line)]

    def read(self, line: str) -> Iterator[tuple[int, Enter | Leave | Switch | int]]:
        if PASSED_OVER.fullmatch(line):
            return
        if switch := SWITCH.fullmatch(line):
            yield int(switch[1]), Switch(int(switch[1]), f"{switch[4]}-{switch[5]}")
        elif arrow := ARROW.fullmatch(line):
            self.irq = arrow[1] == "==========>"
        elif lost := LOST.fullmatch(line):
            yield int(lost[1]), int(lost[2])
        else:
            found = LINE.fullmatch(line)
            assert found, line
            yield from ((int(found["cpu"] or 0), event) for event in self.call(found))

    def call(self, found: re.Match[str]) -> Iterator[Enter | Leave | Switch]:
        if found["tid"]:
            yield Switch(int(found["cpu"] or 0), f"{found['name']}-{found['tid']}")
        depth = len(found["indent"]) // 2
        time = int(found["seconds"] + found["micros"]) * 1000 if found["seconds"] else 0
        duration = int(found["us"] or 0) * 1000 + int((found["ns"] or "").ljust(3, "0"))
        caller = None
        if found["caller"]:
            name = found["caller"] + (found["caller_module"] or "")
            self.sizes[name] = int(found["size"], 16)
            caller = (name, int(found["offset"], 16))
        if found["function"]:
            yield Enter(time, found["function"], depth, found["args"], caller, self.irq)
            self.irq = False
        if found["how"] != " {":
            yield Leave(time, found["function"] or found["tail"] or "", depth, duration, found["ret"] or "")


# ---- as a script for the engine


def value_word(text: str) -> str:
    """Return a number of the kernel's text in the form that replay.c reads."""
    if text.startswith("0x"):
        return f"w8:{text[2:]}"
    number = int(text)
    return f"w8:{number & 2**64 - 1:x}" if number < 0 else f"i{number}"


def result_word(text: str) -> str:
    return value_word(text) if text else ""


class Script:
    """The script of one task's calls.

    Args:
        capture: the events of one task, without losses.
        max_depth: the kernel's limit. The script also calls a function beyond it, which must not be shown.
    """

    def __init__(self, capture: Capture, max_depth: int = 0) -> None:
        self.capture = capture
        self.max_depth = max_depth
        self.ids: dict[str, int] = {}
        self.arguments: dict[str, str] = {}
        self.steps: list[str] = []
        self.stack: list[str] = []
        self.time = 10**13  # a line with a time sets it
        events = [event for _, event in capture.events if isinstance(event, Enter | Leave)]
        for place, event in enumerate(events):
            if isinstance(event, Enter):
                self.enter(event)
            else:
                self.leave(event, events[place + 1 :])

    def __str__(self) -> str:
        lines = []
        for name in self.ids:
            symbol, _, module = name.partition(" [")
            size = self.capture.sizes.get(name, 0)
            lines.append(f"function {symbol} {module[:-1] or '-'} {size} {self.arguments.get(name) or '-'}")
        return "\n".join([*lines, *self.steps, ""])

    def id(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids))

    def tick(self, time_ns: int) -> int:
        self.time = time_ns or self.time + 1
        return self.time

    def enter(self, event: Enter) -> None:
        assert event.depth == len(self.stack), event
        pairs = [pair.split("=") for pair in event.args.split(", ") if pair]
        self.arguments.setdefault(event.function, ",".join(name for name, _ in pairs))
        words = ["irq" if event.irq else "call", str(self.tick(event.time_ns)), str(self.id(event.function))]
        if event.caller:
            words += ["@", str(self.id(event.caller[0])), str(event.caller[1])]
        self.steps.append(" ".join([*words, *(value_word(value) for _, value in pairs)]))
        self.stack.append(event.function)
        if self.max_depth and event.depth == self.max_depth - 1:
            self.steps.append(f"call {self.time} {self.id('beyond')}")
            self.steps.append(f"return {self.time} 0")

    def leave(self, event: Leave, following: list[Enter | Leave]) -> None:
        while len(self.stack) <= event.depth:  # the text has only ends: begin this call and those around it
            depth = len(self.stack)
            ends = (e for e in [event, *following] if isinstance(e, Leave) and e.depth <= depth)
            end = next(ends, None)
            name = end.function if end and end.depth == depth else "around"
            self.enter(Enter(0, name, depth))
        while len(self.stack) > event.depth + 1:  # calls too short for the text to have their ends
            assert self.stack.pop() == "around", event
            self.steps.append(f"return {self.time} 0")
        self.stack.pop()
        words = ["return", str(self.tick(event.time_ns)), str(event.duration_ns), result_word(event.ret)]
        self.steps.append(" ".join(words))


# ---- as a trace file of ours


class Written:
    """Writes events one by one into `trace`, with a lane for each CPU."""

    def __init__(self, capture: Capture) -> None:
        self.ids: dict[str, int] = {}
        self.trace = Trace([])
        self.tasks: dict[tuple[int, str], Task] = {}
        self.current: dict[int, Task] = {}
        self.open: dict[int, dict[int, str]] = {}
        self.lost: dict[int, int] = {}
        self.clock = 10**13
        for line in capture.lines:  # the first task of a lane is named only where it ends
            if (switch := SWITCH.fullmatch(line)) and int(switch[1]) not in self.current:
                self.switch(Switch(int(switch[1]), f"{switch[2]}-{switch[3]}"))
        for cpu, event in capture.events:
            self.take(cpu, event)
        self.trace.functions = [("", name, "", 0, 0, []) for name in self.ids]

    def save(self, path: Path) -> Path:
        return self.trace.save(path)

    def switch(self, switch: Switch) -> None:
        key = (switch.cpu, switch.task)
        if key not in self.tasks:
            name, _, tid = switch.task.rpartition("-")
            self.tasks[key] = self.trace.task(int(tid), name, lane=switch.cpu)
        self.current[switch.cpu] = self.tasks[key]

    def take(self, cpu: int, event: Enter | Leave | Switch | int) -> None:
        if isinstance(event, int):
            self.lost[cpu] = event
            return
        if isinstance(event, Switch):
            self.switch(event)
            return
        if cpu not in self.current:
            self.switch(Switch(cpu, "work-69"))
        task, lost = self.current[cpu], self.lost.pop(cpu, 0)
        self.clock += 1
        entered = self.open.setdefault(cpu, {})
        if isinstance(event, Enter):
            entered[event.depth] = event.function
            task.enter(self.clock, self.id(event.function), event.depth, lost=lost)
        else:
            func = self.id(event.function or entered[event.depth])
            calltime = self.clock - event.duration_ns
            task.leave(self.clock, func, event.depth, calltime=calltime, lost=lost)

    def id(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids))
