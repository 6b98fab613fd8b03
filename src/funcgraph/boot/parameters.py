"""Instances from the start of a program: the variable FUNCGRAPH, with the kernel's boot parameters.

    FUNCGRAPH="ftrace=function_graph ftrace_filter=shop.*,pay.* trace_options=funcgraph-args" python app.py

The names and their meanings are those of Documentation/admin-guide/kernel-parameters.txt; the table of
settings has them. Parameters before the first `trace_instance` configure the instance `top`, those after
one the instances that it names. In the kernel only events follow such a name.

`parse` is pure: it turns a text into settings, or raises one error. `start` makes the instances.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypedDict, cast

from funcgraph.session.environ import BOOT_CONTROL as CONTROL
from funcgraph.session.environ import BOOT_VARIABLE as VARIABLE
from funcgraph.settings import check
from funcgraph.settings.table import (
    CHOICE,
    EVENTS,
    FLAG,
    NAME_BYTES,
    NUMBER,
    OPTIONS,
    PATTERNS,
    SETTINGS,
    TEXT,
    TOP,
    WORDS,
    Setting,
)

if TYPE_CHECKING:
    from funcgraph.definitions.definition import Definition
    from funcgraph.instance.instance import Instance

__all__ = ["PARAMETERS", "Allowed", "BootError", "BootInstance", "Value", "needs_control", "parse", "start"]

#: What a parameter's text means.
Value: TypeAlias = str | int | dict[str, bool] | list[str] | list[tuple[str, str]]

_INSTANCE = "trace_instance"

# The kernel's name of a parameter -> the setting.
PARAMETERS: Mapping[str, Setting] = {setting.boot: setting for setting in SETTINGS if setting.boot}


class BootError(ValueError):
    """The variable has a mistake.

    Args:
        column: where the word begins, from 1.
        word: the parameter as given.
        reason: what is wrong with it, and what is allowed.
    """

    def __init__(self, column: int, word: str, reason: str) -> None:
        super().__init__(f"{VARIABLE}, column {column}: {word}: {reason}")


@dataclass(frozen=True, slots=True)
class Allowed:
    """The values that the engine and the trace writer know.

    Attributes:
        tracers, options, clocks: names.
        check_pattern: raises ValueError, with the reason, for an invalid pattern.
    """

    tracers: tuple[str, ...]
    options: tuple[str, ...]
    clocks: tuple[str, ...]
    check_pattern: Callable[[str], None]


class InstanceKeywords(TypedDict, total=False):
    """The keywords of funcgraph.Instance that have a boot parameter."""

    tracer: str
    filter: list[str]
    notrace: list[str]
    graph: list[str]
    graph_notrace: list[str]
    max_graph_depth: int
    tracing_thresh: int
    value_depth: int
    value_string_size: int
    value_redact: str
    options: dict[str, bool]
    buffer_size_kb: int


@dataclass(slots=True)
class BootInstance:
    """An instance to make.

    Attributes:
        name: its name.
        keywords: the keywords of funcgraph.Instance, by name.
        clock: its trace_clock.
        dump: the file that gets its trace when the program ends; "": none.
        events: definitions of events to record.
        enabled_events: words of set_event.
        event_triggers: (event, trigger) of each.
        alloc_snapshot: it has the memory of its snapshot from the start.
    """

    name: str
    keywords: dict[str, Value] = field(default_factory=dict)
    clock: str = "mono"
    dump: str = ""
    events: list[str] = field(default_factory=list)
    enabled_events: list[str] = field(default_factory=list)
    event_triggers: list[tuple[str, str]] = field(default_factory=list)
    alloc_snapshot: bool = False

    def typed_keywords(self) -> InstanceKeywords:
        """Return `keywords` with the type that each has: _PARSERS made them."""
        return cast(InstanceKeywords, self.keywords)


def _words(value: str) -> list[str]:
    words = value.split(",")
    if "" in words:
        raise ValueError("no text between two commas")
    return words


def _choice(setting: Setting, value: str, allowed: Allowed) -> str:
    return check.one_of(value, allowed.tracers if setting.name == "tracer" else allowed.clocks)


def _patterns(setting: Setting, value: str, allowed: Allowed) -> list[str]:
    patterns = _words(value)
    for pattern in patterns:
        try:
            allowed.check_pattern(pattern)
        except ValueError as error:
            raise ValueError(f"{pattern!r}: {error}") from None
    return patterns


def _options(setting: Setting, value: str, allowed: Allowed) -> dict[str, bool]:
    chosen: dict[str, bool] = {}
    for word in _words(value):
        try:
            name, chosen[name] = check.option_word(word, allowed.options)
        except ValueError as error:
            raise ValueError(f"{word!r}: {error}") from None
    return chosen


def _number(setting: Setting, value: str, allowed: Allowed) -> int:
    if setting.unit == "KiB":
        return _size_kb(setting, value)
    if value.isascii() and value.isdecimal():
        return check.number(setting, int(value))
    raise ValueError(f"must be {check.range_text(setting)}")


def _size_kb(setting: Setting, value: str) -> int:
    """Return a size given in bytes, or with K, M or G after it; rounded up to KiB."""
    size = check.size_of_text(value)
    if size is not None and setting.least <= (size_kb := -(-size // 1024)) <= setting.most:
        return size_kb
    raise ValueError(
        f"must be a size from {setting.least}K to {setting.most >> 20}G, in bytes or with K, M or G after it"
    )


def _text(setting: Setting, value: str, allowed: Allowed) -> str:
    return value


def _events(setting: Setting, value: str, allowed: Allowed) -> list[str] | list[tuple[str, str]]:
    from funcgraph.boot import events as boot_events  # with all of events: few programs have them

    return boot_events.PARSERS[setting.name](value)


_PARSERS: Mapping[str, Callable[[Setting, str, Allowed], Value]] = {
    CHOICE: _choice,
    PATTERNS: _patterns,
    NUMBER: _number,
    WORDS: _options,
    TEXT: _text,
    EVENTS: _events,
    FLAG: lambda setting, value, allowed: True,  # it has no value: that it is there says it
}


def parse(text: str, allowed: Allowed) -> list[BootInstance]:
    """Return the instances that the variable's text asks for.

    Args:
        text: parameters, NAME=VALUE, with white space between them. A value may stand in double quotes. The
            last one of the same name wins, but options and events add up.
        allowed: the values that are allowed.

    Raises:
        BootError: an unknown parameter, or a value that is not allowed.
    """
    top = BootInstance(TOP)
    made: list[BootInstance] = []
    current = [top]
    for begin, word in _parameters(text):
        name, equals, value = _without_quotes(word)
        try:
            if name == CONTROL:
                _check_no_value(name, equals)
                continue
            if name != _INSTANCE and name not in PARAMETERS:
                known = [*PARAMETERS, _INSTANCE, CONTROL]
                names = ", ".join(known) + check.meant(name, known)
                raise ValueError(f"unknown parameter {name!r}: must be one of {names}")
            if name in PARAMETERS and PARAMETERS[name].kind == FLAG:
                _check_no_value(name, equals)
                _set(current, PARAMETERS[name], "", allowed)
                continue
            if not equals or not value:
                raise ValueError(f"no value: must be {name}=VALUE")
            if name == _INSTANCE:
                current = _new_instances(value, made)
                made += current
            else:
                _set(current, PARAMETERS[name], value, allowed)
        except ValueError as error:
            raise BootError(begin + 1, word, str(error)) from None
    return [top, *made] if top != BootInstance(TOP) else made


def needs_control(text: str) -> bool:
    """Return whether the variable's text, which is right, asks for a control socket."""
    return any(word == CONTROL for _, word in _parameters(text))


def _check_no_value(name: str, equals: str) -> None:
    if equals:
        raise ValueError(f"takes no value: must be {name}")


def _parameters(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each parameter begins, and the parameter; blanks in double quotes separate none."""
    begin, is_quoted = 0, False
    for at, character in enumerate(f"{text} "):
        if character == '"':
            is_quoted = not is_quoted
        if at == len(text) or (character.isspace() and not is_quoted):
            if at > begin:
                yield begin, text[begin:at]
            begin = at + 1


def _without_quotes(word: str) -> tuple[str, str, str]:
    """Return name, "=" and value of a parameter, without the quotes around it or its value, as the kernel."""
    name, equals, value = word.partition("=")
    if name.startswith('"'):
        return name[1:], equals, value.removesuffix('"')
    if value.startswith('"'):
        value = value[1:].removesuffix('"')
    return name, equals, value


def _new_instances(value: str, made: list[BootInstance]) -> list[BootInstance]:
    names = [TOP, *(instance.name for instance in made)]
    for name in _words(value):
        if name in names:
            raise ValueError(f"{name!r}: another instance has that name")
        try:
            check.name(name)
        except ValueError as error:
            raise ValueError(f"{name!r}: {error}") from None
        if check.is_too_long(name):
            raise ValueError(f"the name must have at most {NAME_BYTES} bytes")
        names.append(name)
    return [BootInstance(name) for name in _words(value)]


def _set(instances: list[BootInstance], setting: Setting, text: str, allowed: Allowed) -> None:
    """Set one parameter: a keyword of Instance, or where it has none an attribute of BootInstance."""
    value = _PARSERS[setting.kind](setting, text, allowed)
    for instance in instances:
        if setting.keyword:
            former = instance.keywords.get(setting.keyword)
            if isinstance(former, dict) and isinstance(value, dict):  # options add up
                instance.keywords[setting.keyword] = {**former, **value}
            else:
                instance.keywords[setting.keyword] = value
        elif setting.kind == EVENTS:
            getattr(instance, setting.name).extend(value)
        else:
            setattr(instance, setting.name, value)


def start(text: str) -> bool:
    """Make the instances that the variable's text asks for. Raises nothing.

    If one of them cannot be made, none is, and a line on standard error says why.

    Returns:
        Whether the text asks for a control socket, too. False if there was a mistake.
    """
    from funcgraph import _engine
    from funcgraph.instance.instance import Instance

    instances: list[Instance] = []
    made: list[Definition] = []  # definitions of events
    try:
        requests = parse(text, _allowed())
        for request in requests:
            keywords: InstanceKeywords = {**request.typed_keywords(), "tracer": "nop"}
            instances.append(Instance(request.name, **keywords))
            instances[-1].trace_clock = request.clock
            if request.alloc_snapshot:
                instances[-1].files["snapshot"] = "1"  # of a buffer that is empty
        for instance, request in zip(instances, requests, strict=True):
            instance.current_tracer = request.typed_keywords().get("tracer", "nop")
            _engine.wait_for_site()  # has no effect before there is a tracer
        for instance, request in zip(instances, requests, strict=True):
            if request.events or request.enabled_events or request.event_triggers:
                _start_events(instance, request, made)
            if request.dump:
                _dump_at_exit(instance, request.dump)
    except Exception as error:
        for instance in instances:
            instance.close()
        _remove(made)
        reason = error if isinstance(error, BootError) else f"{VARIABLE}: {_reason(error)}"
        _print_error(f"{reason}; nothing is traced")
        return False
    return needs_control(text)


def _start_events(instance: Instance, request: BootInstance, made: list[Definition]) -> None:
    from funcgraph.boot import events as boot_events

    boot_events.start(instance, request.events, request.enabled_events, request.event_triggers, made)


def _remove(made: list[Definition]) -> None:
    if made:
        from funcgraph.events import live

        live.remove(made)


def _allowed() -> Allowed:
    from funcgraph import _engine, _tracedata

    tracers = (*_engine.TRACERS, *_engine.LATENCY_TRACERS)
    return Allowed(tracers, tuple(OPTIONS), _tracedata.CLOCKS, _engine.check_pattern)


def _reason(error: Exception) -> str:
    text = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    return " ".join(text.split())


def _dump_at_exit(instance: Instance, path: str) -> None:
    """Write the instance's trace when the program ends, but not when a fork's child ends."""
    import atexit

    pid = os.getpid()
    path = os.path.abspath(path.replace("%p", str(pid)))

    def dump() -> None:
        if os.getpid() != pid or instance.closed:
            return
        try:
            instance.save(path)
        except Exception as error:
            _print_error(
                f"{path}: the trace of instance {instance.name!r} could not be written: {_reason(error)}"
            )

    atexit.register(dump)


def _print_error(text: str) -> None:
    try:
        os.write(2, f"funcgraph: {text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass  # standard error is closed
