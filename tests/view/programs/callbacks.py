"""Callbacks of an event loop: at once, later, from a pipe, from another thread; and a future wakes a task."""

import asyncio
import os
import threading


def at_once():
    pass


def later():
    pass


def readable(loop, reader, future):
    os.read(reader, 1)
    loop.remove_reader(reader)
    future.set_result(None)


def from_thread():
    pass


def other(loop):
    loop.call_soon_threadsafe(from_thread)


async def main():
    loop = asyncio.get_running_loop()
    loop.call_soon(at_once)
    loop.call_later(0.001, later)
    reader, writer = os.pipe()
    future = loop.create_future()
    loop.add_reader(reader, readable, loop, reader, future)
    os.write(writer, b"x")
    thread = threading.Thread(target=other, args=(loop,))
    thread.start()
    await future
    await asyncio.sleep(0.01)
    thread.join()


asyncio.run(main())
