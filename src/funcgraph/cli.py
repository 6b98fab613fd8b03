"""The command line: the table of commands, and the one way in which they report errors.

Every error of a command is one line on standard error, perhaps with the place of the mistake below it, and
exit status 2.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from funcgraph.command_support.messages import CommandError, os_error_text, print_message
from funcgraph.command_support.parser import Parser
from funcgraph.names import did_you_mean

#: The commands with which to begin.
FIRST = ("record", "report", "summary", "top", "trace")
#: The title of a group -> its other commands. The help text has them in this order; each is a module of
#: funcgraph.commands.
GROUPS = {
    "record and read": ("view", "tui", "export", "sql", "diff"),
    "answers": ("values", "repeat", "exceptions", "why", "compare", "expect", "mcp"),
    "a running process": ("attach", "detach", "profile", "settings", "mount"),
    "control by trace-cmd's verbs": (
        "start", "stop", "restart", "show", "extract", "snapshot", "hist", "list", "set", "clear", "reset",
    ),
    "files and upkeep": ("plan", "merge", "recover", "status", "selftest", "completion"),
}  # fmt: skip
COMMANDS = (*FIRST, *(name for names in GROUPS.values() for name in names))

#: Former names of commands, which the help does not list -> the words that they stand for.
ALIASES = {"stream": ("trace",), "convert": ("export", "-F", "trace-dat"), "stat": ("settings",)}


class Command(Protocol):
    """The interface of a command module. With TAKES_COMMAND, args.command has the words after its options;
    with TAKES_TABLE, args.table() returns all commands with their parsers."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def load(name: str) -> Command:
    """Import a command's module."""
    return cast(Command, import_module(f"funcgraph.commands.{name}"))


def parser_of(command: Command) -> Parser:
    """Return the parser of one command."""
    parser = Parser(
        prog=f"funcgraph {command.NAME}", description=getattr(command, "DESCRIPTION", f"{command.HELP}.")
    )
    command.add_arguments(parser)
    parser.complete()
    return parser


def table() -> list[tuple[Command, Parser]]:
    """Return all commands with their parsers."""
    commands = map(load, COMMANDS)
    return [(command, parser_of(command)) for command in commands]


def top_parser() -> Parser:
    """Return the parser of the options before a command's name."""
    groups = {"begin with one of these": FIRST, **GROUPS}
    listing = "\n\n".join(f"{title}:\n{_help_lines(names)}" for title, names in groups.items())
    parser = Parser(
        prog="funcgraph",
        usage="funcgraph [-h] [-V] COMMAND ...",
        description="Record which functions of a Python program run, in what nesting, for how long.\n\n"
        f"{listing}",
        epilog="'funcgraph help COMMAND' says more about one, 'man funcgraph-COMMAND' everything.",
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version and exit")
    return parser


def _help_lines(names: Sequence[str]) -> str:
    return "\n".join(f"  {name:<12}{load(name).HELP}" for name in names)


def version_lines() -> list[str]:
    """Return what `--version` prints: the version and its commit, the Python, who compresses, the extras."""
    from funcgraph import _tracedata
    from funcgraph.tracedata.codecs import provide, versions
    from funcgraph.version import installed_commit, installed_extras, installed_version

    in_c = _tracedata.codec_names()
    provide()
    shown = (
        " ".join(filter(None, (name, version, "(C library)" if name in in_c else "(of Python)")))
        for name, version in versions(in_c).items()
    )
    extras = (f"{name} {version}" for name, version in installed_extras().items())
    commit = installed_commit()
    return [
        f"funcgraph {installed_version()}" + (f" (commit {commit})" if commit else ""),
        f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}, {_libc()}",
        f"compression: {', '.join(shown) or 'none'}",
        f"extras: {', '.join(extras) or 'none'}",
    ]


def _libc() -> str:
    """Return the C library's name and version, as `glibc 2.36`."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "a C library without a name"
    except (OSError, ValueError):
        return "a C library that is not glibc"


def _known(name: str) -> str:
    """Return the name of a command. Raises CommandError if there is none of that name."""
    if name not in COMMANDS:
        meant = did_you_mean(name, COMMANDS)
        raise CommandError(f"unknown command '{name}': must be one of {', '.join(COMMANDS)}{meant}")
    return name


def _without_alias(words: Sequence[str]) -> list[str]:
    """Return a command line with the present name of its command."""
    name, *rest = words
    return [*ALIASES.get(name, (name,)), *rest]


def run(words: Sequence[str]) -> int:
    """Run one command line (without the program's name). Raises CommandError."""
    if words and words[0] == "help":
        words = [*words[1:2], "--help"]
    if not words or words[0].startswith("-"):
        parser = top_parser()
        if words and parser.parse_args(words).version:
            print("\n".join(version_lines()))
            return 0
        parser.print_help(sys.stderr)
        return 2
    name, *rest = _without_alias(words)
    command = load(_known(name))
    parser = parser_of(command)
    if not getattr(command, "TAKES_COMMAND", False):
        args = parser.parse_args(rest)
        if getattr(command, "TAKES_TABLE", False):
            args.table = table
        return command.run(args)
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
        print_message(str(error), error.below)
        return error.status
    except BrokenPipeError:
        # The reader of our output has ended (a pager, head). Python would report the error again when it
        # closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        print_message(os_error_text(error))
        return 2
    except KeyboardInterrupt:
        # Die of the signal, so that a shell ends its loop too.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        return 128 + signal.SIGINT
