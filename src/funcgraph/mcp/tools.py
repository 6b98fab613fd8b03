"""The tools of `funcgraph mcp`, as a table. Each is a command line of funcgraph that a client fills in.

A client's values come from a language model, which has read names out of traces: they are another party's.
So each value is checked against its parameter, and stands where the command takes it for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = [
    "LIMIT",
    "PAIR",
    "TOOLS",
    "Parameter",
    "RequestError",
    "Tool",
    "Value",
    "command_words",
    "input_of",
    "schema_of",
]

Value: TypeAlias = str | int | float | bool

_MOST_TEXT = 4096  # characters of a value
_MOST_INPUT = 1 << 16
_MOST_NUMBER = 1 << 40
INPUT = "<"
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


class RequestError(ValueError):
    """A client asked for what there is not."""


@dataclass(frozen=True)
class Parameter:
    """What a client may give.

    Attributes:
        name: its name.
        kind: its JSON type.
        help: what it is for.
        flag: the option that takes it; "": it is an argument of the command. INPUT: its standard input.
        required: whether it must be given.
        most: the most characters of a text.
    """

    name: str
    kind: Literal["string", "integer", "number", "boolean"]
    help: str
    flag: str = ""
    required: bool = False
    most: int = _MOST_TEXT


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        name: its name.
        help: what it is for.
        words: the command, and its fixed options.
        parameters: what the client may give.
        reads: how many traces it reads.
        arguments: arguments of the command, before those of the client.
    """

    name: str
    help: str
    words: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    reads: int = 1
    arguments: tuple[str, ...] = ()


TRACE = Parameter("trace", "string", "which trace, as `traces` lists them; without it the latest")
#: The traces of a tool that reads two.
PAIR = (
    Parameter("before", "string", "the first trace, as `traces` lists them; without it the last but one"),
    Parameter("after", "string", "the second trace; without it the latest"),
)
LIMIT = Parameter("limit", "integer", "most characters of the answer, 200 to 100000 (default: 8000)")

_TASK = Parameter("task", "string", "only this thread: its id or name", "--task")
_COUNT = Parameter("count", "integer", "most lines or items", "-n")
_BEGIN = Parameter("begin", "string", "from this time on: seconds as a report prints them, or +N", "--from")
_END = Parameter("end", "string", "up to this time", "--to")
_SELECTION = (
    _TASK,
    Parameter("function", "string", "only calls of functions that match: module.name, * and ?", "-l"),
    Parameter("graph", "string", "only functions that match, and all that they call", "-g"),
    _BEGIN,
    _END,
    Parameter("max_depth", "integer", "only the first levels of calls", "--max-depth"),
    Parameter("longer_us", "number", "only calls that ran for so many microseconds", "--longer"),
    Parameter(
        "where",
        "string",
        'only calls whose values meet a filter, as: amount > 3 && sku ~ "1,*" || raised. Fields: arguments, '
        "ret, exc, raised, duration and own (microseconds)",
        "--where",
    ),
    Parameter("callers", "integer", "with where: so many calls around each", "--callers"),
    Parameter("below", "boolean", "with where: also what these calls call", "--below"),
)

_LANGUAGE = (
    "the expectation: a line is a call, and calls what is indented below it, as: m.load(n=3, ...) = 7 x1..30 "
    "or m.save ! OSError. * and ? match in names and values, ... stands for any calls"
)

TOOLS = (
    Tool(
        "summary",
        "Which functions ran, how often and for how long. Begin here.",
        ("summary",),
        (
            _COUNT,
            Parameter("sort", "string", "the column to sort by, as self or total", "--sort"),
            *_SELECTION,
        ),
    ),
    Tool(
        "tree",
        "The merged call tree: each path of functions once, with calls and times.",
        ("report", "--no-pager", "--tree"),
        (_COUNT, Parameter("levels", "integer", "levels of callees", "--tree-depth"), *_SELECTION),
    ),
    Tool(
        "report",
        "The calls one by one, nested, with durations, arguments and results. Select a part.",
        ("report", "--no-pager"),
        (_COUNT, *_SELECTION),
    ),
    Tool(
        "why",
        "What a call, or a function's slow calls, spent their time on. FUNCTION, FUNCTION:N or THREAD@TIME.",
        ("why",),
        (
            Parameter("call", "string", "the function or call", required=True),
            Parameter("slowest", "boolean", "only the slowest call", "--slowest"),
            _TASK,
        ),
    ),
    Tool(
        "values",
        "A function's calls by their arguments, results and exceptions: which value makes them slow.",
        ("values",),
        (
            Parameter("of", "string", "the function", required=True),
            Parameter("by", "string", "this argument, `result` or `exception`", "--by"),
            _COUNT,
            *_SELECTION,
        ),
    ),
    Tool(
        "repeat",
        "What was done twice or for nothing: N+1 queries, results to cache or unused, swallowed exceptions.",
        ("repeat",),
        (Parameter("least", "integer", "how many are a repetition", "--least"), _COUNT, *_SELECTION),
    ),
    Tool(
        "exceptions",
        "Each exception, from where it was raised to where it was handled.",
        ("exceptions",),
        (Parameter("nth", "integer", "follow this one", "--nth"), _COUNT, *_SELECTION),
    ),
    Tool(
        "compare",
        "Two calls of one function side by side, up to where they first differ. FUNCTION:N or THREAD@TIME.",
        ("compare",),
        (
            Parameter("one", "string", "a call", required=True),
            Parameter("other", "string", "another call", required=True),
        ),
    ),
    Tool(
        "compare_traces",
        "Two runs, in two traces: the first calls of a function that differ, side by side, the N-th beside "
        "the N-th. Or FUNCTION:N of both.",
        ("compare",),
        (
            Parameter("function", "string", "the function, or FUNCTION:N", "--at", required=True),
            Parameter("task", "string", "only this thread of both: its id or name", "--task"),
        ),
        reads=2,
    ),
    Tool(
        "first_difference",
        "Where two runs, in two traces, first differ, whatever the function: in a call, argument or result.",
        ("diff", "--first-difference"),
        (_TASK, Parameter("graph", "string", "only functions that match, and all that they call", "-g")),
        reads=2,
    ),
    Tool(
        "expectation",
        "The calls as an expectation, which `expect` checks: order, count, nesting, arguments, results. "
        "Of one call or a part of the time: other calls are `...`.",
        ("expect", "--write"),
        (
            Parameter(
                "call", "string", "only this call and what it calls: FUNCTION:N or THREAD@TIME", "--call"
            ),
            _BEGIN,
            _END,
            Parameter("function", "string", "only calls of functions that match: module.name, * and ?", "-l"),
            Parameter("max_depth", "integer", "only the first levels of calls", "--max-depth"),
            _TASK,
        ),
        arguments=("-",),
    ),
    Tool(
        "expect",
        "Whether the calls are those of an expectation, and where they first differ.",
        ("expect",),
        (
            Parameter("calls", "string", _LANGUAGE, INPUT, required=True, most=_MOST_INPUT),
            _TASK,
        ),
        arguments=("-",),
    ),
    Tool(
        "sql",
        "A question in SQL (DuckDB) over the tables calls, events, functions, tasks and stacks.",
        ("sql",),
        (Parameter("query", "string", "the statement", required=True), *_SELECTION),
    ),
)

RECORD = Tool(
    "record",
    "Record which functions a running process calls. The new trace is the latest then.",
    ("record", "-q"),
    (
        Parameter("pid", "integer", "the process: one of those that the server was started for", "-P", True),
        Parameter("seconds", "integer", "for how long: 1 to 60", "--max-time", True),
        Parameter("function", "string", "only functions that match", "-l"),
        Parameter("graph", "string", "only functions that match, and all that they call", "-g"),
        Parameter("args", "boolean", "record arguments", "--args"),
        Parameter("retval", "boolean", "record results", "--retval"),
    ),
    reads=0,
)


_TRACES_OF: tuple[tuple[Parameter, ...], ...] = ((), (TRACE,), PAIR)


def schema_of(tool: Tool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments."""
    parameters = (*tool.parameters, *_TRACES_OF[tool.reads], LIMIT)
    return {
        "type": "object",
        "properties": {one.name: {"type": one.kind, "description": one.help} for one in parameters},
        "required": [one.name for one in parameters if one.required],
        "additionalProperties": False,
    }


def command_words(tool: Tool, given: Mapping[str, object], more: Sequence[str] = ()) -> list[str]:
    """Return the words of the command, without the program's name.

    Args:
        tool: the tool.
        given: the client's values of tool.parameters.
        more: further options.

    Raises:
        RequestError: a value is not what its parameter takes, or there is no such parameter.
    """
    known = {one.name: one for one in tool.parameters}
    if unknown := sorted(set(given) - set(known)):
        raise RequestError(f"{tool.name} has no '{unknown[0]}'; it has: {', '.join(known)}")
    options, arguments = [], list(tool.arguments)
    for parameter in tool.parameters:
        value = given.get(parameter.name)
        if value is None:
            if parameter.required:
                raise RequestError(f"{tool.name} needs '{parameter.name}': {parameter.help}")
            continue
        checked = checked_value(parameter, value)
        if parameter.flag == INPUT:
            continue
        if not parameter.flag:
            arguments.append(str(checked))
        elif parameter.kind != "boolean":
            # One word: a value that begins with '-' is no option.
            joint = "=" if parameter.flag.startswith("--") else ""
            options.append(f"{parameter.flag}{joint}{checked}")
        elif checked:
            options.append(parameter.flag)
    return [*tool.words, *options, *more, *(["--", *arguments] if arguments else [])]


def input_of(tool: Tool, given: Mapping[str, object]) -> str | None:
    """Return what the command gets at its standard input; None: nothing. command_words() has checked it."""
    texts = (given.get(one.name) for one in tool.parameters if one.flag == INPUT)
    return next((text for text in texts if isinstance(text, str)), None)


def checked_value(parameter: Parameter, value: object) -> Value:
    """Return a client's value. Raises RequestError if the parameter does not take it."""
    wrong = not isinstance(value, _TYPES[parameter.kind]) or (
        isinstance(value, bool) and parameter.kind != "boolean"
    )
    if wrong:
        raise RequestError(f"'{parameter.name}' must be a {parameter.kind}: {parameter.help}")
    assert isinstance(value, (str, int, float))
    if isinstance(value, str) and (not 0 < len(value) <= parameter.most or "\0" in value):
        raise RequestError(f"'{parameter.name}' must have 1 to {parameter.most} characters, and no NUL")
    if not isinstance(value, (str, bool)) and not -_MOST_NUMBER <= value <= _MOST_NUMBER:
        raise RequestError(f"'{parameter.name}' is too large")
    return value
