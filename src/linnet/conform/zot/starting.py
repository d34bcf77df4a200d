"""zot: flags, and the token."""

import json

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.play import Play
from linnet.conform.seen import Seen, kinds, one, only

TABLE = Table("zot RPC", "zot")
check = TABLE.check
MODEL = "claude-opus-4-5"
SKILL = "its `skill` tool, which is newer than the document, stays"
TOKEN = {"ZOTCORE_RPC_TOKEN": "conform-secret"}


@TABLE.scene(
    "zot: flags",
    *("--model", MODEL, "--cwd", "{root}/tmp", "--system-prompt", "Be a bird.", "--tools", "read,bash"),
    *("--max-steps", "2"),
)
def flags(play: Play) -> None:
    play.ask("get_state", "state")
    play.prompt("p", "Say hello.")
    play.prompt("l", '!loop 5 bash {"command":"pwd"}')
    play.end()


@check("zot.flag.model", flags, "flags")
def _(seen: Seen) -> None:
    """`--model` chooses the model at the start."""
    expect(at(seen.data("state"), "model") == MODEL, f"`get_state` says {at(seen.data('state'), 'model')}")
    expect(seen.requests and at(seen.requests[0], "model") == MODEL, "the model was asked for by another name")


@check("zot.flag.cwd", flags, "flags")
def _(seen: Seen) -> None:
    """`--cwd` is the folder that tools work in and that get_state tells."""
    told = at(seen.data("state"), "cwd")
    expect(str(told).endswith("/tmp"), f"`get_state` says {told}")
    results = only(seen.of("l"), "tool_result")
    expect(results and str(told) in json.dumps(results[0]), f"`pwd` printed {brief(results[:1])}")


@check("zot.flag.system-prompt", flags, "flags")
def _(seen: Seen) -> None:
    """`--system-prompt` replaces the system prompt."""
    expect(seen.requests, "the model was not asked")
    said = json.dumps(seen.requests[0].get("system"))
    expect("Be a bird." in said, f"the model was told {brief(said)}")


@check("zot.flag.tools", flags, "flags", originals={"zot": SKILL})
def _(seen: Seen) -> None:
    """`--tools` names the tools that the model may use."""
    expect(seen.requests, "the model was not asked")
    names = sorted(at(tool, "name") for tool in seen.requests[0].get("tools", []))
    expect(names == ["bash", "read"], f"the model has {names}")


@check("zot.flag.max-steps", flags, "flags")
def _(seen: Seen) -> None:
    """`--max-steps` bounds the model calls of one prompt."""
    steps = [at(frame, "step") for frame in only(seen.of("l"), "turn_start")]
    expect(steps == [1, 2], f"the steps were {steps}")
    expect(seen.of("l")[-1]["type"] == "done", f"it printed {kinds(seen.of('l'))}")


@check("zot.event.error.max-steps", flags, "observed")
def _(seen: Seen) -> None:
    """Beyond the steps allowed the error is `max steps (N) exceeded`, after the last result."""
    error = one(seen.of("l"), "error")
    expect(at(error, "message") == "max steps (2) exceeded", f"it was {brief(error)}")


@TABLE.scene("zot: more flags", "--append-system-prompt", "Be two birds.", "--no-tools", "--reasoning", "high")
def more_flags(play: Play) -> None:
    play.prompt("p", "!think")
    play.end()


@check("zot.flag.append-system-prompt", more_flags, "flags")
def _(seen: Seen) -> None:
    """`--append-system-prompt` adds to the system prompt."""
    expect(seen.requests, "the model was not asked")
    said = json.dumps(seen.requests[0].get("system"))
    expect("Be two birds." in said and len(said) > 100, f"the model was told {brief(said)}")


@check("zot.flag.no-tools", more_flags, "flags", originals={"zot": SKILL})
def _(seen: Seen) -> None:
    """`--no-tools` leaves the model without tools."""
    expect(seen.requests, "the model was not asked")
    expect(not seen.requests[0].get("tools"), f"it has {brief(seen.requests[0].get('tools'))}")


@check("zot.flag.reasoning", more_flags, "flags")
def _(seen: Seen) -> None:
    """`--reasoning` asks the model to think."""
    expect(seen.requests, "the model was not asked")
    expect(seen.requests[0].get("thinking"), f"the request has {sorted(seen.requests[0])}")


@TABLE.scene("zot: the token", env=TOKEN)
def token(play: Play) -> None:
    play.ask("hello", "hello", token=TOKEN["ZOTCORE_RPC_TOKEN"])
    play.ask("ping", "ping")
    play.prompt("p", '!tool bash {"command":"env"}')
    play.end()


@check("zot.auth.first-line", token, "auth")
def _(seen: Seen) -> None:
    """With ZOTCORE_RPC_TOKEN set, a `hello` with that token opens the gate for good."""
    seen.done("hello")
    seen.done("ping")


@check(
    "zot.defect.16.token",
    token,
    "observed",
    tier="defect",
    originals={"zot": "defect 16: every bash child inherits it"},
)
def _(seen: Seen) -> None:
    """Children do not see the token."""
    result = one(seen.of("p"), "tool_result")
    expect("PATH=" in json.dumps(result), f"the tool printed {brief(result)}")
    expect(TOKEN["ZOTCORE_RPC_TOKEN"] not in json.dumps(result), "it is among the variables of a command")


@TABLE.scene("zot: a wrong token", env=TOKEN)
def wrong_token(play: Play) -> None:
    play.ask("hello", "hello", token="wrong")
    play.wait_for_exit()


@TABLE.scene("zot: a hello without the token", env=TOKEN)
def absent_token(play: Play) -> None:
    play.ask("hello", "hello")
    play.wait_for_exit()


@TABLE.scene("zot: a first command that is no hello", env=TOKEN)
def no_hello(play: Play) -> None:
    play.ask("ping", "ping")
    play.wait_for_exit()


@check("zot.auth.refused", wrong_token, "auth")
def _(seen: Seen) -> None:
    """A `hello` with a wrong token is answered with `success:false`, and the process exits."""
    seen.refused("hello")
    expect(not seen.stuck, seen.stuck)
    expect(seen.exit_code != 0, "it exited with 0")


@check("zot.auth.refused-absent", absent_token, "auth", of=("zot.auth.refused",))
def _(seen: Seen) -> None:
    """A `hello` without a token is answered with `success:false`, and the process exits."""
    seen.refused("hello")
    expect(not seen.stuck, seen.stuck)


@check("zot.auth.words", wrong_token, "observed")
def _(seen: Seen) -> None:
    """The refusal is `invalid token`."""
    expect(seen.refused("hello") == "invalid token", f"it was {seen.refused('hello')!r}")


@check("zot.auth.no-hello", no_hello, "auth", of=("zot.auth.first-line",))
def _(seen: Seen) -> None:
    """Under a token, a first command that is no `hello` is refused."""
    seen.refused("ping")


@check(
    "zot.defect.18",
    no_hello,
    "auth",
    tier="defect",
    of=("zot.defect.18", "zot.auth.refused"),
    originals={"zot": "defect 18: it is answered, and the process goes on"},
)
def _(seen: Seen) -> None:
    """Under a token, a first command that is no `hello` ends the process."""
    expect(not seen.stuck, seen.stuck)
