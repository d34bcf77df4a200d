"""Answers in JSON: values, and errors with a code and a sentence."""

from typing import Any, Final

from starlette.responses import Response

from linnet.errors import LinnetError
from linnet.wire.jsonl import encode_value

JSON: Final = "application/json"
# Errors that say more by their status than that something was wrong with the request.
_STATUS: Final = {
    "no_such_agent": 404,
    "no_such_session": 404,
    "not_allowed": 403,
    "busy": 409,
    "session_in_use": 409,
    "too_many_agents": 429,
    "closed": 503,
    "draining": 503,
    "log_unavailable": 503,
    "provider_unavailable": 502,
    "provider_rejected": 502,
    "internal": 500,
}


class Problem(Exception):
    """A request that is not carried out: the status, a code for programs and a sentence for people."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers

    def response(self) -> Response:
        """Return the answer that says so."""
        return reply({"error": {"code": self.code, "message": self.message}}, self.status, self.headers)


def not_allowed(message: str) -> Problem:
    """Return the answer to what must not be asked for over HTTP; the sentence names it."""
    return Problem(403, "not_allowed", message)


def problem(error: LinnetError) -> Problem:
    """Return an error of ours as an answer."""
    return Problem(_STATUS.get(error.code, 400), error.code, str(error))


def reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a value as JSON: structs, and whatever msgspec encodes."""
    return Response(encode_value(value), status, headers, JSON)
