"""zot: lines that are odd, wrong or long."""

import json

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.play import Play
from linnet.conform.seen import Seen, only

TABLE = Table("zot RPC", "zot")
check = TABLE.check
ODD = "héllo 🌍 \u2028\u2029 漢字 \x7f e\u0301"


@TABLE.scene("zot: odd lines")
def odd_lines(play: Play) -> None:
    play.send_bytes(b"{not json\n")
    play.ask("ping", "first")
    play.send_bytes(b'\n   \n{"id":"crlf","type":"ping"}\r\n')
    play.send({"id": "unknown", "type": "nosuch"})
    play.ask("ping", "extra", colour="blue")
    play.send_bytes(b'{"type":"ping"}\n{"id":null,"type":"ping"}\n{"id":"","type":"ping"}\n')
    play.send({"id": "typed", "type": "prompt", "message": 5})
    play.send_bytes(b'[]\n42\n"s"\n')
    play.prompt("odd", ODD)
    play.prompt("echo", "!utf8")
    play.ask("ping", "last")
    play.send_bytes(b'{"id":"torn","type":"ping"}')
    play.end()


@check("zot.wire.id-optional", odd_lines, "commands", whole=True)
def _(seen: Seen) -> None:
    """`id` is optional; absent, null or empty, the response has none."""
    bare = [frame for frame in only(seen.frames, "response") if frame.get("command") == "ping" and not frame.get("id")]
    expect(len(bare) == 3, f"three pings without an id had {len(bare)} responses")
    expect(not any("id" in frame for frame in bare), f"one had an id: {brief(bare)}")


@check("zot.commands.unknown-fields", odd_lines, "versioning")
def _(seen: Seen) -> None:
    """Fields that a command does not know are ignored."""
    seen.done("extra")


@check("zot.wire.malformed", odd_lines, "observed")
def _(seen: Seen) -> None:
    """A line that is no JSON is answered with `malformed json: ` and an empty command."""
    found = [frame for frame in seen.frames if str(frame.get("error", "")).startswith("malformed json")]
    expect(found, "no response says so")
    expect(at(found, 0, "command") == "" and at(found, 0, "success") is False, f"it was {brief(found[0])}")


@check("zot.wire.unknown-command", odd_lines, "observed")
def _(seen: Seen) -> None:
    """An unknown command is answered with `unknown command`, its name and its id."""
    expect(seen.refused("unknown").startswith("unknown command"), f"it was {seen.refused('unknown')!r}")


@check("zot.wire.blank-crlf-eof", odd_lines, "observed")
def _(seen: Seen) -> None:
    """Blank lines are ignored; CRLF and a last line without a line feed are taken."""
    seen.done("crlf")
    seen.done("torn")


@check("zot.wire.bad-field", odd_lines, "observed")
def _(seen: Seen) -> None:
    """A field of the wrong type refuses its command, and the process lives on."""
    seen.refused("typed")
    seen.done("last")


@check("zot.wire.text-untouched", odd_lines, "observed")
def _(seen: Seen) -> None:
    """Text passes unchanged in both directions, whatever characters it has."""
    asked = [body for body in seen.requests if "\\u6f22" in json.dumps(body)]
    expect(asked, "the model was not asked with these words")
    shown = at(only(seen.of("odd"), "user_message"), 0, "content", 0, "text")
    expect(shown == ODD, f"the prompt came back as {shown!r}")
    text = "".join(str(at(frame, "delta")) for frame in only(seen.of("echo"), "text_delta"))
    expect("漢字" in text and "🌍" in text, f"the reply came as {text!r}")


@check("zot.wire.line-separators", odd_lines, "ours", whole=True, originals={})
def _(seen: Seen) -> None:
    """U+2028 and U+2029 are escaped, so that readers that split lines there see whole ones."""
    expect(not any(b"\xe2\x80\xa8" in line or b"\xe2\x80\xa9" in line for line in seen.raw), "a line has one")
    expect(not seen.bad_lines, f"a line was no JSON object: {seen.bad_lines[:1]}")


@TABLE.scene("zot: a numeric id and a long line")
def long_line(play: Play) -> None:
    play.send_bytes(b'{"id":7,"type":"ping"}\n')
    play.ask("ping", "after")
    play.prompt("long", "x" * (1 << 20))
    play.ask("ping", "alive")
    play.end()


@check(
    "zot.defect.14",
    long_line,
    "observed",
    tier="defect",
    of=("zot.defect.14", "zot.wire.id-any-type"),
    originals={"zot": "defect 14: a numeric id is refused and lost; lines over 16 MiB kill the process"},
)
def _(seen: Seen) -> None:
    """A numeric id is echoed, and a line of one MiB is taken."""
    seen.done("alive")
    seen.done(7)
