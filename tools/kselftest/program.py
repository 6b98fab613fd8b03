"""The program whose tracefs the selftests use. Its functions stand for the kernel's (mapping.py).

    python program.py FOLDER

FOLDER has two FIFOs. Each line of `requests` is something that the kernel would do because of a shell's
command, one of STEPS. Its end is a line in `answers`: `done`, or what went wrong. Between requests the
program does what a kernel never stops doing: it schedules, ticks, allocates.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import kernel  # type: ignore[import-not-found]

import funcgraph

_TICK_S = 0.005
_PR_SET_NAME = 15
#: The name of the shell that runs a test: the program's first task is called as it is.
_SHELL = "ftracetest"
#: Modules that stand for those of the kernel's samples.
_MODULES = Path(__file__).resolve().parent / "modules"


def run(name: str, niceness: str = "0") -> None:
    """Start a task, and wait for its end."""
    child = kernel.Child(name, int(niceness))
    kernel.kernel_clone(17, child)
    kernel.schedule(child)
    child.woken.set()
    child.join()
    kernel.read_and_free("/dev/null")
    kernel.proc_reg_write("interrupts")
    kernel.schedule()


def ping(count: str, niceness: str = "0") -> None:
    """Run as many tasks of this name."""
    for _ in range(int(count)):
        run("ping", niceness)


def modprobe(name: str) -> None:
    """Import a module."""
    importlib.import_module(_module(name))


def rmmod(name: str) -> None:
    """Forget a module, and all that it has made."""
    module = sys.modules.pop(_module(name))
    if hasattr(module, "module_exit"):
        module.module_exit()
    del module
    gc.collect()


def _module(name: str) -> str:
    return name.replace("-", "_")


#: What a test can have the program do.
STEPS: dict[str, Callable[..., object]] = {
    "run": run,
    "ping": ping,
    "chdir": kernel.sys_chdir,
    "mark": funcgraph.trace_printk,
    "modprobe": modprobe,
    "rmmod": rmmod,
}


class Requests:
    """Answers the selftests' requests, one at a time.

    Args:
        folder: that of the FIFOs.
    """

    def __init__(self, folder: Path) -> None:
        self._requests = os.open(folder / "requests", os.O_RDWR | os.O_NONBLOCK)
        self._answers = os.open(folder / "answers", os.O_RDWR)

    def answer(self, timeout_s: float) -> None:
        """Answer what comes within a time."""
        for request in self._lines(timeout_s):
            what, *words = request.split()
            try:
                STEPS[what](*words)
            except (ImportError, KeyError) as error:
                os.write(self._answers, f"{error!r}\n".encode())
            else:
                os.write(self._answers, b"done\n")

    def _lines(self, timeout_s: float) -> Iterator[str]:
        if select.select([self._requests], [], [], timeout_s)[0]:
            yield from os.read(self._requests, 4096).decode().splitlines()


def main(folder: Path) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_NAME, _SHELL.encode(), 0, 0, 0)
    threading.current_thread().name = _SHELL
    sys.path.append(str(_MODULES))
    requests = Requests(folder)
    funcgraph.serve()
    kernel.swapper.start()
    print("serves", flush=True)
    while True:
        kernel.schedule()
        kernel.read_and_free("/dev/null")
        requests.answer(_TICK_S)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
