"""A trace's own description, the JSON at its end: functions, tasks and buffers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from funcgraph.tracedata.large_json import MOST_MADE, decode_item, decode_object
from funcgraph.tracedata.option_words import known_options

META_VERSION = 1
_COUNTS = ("lost", "overrun", "waits", "wait_ns")
UNNAMED = "<...>"  # what the kernel prints for a task whose name it does not have

# enum fg_func_flags, ring_layout.h
_VARARGS = 16
_VARKEYWORDS = 32
_FAULTS = "__faults"  # FG_FIELD_FAULTS of field.h
_WITHOUT_FAULTS = ("string", "object", "value")  # they tell themselves that they could not be read
NATIVE = 64

# The tracers whose traces have the layout `function`: of texts and single events, not of nested calls.
FLAT_TRACERS = ("function", "nop", "loopblock", "wakeup", "gilwait")


# What is raised by JSON that is not in the form of a description.
_WRONG_FORM = (KeyError, TypeError, ValueError, IndexError, AttributeError)


class TraceError(Exception):
    """A file is not a trace of funcgraph's, or is truncated or damaged. The text lacks the file's name."""


class SelectionError(ValueError):
    """A trace has no part of the name, or a selection is impossible. The text says what would be right."""


def reading_error(error: ValueError) -> TraceError | SelectionError:
    """Return what a Reader's error is: that of a selection, which it found while it read, or of damage."""
    return error if isinstance(error, SelectionError) else TraceError(str(error))


class Function(NamedTuple):
    """A function that the trace names.

    Attributes:
        module: its module's name; `__main__` for a script's own functions.
        qualname: its qualified name in the module.
        file: its source file, or "" if it has none.
        line: the line on which it begins, from 1; 0 if it has no source. Of native code: its size in bytes.
        flags: the kind of function: enum fg_func_flags.
        arguments: names of its arguments, in the order in which values are recorded.
    """

    module: str
    qualname: str
    file: str
    line: int
    flags: int
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """`module.qualname`, as in filters and reports; `qualname` alone if there is no module.

        Native code is named as the kernel does: `symbol [module]`.
        """
        if self.flags & NATIVE:
            return f"{self.qualname} [{self.module}]" if self.module else self.qualname
        return f"{self.module}.{self.qualname}" if self.module else self.qualname

    @property
    def size_bytes(self) -> int:
        """The size of native code; 0 of any other function."""
        return self.line if self.flags & NATIVE else 0

    def starred_arguments(self) -> list[str]:
        """Return the argument names with the stars of `*args` and `**kwargs`."""
        names = list(self.arguments)
        last = len(names) - 1
        if self.flags & _VARKEYWORDS and last >= 0:
            names[last] = f"**{names[last]}"
            last -= 1
        if self.flags & _VARARGS and last >= 0:
            names[last] = f"*{names[last]}"
        return names


#: What answers call the result and the exception of a call -> what filters call them. Each takes both names.
OUTCOMES = {"result": "ret", "exception": "exc"}


class EventField(NamedTuple):
    """A field of an event that the program or its user defined.

    Attributes:
        name: its name.
        type: `u8` to `u64`, `s8` to `s64`, `x8` to `x64`, `f64`, `bool`, `char`, `string`, `symbol`,
            `object`, or `value`, where the definition names no type.
        count: how many elements its array has; 0: it is no array.
        offset: where it lies in the event's payload.
        fault_bit: the bit of the payload that says that it could not be read, if it is a number; of an array
            that of its first element. 0: it has none.
    """

    name: str
    type: str
    count: int  # type: ignore[assignment]  # not the method of tuples
    offset: int
    fault_bit: int = 0


class EventType(NamedTuple):
    """A kind of event that the program or its user defined.

    Attributes:
        system: the group of its name, as `fprobes`.
        name: its name in the group.
        fields_at: where its fields begin in the payload: at 8; at 16 after the address of the function at
            which it was hit; at 24 after that of a function which returned, and of its caller.
        fields: its fields, in the order in which a report shows them.
        layout: how they lie in the payload, as the file has it.
    """

    system: str
    name: str
    fields_at: int
    fields: tuple[EventField, ...]
    layout: str


class Task(NamedTuple):
    """A thread that was traced.

    Attributes:
        lane: where its records lie. Several tasks may use one lane, one after the other.
        pid: its process.
        tid: the operating system's id of the thread.
        name: the thread's name.
        process: the command line of its process; "" if unknown.
        first_ns: time of its first record, in nanoseconds of the trace's clock.
        last_ns: time of its last record.
        records: how many it has.
        buffer: the number of its buffer in Trace.buffers.
        host: the machine that it ran on, in a merged trace; else "".
        cpu_ns: how long the thread ran, from its first record to its end or that of the recording; 0: not
            known, as its process was killed, or the kernel does not tell.
        ready_ns: how long it was ready to run meanwhile, and had no processor.
    """

    lane: int
    pid: int
    tid: int
    name: str
    process: str
    first_ns: int
    last_ns: int
    records: int
    buffer: int
    host: str = ""
    cpu_ns: int = 0
    ready_ns: int = 0

    @classmethod
    def unnamed(cls, lane: int, tid: int, buffer: int) -> Task:
        """Return a task that the trace's description lacks."""
        return cls(lane, tid, tid, UNNAMED, "", 0, 0, 0, buffer)


class Buffer(NamedTuple):
    """An instance's part of a trace.

    Attributes:
        name: the instance's name; "" for the top one.
        tracer: the tracer that recorded it.
        options: the recording's options for a report: option name -> on or off.
        lost, overrun, waits, wait_ns: sums of its rings in all processes.
        events: how many it has.
    """

    name: str
    tracer: str
    options: Mapping[str, bool]
    lost: int
    overrun: int
    waits: int
    wait_ns: int
    events: int

    @property
    def has_calls(self) -> bool:
        """Whether it has calls with their durations: not the events of a tracer that records no calls."""
        return bool(self.events) and self.tracer not in FLAT_TRACERS


class Description(NamedTuple):
    """The JSON, decoded.

    Attributes:
        meta: the JSON's object.
        functions: by index, which an event has as an address.
        tasks: threads with records; a thread once for each buffer.
        clock: the kernel's name of the trace's clock.
        lost, overrun, waits, wait_ns, events: totals of all buffers.
        buffers: the top instance's first.
        killed: process id -> the reason, for each process whose kill switch tripped.
        hosts: of a merged trace: each machine, and how far off its times may be, in ns; None: not known.
        event_types: the kinds of events that the program or its user defined, by number.
    """

    meta: dict[str, Any]
    functions: Sequence[Function]
    tasks: list[Task]
    clock: str
    lost: int
    overrun: int
    waits: int
    wait_ns: int
    events: int
    buffers: list[Buffer]
    killed: dict[int, str]
    hosts: dict[str, int | None]
    event_types: list[EventType]


def decode_description(text: bytes, functions: Sequence[Function] | None = None) -> Description:
    """Decode a trace's JSON.

    Args:
        functions: the functions, if the JSON does not list them.

    Raises:
        TraceError: it is not JSON, is of another version, or something is missing or wrong.
    """
    try:
        meta = _decode_meta(text)
        if functions is not None:
            meta["functions"] = functions
        functions = _list_of_functions(meta["functions"])
        processes = [_process(item) for item in meta.get("processes", [])]
        cpus = _number(meta.get("cpus", 2**31)) or 1
        tasks = [_task(item, processes, cpus) for item in meta["tasks"]]
        totals = {key: _number(meta.get(key, 0)) for key in (*_COUNTS, "events")}
        names = [str(name) for name in meta.get("buffers", [""])]
        if len(names) == 1:  # the totals, which count damaged places too
            figures = [totals]
        else:
            figures = [_buffer_figures(meta, tasks, number) for number in range(len(names))]
        return Description(
            meta=meta,
            functions=functions,
            tasks=tasks,
            clock=str(meta.get("clock", "mono")),
            **totals,
            buffers=[_buffer(meta, name, counts) for name, counts in zip(names, figures, strict=True)],
            killed=_killed(meta),
            hosts=_hosts(meta),
            event_types=[_event_type(item) for item in meta.get("event_types", [])],
        )
    except _WRONG_FORM as error:
        raise TraceError(
            f"damaged: its description is not that of a trace ({type(error).__name__}: {error})"
        ) from None


def large_functions(count: int, text_of: Callable[[int], str]) -> Sequence[Function]:
    """Return so many functions, each of which is made of its JSON when somebody looks at it."""
    from funcgraph.tracedata.large_list import LargeList  # only now: few traces have so many

    make = _FunctionMaker()
    return LargeList(count, lambda number: make(decode_item(text_of(number))))


def tasks_named(tasks: Iterable[Task], word: str) -> list[Task]:
    """Return the tasks with this thread id, or whose name the word matches."""
    if word.isdecimal():
        return [task for task in tasks if task.tid == int(word)]
    from funcgraph import _engine  # it has the one glob; few readers need it

    pattern = encodable(word)
    return [task for task in tasks if _engine.glob_match(pattern, encodable(task.name))]


def encodable(text: str) -> str:
    """Return a text as C code takes it: a trace's names may have lone surrogates and zeros."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def shown_buffers(buffers: Sequence[Buffer]) -> list[int]:
    """Return the numbers of a trace's buffers: the top instance's only if it has events, since a recording
    may do without that instance."""
    return [n for n, b in enumerate(buffers) if b.events or b.name or len(buffers) == 1]


def _decode_meta(text: bytes) -> dict[str, Any]:
    wrong_function = None
    try:
        meta = decode_object(text.decode("utf-8", "surrogatepass"), "functions", _FunctionMaker())
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise TraceError("damaged: its description is not JSON") from None
    except _WRONG_FORM as error:
        wrong_function, meta = error, json.loads(text)  # those of another version may have another form
    if not isinstance(meta, dict) or "version" not in meta:
        raise TraceError("damaged: its description has no version")
    if meta["version"] != META_VERSION:
        version = meta["version"]
        raise TraceError(
            f"written by another version of funcgraph: format {version!r}, this one reads {META_VERSION}"
        )
    if wrong_function is not None:
        raise wrong_function
    return meta


def _number(value: object, limit: int = 2**64) -> int:
    if not isinstance(value, int) or not 0 <= value < limit:
        raise ValueError(f"{value!r} is not a number from 0 to {limit - 1}")
    return value


class _FunctionMaker:
    """Makes functions of JSON; those with equal texts share them."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def __call__(self, item: Sequence[Any]) -> Function:
        module, qualname, file, line, flags, arguments = item
        return Function(
            self._shared(module),
            str(qualname),
            self._shared(file or ""),
            _number(line),
            _number(flags),
            tuple(map(self._shared, arguments)),
        )

    def _shared(self, text: object) -> str:
        if len(self._texts) > MOST_MADE:
            self._texts.clear()  # each has another text: sharing is of no use
        return self._texts.setdefault(str(text), str(text))


def _list_of_functions(functions: object) -> Sequence[Function]:
    if isinstance(functions, (str, bytes)) or not isinstance(functions, Sequence):
        raise TypeError("its functions are no list")
    return functions


def _event_type(item: Sequence[Any]) -> EventType:
    system, name, fields_at, text = item
    return EventType(str(system), str(name), _number(fields_at, 2**16), _event_fields(str(text)), str(text))


def _event_fields(layout: str) -> tuple[EventField, ...]:
    """Return the fields, with their places among the faults, which are the last one."""
    words = (line.split(" ") for line in layout.split(";") if line)
    fields = [EventField(name, kind, int(count), int(offset)) for kind, name, count, offset in words]
    if not fields or fields[-1].name != _FAULTS:
        return tuple(fields)
    bit = 8 * fields.pop().offset
    for place, field in enumerate(fields):
        if field.type in _WITHOUT_FAULTS or (field.type == "symbol" and field.count):
            continue
        fields[place] = field._replace(fault_bit=bit)
        bit += field.count or 1
    return tuple(fields)


def _process(item: Mapping[str, Any]) -> tuple[str, str]:
    """Return the command line and the host of a ring's process."""
    return shlex.join(map(str, item["argv"])), str(item.get("host", ""))


def _task(item: Mapping[str, Any], processes: Sequence[tuple[str, str]], cpus: int) -> Task:
    lane, pid, tid = (_number(item[key], 2**31) for key in ("lane", "pid", "tid"))
    first_ns, last_ns, records = (_number(item.get(key, 0)) for key in ("first_ns", "last_ns", "records"))
    number = _number(item.get("process", 0))
    process, host = processes[number] if number < len(processes) else ("", "")
    name = str(item["name"]) or UNNAMED
    run = (_number(item.get(key, 0)) for key in ("cpu_ns", "ready_ns"))
    return Task(lane, pid, tid, name, process, first_ns, last_ns, records, lane // cpus, host, *run)


def _buffer_figures(meta: Mapping[str, Any], tasks: Iterable[Task], number: int) -> dict[str, int]:
    """Add up the figures of a buffer's rings and tasks."""
    rings = [ring for ring in meta.get("processes", []) if ring.get("buffer", 0) == number]
    figures = {key: sum(_number(ring.get(key, 0)) for ring in rings) for key in _COUNTS}
    return {**figures, "events": sum(task.records for task in tasks if task.buffer == number)}


def _killed(meta: Mapping[str, Any]) -> dict[int, str]:
    rings = [ring for ring in meta.get("processes", []) if ring.get("killed")]
    return {_number(ring["pid"], 2**32): " ".join(str(ring["killed"]).split()) for ring in rings}


def _hosts(meta: Mapping[str, Any]) -> dict[str, int | None]:
    rings = [ring for ring in meta.get("processes", []) if ring.get("host")]
    errors = {str(ring["host"]): ring["host_error_ns"] for ring in rings}
    return {name: None if error is None else _number(error) for name, error in errors.items()}


def _buffer(meta: Mapping[str, Any], name: str, figures: Mapping[str, int]) -> Buffer:
    recorded = meta.get("instances", {}).get(name, {})
    tracer = str(recorded.get("tracer", meta.get("tracer", "function_graph")))
    return Buffer(name, tracer, known_options(recorded.get("options", ())), **figures)
