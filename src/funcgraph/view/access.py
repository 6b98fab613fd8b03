"""Who gets an answer: only pages that this server made, for whoever has the token.

A browser sends requests for any site that a person visits. So neither the address 127.0.0.1 nor a browser on
this machine proves anything: another site's page may ask, also under a name of its own that leads here (DNS
rebinding). docs/reference/security.md has what is checked.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
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


def new_token() -> str:
    """Return a token of 256 random bits."""
    return secrets.token_urlsafe(32)


class Guard:
    """The application that lets a request through to another one, or refuses it without a body.

    Args:
        app: gets the requests.
        token: what a page must know.
    """

    def __init__(self, app: _App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal:
            await send({"type": "http.response.start", "status": refusal, "headers": _RAW_HEADERS})
            await send({"type": "http.response.body", "body": b""})
            return

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_RAW_HEADERS]
            await send(message)

        await self._app(scope, receive, send_guarded)

    def _refusal(self, scope: _Scope) -> int:
        """Return the status of a refusal; 0: none."""
        headers = _Headers(scope)
        host = headers.only("host")
        if host is None or not _HOST.fullmatch(host):
            return 421
        origin = headers.only("origin", f"http://{host}")
        if origin is None or origin.lower() != f"http://{host}".lower():
            return 403
        is_page = scope["path"] == "/"
        site = headers.only("sec-fetch-site", "none")
        if site not in ("same-origin", "none", *(("same-site",) if is_page else ())):
            return 403
        if scope["method"] != "GET":
            return 405
        if len(scope["query_string"]) > _LONGEST_QUERY:
            return 414
        if is_page and not self._is_token(_token_of_query(scope["query_string"])):
            return 403
        if scope["path"].startswith("/api/") and not self._is_token(_token_of(headers)):
            return 403
        return 0

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


def _token_of_query(query: bytes) -> str:
    try:
        tokens = parse_qs(query.decode("latin-1"), max_num_fields=_MOST_FIELDS).get("token", [])
    except ValueError:  # more fields
        return ""
    return tokens[0] if len(tokens) == 1 else ""
