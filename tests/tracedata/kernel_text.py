"""Turns text that a Linux kernel printed back into the events it was printed from, as a trace of ours."""

from __future__ import annotations

import re

from tracefile import Task, Trace

LINE = re.compile(
    r"""
    (?:\ *(?P<seconds>\d+)\.(?P<micros>\d{6})\ \|\ \ )?
    (?:\ +(?P<cpu>\d+)\)\ )?
    (?:\ *(?P<name>\S{1,7})-(?P<tid>\d+)\ +\|\ )?
    (?:(?P<mark>[$@*\#!+\ ])\ (?:(?P<us>\d+)(?:\.(?P<ns>\d{1,3}))?\ us\ |\ {7,12})\ *\|\ \ )?
    (?P<indent>\ *)
    (?:(?P<function>\w[\w.]*)\(\)(?P<how>;|\ \{)|\}(?:\ /\*\ (?P<tail>\S+)\ \*/)?)
    """,
    re.VERBOSE,
)
SWITCH = re.compile(r" +(\d+)\) +(\S+)-(\d+) +=> +(\S+)-(\d+) *")
LOST = re.compile(r"CPU:(\d+) \[LOST (\d+) EVENTS\]")


class Replay:
    """Reads lines one by one; `trace` has what they say."""

    def __init__(self, text: str) -> None:
        self.lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.ids: dict[str, int] = {}
        self.trace = Trace([])
        self.tasks: dict[tuple[int, str], Task] = {}
        self.current: dict[int, Task] = {}
        self.open: dict[int, list[int]] = {}
        self.lost: dict[int, int] = {}
        self.clock = 10**13  # lines with a time set it to theirs
        for line in self.lines:  # a lane's first task is named where it ends
            if (switch := SWITCH.fullmatch(line)) and int(switch[1]) not in self.current:
                self.switch(int(switch[1]), f"{switch[2]}-{switch[3]}")
        for line in self.lines:
            self.read(line)
        self.trace.functions = [("", name, "", 0, 0, []) for name in self.ids]

    def switch(self, cpu: int, task: str) -> None:
        if (cpu, task) not in self.tasks:
            name, _, tid = task.rpartition("-")
            self.tasks[cpu, task] = self.trace.task(int(tid), name, lane=cpu)
        self.current[cpu] = self.tasks[cpu, task]

    def read(self, line: str) -> None:
        if not line or " ----" in line or line.startswith(" (Overruns:"):
            return
        if switch := SWITCH.fullmatch(line):
            self.switch(int(switch[1]), f"{switch[4]}-{switch[5]}")
        elif lost := LOST.fullmatch(line):
            self.lost[int(lost[1])] = int(lost[2])
        else:
            found = LINE.fullmatch(line)
            assert found, line
            self.event(found)

    def event(self, found: re.Match[str]) -> None:
        cpu = int(found["cpu"] or 0)
        if found["tid"] or cpu not in self.current:
            self.switch(cpu, f"{found['name'] or 'work'}-{found['tid'] or 69}")
        task, depth, lost = self.current[cpu], len(found["indent"]) // 2, self.lost.pop(cpu, 0)
        self.clock += 1
        if found["seconds"]:
            self.clock = int(found["seconds"] + found["micros"]) * 1000
        duration = int(found["us"] or 0) * 1000 + int((found["ns"] or "").ljust(3, "0"))
        stack = self.open.setdefault(cpu, [])
        if found["function"]:
            func = self.ids.setdefault(found["function"], len(self.ids))
            task.enter(self.clock, func, depth, lost=lost)
            if found["how"] == ";":
                self.clock += 1
                task.leave(self.clock, func, depth, calltime=self.clock - duration)
            else:
                self.open[cpu] = [*stack[:depth], *[-1] * (depth - len(stack)), func]
            return
        name = found["tail"]
        func = self.ids.setdefault(name, len(self.ids)) if name else stack[depth]
        task.leave(self.clock, func, depth, calltime=self.clock - duration, lost=lost)
