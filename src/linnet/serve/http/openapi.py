"""The OpenAPI document, made from the endpoints and the types that they take and return."""

from collections.abc import Sequence
from typing import Any, Final

from linnet import __version__
from linnet.decoding import schema_components
from linnet.serve.http.bodies import Error
from linnet.serve.http.endpoints import Endpoint, Parameter, Returned

VERSION: Final = "3.1.0"
_REFERENCE: Final = "#/components/schemas/{name}"
_ABOUT: Final = (
    "Agents of `linnet serve`. Commands and events are those of a dialect, as on a pipe; here is what is around them. "
    "Every error is JSON with a code for programs and a sentence for people."
)


def document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the document of these endpoints."""
    types = _types(endpoints)
    schemas, components = schema_components(types, _REFERENCE)
    schema = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schema)
    schemes = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "The drive token, or the watch token."},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "linnet", "description": "Set by POST /v1/cookie."},
    }
    return {
        "openapi": VERSION,
        "info": {"title": "linnet serve", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": schemes},
    }


def _types(endpoints: Sequence[Endpoint]) -> list[Any]:
    """Return every type that is taken or returned, once."""
    found: dict[str, Any] = {repr(Error): Error}
    for endpoint in endpoints:
        used = [endpoint.body, *(each.type for each in endpoint.returns.values())]
        for each in (*used, *(parameter.type for parameter in endpoint.parameters)):
            if each is not None:
                found.setdefault(repr(each), each)
    return list(found.values())


def _operation(endpoint: Endpoint, schema: dict[str, Any]) -> dict[str, Any]:
    responses = {str(status): _returned(each, schema) for status, each in endpoint.returns.items()}
    responses["default"] = _returned(Returned("Why it was not carried out.", Error), schema)
    operation: dict[str, Any] = {
        "operationId": endpoint.handler.__qualname__.replace("Routes.", "_").replace(".", "_").lower(),
        "summary": endpoint.help,
        "responses": responses,
        "security": [] if endpoint.access == "open" else [{"bearer": []}, {"cookie": []}],
    }
    if endpoint.parameters:
        operation["parameters"] = [_parameter(each, schema) for each in endpoint.parameters]
    if endpoint.body is not None:
        content = {"application/json": {"schema": schema[repr(endpoint.body)]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameter(parameter: Parameter, schema: dict[str, Any]) -> dict[str, Any]:
    shown = {"name": parameter.name, "in": parameter.place, "description": parameter.help}
    return {**shown, "required": parameter.place == "path", "schema": schema[repr(parameter.type)]}


def _returned(returned: Returned, schema: dict[str, Any]) -> dict[str, Any]:
    if returned.media:
        return {"description": returned.help, "content": {returned.media: {"schema": {"type": "string"}}}}
    if returned.type is None:
        return {"description": returned.help}
    return {"description": returned.help, "content": {"application/json": {"schema": schema[repr(returned.type)]}}}
