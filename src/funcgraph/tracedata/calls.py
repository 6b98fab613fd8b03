"""Calls of a trace: the events of each call, put together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from funcgraph.tracedata.description import Function, Task
from funcgraph.tracedata.events import Columns, exception_name, name_arguments
from funcgraph.tracedata.values import Value, decode_values

CallEnd: TypeAlias = Literal["return", "raise", "close"]

_ENTRY, _RESUME, _RETURN, _RAISE, _SUSPEND, _CLOSE = map(
    Columns.KINDS.index, ("entry", "resume", "return", "raise", "suspend", "close")
)
_ENDS: dict[int, CallEnd] = {_RETURN: "return", _RAISE: "raise", _CLOSE: "close"}


class Call(NamedTuple):
    """A call that ended. A call of a generator or coroutine is one call, however often it was suspended.

    Attributes:
        function: the function; None if the trace does not name it.
        task: the thread in which it ended.
        begin_ns: when it began, on the trace's clock.
        end_ns: when it ended.
        duration_ns: how long it ran, without the time in which it was suspended or waited for the recorder.
            None if its beginning is not in the trace.
        depth: how many traced calls it was made from.
        ended: `return`; `raise`: by an exception; `close`: it was suspended, and then closed, cancelled or
            collected.
        parent: the function of the traced call that it was made from; None if there was none, or its entry
            was not recorded.
        resumes: how often it was resumed.
        irq: whether the interpreter made it to handle a signal.
        caller: the function that made the call, if that was recorded.
        caller_line: the line at which it did (of native code: the offset after the call), or 0.
        entry_payload: its recorded arguments, not decoded.
        exit_payload: its recorded result or exception, not decoded.
    """

    function: Function | None
    task: Task
    begin_ns: int
    end_ns: int
    duration_ns: int | None
    depth: int
    ended: CallEnd
    parent: Function | None
    resumes: int
    irq: bool
    caller: Function | None
    caller_line: int
    entry_payload: bytes
    exit_payload: bytes

    @property
    def arguments(self) -> dict[str, Value]:
        """The recorded arguments, by name, as of `Event.arguments`."""
        return name_arguments(self.function, decode_values(self.entry_payload))

    @property
    def result(self) -> Value:
        """What it returned. None too if that was not recorded: `exit_payload` is empty then."""
        return next(iter(decode_values(self.exit_payload)), None) if self.ended == "return" else None

    @property
    def exception(self) -> str | None:
        """The type of the exception that ended it, by name; None if there was none, or it is unknown."""
        return exception_name(decode_values(self.exit_payload)) if self.ended == "raise" else None


@dataclass(slots=True)
class _Open:
    """A call in progress, or suspended."""

    function: int
    begin_ns: int
    parent: int
    caller: int = -1
    caller_line: int = 0
    payload: bytes = b""
    irq: bool = False
    is_whole: bool = True  # its beginning is known
    ran_ns: int = 0
    resumes: int = 0


# What names a suspended call: when it began, its function, its process. A fork makes two calls of one.
_Key: TypeAlias = tuple[int, int, int]


def calls_of(
    batches: Iterable[Columns], functions: Sequence[Function], *, threads_move: bool = False
) -> Iterator[Call]:
    """Return an iterator over the calls that end in these batches, in the order of their ends.

    Args:
        batches, functions: of the trace.
        threads_move: a thread has a task in each lane that it ran in, and may be in the middle of calls when
            it goes from one to the other: a kernel's trace, whose lanes are CPUs.
    """
    assembler = _Assembler(functions, threads_move)
    for batch in batches:
        yield from assembler.calls(batch)


class _Assembler:
    """Keeps the calls in progress of each thread, and the suspended ones of all."""

    def __init__(self, functions: Sequence[Function], threads_move: bool) -> None:
        self._functions = functions
        self._threads_move = threads_move
        self._threads: list[Hashable] = []  # by task
        self._stacks: dict[Hashable, list[_Open | None]] = {}  # None: the entry at this depth is unknown
        self._parked: dict[_Key, _Open] = {}

    def calls(self, batch: Columns) -> Iterator[Call]:
        rows = zip(
            batch.kind.tolist(),
            batch.time_ns.tolist(),
            batch.function.tolist(),
            batch.task.tolist(),
            batch.depth.tolist(),
            batch.start_ns.tolist(),
            batch.calltime_ns.tolist(),
            batch.rettime_ns.tolist(),
            batch.caller.tolist(),
            batch.caller_line.tolist(),
            batch.irq.tolist(),
            batch.payloads(),
            strict=True,
        )
        threads = self._threads_of(batch.tasks)
        for kind, time, function, task, depth, start, calltime, rettime, caller, line, irq, payload in rows:
            if kind > _CLOSE:
                continue
            thread = threads[task]
            stack = self._stacks.get(thread)
            if stack is None:
                stack = self._stacks[thread] = []
            if kind == _ENTRY:
                parent = _enter(stack, depth)
                stack.append(_Open(function, time, parent, caller, line, payload, irq))
                continue
            key = (start, function, batch.tasks[task].pid)
            if kind == _RESUME:
                stack.append(self._resume(key, _enter(stack, depth), irq))
                continue
            call = self._leave(kind, stack, depth, function, key, calltime)
            call.ran_ns += max(rettime - calltime, 0)
            if kind != _SUSPEND:
                yield self._end(call, kind, batch.tasks[task], time, depth, irq, payload)
            elif start:
                self._parked[key] = call

    def _threads_of(self, tasks: Sequence[Task]) -> Sequence[Hashable]:
        """Return what each task is a part of. Each CPU has an idle task with the thread id 0."""
        if not self._threads_move:
            return range(len(tasks))
        for task in tasks[len(self._threads) :]:
            self._threads.append((task.buffer, task.tid) if task.tid else (-1, task.lane))
        return self._threads

    def _resume(self, key: _Key, parent: int, irq: bool) -> _Open:
        call = self._parked.get(key)
        if call is None:  # its beginning is not in the trace
            call = _Open(key[1], key[0], parent, irq=irq, is_whole=False)
        call.resumes += 1
        return call

    def _leave(
        self, kind: int, stack: list[_Open | None], depth: int, function: int, key: _Key, calltime: int
    ) -> _Open:
        """Take the call that ends at `depth` off the stack."""
        del stack[depth + 1 :]
        open_call = stack.pop() if len(stack) == depth + 1 else None
        parked = self._parked.pop(key, None) if key[0] else None
        if open_call is not None and open_call.function == function:
            return open_call
        if parked is not None:  # closed without a resume, or the resume was lost
            parked.resumes += kind != _CLOSE
            return parked
        # Only its end was recorded. That tells all of a call, unless there may have been earlier stretches.
        parent = stack[-1] if len(stack) == depth and depth else None
        begin = key[0] or calltime
        is_whole = kind != _CLOSE and begin == calltime
        return _Open(function, begin, parent.function if parent else -1, is_whole=is_whole)

    def _end(
        self, call: _Open, kind: int, task: Task, end_ns: int, depth: int, irq: bool, payload: bytes
    ) -> Call:
        return Call(
            self._name(call.function),
            task,
            call.begin_ns,
            end_ns,
            call.ran_ns if call.is_whole else None,
            depth,
            _ENDS[kind],
            self._name(call.parent),
            call.resumes,
            irq or call.irq,
            self._name(call.caller),
            call.caller_line,
            call.payload,
            payload,
        )

    def _name(self, index: int) -> Function | None:
        return self._functions[index] if 0 <= index < len(self._functions) else None


def _enter(stack: list[_Open | None], depth: int) -> int:
    """Make room for a call at `depth`. Return the function that it was made from, or -1."""
    if len(stack) > depth:
        del stack[depth:]  # their ends were lost
    elif len(stack) < depth:
        stack.extend([None] * (depth - len(stack)))
    parent = stack[-1] if depth else None
    return parent.function if parent else -1
