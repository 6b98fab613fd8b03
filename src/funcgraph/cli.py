"""The command line: the table of commands, and the one way in which they report errors.

Every error of a command is one line on standard error and exit status 2.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

from funcgraph.commands import CommandError, os_error_text, say
from funcgraph.names import did_you_mean, nearest_names

# Each is a module of funcgraph.commands. The help text has them in this order.
COMMANDS = (
    "record", "mount", "report", "summary", "sql", "diff",
    "convert", "export", "merge", "recover", "attach", "detach", "status", "selftest",
    "list", "trace", "top", "profile", "start", "stop", "restart", "show", "stream", "extract", "snapshot",
    "hist", "stat", "set", "clear", "reset",
)  # fmt: skip


class Command(Protocol):
    """The interface of a command module. With TAKES_COMMAND, args.command has the words after its
    options."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, and finds where a traced command begins."""

    def __init__(self, **settings: Any) -> None:
        self._takes_value: dict[str, bool] = {}  # flags of a group are missing: they must take no value
        self._flags: dict[str, str] = {}  # a word that a person may try -> the flag
        super().__init__(**settings, allow_abbrev=False)

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        action = super().add_argument(*args, **kwargs)
        for flag in action.option_strings:
            self._takes_value[flag] = action.nargs != 0
        if action.option_strings:
            # The long name of a short flag: "filter" for -l.
            self._flags.setdefault(action.dest.replace("_", "-"), action.option_strings[-1])
            self._flags |= {flag.lstrip("-"): flag for flag in action.option_strings if flag[:2] == "--"}
        return action

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, extras = self.parse_known_args(args, namespace)
        if extras:
            self.error(f"unrecognized arguments: {' '.join(extras)}{self._meant(extras)}")
        return parsed

    def _meant(self, extras: Sequence[str]) -> str:
        """Return the end of the message about words that are no arguments: the flag that was meant."""
        word = next((word for word in extras if word.startswith("-")), "").partition("=")[0].lstrip("-")
        near = nearest_names(word, list(self._flags), 1)
        return f"; did you mean '{self._flags[near[0]]}'?" if near else ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = list(map(str, action.choices))
            text = f"invalid choice {value!r}: must be one of {', '.join(names)}{did_you_mean(value, names)}"
            raise argparse.ArgumentError(action, text)

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see '{self.prog} --help')")

    def split_command(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """Split `words` before the first one that is neither an option of ours nor an option's value.

        `-m` and `-c` begin a command too (a module, a piece of code for Python), and `--` precedes one.
        argparse's REMAINDER cannot do this: it takes options of ours for the command's, or the reverse.
        """
        position = 0
        while position < len(words):
            word = words[position]
            if word == "--":
                return list(words[:position]), list(words[position + 1 :])
            if word in ("-m", "-c") or len(word) < 2 or not word.startswith("-"):
                break
            position += 2 if self._takes_value.get(word) else 1
        return list(words[:position]), list(words[position:])


def load(name: str) -> Command:
    """Import a command's module."""
    return cast(Command, import_module(f"funcgraph.commands.{name}"))


def parser_of(command: Command) -> Parser:
    """Return the parser of one command."""
    parser = Parser(
        prog=f"funcgraph {command.NAME}",
        description=getattr(command, "DESCRIPTION", command.HELP),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    return parser


def top_parser() -> Parser:
    """Return the parser of the options before a command's name."""
    listing = "\n".join(f"  {name:<10}{load(name).HELP}" for name in COMMANDS)
    parser = Parser(
        prog="funcgraph",
        usage="funcgraph [-h] [--version] COMMAND ...",
        description="Record which functions of a Python program run, in what nesting, for how long.",
        epilog=f"commands:\n{listing}\n\n'funcgraph COMMAND --help' says more about one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    return parser


def run(words: Sequence[str]) -> int:
    """Run one command line (without the program's name). Raises CommandError."""
    if not words or words[0].startswith("-"):
        parser = top_parser()
        if words and parser.parse_args(words).version:
            import funcgraph

            print(f"funcgraph {funcgraph.__version__}")
            return 0
        parser.print_help(sys.stderr)
        return 2
    name, *rest = words
    if name not in COMMANDS:
        meant = did_you_mean(name, COMMANDS)
        raise CommandError(f"unknown command '{name}': must be one of {', '.join(COMMANDS)}{meant}")
    command = load(name)
    parser = parser_of(command)
    if not getattr(command, "TAKES_COMMAND", False):
        return command.run(parser.parse_args(rest))
    own, traced = parser.split_command(rest)
    args = parser.parse_args(own)
    args.command = traced
    return command.run(args)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `funcgraph` script.

    Args:
        argv: the words after the program's name; None: those of sys.argv.

    Returns:
        The exit status: the command's own; 2 for an error.
    """
    try:
        status = run(sys.argv[1:] if argv is None else argv)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except CommandError as error:
        say(str(error))
        return error.status
    except BrokenPipeError:
        # The reader of our output has ended (a pager, head). Python would report the error again when it
        # closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        say(os_error_text(error))
        return 2
    except KeyboardInterrupt:
        # Die of the signal, so that a shell ends its loop too.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        return 128 + signal.SIGINT
