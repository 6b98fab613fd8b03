"""Checks a recording's settings before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from funcgraph import _engine, _tracedata
from funcgraph.session.output import is_trace_dat
from funcgraph.settings import check as valid
from funcgraph.settings.table import (
    BY_NAME,
    CHOICE,
    ENDS_HAVE_NO_ARGUMENTS,
    EXCLUSIVE,
    NAME_BYTES,
    NUMBER,
    OPTIONS,
    PATTERNS,
    RECORDING,
    SETTINGS,
    SIZE,
    TIME,
)
from funcgraph.tracedata.option_words import report_options

__all__ = [
    "CHOICES",
    "DAT_SETTINGS",
    "RECORD_OPTIONS",
    "OptionError",
    "check",
    "check_dat_format",
    "check_file",
    "record_options",
    "recorded",
]

# The trace options that say what is recorded: name -> the setting, and the option's value that turns it
# on.
RECORD_OPTIONS = {name: option.records for name, option in OPTIONS.items() if option.records}

# The names that each choice has.
CHOICES = {
    "tracer": (*_engine.TRACERS, *_engine.LATENCY_TRACERS),
    "mode": _engine.MODES,
    "clock": _tracedata.CLOCKS,
    "compression": _tracedata.CODECS,
}

# The settings that say which trace.dat is written.
DAT_SETTINGS = ("file_version", "compression")


class OptionError(ValueError):
    """A setting has a value that it cannot have.

    Args:
        option: the setting's name; "name" for an instance's name.
        value: the value as given; of several patterns or words the wrong one.
        reason: what is wrong with the value, and what would be right.
    """

    def __init__(self, option: str, value: object, reason: str) -> None:
        super().__init__(f"{option}: {value!r}: {reason}")
        self.option = option
        self.value = value
        self.reason = reason


def check(settings: dict[str, Any]) -> None:
    """Raise OptionError for the first of a recording's settings that is wrong.

    Sizes and times that are texts become numbers in `settings`. Fields of events that `redact` names become
    ones that record nothing of the program.
    """
    _checked("clock", settings["clock"], partial(valid.one_of, allowed=CHOICES["clock"]))
    _check_limits(settings)
    check_dat_format(settings)
    names: set[str] = set()
    latency_tracers: set[str] = set()
    for instance in settings["instances"]:
        _check_name(instance["name"], names)
        _check_instance(instance)
        _check_latency_tracer(instance["tracer"], latency_tracers)
    _check_events(settings["instances"])


def check_file(settings: dict[str, Any], output: str) -> None:
    """Raise OptionError if a recording with these settings cannot write the file `output`."""
    for option in ("rotate", "ring"):
        if settings[option] and is_trace_dat(output):
            reason = "cannot write a trace.dat; 'funcgraph export trace-dat' makes one of a .fg"
            raise OptionError(option, output, reason)
    for option in DAT_SETTINGS:
        if settings[option] and not is_trace_dat(output):
            reason = f"only for a trace.dat, and {output!r} is to be a .fg: must be given with a NAME.dat"
            raise OptionError(option, settings[option], reason)


def check_dat_format(settings: dict[str, Any]) -> None:
    """Raise OptionError if `file_version` or `compression` is wrong; whether this system has the codec is not
    asked (DatFormat.check_codec)."""
    version, compression = settings["file_version"], settings["compression"]
    _checked("file_version", version, partial(valid.number, BY_NAME["file_version"]))
    if compression:
        _checked("compression", compression, partial(valid.one_of, allowed=CHOICES["compression"]))
    if version == 6 and compression not in ("", "none"):
        raise OptionError("compression", compression, "version 6 has no compression")


def _check_events(instances: Sequence[dict[str, Any]]) -> None:
    if any(instance["events"] for instance in instances):
        from funcgraph.events.recording_events import Together  # only now: most recordings have none

        _redact_events(instances)
        together = Together()
        for instance in instances:
            for text in instance["events"]:
                _checked("events", text, together.add)


def _redact_events(instances: Sequence[dict[str, Any]]) -> None:
    """Instances share the events of a process, so the words of each count for the events of all."""
    words = [instance["redact"] for instance in instances if instance["redact"]]
    if words:
        from funcgraph.events.recording_events import redacted

        checker = partial(redacted, words=words)
        for instance in instances:
            instance["events"] = [_checked("events", text, checker) for text in instance["events"]]


def _check_limits(settings: dict[str, Any]) -> None:
    given = dict(settings)
    checkers = {SIZE: valid.size, TIME: valid.seconds, NUMBER: valid.number}
    for setting in SETTINGS:
        if setting.scope == RECORDING and setting.kind in checkers:
            checker = partial(checkers[setting.kind], setting)
            settings[setting.name] = _checked(setting.name, settings[setting.name], checker)
    for option, other in (("ring", "rotate"), ("ring", "max_size")):
        if settings[option] and settings[other]:
            raise OptionError(option, given[option], f"cannot be given together with {_flag(other)}")
    if settings["keep"] != BY_NAME["keep"].default and not (settings["rotate"] or settings["ring"]):
        raise OptionError("keep", settings["keep"], f"only with {_flag('rotate')} or {_flag('ring')}")


def _flag(option: str) -> str:
    return BY_NAME[option].flag


def _checked(option: str, value: object, checker: Callable[[Any], Any]) -> Any:
    try:
        return checker(value)
    except ValueError as error:
        raise OptionError(option, value, str(error)) from None


def _check_name(name: str, names: set[str]) -> None:
    """Check an instance's name: a folder's name, as in the kernel, but one word and shorter."""
    if name in names:
        raise OptionError("name", name, "another instance has that name")
    names.add(name)
    if name in (".", "..") or "/" in name or any(c.isspace() or not c.isprintable() for c in name):
        raise OptionError("name", name, "must be one word without '/'")
    if valid.is_too_long(name):
        raise OptionError("name", name, f"must have at most {NAME_BYTES} bytes")


def _check_latency_tracer(tracer: str, others: set[str]) -> None:
    if tracer in others:
        reason = "another instance has it: a process has one of each latency tracer"
        raise OptionError("tracer", tracer, reason)
    if tracer in _engine.LATENCY_TRACERS:
        others.add(tracer)


def _check_instance(instance: dict[str, Any]) -> None:
    for option, value in instance.items():
        setting = BY_NAME.get(option)  # none for the name
        if setting is None:
            continue
        if setting.kind == PATTERNS:
            for pattern in value:
                _checked(option, pattern, _engine.check_pattern)
        elif setting.kind == CHOICE:
            _checked(option, value, partial(valid.one_of, allowed=CHOICES[option]))
        elif setting.kind == NUMBER:
            _checked(option, value, partial(valid.number, setting))
    if instance["native_objects"] and not instance["native_under"]:
        raise OptionError(
            "native_objects", instance["native_objects"][0], f"only with {_flag('native_under')}"
        )
    _checked("redact", instance["redact"], valid.redact)
    chosen = {**instance, **recorded(instance)}
    if chosen["args"] and chosen["no_repeats"]:  # the engine refuses both together with any tracer
        raise OptionError("options", EXCLUSIVE[1], "cannot be on together with arguments")
    if chosen["args"] and instance["thresh_us"] and instance["tracer"] == "function_graph":
        raise OptionError("thresh_us", instance["thresh_us"], ENDS_HAVE_NO_ARGUMENTS)


def recorded(instance: dict[str, Any]) -> dict[str, bool]:
    """Return what an instance's trace options and `values` say of what is recorded: setting -> on or off.

    Parts of values are parts of arguments and results. A call that is recorded when it ends has no arguments.

    Raises:
        OptionError: a word that is no option; the reason lists all.
    """
    chosen = record_options(instance["options"])
    if instance["values"]:
        chosen["retval"] = True
        if not (instance["thresh_us"] and instance["tracer"] == "function_graph"):
            chosen["args"] = True
    return chosen


def record_options(words: list[str]) -> dict[str, bool]:
    """Return what trace options say of what is recorded: setting -> on or off.

    Raises:
        OptionError: a word that is no option; the reason lists all.
    """
    chosen: dict[str, bool] = {}
    allowed = dict.fromkeys([*(option.name for option in report_options()), *RECORD_OPTIONS])
    for word in words:
        try:
            name, on = valid.option_word(word, allowed)
        except ValueError as error:
            raise OptionError("options", word, str(error)) from None
        if name in RECORD_OPTIONS:
            setting, value = RECORD_OPTIONS[name]
            chosen[setting] = on is value
    return chosen
