"""Instances from the very start of a program: the variable FUNCGRAPH, with the kernel's boot parameters.

    FUNCGRAPH="ftrace=function_graph ftrace_filter=shop.*,pay.* trace_options=funcgraph-args" python app.py

The names and their meanings are those of Documentation/admin-guide/kernel-parameters.txt. Parameters before
the first `trace_instance` are about the instance `top`, those behind one about the instances that it names:
the kernel has only events for these.

`parse` is pure: a text becomes settings, or one error. `start` makes the instances.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from funcgraph.session.environ import BOOT_VARIABLE as VARIABLE
from funcgraph.session.options import LIMITS

__all__ = ["PARAMETERS", "TOP", "Allowed", "BootError", "BootInstance", "parse", "start"]

TOP = "top"
NAME_BYTES = 63  # FG_INSTANCE_NAME_BYTES without the NUL

_UNITS = {"k": 1, "m": 1 << 10, "g": 1 << 20}  # in KiB


class BootError(ValueError):
    """What is wrong in the variable.

    Args:
        column: where the word begins, from 1.
        word: the parameter as it stands there.
        reason: what is wrong with it, and what is allowed.
    """

    def __init__(self, column: int, word: str, reason: str) -> None:
        super().__init__(f"{VARIABLE}, column {column}: {word}: {reason}")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What values can be, as the engine knows it.

    Attributes:
        tracers, options, clocks: names.
        check_pattern: raises ValueError (why) for what is no pattern.
    """

    tracers: tuple[str, ...]
    options: tuple[str, ...]
    clocks: tuple[str, ...]
    check_pattern: Callable[[str], None]


@dataclass(slots=True)
class BootInstance:
    """An instance that is to be made.

    Attributes:
        name: its name.
        keywords: those of funcgraph.Instance.
        clock: its trace_clock.
        dump: the file into which its trace goes when the program ends; "": none.
    """

    name: str
    keywords: dict[str, Any] = field(default_factory=dict)
    clock: str = "mono"
    dump: str = ""


def _tracer(value: str, allowed: Allowed) -> str:
    if value not in allowed.tracers:
        raise ValueError(f"no tracer {value!r}; there are: {', '.join(allowed.tracers)}")
    return value


def _clock(value: str, allowed: Allowed) -> str:
    if value not in allowed.clocks:
        raise ValueError(f"no clock {value!r}; there are: {', '.join(allowed.clocks)}")
    return value


def _words(value: str) -> list[str]:
    words = value.split(",")
    if "" in words:
        raise ValueError("an empty place between commas")
    return words


def _patterns(value: str, allowed: Allowed) -> list[str]:
    patterns = _words(value)
    for pattern in patterns:
        try:
            allowed.check_pattern(pattern)
        except ValueError as error:
            raise ValueError(f"{pattern!r}: {error}") from None
    return patterns


def _options(value: str, allowed: Allowed) -> dict[str, bool]:
    chosen: dict[str, bool] = {}
    for word in _words(value):
        off = word not in allowed.options and word.startswith("no")
        name = word[2:] if off else word
        if name not in allowed.options:
            names = ", ".join(allowed.options)
            raise ValueError(f"no option {word!r}; there are: {names} (with 'no' in front: off)")
        chosen[name] = not off
    return chosen


def _number(value: str, option: str) -> int:
    least, most = LIMITS[option]
    if not (value.isascii() and value.isdecimal()) or not least <= int(value) <= most:
        raise ValueError(f"{value!r} is not allowed; a whole number from {least} to {most} is")
    return int(value)


def _depth(value: str, allowed: Allowed) -> int:
    return _number(value, "max_graph_depth")


def _thresh(value: str, allowed: Allowed) -> int:
    return _number(value, "thresh_us")


def _size_kb(value: str, allowed: Allowed) -> int:
    """A size in bytes, or with K, M or G behind it; rounded up to KiB."""
    least, most = LIMITS["buffer_kb"]
    digits, unit = (value[:-1], value[-1:].lower()) if value[-1:].lower() in _UNITS else (value, "")
    if digits.isascii() and digits.isdecimal():
        size_kb = int(digits) * _UNITS[unit] if unit else -(-int(digits) // 1024)
        if least <= size_kb <= most:
            return size_kb
    raise ValueError(f"{value!r} is not allowed; a size from 32K to 1024G is, in bytes or with K, M or G")


def _file(value: str, allowed: Allowed) -> str:
    return value


# The kernel's name: keyword of Instance (or attribute of BootInstance), and what makes its value of the text.
PARAMETERS: Mapping[str, tuple[str, Callable[[str, Allowed], Any]]] = {
    "ftrace": ("tracer", _tracer),
    "ftrace_filter": ("filter", _patterns),
    "ftrace_notrace": ("notrace", _patterns),
    "ftrace_graph_filter": ("graph", _patterns),
    "ftrace_graph_notrace": ("graph_notrace", _patterns),
    "ftrace_graph_max_depth": ("max_graph_depth", _depth),
    "tracing_thresh": ("tracing_thresh", _thresh),
    "trace_options": ("options", _options),
    "trace_buf_size": ("buffer_size_kb", _size_kb),
    "trace_clock": ("clock", _clock),
    "ftrace_dump_on_exit": ("dump", _file),  # ours
}
_INSTANCE = "trace_instance"
_OWN = ("clock", "dump")  # attributes of BootInstance


def parse(text: str, allowed: Allowed) -> list[BootInstance]:
    """Return the instances that the variable's text asks for.

    Args:
        text: parameters, NAME=VALUE, with blanks between them. Of two about the same thing the later one
            counts, but options add up.

    Raises:
        BootError: a parameter that is none, or a value that is not allowed.
    """
    top = BootInstance(TOP)
    made: list[BootInstance] = []
    current = [top]
    end = 0
    for word in text.split():
        begin = text.index(word, end)
        end = begin + len(word)
        name, equals, value = word.partition("=")
        try:
            if name != _INSTANCE and name not in PARAMETERS:
                raise ValueError(f"no parameter {name!r}; there are: {', '.join([*PARAMETERS, _INSTANCE])}")
            if not equals or not value:
                raise ValueError(f"it has no value; {name}=VALUE is right")
            if name == _INSTANCE:
                current = _new_instances(value, made)
                made += current
            else:
                _set(current, *PARAMETERS[name], value, allowed)
        except ValueError as error:
            raise BootError(begin + 1, word, str(error)) from None
    return [top, *made] if top != BootInstance(TOP) else made


def _new_instances(value: str, made: list[BootInstance]) -> list[BootInstance]:
    names = [TOP, *(instance.name for instance in made)]
    for name in _words(value):
        if name in names:
            raise ValueError(f"there is an instance {name!r} already")
        if "/" in name or name in (".", ".."):
            raise ValueError(f"{name!r} is no name; one has no '/' and is no dot")
        if len(name.encode("utf-8", "surrogateescape")) > NAME_BYTES:
            raise ValueError(f"a name has at most {NAME_BYTES} bytes")
        names.append(name)
    return [BootInstance(name) for name in _words(value)]


def _set(
    instances: list[BootInstance],
    keyword: str,
    convert: Callable[[str, Allowed], Any],
    text: str,
    allowed: Allowed,
) -> None:
    value = convert(text, allowed)
    for instance in instances:
        if keyword in _OWN:
            setattr(instance, keyword, value)
        elif isinstance(value, dict):
            instance.keywords[keyword] = {**instance.keywords.get(keyword, {}), **value}
        else:
            instance.keywords[keyword] = value


def start(text: str) -> None:
    """Make the instances that the variable's text asks for: all of them, or, if one cannot be, none.

    Then a line on standard error says why. Nothing is raised.
    """
    from funcgraph import _engine
    from funcgraph.instance.instance import Instance

    instances: list[Instance] = []
    try:
        all_wanted = parse(text, _allowed())
        for wanted in all_wanted:
            instances.append(Instance(wanted.name, **{**wanted.keywords, "tracer": "nop"}))
            instances[-1].trace_clock = wanted.clock
        for instance, wanted in zip(instances, all_wanted, strict=True):
            instance.current_tracer = wanted.keywords.get("tracer", "nop")
            _engine.wait_for_site()  # of no effect before there is a tracer
        for instance, wanted in zip(instances, all_wanted, strict=True):
            if wanted.dump:
                _dump_at_exit(instance, wanted.dump)
    except Exception as error:
        for instance in instances:
            instance.close()
        reason = error if isinstance(error, BootError) else f"{VARIABLE}: {_reason(error)}"
        _say(f"{reason}; nothing is traced")


def _allowed() -> Allowed:
    from funcgraph import _engine, _tracedata
    from funcgraph.instance.options import option_names

    return Allowed(_engine.TRACERS, tuple(option_names()), _tracedata.CLOCKS, _engine.check_pattern)


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__


def _dump_at_exit(instance: Any, path: str) -> None:
    """Write the instance's trace when the program ends; not when a fork's child does."""
    import atexit

    pid = os.getpid()
    path = os.path.abspath(path.replace("%p", str(pid)))

    def dump() -> None:
        if os.getpid() != pid or instance.closed:
            return
        try:
            instance.save(path)
        except Exception as error:
            _say(f"{path}: the trace of instance {instance.name!r} could not be written: {_reason(error)}")

    atexit.register(dump)


def _say(text: str) -> None:
    try:
        os.write(2, f"funcgraph: {text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass  # nobody listens
