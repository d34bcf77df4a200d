"""Models from the command line: which is used, what they cost, and what is said where nobody knows."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from linnet import Runtime
from linnet.cli.main import COMMANDS
from linnet.flags.flags import USAGE
from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from linnet.wire.pi.reading import results
from linnet.wire.pi.reading.incoming_messages import Message
from tests.suite import forked

LLAMA = "meta-llama/Llama-3"
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program to its end, with this in its environment."""
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()

    def run(*words: str, name: str = "linnet", **env: str) -> Done:
        return forked.run(
            [Path(sys.executable).with_name(name), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=tmp_path / "work",
            timeout=20,
            env={"LINNET_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **env},
        )

    return run


def own_provider(server: ModelServer, **more: Any) -> str:
    lan = {"baseUrl": server.url, "api": "openai-completions", "apiKey": "x", "models": [{"id": LLAMA}], **more}
    return json.dumps({"providers": {"lan": lan}}, indent=1)


def test_a_table_shows_what_can_be_used_with_prices_and_where_the_key_is_from(run: Run) -> None:
    done = run("models", OPENAI_API_KEY="k")
    assert (done.returncode, done.stderr) == (0, "")
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["PROVIDER", "MODEL", "CONTEXT", "OUTPUT", "$", "IN", "$", "OUT", "KEY", "ENDS"]
    assert rows[0].split() == ["*", "openai", "gpt-6-sol", "1,050,000", "128,000", "2", "10", "OPENAI_API_KEY"]
    assert {row.removeprefix("*").split()[0] for row in rows} == {"openai"}
    assert [row[0] for row in rows].count("*") == 1


def test_the_table_says_on_which_day_a_vendor_ends_a_model(run: Run, server: ModelServer) -> None:
    def last(*flags: str) -> dict[str, str]:
        _, *rows = run("models", "--provider", "openai", *flags, OPENAI_API_KEY="k").stdout.splitlines()
        words = [row.removeprefix("*").split() for row in rows]
        return {each[1]: each[-1] for each in words}

    assert last()["gpt-5"] == "2026-12-11"
    assert last()["gpt-6-sol"] == "OPENAI_API_KEY"
    assert last("--base-url", server.url)["gpt-5"] == "OPENAI_API_KEY"  # A server of one's own ends nothing.


def test_a_price_that_nobody_knows_is_a_question_mark(run: Run, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "home" / "models.json").write_text(own_provider(server))
    done = run("models")
    _, row = done.stdout.splitlines()
    assert row.split() == ["*", "lan", LLAMA, "128,000", "16,384", "?", "?", "models.json"]
    (line,) = run("models", "--json").stdout.splitlines()
    known = json.loads(line)
    assert known["cost"] == {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    assert known["costKnown"] is False
    assert (known["default"], known["usable"], known["key"]) == (True, True, "models.json")


def test_all_shows_what_has_no_key_and_a_word_narrows_it_down(run: Run) -> None:
    done = run("models", "3-5-haiku", "--all", OPENAI_API_KEY="k")
    _, *rows = done.stdout.splitlines()
    assert rows
    assert all("haiku" in row and "none; set " in row for row in rows)
    assert any("none; set ANTHROPIC_API_KEY" in row for row in rows)
    lines = [json.loads(line) for line in run("models", "--all", "--json", OPENAI_API_KEY="k").stdout.splitlines()]
    known = {line["provider"] for line in lines}
    assert known >= {"anthropic", "openai", "deepseek", "google", "vertex", "bedrock", "openrouter", "xai", "scripted"}
    hosted = known - {"ollama", "lmstudio", "llama.cpp", "vllm", "litellm"}
    assert {line["provider"] for line in lines if line["usable"]} & hosted == {"openai", "scripted", "local"}


def test_without_a_key_it_is_said_what_to_set(run: Run) -> None:
    done = run("models")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        "linnet: no model can be used: set ANTHROPIC_API_KEY, OPENAI_API_KEY, DEEPSEEK_API_KEY or that of another "
        "provider (see linnet auth); --all lists those of providers without a key\n"
    )


def test_a_server_on_ones_own_machine_is_asked_which_models_it_has(run: Run, server: ModelServer) -> None:
    host = server.url.removeprefix("http://")
    for words in (["--provider", "ollama"], []):
        done = run("models", *words, OLLAMA_HOST=host)
        assert (done.returncode, done.stderr) == (0, "")
        assert [row.split() for row in done.stdout.splitlines()[1:]] == [
            ["ollama", "scripted", "128,000", "8,192", "?", "?", "none", "needed"]
        ]
    other = run("models", "--provider", "lmstudio", "--base-url", f"{server.url}/v1", "--json")
    (line,) = map(json.loads, other.stdout.splitlines())
    assert (line["provider"], line["id"], line["baseUrl"]) == ("lmstudio", "scripted", f"{server.url}/v1")


def test_a_vendor_that_has_more_than_is_listed_is_asked_if_it_is_named(run: Run, server: ModelServer) -> None:
    env = {"GROQ_API_KEY": "k", "GROQ_BASE_URL": server.url}
    assert "scripted" in run("models", "--provider", "groq", **env).stdout
    assert "scripted" not in run("models", **env).stdout
    assert "gpt-oss-120b" in run("models", **env).stdout


def test_a_server_that_cannot_be_reached_is_said_in_words(run: Run) -> None:
    with ModelServer() as gone:
        address = gone.url.removeprefix("http://")
    done = run("models", "--provider", "ollama", OLLAMA_HOST=address)
    assert (done.returncode, done.stdout) == (0, "")
    first, second = done.stderr.splitlines()
    assert first.startswith(f"linnet: ollama: could not connect to {address}")
    assert first.endswith(": it cannot be asked which models it has; any id that it knows works")
    assert second == "linnet: no model of ollama is known"  # It wants no key, so none is named.


NEW = [
    ("openrouter", "OPENROUTER_API_KEY", "anthropic/claude-opus-5", "/v1/chat/completions", "authorization"),
    ("zai", "ZAI_API_KEY", "glm-5.3", "/v1/chat/completions", "authorization"),
    ("minimax", "MINIMAX_API_KEY", "MiniMax-M3", "/v1/messages", "x-api-key"),
    ("mistral", "MISTRAL_API_KEY", "whatever-1", "/v1/chat/completions", "authorization"),
]


@pytest.mark.parametrize(("provider", "variable", "model", "path", "header"), NEW)
def test_a_vendor_is_asked_with_its_own_key_and_address(
    run: Run, server: ModelServer, provider: str, variable: str, model: str, path: str, header: str
) -> None:
    env = {variable: "secret", f"{provider.upper()}_BASE_URL": server.url}
    done = run("-p", '!tool read {"path": "no such file"}', "--provider", provider, "--model", model, **env)
    assert (done.returncode, done.stderr) == (0, "")
    asked, again = server.requests
    assert (asked.path, asked.body["model"]) == (path, model)
    assert asked.headers[header].endswith("secret")
    assert len(again.body["messages"]) > len(asked.body["messages"])


def test_a_token_of_anthropics_is_sent_as_one(run: Run, server: ModelServer) -> None:
    done = run("-p", "hi", ANTHROPIC_AUTH_TOKEN="token", ANTHROPIC_BASE_URL=server.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert server.requests[-1].headers["authorization"] == "Bearer token"
    assert "x-api-key" not in server.requests[-1].headers


def test_a_level_behind_a_colon_is_asked_for_in_every_program(run: Run, server: ModelServer) -> None:
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
    for name in ("linnet", "linnet-pi", "linnet-zot"):
        assert run("-p", "hi", "--model", "claude-opus-4-8:low", name=name, **env).returncode == 0
        assert server.requests[-1].body["output_config"] == {"effort": "low"}
    assert run("-p", "hi", "--model", "claude-opus-4-8:low", "--thinking", "max", **env).returncode == 0
    assert server.requests[-1].body["output_config"] == {"effort": "max"}


def test_patterns_say_which_models_are_offered(spawn: Callable[..., Agent]) -> None:
    env = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
    pi = spawn("--mode", "rpc", "--models", "claude-haiku-*,openai/gpt-6-luna", env=env)
    offered = [model["id"] for model in pi.ask("get_available_models")["data"]["models"]]
    assert offered == ["claude-haiku-5-5", "claude-haiku-4-5", "gpt-6-luna"]
    assert pi.ask("get_state")["data"]["model"]["id"] == "claude-haiku-5-5"
    cycled = [pi.ask("cycle_model")["data"] for _ in range(3)]
    assert [each["model"]["id"] for each in cycled] == ["claude-haiku-4-5", "gpt-6-luna", "claude-haiku-5-5"]
    assert all(each["isScoped"] for each in cycled)


def test_a_level_behind_a_pattern_comes_with_its_models_when_they_are_gone_round(
    spawn: Callable[..., Agent], server: ModelServer
) -> None:
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
    scope = "claude-opus-5:low,claude-haiku-*:high,claude-opus-4-8,claude-opus-*:max"
    pi = spawn("--mode", "rpc", "--models", scope, env=env)
    assert pi.ask("get_state")["data"]["thinkingLevel"] == "low"  # The first of them is used, as it was asked for.
    for id, level in [("claude-haiku-5-5", "high"), ("claude-haiku-4-5", "high"), ("claude-opus-4-8", "high")]:
        data = pi.ask("cycle_model")["data"]
        assert (data["model"]["id"], data["thinkingLevel"]) == (id, level)
        assert pi.ask("get_state")["data"]["thinkingLevel"] == level
    pi.ask("set_thinking_level", level="medium")
    while (data := pi.ask("cycle_model")["data"])["model"]["id"] != "claude-opus-5":
        assert data["thinkingLevel"] in ("max", "high")  # The highest that it has.
    assert data["thinkingLevel"] == "low"
    pi.ask("prompt", message="hi")
    pi.until("agent_end")
    assert server.requests[-1].body["output_config"] == {"effort": "low"}


def test_the_flag_for_thinking_wins_over_the_level_of_the_first_pattern(spawn: Callable[..., Agent]) -> None:
    flags = ("--models", "claude-opus-5:low,claude-opus-4-8:high", "--thinking", "max")
    pi = spawn("--mode", "rpc", *flags, env={"ANTHROPIC_API_KEY": "k"})
    assert pi.ask("get_state")["data"]["thinkingLevel"] == "max"
    assert pi.ask("cycle_model")["data"]["thinkingLevel"] == "high"


def test_a_pattern_that_means_nothing_is_named(run: Run, server: ModelServer) -> None:
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
    done = run("-p", "hi", "--models", "claude-*,gtp-*", **env)
    assert done.returncode == 0
    assert done.stderr == "linnet: --models: no model that can be used is meant by gtp-*\n"


def test_what_makes_no_sense_is_refused(run: Run) -> None:
    assert run("models", "--help").stdout.startswith("linnet models: ")
    done = run("models", "one", "two")
    assert (done.returncode, done.stderr) == (2, "linnet: give one word to look for, not 2: 'two'\n")


def test_models_json_that_means_nothing_ends_the_start_with_file_line_and_key(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "home" / "models.json"
    file.write_text('[\n  {"id": "x",\n   "provider": "openai",\n   "contextWindow": 5}\n]\n')
    for words in (["models"], ["rpc"], ["-p", "hi"]):
        done = run(*words, ANTHROPIC_API_KEY="k")
        assert (done.returncode, done.stdout) == (1, "")
        key = '[0].contextWindow: is not known here; did you mean "context_window"?'
        assert done.stderr == f"linnet: {file}:4: {key}\n"


def test_every_command_has_help_and_can_be_the_nearest(run: Run) -> None:
    assert set(re.findall(r"^  linnet (\w+) ", USAGE, re.MULTILINE)) <= set(COMMANDS)
    for command in COMMANDS:
        done = run(command, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert f'did you mean "{command}"?' in run(command + "x").stderr


def test_a_word_that_is_no_command_is_named_with_the_nearest(run: Run) -> None:
    done = run("rcp", "--provider", "scripted")
    assert done.returncode == 2
    assert done.stderr.startswith('linnet: there is no command "rcp" (did you mean "rpc"?); to ask the model, say ')
    assert 'no command "zzz"; to ask' in run("zzz").stderr
    assert 'no command "rcp" (did you mean "rpc"?)' in run("rcp", name="linnet-zot").stderr


@pytest.mark.parametrize("flags", [["--model", "gpt-6-sol"], ["--model", "openai/gpt-6-sol"], []])
def test_with_only_the_key_of_openai_openai_is_used(run: Run, server: ModelServer, flags: list[str]) -> None:
    done = run("-p", "hi", *flags, OPENAI_API_KEY="k", OPENAI_BASE_URL=server.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert server.requests[-1].body["model"] == "gpt-6-sol"
    assert server.requests[-1].headers["authorization"] == "Bearer k"


def test_any_model_works_at_an_address_of_ones_own_in_every_protocol_with_its_price_unknown(
    spawn: Callable[..., Agent], server: ModelServer
) -> None:
    flags = ("--provider", "openai", "--model", LLAMA, "--base-url", server.url, "--api-key", "x")
    zot = spawn("rpc", *flags)
    usage = next(frame for frame in zot.prompt("hi") if frame["type"] == "usage")
    assert server.requests[-1].body["model"] == LLAMA
    assert (usage["cost_usd"], usage["cost_known"], usage["cumulative"]["cost_known"]) == (0, False, False)
    assert zot.ask("get_state")["data"]["usage"]["cost_known"] is False
    assert LLAMA in [model["id"] for model in zot.ask("get_models")["data"]["models"]]

    pi = spawn("--mode", "rpc", *flags)
    model = pi.ask("get_state")["data"]["model"]
    assert (model["id"], model["costKnown"]) == (LLAMA, False)
    pi.send({"id": "1", "type": "prompt", "message": "hi"})
    (*_, reply) = pi.until("agent_end")[-1]["messages"]
    assert (reply["usage"]["cost"]["total"], reply["usage"]["costKnown"]) == (0, False)
    stats = pi.ask("get_session_stats")["data"]
    assert (stats["cost"], stats["costKnown"]) == (0, False)
    assert convert(stats, results.Stats).cost_known is False
    assert convert(model, results.Model).cost_known is False
    heard = convert(reply, Message).usage
    assert heard is not None
    assert heard.cost_known is False


def test_what_is_known_is_not_marked(spawn: Callable[..., Agent], server: ModelServer) -> None:
    pi = spawn("--mode", "rpc", "--provider", "openai", "--base-url", server.url, "--api-key", "x")
    pi.send({"id": "1", "type": "prompt", "message": "hi"})
    pi.until("agent_end")
    assert "costKnown" not in json.dumps(pi.seen)
    assert "costKnown" not in pi.ask("get_session_stats")["data"]


def test_a_sum_of_which_a_part_is_unknown_is_marked_in_lists_pages_and_when_it_is_opened_again(
    run: Run, server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "home" / "models.json").write_text(own_provider(server))
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
    assert run("-p", "hi", "--model", LLAMA, "--session", "s.jsonl", "--session-dir", ".", **env).returncode == 0
    header, row = run("sessions", "--session-dir", ".").stdout.splitlines()
    assert row[header.index("COST") :].split()[0] == "?"

    assert run("-p", "again", "--model", "claude-opus-4-5", "--session", "s.jsonl", **env).returncode == 0
    header, row = run("sessions", "--session-dir", ".").stdout.splitlines()
    assert row[header.index("COST") :].split()[1:3] == ["+", "?"]
    (line,) = run("sessions", "--session-dir", ".", "--json").stdout.splitlines()
    assert json.loads(line)["cost"] > 0
    assert json.loads(line)["costKnown"] is False
    page = run("export", "s.jsonl", "--out", "-").stdout
    assert " + ?</dd>" in page


def test_the_sdk_says_none_where_a_price_is_unknown(server: ModelServer, tmp_path: Path) -> None:
    at: dict[str, Any] = {
        "provider": "openai",
        "base_url": server.url,
        "api_key": "x",
        "cwd": tmp_path,
        "session_dir": tmp_path,
    }
    file = tmp_path / "s.jsonl"
    with Runtime(model=LLAMA, session=file, **at) as runtime:
        result = runtime.run("hi")
        assert (result.cost, result.usage.cost_known, runtime.stats().cost) == (None, False, None)
        (listed,) = runtime.sessions.listed()
        assert (listed.cost, listed.known_cost, listed.cost_known) == (None, 0, False)
    with Runtime(model="gpt-5", session=file, **at) as runtime:
        result = runtime.run("again")
        assert result.cost is not None
        assert result.cost > 0
        assert runtime.stats().cost is None


def test_a_session_goes_on_with_a_model_that_nobody_listed(run: Run, server: ModelServer) -> None:
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}
    assert run("-p", "hi", "--model", LLAMA, "--session", "s.jsonl", **env).returncode == 0
    done = run("-p", "again", "--session", "s.jsonl", **env)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert "s.jsonl" in done.stderr
    assert server.requests[-1].body["model"] == LLAMA
