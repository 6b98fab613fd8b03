"""asyncio streams: a line for a line."""

import asyncio
import signal
import sys

from answers import NotThereError, answer


async def handle(reader, writer):
    while line := await reader.readline():
        path, _, body = line.decode().rstrip("\n").partition(" ")
        try:
            text = answer(path, body.encode())
            await asyncio.sleep(0)
        except (NotThereError, RuntimeError) as error:
            text = f"{type(error).__name__} {error}".encode()
        writer.write(text + b"\n")
        await writer.drain()
    writer.close()
    await writer.wait_closed()


async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stop.wait()
    server.close()


asyncio.run(main())
print("stopped")
sys.exit(5)
