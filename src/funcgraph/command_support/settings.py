"""Flags of the commands that come from the table of settings (settings/table.py)."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from typing import Any

from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.parser import Common
from funcgraph.session.check import CHOICES, RECORD_OPTIONS, OptionError
from funcgraph.settings.table import BY_NAME, CHOICE, FLAG, NUMBER, PATTERNS, WORDS, Setting

__all__ = ["add_setting", "check_instance", "help_of", "refusal", "wants_events_alone"]

# What only calls can have, beside the patterns.
_OF_CALLS = ("max_graph_depth", "thresh_us", "args", "retval", "values", "c_calls")


class _OneValue(argparse.Action):
    """A flag that stands for a value, such as --drop and --overwrite: one of them for each instance."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) not in (None, self.const):
            parser.error(f"argument {option_string}: not allowed with --{getattr(namespace, self.dest)}")
        setattr(namespace, self.dest, self.const)


def add_setting(parser: argparse.ArgumentParser, setting: Setting) -> None:
    """Add the flag of a setting, which argparse stores under the setting's name."""
    for value, text in setting.values.items():
        parser.add_argument(
            f"--{value}", dest=setting.name, action=_OneValue, nargs=0, const=value, help=text
        )
    if not setting.flag:
        return
    keywords: dict[str, Any] = {"dest": setting.name, "help": help_of(setting)}
    if setting.kind == FLAG:
        keywords["action"] = "store_false" if setting.default else "store_true"
    else:
        keywords["metavar"] = setting.metavar
        if setting.kind in (PATTERNS, WORDS):
            keywords["action"] = "append"
        elif setting.kind == NUMBER:
            keywords["type"] = int
    parser.add_argument(setting.flag, **keywords)


def check_instance(parser: argparse.ArgumentParser, name: object) -> None:
    """Refuse an empty name after -B."""
    if not name:
        parser.error("argument -B: invalid instance name '': must be non-empty")


def wants_events_alone(given: Iterable[str], has_events: bool) -> bool:
    """Return whether an instance without a -p is to record events and nothing else, as with trace-cmd.

    An option for calls beside the events asks for both: without a tracer it would do nothing.

    Args:
        given: the names of the settings that were given.
        has_events: an -e was given.
    """
    calls = (name for name in given if name in _OF_CALLS or BY_NAME[name].kind == PATTERNS)
    return has_events and not any(calls)


def help_of(setting: Setting) -> str:
    """Return the help of a setting's flag: `Common` if the table says so."""
    text = setting.help
    if setting.kind == CHOICE:
        text += f": {', '.join(CHOICES[setting.name])}"
    elif setting.kind == WORDS:
        text += (
            " ('funcgraph report --help' lists those of the report; these also say what is recorded: "
            f"{', '.join(RECORD_OPTIONS)})"
        )
    if setting.kind in (CHOICE, NUMBER) and setting.default:
        text += f" ({' '.join(filter(None, [str(setting.default), setting.unit]))})"
    return Common(text) if setting.common else text


def refusal(error: OptionError) -> CommandError:
    """Return what to raise for a setting with a wrong value: the flag, the value, and what would be right."""
    flag = "-B" if error.option == "name" else BY_NAME[error.option].flag or error.option
    reason, *below = error.reason.split("\n")
    return CommandError(f"{flag} {shlex.quote(str(error.value))}: {reason}", below=below)
