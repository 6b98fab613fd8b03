"""A kernel's session with triggers and synthetic events, run again with instances and functions of ours.

A text of tests/events/data/ has the commands, and below each what the kernel printed. The kernel's events
are events on functions here: `work read SIZE N`, a program that reads, becomes a thread that calls them.
"""

from __future__ import annotations

import ctypes
import errno
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import funcgraph

DATA = Path(__file__).parent / "data"
_PR_SET_NAME = 15
_NUMBERS = re.compile(r"\b(common_pid|pid|next_pid|lat|max|d|onmax\(\$lat\) })([:=]) *\d+")
_PLACES = re.compile(r" *\^$")


def enter_read(fd: int, count: int) -> None:
    pass


def pread(fd: int, count: int) -> None:
    pass


def exit_read(ret: int) -> None:
    pass


def exit_group(code: int) -> None:
    pass


def waking(comm: str, pid: int) -> None:
    pass


def switch(next_comm: str, next_pid: int) -> None:
    pass


#: The kernel's event, as one on a function of this file.
EVENTS = {
    "syscalls/sys_enter_read": "enter_read fd=fd:u32 count=count:u64",
    "syscalls/sys_enter_pread64": "pread fd=fd:u32 count=count:u64",
    "syscalls/sys_enter_write": "exit_read fd=\\1:u32 count=\\1:u64",
    "syscalls/sys_exit_read": "exit_read ret=ret:s64",
    "syscalls/sys_enter_exit_group": "exit_group error_code=code:s32",
    "sched/sched_process_fork": "exit_read child_pid=\\1:s32",
    "sched/sched_waking": "waking comm=comm:string pid=pid:s32 prio=\\120:s32",
    "sched/sched_switch": "switch next_comm=next_comm:string next_pid=next_pid:s32 next_prio=\\120:s32",
}


class Step(NamedTuple):
    """A line of commands, and what the kernel printed.

    Attributes:
        place: the file and the line.
        section: the title above it.
        command: without `$`.
        printed: the lines.
    """

    place: str
    section: str
    command: str
    printed: tuple[str, ...]


def steps(name: str) -> Iterator[Step]:
    """Yield the steps of a session and those of its second part."""
    for part in (name, f"{name}_part2"):
        path = DATA / f"{part}.txt"
        section, step = "", None
        for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), 1):
            if line.startswith(("## ", "$ ")) and step:
                yield step
                step = None
            if line.startswith("## "):
                section = line[3:]
            elif line.startswith("$ "):
                step = Step(f"{part}:{number}", section, line[2:], ())
            elif step and step.printed[:1] != ("  -1 EBUSY (Device or resource busy)",):  # it logs nothing
                step = step._replace(printed=(*step.printed, line))
        if step:
            yield step


def plain(text: str) -> str:
    """Return a line without what no two runs have in common: numbers of threads, durations, times."""
    text = re.sub(r"\[ *\d+\] }", "[N] }", text)
    if _PLACES.fullmatch(text):
        return "^"
    text = re.sub(r"^.*\d: (\w+: )", r"\1", text)
    return re.sub(r"^\[ *[\d.]+\]", "[TIME]", _NUMBERS.sub(r"\1\2N", text)).rstrip()


def same(ours: list[str], kernel: list[str]) -> bool:
    """Return whether two outputs say the same. Carets are compared elsewhere (test_hist_kernel.py)."""
    kernel = [line for line in kernel if line]
    ours = [line for line in ours if line]
    if kernel and "more lines left out" in kernel[-1]:
        kernel = kernel[:-1]
        ours = ours[: len(kernel)]
    return [*map(plain, ours)] == [*map(plain, kernel)]


class Shell:
    """Runs the commands of a session in an instance."""

    def __init__(self, instance: funcgraph.Instance) -> None:
        self._instance = instance
        self._files = instance.files
        self._log = 0
        for event, rest in EVENTS.items():
            funcgraph.dynamic_events.define(f"f:{event} {__name__}.{rest}")

    def _forget(self) -> None:
        """Take histograms with actions away, as the session does before the next one, without showing it."""
        for event in EVENTS:
            for line in self._files[f"events/{event}/trigger"].splitlines():
                spec = line.rpartition(" [")[0]
                if line.startswith("hist:") and ":on" in spec:
                    self._files.write(f"events/{event}/trigger", f"!{spec}", append=True)

    def run(self, command: str) -> list[str] | None:
        """Return what a command line prints; None: it is one that has no meaning here."""
        printed: list[str] = []
        for one in re.findall(r"(?:'[^']*'|[^';])+", command):
            answer = self._one(one.strip())
            if answer is None:
                return None
            printed += answer
        return printed

    def _one(self, command: str) -> list[str] | None:
        if found := re.fullmatch(r"echo '(.*)' (>>?) (\S+)", command):
            return self._write(found[3], found[1], is_append=found[2] == ">>")
        if found := re.fullmatch(r": > (\S+)", command):
            return self._write(found[1], "", is_append=False)
        if found := re.fullmatch(r"cat ([\w/]+(?: [\w/]+)*)", command):
            lines = "".join(self._files[file] for file in found[1].split()).splitlines()
            return [line for line in lines if not line.startswith("f:")]
        if found := re.fullmatch(r"grep -v '\^#' (\S+)", command):
            return self._shown(found[1])
        if found := re.fullmatch(r"grep '\^{\\\|Hits' (\S+)", command):
            return [line for line in self._shown(found[1]) if line.startswith("{") or "Hits" in line]
        if found := re.fullmatch(r"work (read|io|sleep) (\d+)(?: (\d+))?", command):
            return self._work(found[1], int(found[2]), int(found[3] or 0))
        if found := re.fullmatch(r"cmp (\S+) (\S+) && echo same", command):
            texts = {self._files[file].partition("\n\n")[2] for file in found.groups()}
            return ["same"] if len(texts) == 1 else ["different"]
        return [] if command.startswith("sleep ") else None

    def _write(self, file: str, text: str, *, is_append: bool) -> list[str]:
        if text.startswith("hist:") and ":on" in text:
            self._forget()
            self._instance.clear()
        try:
            if text or file.endswith("_events"):
                self._files.write(file, text, append=is_append)
            else:
                self._instance.events[
                    file.removeprefix("events/").removesuffix("/trigger")
                ].remove_histograms()
        except OSError as error:
            logged = self._files["error_log"]
            self._files["error_log"] = ""
            name = errno.errorcode[error.errno or 0]
            return [f"  -1 {name} ({_STRINGS[name]})", *logged.splitlines()]
        return []

    def _shown(self, file: str) -> list[str]:
        """The trace is shown once: the session clears it."""
        text = self._instance.trace() if file == "trace" else self._files[file]
        if file == "trace":
            self._instance.clear()
        return [line for line in text.splitlines() if not line.startswith("#")]

    def _work(self, what: str, first: int, second: int) -> list[str]:
        def named() -> None:
            ctypes.CDLL(None).prctl(_PR_SET_NAME, b"work", 0, 0, 0)
            _ACTIVITIES[what](first, second)
            exit_group(0)

        thread = threading.Thread(target=named, name="work")
        thread.start()
        thread.join()
        return []


def _read(size: int, n: int) -> None:
    for _ in range(n):
        enter_read(3, size)
        exit_read(size)


def _io(n: int, _: int) -> None:
    for _ in range(n):
        pread(3, 64)


def _sleep(n: int, _: int) -> None:
    pid = threading.get_native_id()
    for _ in range(n):
        waking("work", pid)
        switch("work", pid)


_ACTIVITIES = {"read": _read, "io": _io, "sleep": _sleep}
_STRINGS = {
    "EINVAL": "Invalid argument",
    "EBUSY": "Device or resource busy",
    "EEXIST": "File exists",
    "ENOENT": "No such file or directory",
}
