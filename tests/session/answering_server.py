"""A server that is asked while recordings come and go: with threads, an asyncio loop, forked workers.

    python answering_server.py FOLDER [WORKERS]

FOLDER/threads and FOLDER/asyncio are its sockets. A line N is answered by "N answer(N)", the line `state` by
what this process holds, as JSON, `extra` by how many slots of code objects are in use. For `fork` it and a
forked child call answer(). With WORKERS, so many forked processes accept connections of FOLDER/threads.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

STARTERS = (os.execve, os.posix_spawn)


def answer(number: int) -> int:
    """What client and server compute: calls, a generator, an exception that is caught."""
    return sum(steps(number % 7)) + fails(number)


def steps(count: int) -> Iterator[int]:
    for one in range(count):
        yield square(one)


def square(number: int) -> int:
    return number * number


def fails(number: int) -> int:
    try:
        raise KeyError(number)
    except KeyError as error:
        return int(error.args[0])


async def answer_later(number: int) -> int:
    await asyncio.sleep(0)
    return answer(number)


def state() -> dict[str, object]:
    """Return what this process holds, that detaching must give back."""
    gc.collect()
    monitoring = getattr(sys, "monitoring", None)
    with open("/proc/self/maps") as file:
        mappings = sum(1 for _ in file)
    return {
        "pid": os.getpid(),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "mappings": mappings,
        "modules": sorted(sys.modules),
        "tools": [monitoring.get_tool(tool) for tool in range(6)] if monitoring else [],
        "evaluator": has_own_evaluator(),
        "references": [sys.getrefcount(one) for one in (answer, answer.__code__, steps.__code__, threading)],
        "environment": ctypes.pythonapi.getenv(b"FUNCGRAPH_SESSION") != 0,
        "carriers": (os.execve, os.posix_spawn) == STARTERS,
        "objects": len(gc.get_objects()),
    }


def has_own_evaluator() -> bool:
    """Return whether somebody has replaced the function that evaluates frames."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    interp = ctypes.c_void_p(api.PyInterpreterState_Get())
    default = ctypes.cast(api._PyEval_EvalFrameDefault, ctypes.c_void_p).value
    return bool(api._PyInterpreterState_GetEvalFrameFunc(interp) != default)


def next_extra() -> int:
    """Return the next free slot for extra data of code objects, which is taken then."""
    name = "PyUnstable_Eval_RequestCodeExtraIndex"
    if sys.version_info < (3, 12):
        name = "_PyEval_RequestCodeExtraIndex"
    return int(getattr(ctypes.pythonapi, name)(ctypes.c_void_p()))


def fork() -> str:
    answer(1)
    pid = os.fork()
    if pid == 0:
        answer(2)
        os._exit(0)
    os.waitpid(pid, 0)
    return "done"


def reply(line: str) -> str:
    if line == "state":
        return json.dumps(state())
    if line == "extra":
        return str(next_extra())
    return fork() if line == "fork" else f"{line} {answer(int(line))}"


def serve_connection(connection: socket.socket) -> None:
    with connection, connection.makefile("rw") as file:
        for line in file:
            file.write(reply(line.strip()) + "\n")
            file.flush()


def accept(listening: socket.socket) -> None:
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=serve_connection, args=(connection,), daemon=True).start()


async def serve_later(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := (await reader.readline()).decode().strip():
        writer.write(f"{line} {await answer_later(int(line))}\n".encode())
        await writer.drain()


async def loop(path: str) -> None:
    async with await asyncio.start_unix_server(serve_later, path) as server:
        print("ready", flush=True)
        await server.serve_forever()


def main(folder: str, workers: int = 0) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{folder}/threads")
    listening.listen(64)
    for _ in range(workers):
        if os.fork() == 0:
            accept(listening)
    threading.Thread(target=accept, args=(listening,), daemon=True, name="acceptor").start()
    asyncio.run(loop(f"{folder}/asyncio"))


if __name__ == "__main__":
    with suppress(ImportError, AttributeError):  # builds.FREES_FUNCTIONS
        __import__("_testinternalcapi").suppress_immortalization(True)
    main(sys.argv[1], *map(int, sys.argv[2:]))
