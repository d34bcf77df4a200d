"""Validates the bodies of requests against the types in the vendors' own packages, extra keys forbidden at any depth.

Each check returns why a vendor's types refuse a request, in one sentence, or None if they accept it. `REFUSALS` has one
for each API, by its wire name. The packages take long to import: tests that use this belong to the group `vendors`.
"""

import json
import re
import warnings
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

Body: TypeAlias = dict[str, Any]
Refusal: TypeAlias = Callable[[Body], str | None]


def anthropic_messages(body: Body) -> str | None:
    """Return why the types of the `anthropic` package refuse a request for the Messages API."""
    return _by_typed_dict(_anthropic(), body)


def anthropic_beta_messages(body: Body) -> str | None:
    """Return why the package's types for requests that have a beta's name in their headers refuse one."""
    return _by_typed_dict(_anthropic_beta(), body)


def anthropic_on_vertex(body: Body) -> str | None:
    """Return why the types refuse a request for Vertex AI, where the URL has the model, and the body the version."""
    if "model" in body or not isinstance(body.get("anthropic_version"), str):
        return "body: it has to have anthropic_version instead of model"
    rest = {key: value for key, value in body.items() if key != "anthropic_version"}
    return anthropic_messages({**rest, "model": "m"})


def openai_completions(body: Body) -> str | None:
    """Return why the types of the `openai` package refuse a request for Chat Completions."""
    return _by_typed_dict(_openai_chat(), body)


def openai_responses(body: Body) -> str | None:
    """Return why the types of the `openai` package refuse a request for the Responses API."""
    return _by_typed_dict(_openai_responses(), body)


def google_generative_ai(body: Body) -> str | None:
    """Return why the types of the `google-genai` package refuse a request for `streamGenerateContent`.

    The package also reads snake_case, and the API too; linnet writes one spelling, and that is demanded here.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # An enum that gets a value it does not know only warns.
            read = _google().model_validate_json(json.dumps(body))
    except (ValidationError, UserWarning) as refused:
        return _in_one_line(refused)
    return _lost(body, read.model_dump(mode="json", by_alias=True, exclude_unset=True), values=False)


def bedrock_converse_stream(body: Body) -> str | None:
    """Return why botocore's model of ConverseStream refuses a request. The model's id belongs to the URL."""
    from botocore.validate import ParamValidator

    shape = _bedrock()
    try:
        given = {**_with_bytes(body, shape, "body"), "modelId": "m"}
    except ValueError as refused:
        return str(refused)
    report: str = ParamValidator().validate(given, shape).generate_report()
    return " ".join(report.split()) or None


REFUSALS: dict[str, Refusal] = {
    "anthropic-messages": anthropic_messages,
    "anthropic-vertex": anthropic_on_vertex,
    "openai-completions": openai_completions,
    "openai-responses": openai_responses,
    "google-generative-ai": google_generative_ai,
    "google-vertex": google_generative_ai,
    "bedrock-converse-stream": bedrock_converse_stream,
}


@cache
def _anthropic() -> TypeAdapter[Any]:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return TypeAdapter(MessageCreateParamsStreaming)


@cache
def _anthropic_beta() -> TypeAdapter[Any]:
    from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming

    return TypeAdapter(MessageCreateParamsStreaming)


@cache
def _openai_chat() -> TypeAdapter[Any]:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return TypeAdapter(CompletionCreateParamsStreaming)


@cache
def _openai_responses() -> TypeAdapter[Any]:
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return TypeAdapter(ResponseCreateParamsStreaming)


@cache
def _google() -> type[BaseModel]:
    """Return the body of a request as a model: the package has its parts, and puts them together in code."""
    from google.genai import types
    from pydantic import create_model

    parts: dict[str, Any] = {
        "contents": (list[types.Content], ...),
        "system_instruction": (types.Content | None, None),
        "tools": (list[types.Tool] | None, None),
        "tool_config": (types.ToolConfig | None, None),
        "generation_config": (types.GenerationConfig | None, None),
        "safety_settings": (list[types.SafetySetting] | None, None),
        "cached_content": (str | None, None),
    }
    config = ConfigDict(alias_generator=to_camel, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")
    made: type[BaseModel] = create_model("GenerateContentRequest", __config__=config, **parts)
    return made


@cache
def _bedrock() -> Any:
    from botocore.loaders import Loader
    from botocore.model import ServiceModel

    described = Loader().load_service_model("bedrock-runtime", "service-2")
    return ServiceModel(described).operation_model("ConverseStream").input_shape


def _by_typed_dict(adapter: TypeAdapter[Any], body: Body) -> str | None:
    try:
        return _lost(body, _consumed(adapter.validate_python(body)))
    except ValidationError as refused:
        return _in_one_line(refused)


def _consumed(value: Any) -> Any:
    """Return a validated value with its lists read. Pydantic checks an Iterable only as it is consumed, and leaves out
    what its type does not know.
    """
    if isinstance(value, Mapping):
        return {key: _consumed(item) for key, item in value.items()}
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return value
    return [_consumed(item) for item in value]


def _lost(sent: Any, read: Any, path: str = "body", *, values: bool = True) -> str | None:
    """Return what of a request the vendor's types did not take over. `values` compares more than keys and lengths: a
    type that decodes base64 writes it with another alphabet.
    """
    if isinstance(sent, dict) and isinstance(read, dict):
        if unknown := sent.keys() - read.keys():
            return f"{path}: unknown {', '.join(sorted(unknown))}"
        found = (_lost(sent[key], read[key], f"{path}.{key}", values=values) for key in sent)
        return next(filter(None, found), None)
    if isinstance(sent, list) and isinstance(read, list):
        if len(sent) != len(read):
            return f"{path}: {len(sent)} items, of which {len(read)} were read"
        found = (_lost(*pair, f"{path}[{at}]", values=values) for at, pair in enumerate(zip(sent, read, strict=True)))
        return next(filter(None, found), None)
    same = sent == read if values else type(sent) is type(read)
    return None if same else f"{path}: {sent!r} was read as {read!r}"


def _with_bytes(value: Any, shape: Any, path: str) -> Any:
    """Return a value with its base64 decoded where botocore wants bytes. It does not look at enums and patterns: they
    are checked here. Raises ValueError.
    """
    if shape.type_name == "structure" and isinstance(value, dict) and not getattr(shape, "is_document_type", False):
        members = shape.members
        return {
            key: _with_bytes(item, members[key], f"{path}.{key}") if key in members else item
            for key, item in value.items()
        }
    if shape.type_name == "list" and isinstance(value, list):
        return [_with_bytes(item, shape.member, f"{path}[{at}]") for at, item in enumerate(value)]
    if shape.type_name == "blob" and isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except BadBase64 as bad:
            raise ValueError(f"{path}: no base64: {bad}") from None
    if shape.type_name == "string" and isinstance(value, str):
        if shape.enum and value not in shape.enum:
            raise ValueError(f"{path}: {value!r} is none of {', '.join(shape.enum)}")
        pattern, most = shape.metadata.get("pattern"), shape.metadata.get("max")
        if pattern and not re.fullmatch(pattern, value):
            raise ValueError(f"{path}: {value!r} does not fit {pattern}")
        if most and len(value) > most:
            raise ValueError(f"{path}: {len(value)} characters, at most {most} are allowed")
    return value


def _in_one_line(refused: Exception) -> str:
    return " ".join(str(refused).split())[:2_000]
