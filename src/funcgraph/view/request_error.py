"""What the server answers if it cannot answer: a status and one sentence."""

from __future__ import annotations

__all__ = ["RequestError"]


class RequestError(Exception):
    """A request gets no answer.

    Args:
        status: 400: the request is wrong; 404: there is no such thing; 409: the trace is not what it was;
            413: the body is too long; 503: not yet.
        message: one sentence.
        progress: of 503: how far it is, from 0 to 1; None: not known.
    """

    def __init__(self, status: int, message: str, progress: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.progress = progress
