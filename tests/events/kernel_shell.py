"""Replays transcripts of a kernel's shell in an instance: writes to its files, what they read back, errnos.

The kernel's functions and events are those of this module: `vfs_read` in a transcript is the function
vfs_read here. `work` and other programs of the transcripts call what the kernel calls for them.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from pathlib import Path

import funcgraph

DATA = Path(__file__).resolve().parent / "data"

# ---- the kernel


def vfs_read(pid: int, comm: str, oldprio: int) -> None: ...
def vfs_mkdir(): ...  # type: ignore[no-untyped-def]
def vfs_rmdir(): ...  # type: ignore[no-untyped-def]
def vfs_open(): ...  # type: ignore[no-untyped-def]
def schedule(): ...  # type: ignore[no-untyped-def]
def irq_entry() -> None: ...
def irq_exit() -> None: ...
def process_fork() -> None: ...
def process_exec() -> None: ...
def pi_setprio(pid: int, comm: str, oldprio: int) -> None: ...
def process_exit(comm: str, pid: int) -> None: ...


def do_exit(comm: str = "sh") -> None:
    process_exit(comm, 9)


_FUNCTIONS = "vfs_read|vfs_mkdir|vfs_rmd|vfs_rmdir|vfs_open|schedule|do_exit|nosuchfn"
_FUNCTION = re.compile(rf"(?<![\w.])({_FUNCTIONS})(?![\w])")
_EVENTS = (
    "f:sched/sched_pi_setprio HERE.pi_setprio pid:s32 comm:string oldprio:s32",
    "f:sched/sched_process_fork HERE.process_fork",
    "f:sched/sched_process_exit HERE.process_exit comm:string pid:s32",
    "f:sched/sched_process_exec HERE.process_exec",
    "f:sched/sched_switch HERE.schedule",
    "f:irq/irq_handler_entry HERE.irq_entry",
    "f:irq/irq_handler_exit HERE.irq_exit",
)


def begin() -> None:
    """Define the kernel's events."""
    for line in _EVENTS:
        funcgraph.dynamic_events.define(line.replace("HERE", __name__))


def ours(text: str) -> str:
    return _FUNCTION.sub(rf"{__name__}.\1", text)


def theirs(text: str) -> str:
    return text.replace(f"{__name__}.", "")


# ---- transcripts


class Line:
    """A line of a transcript that begins with `$ ` or `> `, and what was printed for it."""

    def __init__(self, number: int, section: str, text: str) -> None:
        self.number = number
        self.section = section
        self.is_shell = text.startswith("$ ")
        self.text = text[2:]
        self.printed: list[str] = []

    @property
    def errno(self) -> int:
        """The errno of a refused write; 0: there is none."""
        for line in self.printed:
            if found := re.match(r" *-1 (E\w+)", line):
                return int(getattr(errno, found[1]))
            if "Device or resource busy" in line:
                return errno.EBUSY
        return 0

    @property
    def output(self) -> list[str]:
        """What was printed, without what is said of errors."""
        reported = r"sh: | *-1 E|\[ *\d+\.\d+\] |  Command: | +\^$"
        return [line for line in self.printed if not re.match(reported, line)]


def lines_of(name: str) -> Iterator[Line]:
    section, line = "", None
    for number, text in enumerate((DATA / name).read_text().splitlines(), 1):
        if text.startswith(("## ", "$ ", "> ")):
            if line:
                yield line
            line = None if text.startswith("## ") else Line(number, section, text)
            section = text[3:] if text.startswith("## ") else section
        elif line and text:
            line.printed.append(text)
    if line:
        yield line


# ---- the shell


class Shell:
    """Runs the commands of a transcript in an instance."""

    def __init__(self, instance: funcgraph.Instance) -> None:
        self.instance = instance
        self.compared = 0

    def run(self, line: Line) -> None:
        """Run a `$` line, and compare what it prints where it prints nothing but files that we have."""
        printed: list[str] | None = []
        do_exit()  # of the process that ran the line before
        for command in re.split(r"; (?=(?:[^']*'[^']*')*[^']*$)", line.text):
            shown = self._command(command.partition(" # ")[0].strip(), line)
            printed = None if shown is None or printed is None else [*printed, *shown]
        if printed:
            shown = [theirs(text) for text in printed]
            assert shown == line.output, (line.number, shown, line.output)
            self.compared += 1

    def write(self, file: str, text: str, append: bool) -> int:
        """Return the errno of a write, 0: it was taken."""
        vfs_open()
        try:
            self.instance.files.write(file, ours(text), append)
        except OSError as error:
            return error.errno or -1
        return 0

    def _command(self, command: str, line: Line) -> list[str] | None:
        """Return the lines that a command prints; None: not known."""
        if found := re.fullmatch(r"(?:echo|printf) (?:'(.*)'|(\S*)) (>>?) (\S+)", command):
            quoted, bare, redirection, file = found.groups()
            text = (quoted if quoted is not None else bare).replace("\\n", "\n")
            self._write_words(file, text, redirection == ">>", line)
            return []
        if found := re.fullmatch(r": > (\S+)", command):
            assert self.write(found[1], "", False) == line.errno, line.number
            return []
        if command.startswith("cat ") and not {"|", ">"} & set(command):
            return self._cat(command.split()[1:])
        return [] if self._program(command) else None

    def _write_words(self, file: str, text: str, append: bool, line: Line) -> None:
        numbers = [self.write(file, part, append) for part in text.splitlines() or [""]]
        assert max(numbers) == line.errno, (line.number, line.text, numbers)

    def _cat(self, names: list[str]) -> list[str] | None:
        files = self.instance.files
        vfs_read(9, "cat", 0)
        if not all(name in files and "trace" not in name.split("/") and name != "snapshot" for name in names):
            return None
        return [text for name in names for text in files[name].splitlines()]

    def _program(self, command: str) -> bool:
        """Do what the kernel does for a program; return whether it is one that prints nothing."""
        word = command.partition(" ")[0]
        if word == "work":
            do_exit("work")
        elif word == "sleep":
            schedule()
        elif word in ("/bin/true", "true"):
            do_exit("true")
        else:
            return False
        return True
