"""The server: one socket on 127.0.0.1, and the loop that answers there."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import uvicorn

from funcgraph.view.access import Guard
from funcgraph.view.application import Application
from funcgraph.view.open_pages import OpenPages
from funcgraph.view.served import Served

__all__ = ["listen", "serve"]

_ADDRESS = "127.0.0.1"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def listen(port: int) -> socket.socket:
    """Return a socket that listens at a port of 127.0.0.1; 0: one that is free.

    Raises:
        OSError: it cannot, as the port is in use.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_ADDRESS, port))
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    return listener


def serve(
    listener: socket.socket,
    served: Sequence[Served],
    token: str,
    ticket: str | None,
    *,
    once: bool,
    begin: Callable[[], None],
    at_once: bool = True,
) -> None:
    """Answer until the process gets a signal; with `once`, until the last page was closed.

    Args:
        listener: of `listen`.
        served: the traces.
        token: that the pages know.
        ticket: that leads to it once; None: nothing does.
        begin: called when requests are answered.
        at_once: a signal ends the process; else this returns then, as there is something to clean up.
    """
    ended = asyncio.Event()
    pages = OpenPages(ended.set if once else None)
    application = Application(served, pages)
    config = uvicorn.Config(
        Guard(application.router, token, ticket, application.with_body),
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        loop="asyncio",
        http="h11",
        ws="none",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # they do here what they do in all commands
    with _ends_at_once() if at_once else nullcontext():
        asyncio.run(_serve(server, application, listener, ended, begin, at_once))
    application.close()


async def _serve(
    server: uvicorn.Server,
    application: Application,
    listener: socket.socket,
    ended: asyncio.Event,
    begin: Callable[[], None],
    at_once: bool,
) -> None:
    for number in () if at_once else _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    growth = asyncio.create_task(application.follow())
    end = asyncio.create_task(ended.wait())
    begin()
    await asyncio.wait({task, end}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await task
    end.cancel()
    growth.cancel()


@contextmanager
def _ends_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process, whatever its threads do: there is nothing to clean up."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
