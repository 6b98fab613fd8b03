"""Tasks that create others and await them, in two threads."""

import asyncio
import threading


async def read(n):
    await asyncio.sleep(0)
    return n


async def handler(n):
    return await read(n)


async def spawn():
    return await asyncio.create_task(handler(1))


def work():
    asyncio.run(spawn())


def main():
    thread = threading.Thread(target=work, name="other")
    thread.start()
    thread.join()


main()
