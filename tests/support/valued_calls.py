"""Random programs whose calls have values: the trace, and every call as an object."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from tracefile import DISCARDED, RAISE, RESUME, RETURN, SUSPEND, Trace, values

S = 1_000_000_000
NAMES = ("f", "g", "h", "gen")


@dataclass(eq=False)
class Stretch:
    """A call from where it begins or is resumed to where it ends or is suspended."""

    call: Call
    begin: int
    around: list[Stretch]
    end: int | None = None
    callees: int = 0


@dataclass(eq=False)
class Call:
    """A call of the model, with the calls below it in the order of their ends."""

    function: int
    argument: int
    begin: int
    stretch: int = 0
    ran: int = 0
    result: int | None = None
    raised: tuple[str, int] | None = None
    is_discarded: bool = False
    is_nested: bool = False  # at its end a call of the same function was around it
    ended: bool = False
    own: int = 0
    stretches: list[Stretch] = field(default_factory=list)
    below: list[Call] = field(default_factory=list)
    parent: Call | None = None


@dataclass(frozen=True)
class Step:
    """What a task does next; what is impossible is skipped."""

    task: int
    what: str
    function: int
    number: int


STEPS = st.lists(
    st.builds(
        Step,
        task=st.integers(0, 1),
        what=st.sampled_from(("call", "call", "call", "return", "return", "raise", "suspend", "resume")),
        function=st.integers(0, len(NAMES) - 1),
        number=st.integers(0, 2),
    ),
    max_size=100,
)


def exception(kind: int, address: int) -> tuple[str, bytes]:
    name = ("OSError", "KeyError")[kind % 2]
    return name, b"\x0b" + address.to_bytes(8, "little") + bytes([len(name)]) + name.encode()


class Run:
    """Runs steps: the trace, and the calls that it has."""

    def __init__(self, steps: list[Step]) -> None:
        self.trace = Trace([("m", name, "/m.py", i + 1, 0, ["n"]) for i, name in enumerate(NAMES)])
        self.tasks = [self.trace.task(100 + i, pid=100) for i in range(2)]
        self.stacks: list[list[Call]] = [[], []]
        self.parked: list[Call] = []
        self.calls: list[Call] = []
        self.now = S
        for step in steps:
            self.now += 10 + step.number
            getattr(self, step.what if step.what not in ("return", "raise") else "leave")(step)

    def call(self, step: Step) -> None:
        call = Call(step.function, step.number, self.now)
        self.calls.append(call)
        stack = self.stacks[step.task]
        self.tasks[step.task].enter(self.now, step.function, len(stack), args=values(step.number))
        self.push(step.task, call)

    def push(self, task: int, call: Call) -> None:
        stack = self.stacks[task]
        call.stretch = self.now
        call.stretches.append(Stretch(call, self.now, [one.stretches[-1] for one in stack]))
        stack.append(call)

    def pop(self, task: int) -> Call:
        stack = self.stacks[task]
        call = stack.pop()
        stretch = call.stretches[-1]
        stretch.end = self.now
        call.ran += self.now - stretch.begin
        call.own += self.now - stretch.begin - stretch.callees
        if stack:
            stack[-1].stretches[-1].callees += self.now - stretch.begin
        return call

    def leave(self, step: Step) -> None:
        stack = self.stacks[step.task]
        if not stack:
            return
        call = self.pop(step.task)
        call.ended = True
        call.parent = stack[-1] if stack else None
        call.is_nested = any(one.function == call.function for one in stack)
        raises = step.what == "raise"
        name, recorded = exception(step.function, 0x1000 + step.number)
        if raises:
            call.raised = (name, step.number)
        else:
            call.result = step.number % 2
            call.is_discarded = call.function == 0 or step.number > 0
            recorded = values(call.result) + (DISCARDED if call.is_discarded else b"")
        if call.parent:
            call.parent.below.append(call)
        self.tasks[step.task].leave(
            self.now,
            call.function,
            len(stack),
            calltime=call.stretch,
            kind=RAISE if raises else RETURN,
            start=call.begin if call.function == 3 else None,
            result=recorded,
        )

    def suspend(self, step: Step) -> None:
        stack = self.stacks[step.task]
        if not stack or stack[-1].function != 3:
            return
        call = self.pop(step.task)
        self.parked.append(call)
        self.tasks[step.task].leave(
            self.now, 3, len(stack), calltime=call.stretch, kind=SUSPEND, start=call.begin
        )

    def resume(self, step: Step) -> None:
        if not self.parked:
            return
        call = self.parked.pop(0)
        stack = self.stacks[step.task]
        self.tasks[step.task].enter(self.now, 3, len(stack), kind=RESUME, start=call.begin)
        self.push(step.task, call)
