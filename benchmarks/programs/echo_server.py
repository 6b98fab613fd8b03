"""Times an asyncio echo server with and without a latency tracer, in short segments of one process.

Prints {"pairs": [[[wall, cpu], [wall, cpu]], ...]}. A pair is a segment without the tracer and one with it,
run in random order; wall and cpu are the server's elapsed seconds and CPU seconds per message.

Usage: echo_server.py streams|protocol TRACER|none|graph:TRACER|evaluator PAIRS

"none" compares segments without a tracer with each other. "evaluator" uses a frame evaluator that does
nothing instead of a tracer (3.11). The client is another process, on another processor if there is one. It
keeps 16 connections busy over loopback TCP, with one message of 100 bytes at a time on each.
"""

import asyncio
import contextlib
import gc
import json
import os
import random
import socket
import subprocess
import sys
import time

CONNECTIONS = 16
#: Seconds until CPython has specialised the code; after each change of the tracer; of the measured segment.
BEGIN_S, SETTLE_S, SEGMENT_S = 0.5, 0.015, 0.04
CLIENT = """
import socket, sys
message = b"x" * 99 + b"\\n"
connections = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(int(sys.argv[2]))]
for connection in connections:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
try:
    while True:
        for connection in connections:
            connection.sendall(message)
        for connection in connections:
            left = len(message)
            while left:
                got = len(connection.recv(left))
                if not got:
                    sys.exit()
                left -= got
except ConnectionError:
    pass
"""

served = 0


async def echo(reader, writer):
    global served
    with contextlib.suppress(ConnectionError, asyncio.CancelledError):
        while line := await reader.readline():
            writer.write(line)
            await writer.drain()
            served += 1


class Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        global served
        self.transport.write(data)
        served += 1


@contextlib.contextmanager
def evaluator():
    import least_callbacks

    least_callbacks.set_evaluator(False)
    yield
    least_callbacks.set_evaluator(None)


def traced(what):
    if what == "none":
        return contextlib.nullcontext()
    if what == "evaluator":
        return evaluator()
    from funcgraph.instance.latency import Latency

    kind, _, tracer = what.rpartition(":")
    return Latency(tracer, display_graph=kind == "graph", slowest_call=kind == "slowest")


async def segment(what):
    """Return the elapsed seconds and the CPU seconds per message."""
    with traced(what):
        await asyncio.sleep(SETTLE_S)
        begin = (time.perf_counter(), time.process_time(), served)
        await asyncio.sleep(SEGMENT_S)
        while served - begin[2] < CONNECTIONS:  # the client had no processor
            await asyncio.sleep(SEGMENT_S)
        end = (time.perf_counter(), time.process_time(), served)
    messages = end[2] - begin[2]
    return (end[0] - begin[0]) / messages, (end[1] - begin[1]) / messages


async def pair(tracer):
    is_off_first = random.random() < 0.5
    first = await segment("none" if is_off_first else tracer)
    second = await segment(tracer if is_off_first else "none")
    return (first, second) if is_off_first else (second, first)


def client_of(port):
    """Start the client. If there are two processors, the client and this process each get one."""
    processors = sorted(os.sched_getaffinity(0))
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(port), str(CONNECTIONS)])
    if len(processors) > 1:
        os.sched_setaffinity(0, processors[:1])
        os.sched_setaffinity(client.pid, processors[-1:])
    return client


async def main(kind, tracer, pairs):
    loop = asyncio.get_running_loop()
    if kind == "streams":
        server = await asyncio.start_server(echo, "127.0.0.1", 0, family=socket.AF_INET)
    else:
        server = await loop.create_server(Echo, "127.0.0.1", 0, family=socket.AF_INET)
    client = client_of(server.sockets[0].getsockname()[1])
    try:
        await asyncio.sleep(BEGIN_S)
        gc.freeze()
        found = [await pair(tracer) for _ in range(int(pairs))]
    finally:
        client.kill()
        client.wait()
    server.close()
    print(json.dumps({"pairs": found}))


asyncio.run(main(*sys.argv[1:]))
