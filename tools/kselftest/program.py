"""The program whose tracefs the selftests use. Its functions stand for the kernel's (mapping.py).

    python program.py FOLDER

FOLDER has two FIFOs. Each line of `requests` is something that the kernel would do because of a shell's
command: `fork`, `ping N`, `chdir`. Its end is a line in `answers`. Between requests the program does what a
kernel never stops doing: it schedules, ticks, allocates.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import threading
import time
from pathlib import Path

import kernel

import funcgraph

_TICK_S = 0.005
_PR_SET_NAME = 15
#: The name of the shell that runs a test: the program's tasks are called as it is.
_SHELL = "ftracetest"
FOLDER = Path(sys.argv[1])


def _idle() -> None:
    """What other tasks do meanwhile, in a thread of its own."""
    while True:
        kernel.schedule()
        kernel.sched_tick()
        kernel.kernel_clone(0)
        kernel.rcu_read_lock()
        kernel.kmem_cache_free(0, 0)
        time.sleep(_TICK_S)


class Requests:
    """Answers the selftests' requests, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._requests = os.open(folder / "requests", os.O_RDWR | os.O_NONBLOCK)
        self._answers = os.open(folder / "answers", os.O_RDWR)
        self._lines: asyncio.Queue[str] = asyncio.Queue()

    async def serve(self) -> None:
        """Answer until the program is killed."""
        asyncio.get_running_loop().add_reader(self._requests, self._read)
        while True:
            await self._carry_out(*(await self._lines.get()).split())
            os.write(self._answers, b"done\n")

    def _read(self) -> None:
        for line in os.read(self._requests, 4096).decode().splitlines():
            self._lines.put_nowait(line)

    async def _carry_out(self, what: str, *words: str) -> None:
        if what == "fork":
            await fork("forked")
        elif what == "chdir":
            os.chdir(FOLDER / "tracing")
            os.chdir("/")
        elif what == "ping":
            for _ in range(int(words[0])):
                await fork("ping")


async def fork(name: str) -> None:
    """Start a task and a thread, and wait for their ends."""
    kernel.kernel_clone(17)
    child = threading.Thread(target=kernel.run_child, args=(name,), name=name)
    child.start()
    child.join()
    await asyncio.create_task(kernel.run_task(), name=name)
    kernel.read_and_free("/dev/null")
    kernel.proc_reg_write("interrupts")
    kernel.schedule()


async def main() -> None:
    asyncio.current_task().set_name(_SHELL)  # type: ignore[union-attr]
    threading.Thread(target=_idle, name="swapper", daemon=True).start()
    serving = asyncio.create_task(Requests(FOLDER).serve(), name=_SHELL)
    print("serves", flush=True)
    while not serving.done():
        kernel.schedule()
        kernel.read_and_free("/dev/null")
        await asyncio.sleep(_TICK_S)
    serving.result()


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_NAME, _SHELL.encode(), 0, 0, 0)
    funcgraph.serve()
    asyncio.run(main())
