"""Bedrock from the outside: through both protocols, with AWS's credentials, and what nobody may see of them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent
from linnet.testing.bedrock.rules import ACCESS_KEY, SECRET_KEY, TOKEN
from linnet.testing.model_server import ModelServer
from tests.providers.aws import ROLE, Lender
from tests.suite import forked

LINNET = str(Path(sys.executable).with_name("linnet"))
CLAUDE = "us.anthropic.claude-opus-4-6-v1"
PATH = "/model/us.anthropic.claude-opus-4-6-v1/converse-stream"
READ = '!tool read {"path":"a.txt"}'
LOOK = "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; echo looked"
Spawn = Callable[..., Agent]


def signing(server: ModelServer, **more: str) -> dict[str, str]:
    keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_SESSION_TOKEN": TOKEN}
    return {**keys, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url, **more}


def flags(mode: str) -> list[str]:
    return [*(["rpc"] if mode == "zot" else ["--mode", "rpc"]), "--provider", "bedrock", "--model", CLAUDE]


def asked(agent: Agent, mode: str, message: str) -> str:
    """Everything that a prompt brings, as text."""
    if mode == "zot":
        return json.dumps(agent.prompt(message))
    agent.send({"id": "p", "type": "prompt", "message": message})
    return json.dumps(agent.until("agent_end"))


@pytest.mark.parametrize("mode", ["zot", "pi"])
def test_a_run_with_a_thought_and_a_tool_goes_back_as_it_came(mode: str, spawn: Spawn, server: ModelServer) -> None:
    agent = spawn(*flags(mode), "--thinking", "high", env=signing(server))
    assert "Thought." in asked(agent, mode, "!think")
    assert "tool done" in asked(agent, mode, READ)
    paths = {request.path for request in server.requests}
    assert paths == {PATH}
    body = server.requests[-1].body
    thoughts = [block for message in body["messages"] for block in message["content"] if "reasoningContent" in block]
    assert thoughts == [{"reasoningContent": {"reasoningText": {"text": "Let me think.", "signature": "c2ln"}}}]
    assert [list(block) for block in body["messages"][-1]["content"]] == [["toolResult"], ["cachePoint"]]
    assert body["additionalModelRequestFields"]["output_config"] == {"effort": "high"}
    assert server.requests[0].headers["x-amz-security-token"] == TOKEN


@pytest.mark.parametrize("mode", ["zot", "pi"])
def test_a_session_goes_on_with_its_thoughts(mode: str, spawn: Spawn, server: ModelServer, tmp_path: Path) -> None:
    session = str(tmp_path / "session.jsonl")
    first = spawn(*flags(mode), "--session", session, env=signing(server))
    asked(first, mode, "!think")
    first.end()
    assert "Hello" in asked(spawn(*flags(mode), "--session", session, env=signing(server)), mode, "hi")
    assert "reasoningContent" in json.dumps(server.requests[-1].body)


def test_a_model_may_be_changed_for_one_of_another_vendor_and_back(spawn: Spawn, server: ModelServer) -> None:
    env = signing(server, ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url)
    agent = spawn(*flags("pi"), env=env)
    asked(agent, "pi", "!think")
    agent.ask("set_model", provider="anthropic", modelId="claude-opus-4-6")
    asked(agent, "pi", READ)
    assert server.requests[-1].path == "/v1/messages"
    assert "thinking" not in [b["type"] for m in server.requests[-1].body["messages"] for b in m["content"]]
    agent.ask("set_model", provider="bedrock", modelId="global.anthropic.claude-sonnet-5")
    assert "Hello" in asked(agent, "pi", "hi")
    assert server.requests[-1].path == "/model/global.anthropic.claude-sonnet-5/converse-stream"
    assert "toolResult" in json.dumps(server.requests[-1].body)
    assert "reasoningContent" not in json.dumps(server.requests[-1].body)


def test_an_arn_says_which_region_is_asked(spawn: Spawn, server: ModelServer) -> None:
    arn = "arn:aws:bedrock:eu-west-3:123456789012:inference-profile/eu.anthropic.claude-opus-5-5"
    agent = spawn("rpc", "--provider", "bedrock", "--model", arn, env=signing(server, AWS_REGION="us-west-2"))
    assert "Hello" in asked(agent, "zot", "hi")
    assert server.requests[0].path == f"/model/{arn.replace(':', '%3A').replace('/', '%2F')}/converse-stream"
    assert "/eu-west-3/bedrock/aws4_request" in server.requests[0].headers["authorization"]


def test_a_token_for_bedrock_goes_before_keys(spawn: Spawn, server: ModelServer) -> None:
    agent = spawn(*flags("zot"), env=signing(server, AWS_BEARER_TOKEN_BEDROCK="bedrock-token"))
    assert "Hello" in asked(agent, "zot", "hi")
    assert server.requests[0].headers["authorization"] == "Bearer bedrock-token"


def test_a_role_of_a_profile_signs(spawn: Spawn, server: ModelServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile work]\nrole_arn = arn:r\nsource_profile = base\n"
        "[profile base]\naws_access_key_id = A\naws_secret_access_key = B\n"
    )
    answer = ROLE.replace("lent-secret", SECRET_KEY).replace("lent+token/==", TOKEN)
    with Lender(lambda asked: (200, answer.format(key=ACCESS_KEY, expires="2099-01-01T00:00:00Z"))) as sts:
        env = {
            "AWS_PROFILE": "work",
            "AWS_CONFIG_FILE": str(config),
            "AWS_ENDPOINT_URL_STS": sts.url,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url,
        }
        agent = spawn(*flags("zot"), env=env)
        assert "Hello" in asked(agent, "zot", "hi")
        assert "Hello" in asked(agent, "zot", "hi again")
    assert len(sts.asked) == 1


def test_a_program_may_print_credentials(spawn: Spawn, server: ModelServer, tmp_path: Path) -> None:
    said = {"Version": 1, "AccessKeyId": ACCESS_KEY, "SecretAccessKey": SECRET_KEY, "SessionToken": TOKEN}
    (tmp_path / "said").write_text(json.dumps(said))
    (tmp_path / "config").write_text(f"[default]\ncredential_process = cat '{tmp_path}/said'\n")
    env = {"AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url}
    assert "Hello" in asked(spawn(*flags("zot"), env=env), "zot", "hi")


def test_a_wrong_secret_is_told_with_where_it_came_from(spawn: Spawn, server: ModelServer) -> None:
    env = signing(server, AWS_ACCESS_KEY_ID="AKIAOTHER", AWS_SECRET_ACCESS_KEY="planted-secret-key-0123456789")
    said = asked(spawn(*flags("zot"), env=env), "zot", "hi")
    assert "UnrecognizedClient" in said or "security token included in the request is invalid" in said
    assert "the credentials are those of AWS_ACCESS_KEY_ID" in said
    assert "planted-secret" not in said


@pytest.mark.parametrize("mode", ["zot", "pi"])
def test_commands_see_no_secret_of_aws(mode: str, spawn: Spawn, server: ModelServer) -> None:
    agent = spawn(*flags(mode), env=signing(server, AWS_BEARER_TOKEN_BEDROCK="planted-bearer-0123456789"))
    said = asked(agent, mode, f"!tool bash {json.dumps({'command': LOOK})}")
    assert "looked" in said
    everything = said + agent.stderr + json.dumps(server.requests[-1].body)
    for secret in (SECRET_KEY, TOKEN, "planted-bearer"):
        assert secret not in everything


def run(tmp_path: Path, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return forked.run(
        [LINNET, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=30,
        env={"LINNET_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **env},
    )


def test_its_models_are_listed_where_there_are_credentials(tmp_path: Path) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B", "OPENAI_API_KEY": "k"}
    listed = run(tmp_path, "models", **keys).stdout
    row = next(line for line in listed.splitlines() if "global.anthropic.claude-sonnet-5 " in line)
    assert "AWS_ACCESS_KEY_ID" in row
    assert "bedrock" not in run(tmp_path, "models", OPENAI_API_KEY="k").stdout


def test_where_credentials_are_is_told(tmp_path: Path) -> None:
    told = run(tmp_path, "auth", AWS_ACCESS_KEY_ID="A", AWS_SECRET_ACCESS_KEY="B").stdout
    assert next(line for line in told.splitlines() if line.startswith("bedrock")).split(maxsplit=1)[1] == (
        "no key, but credentials: AWS_ACCESS_KEY_ID"
    )


def test_keys_of_aws_alone_choose_no_provider(tmp_path: Path) -> None:
    """Most who have them have them for something else."""
    done = run(tmp_path, "-p", "hi", AWS_ACCESS_KEY_ID="A", AWS_SECRET_ACCESS_KEY="B")
    assert done.returncode != 0
    assert "no credential for anthropic" in done.stderr


def test_missing_credentials_are_told_before_anything_is_asked(tmp_path: Path) -> None:
    done = run(tmp_path, "-p", "--provider", "bedrock", "hi")
    assert done.returncode != 0
    assert "no credential for bedrock (no AWS credentials were found either, in variables or in ~/.aws)" in done.stderr
    assert "AWS_BEARER_TOKEN_BEDROCK" in done.stderr
    wrong = run(tmp_path, "-p", "--provider", "bedrock", "hi", AWS_PROFILE="none", HOME=str(tmp_path))
    assert 'no profile is called "none"' in wrong.stderr


def state(agent: Agent) -> dict[str, Any]:
    data: dict[str, Any] = agent.ask("get_state")["data"]
    return data


def test_an_id_that_nobody_lists_can_what_its_model_can(spawn: Spawn, server: ModelServer) -> None:
    agent = spawn(*flags("pi"), "--thinking", "max", env=signing(server))
    found = state(agent)
    assert found["thinkingLevel"] == "max"
    assert found["model"]["contextWindow"] == 1_000_000
    assert found["model"]["cost"]["input"] == 5.5
