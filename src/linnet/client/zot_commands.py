"""Every command of the zot protocol, once, for the client that blocks and the one that is awaited."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from linnet.client.pictures import Picture, checked
from linnet.client.request import Request, a, anything, command, given, nothing
from linnet.wire.zot import frames


class ZotCommands:
    """`timeout` is in seconds; without one, the client's own counts."""

    @command
    def hello(self, token: str = "", *, timeout: float | None = None) -> Request[frames.GreetingData]:
        """Say who we are; return who is there. Must be the first command where a token is asked for."""
        return Request("hello", a(frames.GreetingData), timeout, given(token=token or None))

    @command
    def abort(self, *, timeout: float | None = None) -> Request[None]:
        """Cancel what runs. Its last events follow."""
        return Request("abort", nothing, timeout)

    @command
    def get_state(self, *, timeout: float | None = None) -> Request[frames.StateData]:
        return Request("get_state", a(frames.StateData), timeout)

    @command
    def get_messages(self, *, timeout: float | None = None) -> Request[list[frames.Message]]:
        """Return the conversation."""
        return Request("get_messages", lambda data: a(frames.MessagesData)(data).messages, timeout)

    @command
    def clear(self, *, timeout: float | None = None) -> Request[None]:
        """Forget the conversation."""
        return Request("clear", nothing, timeout)

    @command
    def set_model(self, model: str, *, save: bool | None = None, timeout: float | None = None) -> Request[None]:
        """Use another model of the same provider; with `save`, which is linnet's own, from now on."""
        return Request("set_model", nothing, timeout, given(model=model, save=save))

    @command
    def trust(self, answer: Literal["once", "always", "never"], *, timeout: float | None = None) -> Request[None]:
        """Say whether what the project brings may be used. linnet's own."""
        return Request("trust", nothing, timeout, {"answer": answer})

    @command
    def get_models(self, *, timeout: float | None = None) -> Request[list[frames.ModelInfo]]:
        """Return the provider's models."""
        return Request("get_models", lambda data: a(frames.ModelsData)(data).models, timeout)

    @command
    def ping(self, *, timeout: float | None = None) -> Request[None]:
        """Return when the agent has answered."""
        return Request("ping", nothing, timeout)

    @command
    def reload(self, *, timeout: float | None = None) -> Request[None]:
        """Have the extensions read again, between runs. linnet's own."""
        return Request("reload", nothing, timeout)

    @command
    def set_tools(self, tools: Sequence[dict[str, Any]], *, timeout: float | None = None) -> Request[None]:
        """Declare the tools that you run, as objects with `name`, `description` and `parameters`. linnet's own."""
        return Request("set_tools", nothing, timeout, {"tools": list(tools)})

    @command
    def tool_response(
        self,
        request_id: str,
        content: str | Sequence[dict[str, Any]],
        *,
        is_error: bool = False,
        timeout: float | None = None,
    ) -> Request[None]:
        """Answer a ToolRequest with what came of it. linnet's own."""
        fields = {"request_id": request_id, "content": content, "is_error": is_error}
        return Request("tool_response", nothing, timeout, fields)

    @command
    def tool_response_progress(self, request_id: str, text: str, *, timeout: float | None = None) -> Request[None]:
        """Tell what a tool that you run has printed since. linnet's own."""
        return Request("tool_response_progress", nothing, timeout, {"request_id": request_id, "text": text})

    @command
    def answer(
        self,
        request_id: str,
        value: str | None = None,
        *,
        confirmed: bool | None = None,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> Request[None]:
        """Answer a Question; neither a value nor a yes or no means that it was dismissed. linnet's own."""
        told = given(value=value, confirmed=confirmed) or {"cancelled": True}
        return Request("answer", nothing, timeout, {"request_id": request_id, **told, **given(reason=reason)})

    @command
    def ask(self, type: str, /, *, timeout: float | None = None, **fields: Any) -> Request[Any]:
        """Send a command that has no method here; return its `data`."""
        return Request(type, anything, timeout, fields)


def prompt(
    text: str, images: Sequence[Picture], timeout: float | None, schema: Mapping[str, Any] | None = None
) -> Request[None]:
    fields: dict[str, Any] = {"message": text, **given(output_schema=schema)}
    if images:
        fields["images"] = [{"mime_type": each.mime_type, "data": each.data} for each in checked(images)]
    return Request("prompt", nothing, timeout, fields)


def compact(timeout: float | None) -> Request[None]:
    return Request("compact", nothing, timeout)
