"""The web application: the page's files, the questions, and what happens to the traces meanwhile."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from funcgraph.page.bundle import served_file
from funcgraph.page.page_files import FIRST_PAGE
from funcgraph.tracedata.description import TraceError
from funcgraph.view import answers
from funcgraph.view.open_pages import OpenPages
from funcgraph.view.parameters import Parameters
from funcgraph.view.questions import MOST_BODY_BYTES, QUESTIONS, Answer, Question
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["Application"]

_SHORT_THREADS, _LONG_THREADS = 4, 1
_TICK_S = 1.0
_REST = 8  # after reading a trace that grows, as a multiple of how long that took
_SILENT_TICKS = 10  # then a comment: so a page that is gone without a word is noticed


class Application:
    """What the server serves.

    Args:
        served: the traces.
        pages: counts the pages that are open.

    Attributes:
        router: the ASGI application.
        with_body: the paths of questions whose requests have a body.
    """

    def __init__(self, served: Sequence[Served], pages: OpenPages) -> None:
        self._served = list(served)
        self._due = [0.0] * len(served)
        self._growth = ThreadPoolExecutor(1, "growth")
        self._pages = pages
        self._short = ThreadPoolExecutor(_SHORT_THREADS, "question")
        self._long = ThreadPoolExecutor(_LONG_THREADS, "long-question")
        self._turn = asyncio.Semaphore(_LONG_THREADS)
        self._short.submit(served_file, FIRST_PAGE)  # it is put together once, before a page is opened
        questions = [
            Route(f"/api/{name}", self._endpoint(row), methods=["POST" if row.body else "GET"])
            for name, row in QUESTIONS.items()
        ]
        self.with_body = {f"/api/{name}" for name, row in QUESTIONS.items() if row.body}
        self.router = Router(
            [
                Route("/", self._first_page),
                Route("/page/{name:path}", self._page_file),
                Route("/api/traces", self._traces),
                Route("/api/events", _EventStream(self._changes)),
                *questions,
            ],
            redirect_slashes=False,
            default=_nothing,
        )

    def close(self) -> None:
        """Begin no further answers."""
        for pool in (self._short, self._long, self._growth):
            pool.shutdown(wait=False, cancel_futures=True)

    async def follow(self) -> None:
        """Look for growth of traces that are being recorded, for ever. Without a page nobody needs it."""
        while True:
            await asyncio.sleep(_TICK_S)
            for place, one in enumerate(self._served):
                if one.is_growing and self._pages.are_open and time.monotonic() >= self._due[place]:
                    await self._in_thread(self._growth, self._grow, place)

    def _grow(self, place: int) -> None:
        """Take the trace as it is now. To read all of it takes longer each time, so it is done less often."""
        begun = time.monotonic()
        before = self._served[place]
        newer = before.grown()
        if newer is not None:
            self._served[place] = newer
            for one in self._served:
                one.base = newer if one.base is before else one.base
        now = time.monotonic()
        self._due[place] = now + _REST * (now - begun)

    async def _first_page(self, _request: Request) -> Response:
        return _file(FIRST_PAGE)

    async def _page_file(self, request: Request) -> Response:
        return _file(request.path_params["name"])

    async def _traces(self, _request: Request) -> Response:
        return _json(await self._in_thread(self._short, answers.traces, self._served))

    def _endpoint(self, question: Question) -> Callable[[Request], Awaitable[Response]]:
        known = ("trace", *question.parameters)

        async def answer(request: Request) -> Response:
            try:
                parameters = Parameters(request.query_params.multi_items(), known)
                if question.body:
                    parameters = parameters.with_value(question.body, await _body(request))
                one = self._one(parameters)
                if not question.is_long:
                    return _response(await self._in_thread(self._short, _answer, question, one, parameters))
                async with self._turn:
                    if await request.is_disconnected():  # the page has asked for something else meanwhile
                        return Response(status_code=204)
                    return _response(await self._in_thread(self._long, _answer, question, one, parameters))
            except RequestError as error:
                return _refused(error)

        return answer

    def _one(self, parameters: Parameters) -> Served:
        number = parameters.integer("trace", 0, 2**32, 0)
        if number >= len(self._served):
            raise RequestError(404, f"no trace {number}: there are {len(self._served)}")
        return self._served[number]

    async def _in_thread(self, pool: ThreadPoolExecutor, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *args)

    async def _changes(self) -> AsyncIterator[bytes]:
        """Yield the list of traces whenever it has changed, as server-sent events."""
        with self._pages.opened():
            latest, silent = b"", 0
            while True:
                rows = await self._in_thread(self._short, answers.traces, self._served)
                text = _dumps(rows["traces"])
                silent += 1
                if text != latest:
                    yield b"event: traces\ndata: " + text + b"\n\n"
                    latest, silent = text, 0
                elif silent >= _SILENT_TICKS:
                    yield b":\n\n"
                    silent = 0
                await asyncio.sleep(_TICK_S)


class _EventStream:
    """The ASGI application that sends events, until there are no more or the page is gone.

    Starlette's StreamingResponse loads a part of anyio first: for a tenth of a second nothing else is
    answered, just when a page waits for its first picture.

    Args:
        events: begins what is sent to a page.
    """

    def __init__(self, events: Callable[[], AsyncIterator[bytes]]) -> None:
        self._events = events

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send_all(send))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in self._events():
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _answer(question: Question, one: Served, parameters: Parameters) -> Answer:
    """Answer in a thread. Raises RequestError."""
    try:
        return question.answer(one, parameters)
    except (TraceError, OSError) as error:
        raise one.note_flaw(error) from None


async def _body(request: Request) -> str:
    """Return the text that a request has as its body. Raises RequestError: it is too long, or no text."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MOST_BODY_BYTES:
            raise RequestError(413, f"the text must have at most {MOST_BODY_BYTES:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise RequestError(400, "the text must be UTF-8") from None


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    await _refused(RequestError(404, "there is no such page"))(scope, receive, send)


def _file(name: str) -> Response:
    found = served_file(name)
    if found is None:
        return _refused(RequestError(404, "the page has no such file"))
    return Response(found[0], media_type=found[1])


def _response(answer: Answer) -> Response:
    if isinstance(answer, bytes):
        return Response(answer, media_type="application/octet-stream")
    return _json(answer)


def _refused(error: RequestError) -> Response:
    value: dict[str, object] = {"error": error.message}
    if error.status == 503:
        value["progress"] = error.progress
    return _json(value, error.status)


def _json(value: object, status: int = 200) -> Response:
    return Response(_dumps(value), status, media_type="application/json")


def _dumps(value: object) -> bytes:
    # All that is not ASCII is escaped: also lone surrogates, which UTF-8 cannot have.
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
