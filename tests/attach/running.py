"""Programs to attach to, and what must hold of them afterwards.

Each prints "ready", and goes on until SIGUSR1, whose handler ends it with exit status 7 by an exception:
signals must work as before.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from funcgraph.attach.deadline import Deadline
from funcgraph.attach.process import Process
from funcgraph.attach.target import find_target

_END = """
import signal, sys
def end(number, frame):
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.exit(7)
signal.signal(signal.SIGUSR1, end)
def ready():
    sys.stdout.write("ready\\n")
    sys.stdout.flush()
"""
PROGRAMS = {
    "busy": """
def squares(n):
    return sum(i * i for i in range(n))
expected = squares(1000)
ready()
while squares(1000) == expected:
    pass
""",
    "allocating": """
ready()
while True:
    kept = [bytes(2000) for _ in range(1000)]
    kept.sort()
""",
    "in C code": """
import hashlib
data = bytes(20_000_000)
expected = hashlib.sha256(data).digest()
ready()
while hashlib.sha256(data).digest() == expected:
    pass
""",
    "sleeping": """
import time
ready()
time.sleep(1000)
""",
    "in a lock": """
import _thread
lock = _thread.allocate_lock()
lock.acquire()
ready()
lock.acquire()
""",
    "asyncio": """
import asyncio
async def main():
    ready()
    await asyncio.sleep(1000)
asyncio.run(main())
""",
    "joining": """
import threading, time
thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True)
thread.start()
ready()
thread.join()
""",
    "many threads": """
import threading, time
for _ in range(200):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
ready()
while True:
    sum(range(100))
""",
    "in read": """
import os
source, _ = os.pipe()
ready()
os.read(source, 1)
""",
    "with signals": """
import time
hits = 0
def hit(number, frame):
    global hits
    hits += 1
signal.signal(signal.SIGALRM, hit)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
ready()
while True:
    before = hits
    time.sleep(0.01)
    if hits == before:
        sys.exit("no signal came")
""",
    "gevent": """
import gevent.monkey
gevent.monkey.patch_all()
import gevent, time
gevent.spawn(time.sleep, 1000)
ready()
time.sleep(1000)
""",
    "uvloop": """
import asyncio, uvloop
async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: done.set_result(None))
    done = asyncio.get_running_loop().create_future()
    ready()
    await done
    sys.exit(7)
uvloop.run(main())
""",
}


class Running:
    """A program that runs, to be used in a `with` statement, which kills it if it still runs.

    Args:
        program: its code; without the frame if `bare`.
        command: the Python that runs it.
        first: the line that it prints when it may be attached to.
    """

    def __init__(
        self,
        program: str,
        *,
        command: tuple[str, ...] = (sys.executable,),
        bare: bool = False,
        first: str = "ready\n",
    ) -> None:
        text = program if bare else _END + program
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*command, "-c", text], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        self.pid = self.process.pid
        if not bare:
            assert self.process.stdout is not None
            line = self.process.stdout.readline()
            assert line == first, line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> tuple[int, str, str]:
        """End it as it ends by itself; return its exit status, and what it printed."""
        self.process.send_signal(signal.SIGUSR1)
        try:
            output, errors = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            # It came just before a system call, where CPython does not notice it (docs/guides/attach.md).
            self.process.send_signal(signal.SIGUSR1)
            output, errors = self.process.communicate(timeout=40)
        return self.process.returncode, output, errors

    def threads(self) -> set[str]:
        """Return its threads."""
        return set(os.listdir(f"/proc/{self.pid}/task"))

    def wait_for_threads(self, threads: set[str]) -> None:
        """Wait until it has these threads again."""
        until = time.monotonic() + 30
        while self.threads() != threads:
            assert time.monotonic() < until, self.threads() - threads
            time.sleep(0.002)


def code_pages(pid: int) -> dict[str, bytes]:
    """Return the last 4096 bytes of the code of each library of a process: where a stub may lie."""
    process = Process(pid, Deadline(60))
    try:
        target = find_target(process)
        ends = {
            image.path: -(-segment.high // 4096) * 4096
            for image in target.images
            for segment in image.segments
            if segment.is_code
        }
        return {path: process.read(end - 4096, 4096) for path, end in ends.items()}
    finally:
        process.close()


def folders() -> list[str]:
    """Return the exchange folders on this machine."""
    places = ("/dev/shm", "/tmp", "/var/tmp")
    return [str(path) for place in places for path in Path(place).glob("funcgraph-attach-*")]
