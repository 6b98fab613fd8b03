"""Times an asyncio echo server with and without a latency tracer, in turn; prints one line of JSON,
{"off": [...], "on": [...]}: the server's own seconds of CPU for as many messages, in each block.

Usage: echo_server.py streams|protocol TRACER|none|graph:TRACER BLOCKS MESSAGES

The client is another process that keeps 16 connections busy.
"""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time

CONNECTIONS = 16
MESSAGE = b"x" * 99 + b"\n"
CLIENT = """
import socket, sys
port, rounds, message = int(sys.argv[1]), int(sys.argv[2]), b"x" * 99 + b"\\n"
connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(int(sys.argv[3]))]
for connection in connections:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for line in sys.stdin:
    for _ in range(rounds):
        for connection in connections:
            connection.sendall(message)
        for connection in connections:
            left = len(message)
            while left:
                left -= len(connection.recv(left))
    print("done", flush=True)
"""


async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()


class Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(data)


def traced(what):
    if what == "none":
        return contextlib.nullcontext()
    from funcgraph.control.latency import Latency

    graph, _, tracer = what.rpartition(":")
    return Latency(tracer, display_graph=bool(graph))


async def block(client):
    """Let the client send its messages; return the CPU time of it all here."""
    begin = time.process_time()
    client.stdin.write(b"go\n")
    await client.stdin.drain()
    await client.stdout.readline()
    return time.process_time() - begin


async def main(kind, tracer, blocks, messages):
    loop = asyncio.get_running_loop()
    if kind == "streams":
        server = await asyncio.start_server(echo, "127.0.0.1", 0, family=socket.AF_INET)
    else:
        server = await loop.create_server(Echo, "127.0.0.1", 0, family=socket.AF_INET)
    port = server.sockets[0].getsockname()[1]
    words = [str(port), str(int(messages) // CONNECTIONS), str(CONNECTIONS)]
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    seconds = {"off": [], "on": []}
    await block(client)  # as CPython runs it when it knows it
    for _ in range(int(blocks)):
        seconds["off"].append(await block(client))
        with traced(tracer):
            await block(client)
            seconds["on"].append(await block(client))
        await block(client)
    client.stdin.close()
    await client.wait()
    server.close()
    print(json.dumps(seconds))


asyncio.run(main(*sys.argv[1:]))
