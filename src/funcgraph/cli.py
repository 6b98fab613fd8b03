"""The command line: one table of commands, one way to report what is wrong.

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

# Order of the help text. Each is a module of funcgraph.commands.
COMMANDS = ("record", "report", "summary", "recover", "status", "selftest")


class Command(Protocol):
    """What a command module has; one with TAKES_COMMAND gets the words behind its options as args.command."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and that can tell where a traced command begins."""

    def __init__(self, **settings: Any) -> None:
        self._takes_value: dict[str, bool] = {}  # a group's flags are not seen here: they must take none
        super().__init__(**settings, allow_abbrev=False)

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        action = super().add_argument(*args, **kwargs)
        for flag in action.option_strings:
            self._takes_value[flag] = action.nargs != 0
        return action

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see '{self.prog} --help')")

    def split_command(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """Split `words` at the first that is neither an option of ours nor an option's value.

        `-m` and `-c` begin a command too (a module, a piece of code for Python), and so does what follows
        `--`. argparse's REMAINDER cannot do this: it takes an option that is not ours as the command's, or
        the reverse.
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
    """Return the parser of one command, as its help and the manual pages need it."""
    parser = Parser(
        prog=f"funcgraph {command.NAME}",
        description=getattr(command, "DESCRIPTION", command.HELP),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    return parser


def top_parser() -> Parser:
    """Return the parser for what comes before a command's name."""
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
        raise CommandError(f"no command '{name}'; there are: {', '.join(COMMANDS)}")
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
        argv: the words behind the program's name; sys.argv's when None.

    Returns:
        The exit status: the command's own, 2 for what it cannot do.
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
        # The reader of our output left (a pager, head). Python would complain once more when it closes
        # stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        say(os_error_text(error))
        return 2
    except KeyboardInterrupt:
        # Die of the signal, so that a shell's loop around us ends too.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        return 128 + signal.SIGINT
