"""Whether a recording's settings are ones that can be: asked before anything runs."""

from __future__ import annotations

from typing import Any

from funcgraph import _engine, _tracedata
from funcgraph.session.options import LIMITS, PATTERN_OPTIONS
from funcgraph.tracedata.report_options import parse_options

__all__ = ["RECORD_OPTIONS", "OptionError", "check", "record_options"]

# The kernel's options that say what is recorded: name -> ours for the same, and the value that sets it.
RECORD_OPTIONS = _engine.INSTANCE_FLAGS

NAME_BYTES = 63  # FG_INSTANCE_NAME_BYTES without the NUL


class OptionError(ValueError):
    """A setting that cannot be.

    Args:
        option: its name, as in options.DEFAULTS or options.RECORDING; "name" for an instance's name.
        value: what it was to be; of several patterns or words the one that is wrong.
        reason: what is wrong with that, and what would be right.
    """

    def __init__(self, option: str, value: object, reason: str) -> None:
        super().__init__(f"{option}: {value!r}: {reason}")
        self.option = option
        self.value = value
        self.reason = reason


def check(settings: dict[str, Any]) -> None:
    """Raise OptionError for the first of a recording's settings that cannot be."""
    if settings["clock"] not in _tracedata.CLOCKS:
        raise OptionError("clock", settings["clock"], f"must be one of {', '.join(_tracedata.CLOCKS)}")
    names: set[str] = set()
    for instance in settings["instances"]:
        _check_name(instance["name"], names)
        _check_instance(instance)


def _check_name(name: str, names: set[str]) -> None:
    """As the kernel, whose instances are folders; ours have a limit of their own, and are one word."""
    if name in names:
        raise OptionError("name", name, "there is an instance of that name already")
    names.add(name)
    if name in (".", "..") or "/" in name or any(c.isspace() or not c.isprintable() for c in name):
        raise OptionError("name", name, "must be one word without '/'")
    if len(name.encode("utf-8", "surrogateescape")) > NAME_BYTES:
        raise OptionError("name", name, f"must have at most {NAME_BYTES} bytes")


def _check_instance(instance: dict[str, Any]) -> None:
    for option in PATTERN_OPTIONS:
        for pattern in instance[option]:
            try:
                _engine.check_pattern(pattern)
            except ValueError as error:
                raise OptionError(option, pattern, str(error)) from None
    for option, allowed in (("tracer", _engine.TRACERS), ("mode", _engine.MODES)):
        if instance[option] not in allowed:
            raise OptionError(option, instance[option], f"must be one of {', '.join(allowed)}")
    for option, (least, most) in LIMITS.items():
        if not least <= instance[option] <= most:
            raise OptionError(option, instance[option], f"must be from {least} to {most}")
    chosen = {**instance, **record_options(instance["options"])}
    if chosen["args"] and chosen["no_repeats"]:  # as the engine has it, with any tracer
        raise OptionError("options", "func-no-repeats", "not together with arguments")


def record_options(words: list[str]) -> dict[str, bool]:
    """Return what trace options say of what is recorded: option of ours -> on or off.

    Raises:
        OptionError: a word that is no option; the reason lists all.
    """
    recorded: dict[str, bool] = {}
    for word in words:
        try:
            (name, on), *_ = parse_options([word], RECORD_OPTIONS).items()
        except ValueError as error:
            raise OptionError("options", word, str(error)) from None
        if name in RECORD_OPTIONS:
            setting, value = RECORD_OPTIONS[name]
            recorded[setting] = on is value
    return recorded
