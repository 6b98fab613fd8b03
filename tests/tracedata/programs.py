"""Random programs for the tests of the reader: several tasks, with everything that a call can do.

Running a program writes a trace and, at the same time, computes with a slow model what the reader must find.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from hypothesis import strategies as st
from tracefile import CLOSE, RAISE, RESUME, RETURN, START, SUSPEND, Trace

FUNCTIONS = ("m.a", "m.b", "m.c", "m.gen")
GENERATOR = 3


@dataclass(frozen=True)
class Step:
    """The next step of one task. An impossible step (a return without a call) is skipped."""

    task: int
    what: str  # call, return, raise, suspend, resume, close, wait
    function: int
    nanoseconds: int


STEPS = st.lists(
    st.builds(
        Step,
        task=st.integers(0, 2),
        what=st.sampled_from(
            ("call", "call", "call", "return", "return", "raise", "suspend", "resume", "close", "wait")
        ),
        function=st.integers(0, len(FUNCTIONS) - 1),
        nanoseconds=st.integers(1, 10**6),
    ),
    max_size=120,
)


@dataclass
class Call:
    function: int
    start: int
    ran: int = 0
    was_suspended: bool = False
    segment_begin: int = 0
    segment_waits: int = 0


@dataclass
class Figures:
    calls: int = 0
    resumes: int = 0
    exceptions: int = 0
    total: int = 0
    self: int = 0
    ended: list[int] = field(default_factory=list)

    def row(self) -> tuple[int, ...]:
        shortest, longest = (min(self.ended), max(self.ended)) if self.ended else (0, 0)
        return (self.calls, self.resumes, self.exceptions, self.total, self.self, shortest, longest)


class Program:
    """Runs steps. `trace` has the recorded events, `figures` the summary that they must give, and `events`
    the report: (task, what, function, depth, duration in nanoseconds)."""

    def __init__(self, steps: list[Step]) -> None:
        self.trace = Trace(list(FUNCTIONS))
        self.tasks = [self.trace.task(100 + i, f"t{i}", pid=100) for i in range(3)]
        self.stacks: list[list[Call]] = [[], [], []]
        self.seen = [0, 0, 0]
        self.parked: list[Call] = []
        self.figures: dict[str, Figures] = defaultdict(Figures)
        self.events: list[tuple[int, str, int, int, int]] = []
        self.now = 1_000_000
        for step in steps:
            self.now += step.nanoseconds
            self.run(step)

    def run(self, step: Step) -> None:
        stack = self.stacks[step.task]
        match step.what:
            case "call":
                self.enter(step.task, Call(step.function, self.now), START)
            case "resume" if self.parked:
                self.enter(step.task, self.parked.pop(step.nanoseconds % len(self.parked)), RESUME)
            case "return" if stack:
                self.leave(step.task, RETURN)
            case "raise" if stack:
                self.leave(step.task, RAISE)
            case "suspend" if stack and stack[-1].function == GENERATOR:
                self.leave(step.task, SUSPEND)
            case "close" if self.parked:
                self.close(step.task, self.parked.pop())
            case "wait":
                self.wait(step.task)

    def of(self, call: Call) -> Figures:
        return self.figures[FUNCTIONS[call.function]]

    def pass_time(self, task: int) -> None:
        """Count the time since the task's last event for the calls on its stack."""
        stack, passed = self.stacks[task], self.now - self.seen[task]
        self.seen[task] = self.now
        for name in {FUNCTIONS[call.function] for call in stack}:
            self.figures[name].total += passed
        for call in stack:
            call.ran += passed
        if stack:
            self.of(stack[-1]).self += passed

    def enter(self, task: int, call: Call, kind: int) -> None:
        self.pass_time(task)
        stack = self.stacks[task]
        call.segment_begin, call.segment_waits = self.now, 0
        start = call.start if kind == RESUME else None
        self.tasks[task].enter(self.now, call.function, len(stack), kind=kind, start=start)
        self.events.append((task, "resume" if kind == RESUME else "call", call.function, len(stack), 0))
        stack.append(call)
        self.of(call).resumes += kind == RESUME
        self.of(call).calls += kind == START

    def leave(self, task: int, kind: int) -> None:
        self.pass_time(task)
        call = self.stacks[task].pop()
        depth = len(self.stacks[task])
        calltime = call.segment_begin + call.segment_waits
        start = call.start if call.was_suspended or kind == SUSPEND else None
        self.tasks[task].leave(self.now, call.function, depth, calltime=calltime, kind=kind, start=start)
        self.events.append((task, ENDS[kind], call.function, depth, self.now - calltime))
        if kind == SUSPEND:
            call.was_suspended = True
            self.parked.append(call)
        else:
            self.of(call).ended.append(call.ran)
            self.of(call).exceptions += kind == RAISE

    def close(self, task: int, call: Call) -> None:
        """End a suspended call without resuming it: the trace has only an exit."""
        self.pass_time(task)
        depth = len(self.stacks[task])
        self.tasks[task].leave(
            self.now, call.function, depth, calltime=self.now, kind=CLOSE, start=call.start
        )
        self.events.append((task, "closed", call.function, depth, 0))
        self.of(call).ended.append(call.ran)

    def wait(self, task: int) -> None:
        """Let the task wait for the recorder since its last event: the wait is in no call's time."""
        waited = self.now - self.seen[task]
        self.seen[task] = self.now
        for call in self.stacks[task]:
            call.segment_waits += waited
        self.tasks[task].wait(self.now, waited)
        self.events.append((task, "wait", 0, len(self.stacks[task]), waited))


ENDS = {RETURN: "return", RAISE: "raised", SUSPEND: "suspended", CLOSE: "closed"}
