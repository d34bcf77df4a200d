"""Every command of the zot protocol, once, for the client that blocks and the one that is awaited."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from linnet.client.agent import Agent, Options, Speech
from linnet.client.request import Picture, Request, SharedCommands, a, checked, command, given, nothing, run_command
from linnet.client.run_result import ZotRunResult
from linnet.client.zot_work import ZotWork
from linnet.errors import RunFailed
from linnet.faces import Steps, once
from linnet.wire.zot import frames
from linnet.wire.zot import incoming as zot


class ZotCommands(SharedCommands, Agent[frames.Event]):
    """The methods of zot's protocol. `timeout` is in seconds; without one, the client's own counts."""

    speech = Speech(("rpc",), zot.reader, ZotWork, ZotRunResult)

    def __init__(
        self, command: Sequence[str] | None = None, *, token: str | None = None, **options: Unpack[Options]
    ) -> None:
        """Start an agent. It is given `token` in its environment, and sent it in a `hello`, before anything else."""
        if token:  # Without one, whatever the environment says holds.
            options["env"] = {**(options.get("env") or {}), "ZOTCORE_RPC_TOKEN": token}
        super().__init__(command, **options)
        if token:
            self._link.ask(ZotCommands.hello(self, token))

    @run_command
    def prompt(
        self,
        message: str,
        images: Sequence[Picture] = (),
        *,
        output_schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Request[None]:
        """Run a prompt, when those before it are done; iterate over its events, `done` last."""
        fields: dict[str, Any] = {"message": message, **given(output_schema=output_schema)}
        if images:
            fields["images"] = [{"mime_type": each.mime_type, "data": each.data} for each in checked(images)]
        return Request("prompt", nothing, timeout, fields)

    @once
    def compact(self, *, timeout: float | None = None) -> Steps[str]:
        """Replace old messages by a summary, and return it. Raises RunFailed."""
        events: list[object] = []
        yield from self._begin(Request("compact", nothing, timeout))._each(events.append)
        for event in events:
            if isinstance(event, frames.CompactDone):
                return event.summary
            if isinstance(event, frames.Error):
                raise RunFailed(event.message)
        raise RunFailed("the compaction was aborted")

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
        """Return the model, the folder, whether it is busy, and what it has cost."""
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
    def get_models(self, *, timeout: float | None = None) -> Request[list[frames.ModelInfo]]:
        """Return the provider's models."""
        return Request("get_models", lambda data: a(frames.ModelsData)(data).models, timeout)

    @command
    def ping(self, *, timeout: float | None = None) -> Request[None]:
        """Return when the agent has answered."""
        return Request("ping", nothing, timeout)

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
