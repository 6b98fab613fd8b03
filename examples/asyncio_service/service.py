"""An asyncio service that sells seats: each sale holds the one lock while it waits for the bank."""

from __future__ import annotations

import asyncio

LOCK = asyncio.Lock()
SEATS: dict[str, str] = {}


async def pay(name: str) -> None:
    """Wait for the bank."""
    await asyncio.sleep(0.005)


async def book(seat: str, name: str) -> bool:
    """Sell a seat, unless it is sold. The lock is needed for the seat; it is held for the payment, too."""
    async with LOCK:
        if seat in SEATS:
            return False
        await pay(name)
        SEATS[seat] = name
    return True


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request: a line with a seat and a name."""
    seat, name = (await reader.readline()).decode().split()
    writer.write(b"sold\n" if await book(seat, name) else b"gone\n")
    writer.close()
    await writer.wait_closed()


async def buy(port: int, seat: str, name: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{seat} {name}\n".encode())
    answer = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return answer


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for n in range(50):  # a quiet hour
        await buy(port, f"A{n}", "ann")
    answers = await asyncio.gather(*(buy(port, f"B{n}", "bob") for n in range(20)))
    assert answers == [b"sold\n"] * 20
    server.close()


asyncio.run(main())
