"""The options -B, -e, -f and -R: what follows is for another instance; an event, its filter, its triggers.

`record` and the verbs for running processes share them. Each keeps the values in its own way: a Store.
"""

from __future__ import annotations

import argparse
from typing import Protocol

from funcgraph.command_support.parser import Option
from funcgraph.command_support.settings import check_instance

__all__ = ["Store", "add_events", "add_next_instance"]


class Store(Protocol):
    """Keeps what is given for each instance, in the namespace of the parser."""

    def begin_instance(self, namespace: argparse.Namespace, name: str) -> None:
        """Have the options that follow configure the instance of this name."""

    def has_event(self, namespace: argparse.Namespace) -> bool:
        """Return whether the instance has an event, which -f and -R can be for."""

    def add_event(self, namespace: argparse.Namespace, text: str) -> None:
        """Add an event to the instance."""

    def set_filter(self, namespace: argparse.Namespace, text: str) -> None:
        """Give the latest event a filter, in place of one that it has."""

    def add_trigger(self, namespace: argparse.Namespace, text: str) -> None:
        """Give the latest event one more trigger."""


def add_events(parser: argparse.ArgumentParser, store: Store, help: str) -> None:
    """Add -e, -f and -R.

    Args:
        help: of -e.
    """

    def add_event(parser: argparse.ArgumentParser, namespace: argparse.Namespace, text: str) -> None:
        store.add_event(namespace, text)

    def set_filter(parser: argparse.ArgumentParser, namespace: argparse.Namespace, text: str) -> None:
        _check_event(parser, store, namespace, "-f")
        store.set_filter(namespace, text)

    def add_trigger(parser: argparse.ArgumentParser, namespace: argparse.Namespace, text: str) -> None:
        _check_event(parser, store, namespace, "-R")
        store.add_trigger(namespace, text)

    add = parser.add_argument
    add("-e", dest="events", metavar="EVENT", action=Option, take=add_event, help=help)
    add(
        "-f",
        dest="event_filter",
        metavar="FILTER",
        action=Option,
        take=set_filter,
        help="of the -e before: only hits whose fields are so, as 'amount > 1000 && user ~ \"a*\"'",
    )
    add(
        "-R",
        dest="event_trigger",
        metavar="TRIGGER",
        action=Option,
        take=add_trigger,
        help="a trigger of the -e before, as 'traceoff:1 if amount < 0'; can be given again",
    )


def _check_event(
    parser: argparse.ArgumentParser, store: Store, namespace: argparse.Namespace, option: str
) -> None:
    if not store.has_event(namespace):
        parser.error(f"argument {option}: must come after the -e that it is for")


def add_next_instance(parser: argparse.ArgumentParser, store: Store, help: str) -> None:
    """Add -B."""

    def begin(parser: argparse.ArgumentParser, namespace: argparse.Namespace, name: str) -> None:
        check_instance(parser, name)
        store.begin_instance(namespace, name)

    parser.add_argument("-B", dest="name", metavar="NAME", action=Option, take=begin, help=help)
