"""The events of OpenAI's Responses API that linnet reads, as types. All others are skipped."""

from typing import TypeAlias

from msgspec import Raw, Struct

from linnet.providers.http.vendor_errors import Fault


class Words(Struct, gc=False):
    """A part of a message or of a thought."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None


class Item(Struct, gc=False):
    """An item of any kind. Each has some of these fields."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    phase: str | None = None
    summary: list[Words] | None = None
    content: list[Words] | None = None
    encrypted_content: str | None = None


class TextPart(Struct, tag="response.output_text.delta", gc=False):
    delta: str
    output_index: int = 0


class ArgumentsPart(Struct, tag="response.function_call_arguments.delta", gc=False):
    delta: str
    output_index: int = 0


class SummaryPart(Struct, tag="response.reasoning_summary_text.delta", gc=False):
    delta: str
    output_index: int = 0
    summary_index: int = 0


class ThoughtPart(Struct, tag="response.reasoning_text.delta", gc=False):
    delta: str
    output_index: int = 0
    content_index: int = 0


class RefusalPart(Struct, tag="response.refusal.delta", gc=False):
    delta: str
    output_index: int = 0


class ItemAdded(Struct, tag="response.output_item.added"):
    item: Raw
    output_index: int = 0


class ItemDone(Struct, tag="response.output_item.done"):
    item: Raw
    output_index: int = 0


class InputDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_tokens_details: "WriteDetails | None" = None


class WriteDetails(Struct):
    ttl_12h_tokens: int | None = None


class Tokens(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: InputDetails | None = None


class Details(Struct):
    reason: str | None = None


class Response(Struct):
    status: str | None = None
    output: list[Raw] | None = None
    usage: Tokens | None = None
    error: Fault | str | None = None
    incomplete_details: Details | None = None


class Completed(Struct, tag="response.completed"):
    response: Response


class Incomplete(Struct, tag="response.incomplete"):
    response: Response


class Failed(Struct, tag="response.failed"):
    response: Response


class Failure(Struct, tag="error"):
    """An error that ends the stream. Its fields are at the top; some gateways put them under `error`."""

    code: str | int | None = None
    message: str | None = None
    error: Fault | str | None = None


class Bare(Struct):
    """What gateways send that have no events of this API for their own errors."""

    error: Fault | str
    type: str | None = None


Wire: TypeAlias = (
    TextPart
    | ArgumentsPart
    | SummaryPart
    | ThoughtPart
    | RefusalPart
    | ItemAdded
    | ItemDone
    | Completed
    | Incomplete
    | Failed
    | Failure
)
