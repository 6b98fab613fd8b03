"""Who gets an answer: only pages that this server made, for whoever has the token.

A browser sends requests for any site that a person visits. So neither the address 127.0.0.1 nor a browser on
this machine proves anything: another site's page may ask, also under a name of its own that leads here (DNS
rebinding). docs/reference/security.md has what is checked.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qs

__all__ = ["Guard", "new_token"]

_Scope: TypeAlias = MutableMapping[str, Any]
_Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
_App: TypeAlias = Callable[[_Scope, _Receive, _Send], Awaitable[None]]

#: With any port: a forwarded one (ssh -L) differs from ours. A name that leads here is none of these.
_HOST = re.compile(r"(?:localhost|127\.0\.0\.1)(?::\d{1,5})?", re.ASCII | re.IGNORECASE)

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
_LONGEST_QUERY = 16384
_MOST_FIELDS = 100
_SEE_OTHER = 303


def new_token() -> str:
    """Return a token of 256 random bits."""
    return secrets.token_urlsafe(32)


class Guard:
    """The application that lets a request through to another one, or refuses it without a body.

    Args:
        app: gets the requests.
        token: what a page must know.
        ticket: what the browser that the command opens is given in place of the token, as other users can see
            its command line: it leads to the token once.
        with_body: the paths that are sent with POST, as their requests have a body; all others with GET.
    """

    def __init__(
        self, app: _App, token: str, ticket: str | None = None, with_body: Collection[str] = ()
    ) -> None:
        self._with_body = frozenset(with_body)
        self._app = app
        self._token = token.encode()
        self._ticket = ticket

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            return
        status = self._refusal(scope)
        if status:
            location = [(b"location", b"/?token=" + self._token)] if status == _SEE_OTHER else []
            headers = [*_RAW_HEADERS, *location]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_RAW_HEADERS]
            await send(message)

        await self._app(scope, receive, send_guarded)

    def _refusal(self, scope: _Scope) -> int:
        """Return the status of a refusal, or of a redirection to the token; 0: neither."""
        headers = _Headers(scope)
        host = headers.only("host")
        if host is None or not _HOST.fullmatch(host):
            return 421
        is_page = scope["path"] == "/"
        if _is_of_another_site(headers, host, is_page):
            return 403
        if scope["method"] != ("POST" if scope["path"] in self._with_body else "GET"):
            return 405
        if len(scope["query_string"]) > _LONGEST_QUERY:
            return 414
        if is_page and not self._is_token(_only_of_query(scope["query_string"], "token")):
            return _SEE_OTHER if self._takes_ticket(scope["query_string"]) else 403
        if scope["path"].startswith("/api/") and not self._is_token(_token_of(headers)):
            return 403
        return 0

    def _takes_ticket(self, query: bytes) -> bool:
        """Whether a request has the ticket, which is used up then."""
        if self._ticket is None:
            return False
        given = _only_of_query(query, "ticket")
        if not secrets.compare_digest(given.encode(), self._ticket.encode()):
            return False
        self._ticket = None
        return True

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode("utf-8", "surrogateescape"), self._token)


class _Headers:
    """The headers of a request."""

    def __init__(self, scope: _Scope) -> None:
        self._items = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]

    def only(self, name: str, default: str | None = None) -> str | None:
        """Return a header that is there at most once; None: it is there twice."""
        values = [value for key, value in self._items if key == name]
        return default if not values else values[0] if len(values) == 1 else None


def _token_of(headers: _Headers) -> str:
    scheme, _, token = (headers.only("authorization") or "").partition(" ")
    return token if scheme.lower() == "bearer" else ""


def _is_of_another_site(headers: _Headers, host: str, is_page: bool) -> bool:
    """Whether a page of another site made the request. A link of another port here may lead to the page."""
    origin = headers.only("origin", f"http://{host}")
    if origin is None or origin.lower() != f"http://{host}".lower():
        return True
    site = headers.only("sec-fetch-site", "none")
    return site not in ("same-origin", "none", *(("same-site",) if is_page else ()))


def _only_of_query(query: bytes, name: str) -> str:
    """Return the value of a parameter that is there once; else ""."""
    try:
        values = parse_qs(query.decode("latin-1"), max_num_fields=_MOST_FIELDS).get(name, [])
    except ValueError:  # more fields
        return ""
    return values[0] if len(values) == 1 else ""
