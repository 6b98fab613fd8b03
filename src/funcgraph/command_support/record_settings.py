"""The flags of a recording that is about to start, from the table of settings: those of `funcgraph record`.

Options before the first -B configure the top instance, those after a -B that instance.
"""

from __future__ import annotations

import argparse
from typing import Any

from funcgraph.command_support.instance_options import add_events, add_next_instance
from funcgraph.command_support.settings import add_setting, help_of, refusal, wants_events_alone
from funcgraph.session.check import OptionError, check, check_file, recorded
from funcgraph.session.options import DEFAULTS, RECORDING
from funcgraph.session.why import add_why
from funcgraph.settings.table import EVENTS, INSTANCE, SETTINGS
from funcgraph.settings.table import RECORDING as RECORDING_SCOPE

__all__ = ["add_settings", "settings_of"]


class _Store:
    """Keeps options as those of the recording's instances (instance_options.Store)."""

    def begin_instance(self, namespace: argparse.Namespace, name: str) -> None:
        """The options so far are those of the instance before."""
        namespace.instances = [*namespace.instances, _take_instance(namespace)]
        namespace.name = name

    def has_event(self, namespace: argparse.Namespace) -> bool:
        return bool(namespace.events)

    def add_event(self, namespace: argparse.Namespace, text: str) -> None:
        namespace.events = [*(namespace.events or ()), text]

    def set_filter(self, namespace: argparse.Namespace, text: str) -> None:
        from funcgraph.events.recording_events import with_filter  # only now: most recordings have none

        namespace.events[-1] = with_filter(namespace.events[-1], text)

    def add_trigger(self, namespace: argparse.Namespace, text: str) -> None:
        from funcgraph.events.recording_events import with_trigger  # only now, for the same reason

        namespace.events[-1] = with_trigger(namespace.events[-1], text)


def _take_instance(namespace: argparse.Namespace) -> dict[str, Any]:
    """Return the options given for one instance, None for those not given; then reset them."""
    instance = {name: getattr(namespace, name) for name in ("name", *DEFAULTS)}
    for name in DEFAULTS:
        setattr(namespace, name, None)
    return instance


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the flags of all settings, for `settings_of`."""
    store = _Store()
    for setting in SETTINGS:
        if setting.kind == EVENTS and setting.scope == INSTANCE:
            add_events(parser, store, help_of(setting))
        elif setting.scope == INSTANCE:
            add_setting(parser, setting)
    add_next_instance(
        parser,
        store,
        "record into an instance of this name too; the options above that come after it configure it",
    )
    for setting in SETTINGS:
        if setting.scope == RECORDING_SCOPE:
            add_setting(parser, setting)
    parser.set_defaults(**RECORDING, **dict.fromkeys(DEFAULTS), name="", instances=[])


def settings_of(args: argparse.Namespace, output: str) -> dict[str, Any]:
    """Return the recording's settings (session/options.py).

    With -B, there is no top instance unless it has options.

    Args:
        output: the trace that is to be written.

    Raises:
        CommandError: a wrong value; the text has its flag.
    """
    given = [*args.instances, _take_instance(args)]
    if len(given) > 1 and all(given[0][name] is None for name in DEFAULTS):
        del given[0]
    instances: list[dict[str, Any]] = [
        {
            name: default if instance.get(name) is None else instance[name]
            for name, default in {"name": "", **DEFAULTS}.items()
        }
        for instance in given
    ]
    settings = {name: getattr(args, name) for name in RECORDING} | {"instances": instances}
    for instance, options in zip(instances, given, strict=True):
        if options["tracer"] is None:
            given = [name for name, value in options.items() if name != "name" and value is not None]
            if wants_events_alone(given, bool(instance["events"])):
                instance["tracer"] = "nop"
    add_why(settings)
    try:
        check(settings)
        check_file(settings, output)
    except OptionError as error:
        raise refusal(error) from None
    for instance in instances:
        instance.update(recorded(instance))
    return settings
