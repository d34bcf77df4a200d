"""zot: the process, its lines, and the commands that are answered at once."""

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.play import Play, files_below
from linnet.conform.seen import Seen, positions

TABLE = Table("zot RPC", "zot")
check = TABLE.check
SECRET = "a-word-that-nobody-else-says"
EVENTS: dict[str, set[str]] = {
    "turn_start": {"step"},
    "user_message": {"content", "time"},
    "assistant_start": set(),
    "text_delta": {"delta"},
    "tool_use_start": {"id", "name"},
    "tool_use_args": {"id", "delta"},
    "tool_use_end": {"id"},
    "tool_call": {"id", "name", "args"},
    "tool_progress": {"id", "text"},
    "tool_result": {"id", "is_error", "content"},
    "assistant_message": {"content", "time"},
    "usage": {"input", "output", "cache_read", "cache_write", "cost_usd", "cumulative"},
    "turn_end": {"stop"},
    "done": set(),
    "error": {"message"},
    "compact_done": {"summary"},
}
"""The fields of each event of the document."""


@TABLE.scene("zot: a conversation")
def conversation(play: Play) -> None:
    play.ask("ping", "ping")
    play.ask("hello", "hello")
    play.ask("get_state", "before")
    play.prompt("p", f"Say hello. {SECRET}")
    play.ask("get_state", "after")
    play.ask("get_messages", "messages")
    play.prompt("q", "And again.")
    play.ask("get_messages", "more")
    play.ask("get_models", "models")
    play.ask("abort", "idle")
    play.ask("get_state", "billed")
    play.ask("clear", "clear")
    play.ask("get_messages", "cleared")
    play.ask("get_state", "still-billed")
    play.end()
    play.note(left=[str(path) for path in files_below(play.folder)], kept=_keeping(play))


def _keeping(play: Play) -> list[str]:
    """Return the files anywhere around it that have a word of the conversation."""
    return [str(path) for path in files_below(play.root) if SECRET.encode() in path.read_bytes()]


@check("zot.process.subcommand", conversation, "wire format")
def _(seen: Seen) -> None:
    """It reads commands on stdin and prints responses on stdout."""
    expect(seen.frames, f"nothing that could be understood was printed; stderr: {brief(seen.stderr) or 'nothing'}")
    seen.response("ping")


@check("zot.wire.lines", conversation, "wire format", of=("zot.wire.lines", "monitor.bare-objects"), whole=True)
def _(seen: Seen) -> None:
    """Each line on stdout is one JSON object that ends with a line feed."""
    expect(seen.frames or seen.bad_lines, "nothing was printed")
    expect(not seen.bad_lines, f"a line was no JSON object: {seen.bad_lines[:1]}")
    expect(not seen.torn, f"the last line had no line feed: {seen.torn[:80]!r}")
    expect(all(isinstance(frame.get("type"), str) for frame in seen.frames), "a frame had no `type`")


@check("zot.wire.response", conversation, "frame types")
def _(seen: Seen) -> None:
    """Each command gets exactly one `response`, with its id, its name and `success`."""
    names = {"ping": "ping", "before": "get_state", "p": "prompt", "messages": "get_messages", "clear": "clear"}
    for id, command in names.items():
        response = seen.response(id)
        expect(response.get("command") == command, f"the response of {command} was {brief(response)}")
        expect(response.get("success") is True, f"{command} was refused: {brief(response)}")


@check("zot.wire.no-id-on-events", conversation, "events", whole=True)
def _(seen: Seen) -> None:
    """Events carry no correlation id."""
    own = ("tool_call", "tool_progress", "tool_result", "tool_use_start", "tool_use_args", "tool_use_end")
    for frame in seen.events():
        expect(frame.get("type") in own or "id" not in frame, f"an event had an id: {brief(frame)}")


@check("zot.command.ping", conversation, "ping")
def _(seen: Seen) -> None:
    """`ping` is answered with `pong`."""
    expect(at(seen.data("ping"), "pong") is True, f"its data was {brief(seen.data('ping'))}")


@check("zot.command.hello", conversation, "hello", of=("zot.command.hello", "zot.auth.none", "zot.flag.provider"))
def _(seen: Seen) -> None:
    """`hello` is answered with protocol_version, version, provider and model; without a token it is optional."""
    data = seen.data("hello")
    for name in ("version", "provider", "model"):
        expect(isinstance(at(data, name), str), f"`{name}` is no text: {brief(data)}")
    expect(data["provider"] == "anthropic", f"the provider is {data['provider']}, and --provider said anthropic")


@check("zot.version.protocol", conversation, "versioning")
def _(seen: Seen) -> None:
    """`protocol_version` is 1."""
    expect(at(seen.data("hello"), "protocol_version") == 1, f"it is {seen.data('hello').get('protocol_version')!r}")


@check("zot.command.get_state", conversation, "get_state", of=("zot.command.get_state", "zot.process.one-of-each"))
def _(seen: Seen) -> None:
    """`get_state` tells provider, model, cwd, message_count, busy, and usage with its five figures."""
    data = seen.data("after")
    for name in ("provider", "model", "cwd"):
        expect(isinstance(at(data, name), str), f"`{name}` is no text: {brief(data)}")
    expect(at(data, "message_count") == 2, f"`message_count` is {data['message_count']} after a prompt and its reply")
    for name in ("input", "output", "cache_read", "cache_write", "cost_usd"):
        expect(isinstance(at(data, "usage", name), int | float), f"`usage.{name}` is no number")


@check(
    "zot.command.get_state.busy",
    conversation,
    "get_state",
    originals={"zot": "defect 7: it races, and is sometimes true after `done`"},
)
def _(seen: Seen) -> None:
    """`busy` is false before the first prompt and after the end of one."""
    expect(at(seen.data("before"), "busy") is False, "it was true before anything was asked")
    expect(at(seen.data("after"), "busy") is False, "it was true after `done`")


@check("zot.command.prompt.response", conversation, "prompt")
def _(seen: Seen) -> None:
    """A prompt is answered with `started:true` before the model has said anything."""
    expect(at(seen.data("p"), "started") is True, f"its data was {brief(seen.data('p'))}")
    where = positions(seen.frames, lambda frame: frame.get("type") in ("text_delta", "assistant_start", "done"))
    expect(where and seen.frames.index(seen.response("p")) < where[0], "the response came after the model had begun")


@check(
    "zot.command.get_messages",
    conversation,
    "get_messages",
    of=("zot.command.get_messages", "zot.message.shape", "zot.block.text"),
)
def _(seen: Seen) -> None:
    """`get_messages` lists the whole transcript; a message has role, content and time."""
    messages = at(seen.data("more"), "messages")
    roles = [at(message, "role") for message in messages]
    expect(roles == ["user", "assistant", "user", "assistant"], f"the roles were {roles}")
    text = at(messages, 1, "content", 0)
    expect(text == {"type": "text", "text": "Hello from the scripted model."}, f"the reply was {brief(text)}")
    for message in messages:
        at(message, "time")


@check("zot.command.get_models", conversation, "get_models")
def _(seen: Seen) -> None:
    """`get_models` lists models with id, provider, context_window, max_output and reasoning."""
    models = at(seen.data("models"), "models")
    expect(models, "it lists none")
    for model in models:
        fields = {name: at(model, name) for name in ("id", "provider", "context_window", "max_output", "reasoning")}
        expect(fields["provider"] == "anthropic", f"it lists a model of {fields['provider']}")


@check("zot.command.abort.response", conversation, "abort", of=("zot.command.abort.response",))
def _(seen: Seen) -> None:
    """`abort` is answered with success and without data, also when nothing runs."""
    expect("data" not in seen.done("idle"), f"it had data: {brief(seen.response('idle'))}")


@check("zot.command.clear", conversation, "clear")
def _(seen: Seen) -> None:
    """`clear` drops the transcript and has no data; the bill stays."""
    expect("data" not in seen.done("clear"), f"it had data: {brief(seen.response('clear'))}")
    expect(not at(seen.data("cleared"), "messages"), "there still were messages")
    bills = [at(seen.data(id), "usage", "input") for id in ("billed", "still-billed")]
    expect(bills[0] == bills[1], f"`usage.input` was {bills[0]} before and {bills[1]} after")


@check("zot.process.exit", conversation, "process model", whole=True)
def _(seen: Seen) -> None:
    """The process exits when stdin closes, with code 0."""
    expect(seen.exit_code == 0, "it did not exit" if seen.exit_code is None else f"it exited with {seen.exit_code}")


@check("zot.flag.no-sessions", conversation, "flags")
def _(seen: Seen) -> None:
    """Nothing of a conversation is kept on disk unless it is asked for."""
    expect(not seen.fact("left"), f"it left files in its folder: {seen.fact('left')[:3]}")
    expect(not seen.fact("kept"), f"what was said is in {seen.fact('kept')[:3]}")


@check("zot.flag.api-key", conversation, "flags", of=("zot.flag.api-key", "zot.flag.base-url"))
def _(seen: Seen) -> None:
    """`--api-key` is the credential, before any other; `--base-url` is the server to ask."""
    from linnet.conform.stage import FLAG_KEY

    expect(seen.requests, "no request reached the server of --base-url")
    headers = seen.headers[0]
    used = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
    expect(used == FLAG_KEY, f"the request had the key {used!r}")
