"""The documentation, held to its word: its code is run, its examples are sent, its links are followed."""

import importlib
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Union, get_args

import msgspec
import pytest

from linnet.attach import command_line
from linnet.cli import (
    acp_command,
    config_command,
    conform_command,
    models_command,
    monitor_command,
    schema_command,
    serve_command,
    sessions_command,
    trust_command,
)
from linnet.flags import drop_in
from linnet.flags.flags import TABLE, Program
from linnet.providers import catalog
from linnet.providers.apis import APIS
from linnet.runtime.config.config import Config
from linnet.runtime.models.accounts import base_url_variable
from linnet.runtime.models.models_file import understood as understood_models
from linnet.store import entries, reading
from linnet.store.header import VERSION
from linnet.testing.agent import Frame
from linnet.testing.model_server import ModelServer
from linnet.wire.pi import decode as pi_decode
from linnet.wire.pi import frames as pi_frames
from linnet.wire.pi_legacy import decode as legacy_decode
from linnet.wire.pi_legacy import encode as legacy_encode
from linnet.wire.zot import decode as zot_decode
from linnet.wire.zot import frames
from tests.suite.forked import ForkedAgent, run

ROOT = Path(__file__).parents[2]
README, PROTOCOL = ROOT / "README.md", ROOT / "docs" / "zot-protocol.md"
PI, LEGACY = ROOT / "docs" / "pi-protocol.md", ROOT / "docs" / "pi-legacy-protocol.md"
SESSIONS = ROOT / "docs" / "sessions.md"
MONITOR = ROOT / "docs" / "monitor.md"
PROVIDERS, SDK = ROOT / "docs" / "providers.md", ROOT / "docs" / "sdk.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
BIN = Path(sys.executable).parent
REGISTRIES = ("pypi.org", "pythonhosted.org", "npmjs.", "golang.org", "crates.io", "rubygems.org", "jsr.io")

FENCED = re.compile(r"^```(\w*)(?: title=(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
OURS = re.compile(r"(?:src|tests|docs|examples|bench|requirements)/[\w./-]+")
FLAG = re.compile(r"(?<![\w/-])--[a-z][a-z-]*")
# Commands of a shell block that can be run anywhere: they start linnet, or feed it.
OFFLINE = re.compile(r"linnet |echo .* \| linnet |python -m linnet\.testing\.model_server -- ")


class Block(NamedTuple):
    """`title` names the file that the block is the content of."""

    language: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in FENCED.findall(page.read_text())]


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text())


def names(pages: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", pages, ids=lambda page: str(page.relative_to(ROOT)))


def values(page: Path) -> Iterator[dict[str, Any]]:
    """Every example of the page: the objects of its JSON blocks."""
    for block in blocks(page):
        if block.language == "json":
            yield json.loads(block.text)
        elif block.language == "jsonl":
            yield from map(json.loads, block.text.splitlines())


def runnable(block: Block) -> list[str] | None:
    if block.language == "python":
        return [sys.executable, "-W", "error", "-c", block.text]
    if block.language in ("sh", "console") and OFFLINE.match(block.text):
        return ["bash", "-euo", "pipefail", "-c", block.text]
    return None


@names([page for page in PAGES if any(map(runnable, blocks(page)))])
def test_the_code_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).write_text(block.text)
        if command := runnable(block):
            done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=30)
            said = [
                line for line in done.stderr.splitlines() if not line.startswith("linnet: this session is kept in ")
            ]
            assert (done.returncode, said) == (0, []), f"{block.text}\nprinted:\n{done.stdout}{done.stderr}"


@names([page for page in PAGES if any(block.language in ("json", "jsonl") for block in blocks(page))])
def test_every_json_example_is_json(page: Path) -> None:
    assert list(values(page))


def test_only_known_languages_mark_a_block() -> None:
    assert {block.language for page in PAGES for block in blocks(page)} <= {"python", "sh", "json", "jsonl", "text"}


def tags(union: Any) -> set[str]:
    return {str(kind.__struct_config__.tag) for kind in get_args(union)}


ANSWERS = {"answer", "tool_response", "tool_response_progress"}  # To what nobody asks on this page.


def zot_commands() -> set[str]:
    return {row.name for row in zot_decode.rows()} - ANSWERS


def types_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["type"]} if isinstance(value.get("type"), str) else set()
        return own.union(*map(types_in, value.values()))
    return set().union(*map(types_in, value)) if isinstance(value, list) else set()


def test_the_protocol_page_shows_every_type_there_is_and_no_other() -> None:
    known = zot_commands() | ANSWERS | tags(frames.Event) | tags(frames.Block) | {"response", "object", "string"}
    assert set().union(*map(types_in, values(PROTOCOL))) == known


def test_the_protocol_page_lists_every_command_and_event_in_a_table() -> None:
    rows = set(re.findall(r"^\| \[?`(\w+)`", prose(PROTOCOL), re.MULTILINE))
    assert zot_commands() | tags(frames.Event) | tags(frames.Block) <= rows


def test_the_events_and_messages_that_are_shown_have_the_shape_of_the_real_ones() -> None:
    shown = 0
    for value in values(PROTOCOL):
        kind: Any = frames.Message if "role" in value else frames.Event if value["type"] in tags(frames.Event) else None
        if kind:
            shown += 1
            assert msgspec.to_builtins(msgspec.convert(value, kind)) == value
    assert shown >= len(tags(frames.Event))


def test_the_requests_that_are_shown_succeed_and_get_the_responses_that_are_shown(tmp_path: Path) -> None:
    examples = list(values(PROTOCOL))
    sent = 0
    with ForkedAgent("rpc", "--provider", "scripted", "--no-tools", cwd=tmp_path) as agent:
        for request, following in zip(examples, [*examples[1:], {}], strict=True):
            if request.get("type") not in zot_commands():
                continue
            sent += 1
            agent.send(request)
            answer = agent.until("response")[-1]
            assert answer["success"], request
            assert (answer["command"], answer["id"]) == (request["type"], request["id"])
            if following.get("type") == "response":
                assert shape(following) == shape(answer)
            if request["type"] in ("prompt", "compact"):
                agent.until(lambda frame: frame["type"] in ("done", "compact_done"))
    assert sent >= len(zot_commands())


def shape(value: Any) -> Any:
    """Names and kinds, without what they hold. A list is as long as it happens to be."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    return "number" if type(value) in (int, float) else type(value).__name__


@cache
def pi_commands() -> set[str]:
    return {row.name for row in pi_decode.rows()}


def structs_of(module: ModuleType, kind: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    return [
        each for each in vars(module).values() if isinstance(each, type) and issubclass(each, kind) and each != kind
    ]


PI_BLOCKS = {"text", "image", "thinking", "toolCall"}
PI_EVENTS = {str(each.__struct_config__.tag) for each in structs_of(pi_frames, pi_frames.Frame)} - PI_BLOCKS
PI_EVENTS |= {"message_update"}
PI_UPDATES = {f"{block}_{what}" for block in ("text", "thinking", "toolcall") for what in ("start", "delta", "end")}
PI_TYPES = PI_EVENTS | PI_UPDATES | PI_BLOCKS | {"response", "base64", "object", "string"}


def listed(page: Path) -> list[str]:
    """What the tables of types have in their first column."""
    tables = re.findall(r"^\| `?type`? \|.*\n\|[-|]+\n((?:\|.*\n)+)", prose(page), re.MULTILINE)
    return [name for table in tables for name in re.findall(r"^\| \[?`(\w+)`", table, re.MULTILINE)]


def test_the_pi_page_shows_every_type_there_is_and_no_other() -> None:
    assert len(pi_commands()) == 43
    shown = set().union(*map(types_in, values(PI))) - entry_types()
    assert shown == pi_commands() | PI_TYPES | {"frobnicate"}


def test_the_pi_page_lists_every_command_event_and_update_in_a_table() -> None:
    assert sorted(listed(PI)) == sorted(pi_commands() | PI_EVENTS | PI_UPDATES)


def test_the_pi_page_shows_every_kind_of_message() -> None:
    roles = {str(each.__struct_config__.tag) for each in get_args(pi_frames.Message)} - {"system"}
    assert {value["role"] for value in values(PI) if "role" in value} == roles
    assert roles <= set(re.findall(r"^\| `(\w+)`", prose(PI), re.MULTILINE))


@pytest.mark.parametrize("page", [PI, LEGACY], ids=lambda page: page.name)
def test_what_the_pi_pages_show_has_the_shape_of_the_real_thing(page: Path) -> None:
    mine = structs_of(legacy_encode if page == LEGACY else pi_frames, pi_frames.Frame)
    shared = structs_of(pi_frames, pi_frames.Frame)
    events = msgspec.json.Decoder(Union[tuple(dict.fromkeys([*mine, *shared]))])  # noqa: UP007 (a list of types)
    messages = msgspec.json.Decoder(pi_frames.Message)
    shown = 0
    for value in [part for example in values(page) for part in parts(example)]:
        if "role" in value:
            assert same(messages, value), value
        elif value.get("type") in {str(each.__struct_config__.tag) for each in (*mine, *shared)}:
            shown += 1
            assert same(events, value), value
    assert shown > 5


def same(decoder: Any, value: Any) -> bool:
    """Legacy usage has no total; that one field is looked after elsewhere."""
    text = json.dumps(value)
    if '"usage"' in text and '"totalTokens"' not in text:
        text = text.replace('"cacheWrite": 0, "cost"', '"cacheWrite": 0, "totalTokens": 0, "cost"')
    return bool(json.loads(msgspec.json.encode(decoder.decode(text))) == json.loads(text))


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """The object, and every event, message or block inside it. Requests, updates and entries are no structs."""
    if isinstance(value, dict):
        if not (value.get("type") in pi_commands() or "source" in value):
            if "parentId" not in value:
                yield value
            for each in value.values():
                yield from parts(each)
    elif isinstance(value, list):
        for each in value:
            yield from parts(each)


def test_updates_that_are_shown_have_the_fields_of_the_real_ones(tmp_path: Path) -> None:
    turns = [[{"think": "a b"}, {"text": "a b"}, {"call": "bash", "args": {"command": "true"}}], []]
    script = {"turns": turns, "loop": True}
    (tmp_path / "script.json").write_text(json.dumps(script))
    shown = [value for value in values(PI) if value.get("type") == "message_update"]
    real: list[Frame] = []
    with ForkedAgent("--mode", "rpc", "--script", "script.json", cwd=tmp_path) as agent:
        for mode in ("full", "deltas"):
            agent.ask("set_stream", mode=mode)
            agent.send({"type": "new_session"}, {"type": "prompt", "message": "go"})
            real += agent.until("agent_end")
    fields = {update_fields(frame) for frame in real if frame["type"] == "message_update"}
    assert {first for first, *_ in fields} == PI_UPDATES
    assert {update_fields(value) for value in shown} <= fields


def update_fields(frame: Frame) -> tuple[str, ...]:
    return (frame["assistantMessageEvent"]["type"], *sorted(frame), *sorted(frame["assistantMessageEvent"]))


def test_the_requests_of_the_pi_page_get_the_responses_that_are_shown(tmp_path: Path) -> None:
    answered = set()
    flags = ("--provider", "scripted", "--no-tools", "--compact-keep", "1")
    [earlier] = [block.text for block in blocks(SESSIONS) if block.title]
    with ForkedAgent("--mode", "rpc", *flags, cwd=tmp_path, env={"TMPDIR": str(tmp_path)}) as agent:
        for request, shown in pairwise(values(PI)):
            if shown.get("type") != "response" or request["type"] in PI_TYPES:
                continue
            if request["type"] == "compact":
                for _ in range(2):
                    agent.send({"type": "prompt", "message": "so that there is something to compact"})
                    agent.until("agent_end")
            if "sessionPath" in request:
                (tmp_path / request["sessionPath"]).write_text(earlier)
            if known := {"entryId", "since"} & set(request):
                request = {**request, known.pop(): agent.ask("get_branch_messages")["data"]["messages"][-1]["entryId"]}
            answered.add(request["type"])
            agent.send(request)
            answer = agent.until("response")[-1]
            if shown["success"]:
                assert shape(answer) == shape(shown), request
                assert (answer["id"], answer["command"]) == (request["id"], request["type"])
            else:
                assert answer == shown
            if request["type"] in ("prompt", "steer", "follow_up"):
                agent.until("agent_end")
    assert answered == pi_commands() | {"frobnicate"}


def test_the_legacy_page_shows_and_lists_every_type_there_is_and_no_other(tmp_path: Path) -> None:
    known = {row.name for row in legacy_decode.rows()}
    told: set[str] = set()
    script = {
        "turns": [[{"text": "a"}, {"call": "bash", "args": {"command": "exit 3"}}], [{"text": "b"}]],
        "loop": True,
    }
    (tmp_path / "script.json").write_text(json.dumps(script))
    flags = ("--dialect", "pi-legacy", "--script", "script.json", "--compact-keep", "1")
    with ForkedAgent("--mode", "rpc", *flags, cwd=tmp_path) as agent:
        for request in values(LEGACY):
            if request["type"] in known:
                agent.send(request)
                last = {"prompt": "agent_end", "compact": "compaction"}.get(request["type"])
                told.update(frame["type"] for frame in (agent.until(last) if last else []))
        agent.send({"type": "frobnicate"})
        told.update(frame["type"] for frame in agent.until("error"))
    assert sorted(listed(LEGACY)) == sorted(known | told)
    assert {value["type"] for value in values(LEGACY)} <= known | told


def entry_types() -> set[str]:
    """What the page about sessions has in its table of entries."""
    [table] = re.findall(r"^\| entry \|.*\n\|[-|]+\n((?:\|.*\n)+)", prose(SESSIONS), re.MULTILINE)
    return set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))


def test_the_page_about_sessions_lists_every_entry_that_linnet_knows() -> None:
    known = msgspec.inspect.multi_type_info(get_args(entries.ReadEntry))
    assert entry_types() == {each.tag for each in known if isinstance(each, msgspec.inspect.StructType)}


def test_the_session_that_is_shown_is_the_one_that_its_commands_leave_behind(tmp_path: Path) -> None:
    [shown] = [block.text.encode() for block in blocks(SESSIONS) if block.title]
    said = [texts for line in shown.splitlines() if (texts := words_of(json.loads(line)))]
    script = {"turns": [[{"text": said[1]}, {"usage": {"input": 649, "output": 2}}]]}
    script["turns"].append([{"text": said[3]}, {"usage": {"input": 651, "output": 2}}])
    (tmp_path / "script.json").write_text(json.dumps(script))
    with ForkedAgent("--mode", "rpc", "--script", "script.json", "--session", "s.jsonl", cwd=tmp_path) as agent:
        for prompt in (said[0], said[2]):
            agent.send({"type": "prompt", "message": prompt})
            agent.until("agent_end")
            if prompt == said[0]:
                first = agent.ask("get_tree")["data"]["nodes"][-2]
                assert agent.ask("navigate", entryId=first["parentId"])["success"]
    assert anonymous(shown) == anonymous((tmp_path / "s.jsonl").read_bytes())
    assert reading.load(shown, "shown").version == VERSION


def words_of(line: dict[str, Any]) -> str:
    return str(line["message"]["content"][0]["text"]) if line["type"] == "message" else ""


def anonymous(session: bytes) -> bytes:
    """With ids by their order, and without the time and the place."""
    ids = list(dict.fromkeys(re.findall(rb'"id":"([^"]+)"', session)))
    for index, id in enumerate(ids):
        session = session.replace(id, b"%d" % index)
    return re.sub(rb'("timestamp":)("[^"]+"|\d+)|("cwd":)"[^"]+"', rb"\1\3", session)


def test_every_flag_is_documented() -> None:
    known = FLAG.findall(README.read_text() + PROTOCOL.read_text() + PI.read_text())
    for flag in TABLE:
        for name in flag.names:
            assert name in known or f"`{name}`" in PROTOCOL.read_text()
    for flag in (*sessions_command.LIST.flags, *sessions_command.EXPORT.flags):
        for name in flag.names:
            assert f"`{name}`" in SESSIONS.read_text() or f"`{name} " in SESSIONS.read_text()
    for flag in models_command.MODELS.flags:
        for name in flag.names:
            assert name in FLAG.findall(PROVIDERS.read_text())
    for flag in (*monitor_command.MONITOR.flags, *monitor_command.CAPTURE.flags):
        for name in flag.names:
            assert f"`{name}`" in MONITOR.read_text() or f"`{name} " in MONITOR.read_text()


def test_every_field_of_the_configuration_is_in_the_table_of_the_sdk() -> None:
    text = prose(SDK)
    table = text[text.index("\n## Configuration\n") : text.index("\n## Methods\n")]
    assert [name for name in Config.__struct_fields__ if f"`{name}`" not in table] == []


def test_every_provider_is_listed_with_its_default_key_and_address() -> None:
    first, *_ = prose(PROVIDERS).split("\n## ")
    rows = {row.split("|")[1].strip(" `"): row for row in first.splitlines() if row.startswith("| `")}
    for name, info in catalog.PROVIDERS.items():
        assert f"`{info.default_model}`" in rows[name] or not info.default_model
        assert f"`{info.base_url}`" in rows[name] or not info.base_url
        assert f"`{info.key_variable}`" in rows[name] or not info.key_variable


def provider_sections() -> dict[str, str]:
    """What the page says of each provider, by its name."""
    _, _, page = PROVIDERS.read_text().partition("\n## Each provider\n")
    return {text.partition("\n")[0]: text for text in page.partition("\n## ")[0].split("\n### ")[1:]}


@pytest.mark.parametrize("name", [name for name, info in catalog.PROVIDERS.items() if APIS[info.api].remote])
def test_the_example_of_each_provider_runs_against_the_scripted_server(
    name: str, tmp_path: Path, server: ModelServer
) -> None:
    info, said = catalog.PROVIDERS[name], provider_sections()[name]
    for variable in (*info.key_variables, base_url_variable(name), info.host_variable):
        assert f"`{variable}`" in said or not variable
    [(language, _, command)] = FENCED.findall(said)
    assert language == "sh"
    given, _, words = command.rpartition("linnet -p ")
    env = dict(each.split("=") for each in given.replace("…", "x").split())
    addresses = {info.host_variable, base_url_variable(name)}
    assert info.key_variable in env if not info.keyless else set(env) < addresses
    done = run(
        [BIN / "linnet", "-p", *shlex.split(words), *(("--api-key", "x") if info.keyless else ())],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=30,
        env={**env, base_url_variable(name): server.url, "LINNET_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "Hello from the scripted model.\n")
    asked = server.requests[-1]
    model = info.default_model or words.split()[-1]
    assert asked.body.get("model") == model or model in re.split("[/:]", asked.path)


def test_the_example_with_headers_of_its_own_runs_against_the_scripted_server(
    tmp_path: Path, server: ModelServer
) -> None:
    [(_, _, shown)] = FENCED.findall(PROVIDERS.read_text().partition("### Servers like")[2].partition("\n## ")[0])
    (tmp_path / "models.json").write_text(re.sub(r"https://[\w.]+", server.url, shown))
    provider = json.loads(shown)["providers"]["copilot"]
    paths = {}
    for model in provider["models"]:
        done = run(
            [BIN / "linnet", "-p", "Say hello.", "--model", f"copilot/{model['id']}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=30,
            env={"COPILOT_GITHUB_TOKEN": "t", "LINNET_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )
        assert (done.returncode, done.stderr, done.stdout) == (0, "", "Hello from the scripted model.\n")
        asked = server.requests[-1]
        paths[asked.body["model"]] = asked.path
        wanted = {"authorization": "Bearer t", **{name.lower(): value for name, value in provider["headers"].items()}}
        assert wanted.items() <= asked.headers.items()
    assert paths == {"gpt-4.1": "/chat/completions", "gpt-6-sol": "/responses", "claude-opus-5": "/v1/messages"}


def test_the_table_of_what_apis_can_do_has_every_api_that_asks_a_server() -> None:
    _, _, page = prose(PROVIDERS).partition("\n## What each API can do here\n")
    header = page.strip().splitlines()[0]
    assert CODE.findall(header) == [api.name for api in APIS.values() if api.remote]


def test_the_models_json_that_is_shown_is_understood() -> None:
    shown = [block.text for block in blocks(PROVIDERS) if block.language == "json" and '"models"' in block.text]
    shown += [block.text for block in blocks(PROVIDERS) if block.text.startswith("[")]
    assert len(shown) == 3
    for text in shown:
        assert understood_models(text.encode(), "models.json")[1]


@pytest.mark.parametrize(
    ("page", "program"), [(PI, drop_in.PI), (PROTOCOL, drop_in.ZOT)], ids=["linnet-pi", "linnet-zot"]
)
def test_every_flag_of_a_namesake_is_documented(page: Path, program: Program) -> None:
    text = page.read_text()
    section = text[text.index(f"\n## {program.name}\n") :]
    for flag in program.flags:
        for name in flag.names:
            assert f"`{name}`" in section or f"`{name} " in section or name in {n for own in TABLE for n in own.names}


@names([page for page in PAGES if page.name != "compatibility.md" and page.parent.name != "decisions"])
def test_no_flag_is_made_up(page: Path) -> None:
    flags = (
        *TABLE,
        *drop_in.PI.flags,
        *drop_in.ZOT.flags,
        *sessions_command.LIST.flags,
        *sessions_command.EXPORT.flags,
    )
    flags += (*monitor_command.MONITOR.flags, *monitor_command.CAPTURE.flags, *models_command.MODELS.flags)
    flags += (
        *config_command.CONFIG.flags,
        *trust_command.TRUST.flags,
        *serve_command.FLAGS,
        *acp_command.ACP.flags,
        *conform_command.CONFORM.flags,
        *schema_command.SCHEMA.flags,
    )
    # Of git, of pip, of our plug-in for pytest, and of TypeScript.
    others = {"--no-index", "--no-deps", "--linnet-record", "--strict"}
    attach = {*command_line._VALUES, *command_line._SWITCHES}
    known = {name for flag in flags for name in flag.names} | {"--rpc", "--flag"} | others | attach
    assert set(FLAG.findall(page.read_text())) <= known


def anchors(page: Path) -> set[str]:
    """The names that headings get where Markdown is shown."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(prose(page))}


@names(PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        path, _, anchor = target.partition("#")
        found = (page.parent / path) if path else page
        assert "://" not in target, f"{target}: a page elsewhere may go away"
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


@names(PAGES)
def test_files_modules_and_make_targets_that_are_named_exist(page: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for code in CODE.findall(prose(page)):
        if OURS.fullmatch(code):
            assert (ROOT / code).exists(), code
        if re.fullmatch(r"linnet(\.\w+)+", code) and code not in (entries.MOVED, entries.RAN, entries.SPENT):
            assert resolved(code), code
        if target := re.match(r"make (\w+)$", code):
            assert target[1] in targets, code
    for block in blocks(page):
        assert set(re.findall(r"^make (\w+)", block.text, re.MULTILINE)) <= targets


def resolved(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return pkgutil.resolve_name(name)


@names(PAGES)
def test_no_page_names_a_package_registry_or_a_path_of_some_machine(page: Path) -> None:
    text = page.read_text()
    for host in REGISTRIES:
        assert host not in text
    for path in (str(ROOT), str(Path.home()), sys.prefix):
        assert len(path) < 4 or path not in text
    assert not re.findall(r"(?<![\w.~$])/(?:home|root|Users|work|tmp|var|opt)/", text)


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    todo = [README]
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in LINK.findall(prose(page)):
            found = (page.parent / target.partition("#")[0]).resolve()
            todo += found.glob("*.md") if found.is_dir() else [found] if found.suffix == ".md" else []
    assert set(PAGES) <= seen


def test_decisions_are_numbered_and_say_if_they_still_hold_why_what_and_at_what_cost() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(page.name[:4]) for page in decisions]
    assert numbers == sorted(set(numbers)), "no two have one number"
    for page in decisions:
        text = page.read_text()
        assert text.startswith(f"# {page.name[:4]}: ")
        assert re.search(r"\n\nStatus: (accepted|(superseded|partly overtaken) by \[\d{4}\].*)\n\n", text)
        assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == ["Context", "Choice", "Cost"]
