"""What people get wrong about providers, through the real program: the whole sentence, an exit code, no secret."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import ConfigError
from linnet.providers.apis import APIS, api_named, remote_api
from tests.suite import forked

LINNET = str(Path(sys.executable).with_name("linnet"))
SECRET = "hidden-0123456789"
KEY = {"ANTHROPIC_API_KEY": "k"}
URL = "http://127.0.0.1:1"
REMOTE = (
    "anthropic-messages, openai-completions, openai-responses, google-generative-ai, google-vertex, anthropic-vertex, "
    "bedrock-converse-stream"
)
LEVELS = '"off", "minimal", "low", "medium", "high", "xhigh" or "max"'


def told(home: Path, *words: str, **env: str) -> str:
    """Return what the program says to a person, in which there is no secret. It fails, and says nothing else."""
    done = forked.run(
        [LINNET, *words],
        capture_output=True,
        text=True,
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LINNET_HOME": str(home), **env},
        timeout=50,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert SECRET not in done.stderr
    lines: list[str] = done.stderr.splitlines()
    assert len(lines) == 1
    return lines[0].removeprefix("linnet: ").replace(str(home), "~")


def lan(**said: Any) -> dict[str, Any]:
    return {"providers": {"lan": {"baseUrl": URL, "api": "openai-completions", "models": [{"id": "m"}], **said}}}


FILES: list[tuple[Any, str]] = [
    (lan(api="nope"), f'5: providers.lan.api: no API is called "nope"; there are {REMOTE}'),
    (lan(api="local"), f'5: providers.lan.api: "local" is no API of a server; there are {REMOTE}'),
    (lan(api=""), f'3: providers.lan: the key "api" is missing; there are {REMOTE}'),
    (lan(baseUrl=""), '3: providers.lan: the key "baseUrl" is missing'),
    (
        lan(baseUrl=f"ftp://me:{SECRET}@host?key={SECRET}"),
        '4: providers.lan.baseUrl: must start with http:// or https://, not "ftp://…@host?…"',
    ),
    (
        lan(models=[{"id": "m", "baseUrl": f"me:{SECRET}@host"}]),
        '9: providers.lan.models[0].baseUrl: must start with http:// or https://, not "…@host"',
    ),
    (
        [{"id": "m", "provider": "openai", "base_url": "host"}],
        '5: [0].base_url: must start with http:// or https://, not "host"',
    ),
    (lan(headers={"X-A": f"{SECRET}\n"}), "12: providers.lan.headers.X-A: has a character that no header can have"),
    (lan(headers={"X-A": [SECRET]}), "12: providers.lan.headers.X-A: expected a string, not a list"),
    (lan(apiKey={"key": SECRET}), "11: providers.lan.apiKey: expected a string, not an object"),
    (
        lan(models=[{"id": "m", "thinkingLevelMap": {"hgih": "x"}}]),
        f"9: providers.lan.models[0].thinkingLevelMap: expected {LEVELS}, not 'hgih'",
    ),
    (
        lan(models=[{"id": "m", "ends": "soon"}]),
        "9: providers.lan.models[0].ends: expected a date such as 2026-11-30",
    ),
    (
        {"providers": {"openai": {"modelOverrides": {"gpt-6-sool": {}}}}},
        (
            "5: providers.openai.modelOverrides.gpt-6-sool: is no model that linnet lists, and may be added to models; "
            'did you mean "gpt-6-sol"?'
        ),
    ),
]


@pytest.mark.parametrize(("content", "sentence"), FILES, ids=[sentence[:50] for _, sentence in FILES])
def test_models_json_is_told_what_is_wrong_with_it(content: Any, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text(json.dumps(content, indent=1))
    assert told(tmp_path, "-p", "hi", "--no-session", **KEY) == f"~/models.json:{sentence}"
    assert told(tmp_path, "models", **KEY) == f"~/models.json:{sentence}"


AUTH = [
    (f'{{"anthropic": "{SECRET}"', "is not JSON: it ends too early (line 1)"),
    (f'{{"anthropic":\n"{SECRET}" x}}', "is not JSON: expected ',' or '}' (line 2)"),
    (f'["{SECRET}"]', "expected an object, not a list (line 1)"),
]


@pytest.mark.parametrize(("text", "problem"), AUTH)
def test_auth_json_is_told_what_is_wrong_with_it(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text(text)
    (tmp_path / "auth.json").chmod(0o600)
    assert told(tmp_path, "-p", "hi") == f"~/auth.json cannot be used: {problem}"


NO_URL = "is not a URL that can be used; it should look like https://host[:port][/path]"
AWS = {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": SECRET}
WORDS: list[tuple[list[str], dict[str, str], str]] = [
    (["--api", "nope"], KEY, f'no API is called "nope"; there are {REMOTE}'),
    (["--base-url", f"http://me:{SECRET}@host:99999"], KEY, f'"http://…@host:99999/v1/messages" {NO_URL}'),
    (
        ["--base-url", f"{URL.replace('//', f'//me:{SECRET}@')}?key={SECRET}"],
        KEY,
        (
            '"http://…@127.0.0.1:1/v1/messages?…" has a name or a password before the host; send them with a header '
            "instead (models.json)"
        ),
    ),
    (
        ["--base-url", "http://host.invalid"],
        {**KEY, "HTTP_PROXY": f"http://me:{SECRET}@proxy:99999"},
        f'anthropic: "http://…@proxy:99999" {NO_URL}',
    ),
    (
        ["--base-url", "http://host.invalid"],
        {**KEY, "HTTP_PROXY": f"me:{SECRET} @proxy"},
        f'anthropic: "http://…@proxy" {NO_URL}',
    ),
    (
        ["--provider", "bedrock"],
        {**AWS, "AWS_REGION": "evil.example/"},
        'no region of AWS is called "evil.example/"; set AWS_REGION, or the region of the profile',
    ),
    (
        ["--provider", "bedrock", "--model", "arn:aws:bedrock:evil.example/:1:inference-profile/x"],
        AWS,
        'bedrock: no region of AWS is called "evil.example/"; set AWS_REGION, or the region of the profile',
    ),
    (
        ["--provider", "vertex"],
        {"GOOGLE_CLOUD_API_KEY": SECRET, "GOOGLE_CLOUD_PROJECT": "a/b"},
        "GOOGLE_CLOUD_PROJECT: 'a/b' is no name that Google Cloud gives",
    ),
    (
        ["--provider", "azure-openai"],
        {"AZURE_OPENAI_API_KEY": SECRET},
        (
            'the provider "azure-openai" needs a base URL: set AZURE_OPENAI_RESOURCE_NAME or AZURE_OPENAI_BASE_URL, or '
            "see --base-url"
        ),
    ),
]


@pytest.mark.parametrize(("flags", "env", "sentence"), WORDS, ids=[sentence[:50] for _, _, sentence in WORDS])
def test_flags_and_variables_are_told_what_is_wrong_with_them(
    flags: list[str], env: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    assert told(tmp_path, "-p", "hi", "--no-session", "--retries", "0", *flags, **env) == sentence


@pytest.mark.parametrize("look", [api_named, remote_api])
def test_an_api_that_does_not_exist_is_refused_with_those_that_do(look: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        look("nope")
    assert str(caught.value) == f'no API is called "nope"; there are {REMOTE}'
    assert REMOTE.split(", ") == [api.name for api in APIS.values() if api.remote]


PROFILES = [
    ("credential_process=echo hidden-0123456789", "what should be AWS credentials is no JSON object"),
    (
        'credential_process=echo \'{"Version": 1, "SecretAccessKey": "hidden-0123456789"}\'',
        "the credentials that the profile's program prints have no keys",
    ),
    (
        (
            'credential_process=echo \'{"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "hidden-0123456789", '
            '"Expiration": "soon"}\''
        ),
        "the credentials that the profile's program prints expire at a time that cannot be read",
    ),
]


@pytest.mark.parametrize(("line", "problem"), PROFILES)
def test_a_profile_is_told_what_is_wrong_with_it(line: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(f"[default]\n{line}\n")
    assert told(tmp_path, "-p", "hi", "--no-session", "--provider", "bedrock") == f"bedrock: {problem}"
