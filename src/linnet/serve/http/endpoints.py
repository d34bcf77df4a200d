"""What an endpoint is: a row that routes, the check of roles and the OpenAPI document are made from."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias, get_args, get_origin

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from linnet.decoding import converted
from linnet.serve.http.replies import Problem

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Access: TypeAlias = Literal["open", "watch", "drive"]
"""Who may use it: anybody, or whoever has a token that allows at least this."""


class Parameter(Struct, frozen=True):
    """A parameter of the query, of the path, or a header."""

    name: str
    type: Any
    help: str
    place: Literal["query", "path", "header"] = "query"


class Returned(Struct, frozen=True):
    """An answer: what it is, and its type if it is JSON."""

    help: str
    type: Any = None
    media: str = ""  # If it is not JSON.


class Endpoint(Struct, frozen=True):
    method: Literal["GET", "POST", "DELETE"]
    path: str
    handler: Handler
    help: str
    access: Access
    returns: Mapping[int, Returned]
    parameters: tuple[Parameter, ...] = ()
    body: Any = None


def given(request: Request, parameter: Parameter) -> Any:
    """Return a parameter of the query; None if it is not there. Raises Problem if it is not of its type."""
    values = request.query_params.getlist(parameter.name)
    if not values:
        return None
    try:
        if len(values) > 1:
            raise msgspec.ValidationError("it is there more than once")
        return converted(values[0], parameter.type, strict=False)
    except msgspec.ValidationError as error:
        words = get_args(parameter.type) if get_origin(parameter.type) is Literal else ()
        reason = f"it is one of {', '.join(words)}" if words else error
        raise Problem(400, "bad_input", f"The parameter {parameter.name} is not right: {reason}.") from None


def check_query(request: Request, known: tuple[Parameter, ...]) -> None:
    """Raise Problem for a parameter of the query that nobody knows: a typing error must not change what is meant."""
    names = {each.name for each in known if each.place == "query"}
    if unknown := sorted(set(request.query_params) - names):
        raise Problem(400, "bad_input", f"There is no parameter {unknown[0]} here.")
