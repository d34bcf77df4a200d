"""pi before it had responses."""

import json

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.pi.by_generation import LONG, WORDS, text_of
from linnet.conform.play import Play
from linnet.conform.seen import Seen, first, kinds, one, only

TABLE = Table("pi RPC before responses", "pi-legacy")
check = TABLE.check
SECRET = "a-word-that-nobody-else-says"


@TABLE.scene("pi-legacy: a session")
def session(play: Play) -> None:
    play.prompt("p", "Say hello.")
    play.prompt("t", '!tool bash {"command":"echo one"}')
    play.prompt("n", "!tool nosuch {}")
    play.prompt("r", "!fail 529 1")
    given = {"id": "a1", "type": "document", "fileName": "note.txt", "mimeType": "text/plain", "size": 5}
    document = {**given, "content": "aGVsbG8=", "extractedText": SECRET}
    play.prompt("a", "Read this.", attachments=[document])
    play.end()


@check("pi_legacy.wire.lines", session, "output protocol", of=("pi_legacy.command.prompt",), whole=True)
def _(seen: Seen) -> None:
    """Each line on stdout is one JSON object with a `type`."""
    expect(seen.frames, f"nothing that could be understood was printed; stderr: {brief(seen.stderr) or 'nothing'}")
    expect(not seen.bad_lines and not seen.torn, f"a line was no JSON object: {seen.bad_lines[:1]}")


@check("pi_legacy.wire.silent", session, "output protocol", whole=True)
def _(seen: Seen) -> None:
    """Commands are not answered."""
    expect(not only(seen.frames, "response"), "there was a `response`")


@check(
    "pi_legacy.command.prompt",
    session,
    "example session",
    of=(
        *("pi_legacy.command.prompt", "pi_legacy.event.agent_start", "pi_legacy.event.turn_start"),
        *("pi_legacy.event.message_start", "pi_legacy.event.message_end"),
    ),
)
def _(seen: Seen) -> None:
    """A prompt runs the agent: agent_start, turn_start, the messages, turn_end, agent_end."""
    due = (
        "agent_start, turn_start, message_start, message_end, message_start, message_update, message_end, "
        "turn_end, agent_end"
    )
    expect(kinds(seen.of("p")) == due, f"it printed {kinds(seen.of('p'))}")


@check("pi_legacy.type.user", session, "example session")
def _(seen: Seen) -> None:
    """A user message is a string unless it holds images."""
    message = at(first(seen.of("p"), "message_start"), "message")
    expect(at(message, "content") == "Say hello." and at(message, "role") == "user", f"it was {brief(message)}")


@check("pi_legacy.event.agent_end", session, "agent_end")
def _(seen: Seen) -> None:
    """`agent_end` has all messages of the run."""
    roles = [at(message, "role") for message in at(one(seen.of("t"), "agent_end"), "messages")]
    expect(roles == ["user", "assistant", "toolResult", "assistant"], f"they are {roles}")


@check("pi_legacy.event.turn_end", session, "turn_end")
def _(seen: Seen) -> None:
    """`turn_end` has the reply and the results of its calls."""
    end = first(seen.of("t"), "turn_end")
    expect(at(end, "message", "role") == "assistant", f"it was {brief(end)}")
    expect(at(end, "toolResults", 0, "role") == "toolResult", f"it was {brief(end)}")


@check("pi_legacy.event.message_update", session, "message_update")
def _(seen: Seen) -> None:
    """`message_update` has the message so far and the delta."""
    frames = only(seen.of("p"), "message_update")
    text = "".join(str(each["assistantMessageEvent"].get("delta", "")) for each in frames)
    expect(text == WORDS, f"the deltas, joined, are {text!r}")
    expect(text_of(at(frames, -1, "message")) == WORDS, f"the last one had {brief(at(frames, -1, 'message'))}")
    at(frames, -1, "assistantMessageEvent", "partial")


@check("pi_legacy.event.tool_execution_start", session, "tool_execution_start")
def _(seen: Seen) -> None:
    """`tool_execution_start` has the call with its arguments."""
    start = one(seen.of("t"), "tool_execution_start")
    expect(at(start, "toolName") == "bash" and at(start, "args") == {"command": "echo one"}, f"it was {brief(start)}")


@check("pi_legacy.event.tool_execution_end", session, "tool_execution_end")
def _(seen: Seen) -> None:
    """`tool_execution_end` has the result; the text alone if it is an error."""
    end = one(seen.of("t"), "tool_execution_end")
    expect(at(end, "isError") is False and "one" in json.dumps(at(end, "result", "content")), f"it was {brief(end)}")
    wrong = one(seen.of("n"), "tool_execution_end")
    expect(at(wrong, "isError") is True and isinstance(at(wrong, "result"), str), f"it was {brief(wrong)}")


@check("pi_legacy.flow.correlation", session, "event flow")
def _(seen: Seen) -> None:
    """Calls, executions and results share an id."""
    frames = seen.of("t")
    ids = {at(frame, "toolCallId") for frame in only(frames, "tool_execution_start", "tool_execution_end")}
    end = first(frames, "turn_end")
    ids |= {block["id"] for block in at(end, "message", "content") if block["type"] == "toolCall"}
    ids |= {at(result, "toolCallId") for result in at(end, "toolResults")}
    expect(len(ids) == 1, f"the ids are {sorted(map(str, ids))}")


@check("pi_legacy.type.usage", session, "Usage")
def _(seen: Seen) -> None:
    """`usage` has input, output, cacheRead, cacheWrite and cost, and no total."""
    usage = at(first(seen.of("p"), "turn_end"), "message", "usage")
    expect(set(usage) == {"input", "output", "cacheRead", "cacheWrite", "cost"}, f"it has {sorted(usage)}")


@check("pi_legacy.flow.one-end", session, "agent_end")
def _(seen: Seen) -> None:
    """A retry happens inside the run: a prompt has one `agent_start` and one `agent_end`."""
    names = [frame["type"] for frame in only(seen.of("r"), "agent_start", "agent_end")]
    expect(names == ["agent_start", "agent_end"], f"there were {names}")
    expect("recovered" in json.dumps(seen.of("r")[-1]), "it was not tried again")


@check("pi_legacy.command.prompt.attachments", session, "attachments")
def _(seen: Seen) -> None:
    """Attachments reach the model and are shown as they were sent."""
    expect(any(SECRET in json.dumps(body) for body in seen.requests), "no request has the text")
    message = at(first(seen.of("a"), "message_start"), "message")
    expect(at(message, "attachments", 0, "id") == "a1", f"it was {brief(message)}")


@check("pi_legacy.process.exit", session, "observed", of=("pi.process.eof",), whole=True)
def _(seen: Seen) -> None:
    """The end of stdin ends it, with code 0."""
    expect(seen.exit_code == 0, "it did not exit" if seen.exit_code is None else f"it exited with {seen.exit_code}")


@TABLE.scene("pi-legacy: an abort, and errors")
def aborted(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!gate g"})
    play.until("message_update")
    play.send({"type": "abort"})
    play.over("p")
    play.send_bytes(b"{not json\n")
    play.until("error")
    play.prompt("q", "Go on.")
    play.end()


@check("pi_legacy.command.abort", aborted, "abort message")
def _(seen: Seen) -> None:
    """`abort` ends the run with `agent_end`; the reply has the stop reason `aborted`."""
    message = at(one(seen.of("p"), "turn_end"), "message")
    expect(at(message, "stopReason") == "aborted", f"it was {brief(message)}")


@check("pi_legacy.event.error", aborted, "error")
def _(seen: Seen) -> None:
    """`error` says what could not be done, and the process lives on."""
    expect(isinstance(at(first(seen.frames, "error"), "error"), str), f"it was {brief(first(seen.frames, 'error'))}")
    expect(seen.of("q") and seen.of("q")[-1]["type"] == "agent_end", "the prompt after it did not run")


@TABLE.scene("pi-legacy: compactions")
def compactions(play: Play) -> None:
    play.prompt("p", f"Remember. {LONG}")
    play.prompt("q", f"And this. {LONG}")
    play.send({"type": "compact", "customInstructions": "Focus on birds."})
    play.until("compaction")
    play.prompt("r", f"And that. {LONG}")
    play.prompt("s", f"And this, too. {LONG}")
    play.prompt("o", "!overflow 1")
    play.end()


@check("pi_legacy.command.compact", compactions, "compact message")
def _(seen: Seen) -> None:
    """`compact` compacts, with `customInstructions` if there are any."""
    expect(only(seen.frames, "compaction"), seen.stuck or "there was no `compaction`")
    expect(any("Focus on birds." in json.dumps(body) for body in seen.requests), "no request has the instructions")


@check("pi_legacy.event.compaction", compactions, "compaction")
def _(seen: Seen) -> None:
    """`compaction` has summary and tokensBefore, and `auto` only if nobody asked for it."""
    found = only(seen.frames, "compaction")
    for frame in found:
        expect(isinstance(at(frame, "summary"), str) and isinstance(at(frame, "tokensBefore"), int), brief(frame))
    autos = [frame.get("auto", False) for frame in found]
    expect(autos == [False, True], f"`auto` was {autos}")
