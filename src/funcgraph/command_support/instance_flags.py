"""The flags of the commands that configure instances of running processes, from the table of settings.

Options before the first -B are for the top instance, those after a -B for that one, as with trace-cmd.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator
from typing import Any

from funcgraph.command_support.instance_options import add_events, add_next_instance
from funcgraph.command_support.parser import Common, Option
from funcgraph.command_support.settings import help_of, wants_events_alone
from funcgraph.names import nearest_names
from funcgraph.settings.table import FLAG, NUMBER, PATTERNS, THREADS, WORDS, Setting
from funcgraph.steering.configure import STEERED, InstanceRequest
from funcgraph.steering.events import EventRequest
from funcgraph.steering.folder import Process
from funcgraph.steering.listing import function_names

__all__ = ["add_filters", "add_instance_flags", "instance_requests", "unmatched"]

_LISTS = (PATTERNS, THREADS, WORDS)


def _current(namespace: argparse.Namespace) -> InstanceRequest:
    """Return the instance that the options now are for."""
    if namespace.requests is None:
        namespace.requests = [InstanceRequest()]
    current: InstanceRequest = namespace.requests[-1]
    return current


class _Store:
    """Keeps options as what is requested of each instance (instance_options.Store)."""

    def begin_instance(self, namespace: argparse.Namespace, name: str) -> None:
        _current(namespace)
        namespace.requests = [*namespace.requests, InstanceRequest(name, is_removed=namespace.negated)]

    def has_event(self, namespace: argparse.Namespace) -> bool:
        return bool(_current(namespace).events)

    def add_event(self, namespace: argparse.Namespace, text: str) -> None:
        _current(namespace).events.append(EventRequest(text, is_off=namespace.negated))

    def set_filter(self, namespace: argparse.Namespace, text: str) -> None:
        events = _current(namespace).events
        events[-1] = events[-1]._replace(filters=(*events[-1].filters, text))

    def add_trigger(self, namespace: argparse.Namespace, text: str) -> None:
        events = _current(namespace).events
        events[-1] = events[-1]._replace(triggers=(*events[-1].triggers, text))


def add_instance_flags(parser: argparse.ArgumentParser) -> None:
    """Add all flags, for `instance_requests`."""
    for setting in STEERED:
        _add_setting(parser, setting, setting.flag)
    store = _Store()
    add_events(
        parser,
        store,
        Common(
            "switch events on: 'GROUP:EVENT', a group, an event, 'all', each also as a glob; or define one, "
            "as 'f:paid shop.pay amount'; may be repeated"
        ),
    )
    parser.add_argument(
        "-v",
        dest="negated",
        action="store_true",
        help="each -e after it switches events off, each -B removes the instance",
    )
    add_next_instance(
        parser,
        store,
        Common("what follows is for the instance of this name, which is made if it is not there"),
    )
    parser.set_defaults(requests=None)


def add_filters(parser: argparse.ArgumentParser, *, taken: Collection[str] = ()) -> None:
    """Add the flags that say which functions a profiler counts, for `instance_requests`.

    Args:
        taken: flags that mean something else here: the setting has its name as its flag instead.
    """
    for setting in STEERED:
        if setting.kind in (PATTERNS, WORDS):
            _add_setting(parser, setting, f"--{setting.name}" if setting.flag in taken else setting.flag)
    parser.set_defaults(requests=None, negated=False)


def _add_setting(parser: argparse.ArgumentParser, setting: Setting, flag: str) -> None:
    def take(parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: str | int) -> None:
        settings = _current(namespace).settings
        former = settings.get(setting.name, [])
        if setting.kind in _LISTS:
            settings[setting.name] = [*former, value] if isinstance(former, list) else [value]
        else:
            settings[setting.name] = True if setting.kind == FLAG else value

    keywords: dict[str, Any] = {"nargs": 0} if setting.kind == FLAG else {"metavar": setting.metavar}
    if setting.kind in (NUMBER, THREADS):
        keywords["type"] = int
    parser.add_argument(flag, dest=setting.name, action=Option, take=take, help=help_of(setting), **keywords)


def unmatched(process: Process, request: InstanceRequest) -> Iterator[str]:
    """Yield a line for each pattern of functions that matches nothing that is there yet, with what was
    perhaps meant."""
    given = {setting: request.items(setting.name) for setting in STEERED if setting.kind == PATTERNS}
    every = [pattern for patterns in given.values() for pattern in patterns]
    found = process.tree.call("unmatched", patterns=every) if every else []
    assert isinstance(found, list)  # answers.py has checked it
    names = function_names(process) if found else []
    for setting, patterns in given.items():
        for pattern in filter(found.__contains__, patterns):
            near = ", ".join(nearest_names(pattern, names))
            end = f"; the nearest names: {near}" if near else ""
            yield f"process {process.pid}: {setting.flag} {pattern}: matches no function yet{end}"


def instance_requests(args: argparse.Namespace, *, tracer: str = "") -> list[InstanceRequest]:
    """Return what is requested of each instance. With -B, the top one is among them only if it has options.

    Args:
        tracer: the tracer of an instance whose calls are wanted, without a -p; "": it keeps its own.
    """
    requests: list[InstanceRequest] = [
        InstanceRequest(one.name, dict(one.settings), list(one.events), one.is_removed)
        for one in args.requests or [InstanceRequest()]
    ]
    if len(requests) > 1 and requests[0].is_empty:
        del requests[0]
    for one in requests:
        if tracer and not one.is_removed and not wants_events_alone(one.settings, bool(one.events)):
            one.settings.setdefault("tracer", tracer)
    return requests
