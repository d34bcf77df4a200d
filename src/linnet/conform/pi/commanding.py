"""pi: shell commands of the client, sessions, branches, pages, and flags."""

import json
from pathlib import Path
from typing import Any

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.pi.by_generation import ALL, FIRST, TODAY, fork, messages, text_of
from linnet.conform.play import Play, files_below
from linnet.conform.props import gone_soon
from linnet.conform.seen import Seen, kinds, only, positions

TABLE = Table("pi RPC", *ALL)
check = TABLE.check
MODEL = "claude-opus-4-5"
SECRET = "a-word-that-nobody-else-says"


@TABLE.scene("pi: shell commands")
def shell(play: Play) -> None:
    play.ask("bash", "one", command="echo first; exit 3")
    play.ask("bash", "two", command="echo second")
    long = play.ask("bash", "long", command="seq 1 50000")
    path = long.get("data", {}).get("fullOutputPath")
    play.note(full=Path(path).read_text()[-20:] if isinstance(path, str) and Path(path).is_file() else None)
    play.note(events=kinds(play.seen.events()))
    play.ask("get_messages", "before")
    play.prompt("p", "What was that?")
    play.ask("get_messages", "messages")
    play.send({"id": "slow", "type": "bash", "command": "echo $$ > pid; sleep 300"})
    pid = play.wait_for_file("pid").strip()
    play.ask("get_state", "meanwhile")
    play.ask("abort_bash", "a")
    play.response("slow")
    play.note(killed=gone_soon(play, pid))
    play.end()


@check("pi.command.bash", shell, "bash")
def _(seen: Seen) -> None:
    """`bash` runs the command and answers with output, exitCode, cancelled and truncated."""
    data = seen.data("one")
    expect("first" in str(at(data, "output")), f"it was {brief(data)}")
    expect(at(data, "exitCode") == 3, f"`exitCode` was {data['exitCode']}, and the command exited with 3")
    expect(at(data, "cancelled") is False and at(data, "truncated") is False, f"it was {brief(data)}")


@check("pi.command.bash.truncated", shell, "bash")
def _(seen: Seen) -> None:
    """Long output is cut, says so, and names a file."""
    data = seen.data("long")
    expect(at(data, "truncated") is True, "`truncated` was false after 50,000 lines")
    expect(isinstance(at(data, "fullOutputPath"), str), f"it was {brief(data)}")


@check(
    "pi.command.bash.full-output",
    shell,
    "observed",
    tier="defect",
    of=("pi.command.bash.truncated",),
    originals=dict.fromkeys(ALL, "defect 18 of today's: it is named before it is filled"),
)
def _(seen: Seen) -> None:
    """The file has all of the output when it is named."""
    expect(str(seen.fact("full")).endswith("50000\n"), f"it ends with {seen.fact('full')!r}")


@check("pi.command.bash.context", shell, "bash", of=("pi.command.bash.context", "pi.command.bash.several"))
def _(seen: Seen) -> None:
    """The model hears of all commands with the next prompt, as `Ran` and the command."""
    seen.of("p")
    asked = json.dumps(seen.requests[0])
    for command in ("echo first; exit 3", "echo second"):
        expect(f"Ran `{command}`" in asked, f"the request does not say: Ran `{command}`")


@check("pi.command.bash.no-event", shell, "bash", dialects=frozenset(("pi", "pi-0.73")))
def _(seen: Seen) -> None:
    """No event is printed for a command."""
    expect(seen.fact("events") == "none", f"it printed {seen.fact('events')}")


@check("pi.event.bash_execution_update", shell, "observed", tier="must", dialects=TODAY)
def _(seen: Seen) -> None:
    """What a command prints is told as it comes, with the command's id."""
    mine = [frame for frame in only(seen.frames, "bash_execution_update") if frame.get("id") == "one"]
    text = "".join(str(at(frame, "delta")) for frame in mine)
    expect("first" in text, f"the deltas, joined, are {text!r}")


@check("pi.type.bashExecution", shell, "BashExecutionMessage")
def _(seen: Seen) -> None:
    """A command is a message with command, output, exitCode, cancelled, truncated and timestamp."""
    found = [message for message in messages(seen) if message["role"] == "bashExecution"]
    expect(len(found) == 3, f"three commands are {len(found)} messages")
    for name in ("command", "output", "cancelled", "truncated", "timestamp"):
        at(found[0], name)
    expect(at(found[0], "exitCode") == 3, f"it was {brief(found[0])}")


@check("pi.command.abort_bash", shell, "abort_bash")
def _(seen: Seen) -> None:
    """`abort_bash` ends the command, which answers with `cancelled:true`."""
    seen.done("a")
    expect(at(seen.data("slow"), "cancelled") is True, f"it was {brief(seen.data('slow'))}")
    expect(seen.fact("killed"), "the command was still running")


@check("pi.wire.concurrent", shell, "observed")
def _(seen: Seen) -> None:
    """Commands run beside each other: a slow one holds up no other."""
    order = [frame.get("id") for frame in only(seen.frames, "response")]
    expect("slow" in order and order.index("meanwhile") < order.index("slow"), f"the answers came as {order}")


@TABLE.scene("pi: sessions")
def sessions(play: Play) -> None:
    play.prompt("p", f"First. {SECRET}")
    play.prompt("p2", "Second.")
    old = at(play.ask("get_state", "old"), "data", "sessionFile")
    lister, brancher = fork(play)
    listed = at(play.ask(lister, "listed"), "data", "messages")
    play.ask("export_html", "page")
    target = str(play.folder / "page.html")
    play.ask("export_html", "there", outputPath=target)
    play.note(page=Path(target).read_text()[:200] if Path(target).is_file() else None)
    play.ask("new_session", "new", parentSession=old)
    play.ask("get_state", "fresh")
    play.prompt("q", "Afresh.")
    new = at(play.ask("get_state", "begun"), "data", "sessionFile")
    play.note(header=_header(new), saved=_header(old))
    play.ask("switch_session", "switch", sessionPath=old)
    play.ask("get_messages", "back")
    play.ask("get_state", "again")
    play.ask(brancher, "branch", entryId=at(listed, 1, "entryId"))
    play.ask("get_messages", "branched")
    play.ask("get_state", "elsewhere")
    play.end()


def _header(path: Any) -> Any:
    """Return the first line of a session file; None if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.loads(file.readline())
    except (OSError, ValueError):
        return None


@check("pi.command.new_session", sessions, "new_session")
def _(seen: Seen) -> None:
    """`new_session` starts afresh, under a new id, in a file of its own, and answers `cancelled:false`."""
    expect(at(seen.data("new"), "cancelled") is False, f"it was {brief(seen.data('new'))}")
    expect(at(seen.data("fresh"), "sessionId") != at(seen.data("old"), "sessionId"), "the id is the same")
    expect(at(seen.data("begun"), "sessionFile") != at(seen.data("old"), "sessionFile"), "the file is the same")
    seen.of("q")
    mine = [body for body in seen.requests if "Afresh." in json.dumps(body)]
    expect(mine and SECRET not in json.dumps(mine[0]), "the model was told of the session before")


@check("pi.command.new_session.parent", sessions, "new_session")
def _(seen: Seen) -> None:
    """`parentSession` is in the header of the new session."""
    header = seen.fact("header")
    expect(at(header, "parentSession") == at(seen.data("old"), "sessionFile"), f"the header is {brief(header)}")


@check("pi.session.header", sessions, "observed")
def _(seen: Seen) -> None:
    """A session file begins with `session`, its version, id, time and folder."""
    header = seen.fact("saved")
    for name in ("id", "timestamp", "cwd", "version"):
        at(header, name)
    expect(at(header, "type") == "session", f"the header is {brief(header)}")


@check("pi.command.switch_session", sessions, "switch_session")
def _(seen: Seen) -> None:
    """`switch_session` opens another session: its messages come back."""
    expect(at(seen.data("switch"), "cancelled") is False, f"it was {brief(seen.data('switch'))}")
    texts = [text_of(message) for message in messages(seen, "back") if message["role"] == "user"]
    expect(texts == [f"First. {SECRET}", "Second."], f"the user's messages are {texts}")
    expect(at(seen.data("again"), "sessionId") == at(seen.data("old"), "sessionId"), "it has another id")


@check("pi.command.get_branch_messages", sessions, "get_branch_messages")
def _(seen: Seen) -> None:
    """The messages to branch from are what the user said, each with its entry."""
    listed = at(seen.data("listed"), "messages")
    texts = [at(each, "text") for each in listed]
    expect(texts == [f"First. {SECRET}", "Second."], f"they are {texts}")
    expect(all(isinstance(at(each, "entryId"), str) for each in listed), "one has no `entryId`")


@check("pi.command.branch", sessions, "branch")
def _(seen: Seen) -> None:
    """A branch is a session of all that came before a message of the user's; its text is returned."""
    data = seen.data("branch")
    expect(at(data, "text") == "Second." and at(data, "cancelled") is False, f"it was {brief(data)}")
    roles = [message["role"] for message in messages(seen, "branched")]
    expect(roles == ["user", "assistant"], f"the messages are {roles}")
    expect(at(seen.data("elsewhere"), "sessionFile") != at(seen.data("old"), "sessionFile"), "the file is the same")


@check("pi.command.export_html", sessions, "export_html")
def _(seen: Seen) -> None:
    """`export_html` makes a page, and one where it is wanted."""
    expect(isinstance(at(seen.data("page"), "path"), str), f"it was {brief(seen.data('page'))}")
    expect(str(at(seen.data("there"), "path")).endswith("page.html"), f"it was {brief(seen.data('there'))}")
    expect("<html" in str(seen.fact("page")).lower(), f"the file begins with {brief(seen.fact('page'))}")


@TABLE.scene("pi: --no-session", "--no-session", "--provider", "anthropic", "--model", MODEL)
def no_session(play: Play) -> None:
    play.ask("get_state", "state")
    play.prompt("p", f"Say hello. {SECRET}")
    play.ask("new_session", "new")
    play.prompt("q", f"And again. {SECRET}")
    play.end()
    play.note(kept=[str(path) for path in files_below(play.root) if SECRET.encode() in path.read_bytes()])


@check(
    "pi.flag.no-session",
    no_session,
    "start",
    originals={"pi-0.73": "defect 10: `new_session` begins a file in the working folder"},
)
def _(seen: Seen) -> None:
    """`--no-session` keeps nothing on disk, also after `new_session`."""
    expect(not seen.fact("kept"), f"what was said is in {seen.fact('kept')[:3]}")


@check("pi.flag.provider", no_session, "start")
def _(seen: Seen) -> None:
    """`--provider` and `--model` choose the model at the start."""
    expect(at(seen.data("state"), "model", "id") == MODEL, f"it is {brief(at(seen.data('state'), 'model'))}")
    expect(seen.requests and at(seen.requests[0], "model") == MODEL, "the model was asked for by another name")


@TABLE.scene("pi: --session-dir", "--session-dir", "{root}/sessions")
def session_dir(play: Play) -> None:
    play.prompt("p", f"Say hello. {SECRET}")
    play.ask("get_state", "state")
    play.end()
    folder = play.root / "sessions"
    play.note(kept=[path.name for path in files_below(folder) if SECRET.encode() in path.read_bytes()])


@check("pi.flag.session-dir", session_dir, "start")
def _(seen: Seen) -> None:
    """`--session-dir` is where sessions are kept."""
    expect(len(seen.fact("kept")) == 1, f"there are {seen.fact('kept')}")
    expect("/sessions/" in str(at(seen.data("state"), "sessionFile")), "`sessionFile` is elsewhere")


@TABLE.scene("pi: attachments")
def attachments(play: Play) -> None:
    given = {"id": "a1", "type": "document", "fileName": "note.txt", "mimeType": "text/plain", "size": 5}
    document = {**given, "content": "aGVsbG8=", "extractedText": SECRET}
    play.prompt("p", "Read this.", attachments=[document])
    play.end()


@check("pi.command.prompt.attachments", attachments, "Attachment", dialects=FIRST)
def _(seen: Seen) -> None:
    """Attachments reach the model, and the user message shows them as they were sent."""
    expect(seen.requests and SECRET in json.dumps(seen.requests[0]), "the request has not got the text")
    where = positions(seen.of("p"), lambda frame: at(frame, "message", "role") == "user" if "message" in frame else 0)
    shown = at(seen.of("p")[at(where, 0)], "message", "attachments", 0, "id")
    expect(shown == "a1", f"it shows {brief(shown)}")
